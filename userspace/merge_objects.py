#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make an archive that shows no more than a shared library would: merge_objects.py --objcopy OBJCOPY
--ar AR --output ARCHIVE --map VERSION_SCRIPT INPUT… -- COMPILER…

All objects of the input archives become one, in which every symbol that is not global in the version
script is local. An input that is no archive, such as the version script itself, is passed over.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile


def exported(path):
    with open(path, encoding="utf-8") as file:
        names = re.findall(r"^\t(\w+);$", file.read(), re.M)
    if not names:
        raise SystemExit(f"{path}: no symbol is global there")
    return names


def main():
    words = sys.argv[1:]
    split = words.index("--")
    parser = argparse.ArgumentParser()
    for name in ("--objcopy", "--ar", "--output", "--map"):
        parser.add_argument(name, required=True)
    parser.add_argument("input", nargs="+")
    args = parser.parse_args(words[:split])
    archives = [path for path in args.input if path.endswith(".a")]
    if os.path.exists(args.output):
        os.unlink(args.output)
    name = os.path.basename(args.output).removeprefix("lib").removesuffix(".a")
    with tempfile.TemporaryDirectory() as folder:
        merged = os.path.join(folder, f"{name}.o")
        keep = os.path.join(folder, "keep")
        with open(keep, "w", encoding="utf-8") as file:
            file.writelines(f"{symbol}\n" for symbol in exported(args.map))
        subprocess.run([*words[split + 1:], "-r", "-nostdlib", "-o", merged, "-Wl,--whole-archive",
                        *archives, "-Wl,--no-whole-archive"], check=True)
        subprocess.run([args.objcopy, f"--keep-global-symbols={keep}", merged], check=True)
        subprocess.run([args.ar, "rcsD", args.output, merged], check=True)


if __name__ == "__main__":
    main()
