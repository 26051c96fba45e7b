#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the interfaces of one minor version earlier or later, for tests of versions that fit
together.

  variant.py older|newer headers FOLDER   FOLDER/drm/onpu_accel.h, FOLDER/onpu/registers.h and
registers.xml
  variant.py older|newer source FILE      FILE, as it would be with these headers, to stdout

The interface of programs and driver gets the neighbouring minor version, and so do the messages
between driver and firmware. Older: members whose comment says that they came with the present
version are missing, and so are the lines that use them. Newer: each structure that may grow has one
more member at its end. There are no copies of old sources, so these do not show what an older
version did in another way.
"""
import argparse
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
HEADER = TOP / "uapi/drm/onpu_accel.h"
REGISTERS = TOP / "uapi/onpu/registers.xml"
MINOR = re.compile(r"(#define DRM_ONPU_DRIVER_MINOR\t)(\d+)")
ABI_MINOR = re.compile(r'(name="ONPU_ABI_MINOR" value=")(\d+)')
STRUCT = re.compile(r"^struct (drm_onpu_\w+) \{\n(.*?)^\};\n", re.M | re.S)
MEMBER = re.compile(r"\n?\t/\*\*((?:(?!\*/).)*)\*/\n\t(?:struct )?\w+ (\w+);\n", re.S)
# The first is part of other structures, and the device writes the others: their sizes stay.
FIXED = ("drm_onpu_obj_array", "drm_onpu_completion", "drm_onpu_fault")
ADDED = "\n\t/** @of_the_next_version: For tests. */\n\t__u64 of_the_next_version;\n"


def once(pattern, text, change):
    """Returns the text with `change` added to the number that the pattern finds. Ends the program
    unless the pattern matches exactly once and the new number is not negative.
    """
    found = pattern.findall(text)
    if len(found) != 1 or int(found[0][1]) + change < 0:
        sys.exit(f"variant.py: no version {change:+d} of {pattern.pattern}")
    return pattern.sub(lambda match: match[1] + str(int(match[2]) + change), text)


def version(text):
    """Returns MAJOR.MINOR of the header."""
    return ".".join(re.search(rf"#define DRM_ONPU_DRIVER_{part}\t(\d+)", text)[1] for part in ("MAJOR", "MINOR"))


def new_members(text):
    """Returns the members that came with the version of the header, as their comments say."""
    since = re.compile(rf"Since\s+(?:\*\s+)?version {re.escape(version(text))}\b")
    return [name for struct in STRUCT.finditer(text) for comment, name in MEMBER.findall(struct[2])
            if since.search(comment)]


def older_header(text):
    names = new_members(text)

    def without(struct):
        return MEMBER.sub(lambda member: "" if member[2] in names else member[0], struct[0])
    return once(MINOR, STRUCT.sub(without, text), -1)


def newer_header(text):
    def longer(struct):
        name, members = struct.groups()
        return struct[0] if name in FIXED else f"struct {name} {{\n{members}{ADDED}}};\n"
    return once(MINOR, STRUCT.sub(longer, text), 1)


def write_headers(variant, folder):
    text = HEADER.read_text(encoding="utf-8")
    for name in ("drm", "onpu"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "drm/onpu_accel.h").write_text(older_header(text) if variant == "older" else newer_header(text),
                                             encoding="utf-8")
    registers = folder / "onpu/registers.xml"
    registers.write_text(once(ABI_MINOR, REGISTERS.read_text(encoding="utf-8"), -1 if variant == "older" else 1),
                         encoding="utf-8")
    subprocess.run([sys.executable, TOP / "uapi/onpu/generate.py", "--registers", registers, "--out", folder],
                   check=True)


def source(variant, path):
    """Yields the lines of a file. When the variant is "older", lines that use a member that it
    lacks become empty, so that the others keep their numbers.
    """
    names = new_members(HEADER.read_text(encoding="utf-8")) if variant == "older" else []
    uses = re.compile(rf"(?:\.|->)(?:{'|'.join(names)})\b")
    yield f'#line 1 "{path}"\n'
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        yield "\n" if names and uses.search(line) else line


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=("older", "newer"))
    parser.add_argument("what", choices=("headers", "source"))
    parser.add_argument("path", type=pathlib.Path)
    args = parser.parse_args()
    if args.what == "headers":
        write_headers(args.variant, args.path)
        # The build of the library includes this file before anything else.
        print(f'#include "{args.path.name}/drm/onpu_accel.h"\n#include "{args.path.name}/onpu/registers.h"')
    else:
        sys.stdout.writelines(source(args.variant, args.path))


if __name__ == "__main__":
    main()
