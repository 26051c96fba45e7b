#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests libraries with firmware, of neighbouring minor versions: test_versions.py PROGRAM… IMAGE…,
as TAP.

A PROGRAM is program.c with a library of one version. Each runs on the device model, which boots
each IMAGE. The versions that the programs print, and the headers of the images, show which versions
they are. guest_versions.py has the driver between library and firmware.
"""
import re
import struct
import subprocess
import sys

sys.dont_write_bytecode = True
import variant  # noqa: E402

# The offset in ONPU_FW_HEADER of the version of the messages, after magic and size.
ABI = 8
CHANGES = {"older": -1, "same": 0, "newer": 1}


def library_version(change):
    major, minor = variant.version(variant.HEADER.read_text(encoding="utf-8")).split(".")
    return f"library {major}.{int(minor) + change}"


def image_minor(change):
    return int(variant.ABI_MINOR.search(variant.REGISTERS.read_text(encoding="utf-8"))[2]) + change


def by_change(paths):
    """Returns {change: path}, where change is the word "older" or "newer" in the path; other paths
    have the change "same"."""
    return {next((word for word in ("older", "newer") if re.search(rf"-{word}\b", path)), "same"): path
            for path in paths}


def main():
    programs = by_change(path for path in sys.argv[1:] if not path.endswith(".bin"))
    images = by_change(path for path in sys.argv[1:] if path.endswith(".bin"))
    failed = number = 0

    def ok(good, name, said=""):
        nonlocal failed, number
        number += 1
        failed += not good
        if not good and said:
            print(said, file=sys.stderr)
        print(f"{'' if good else 'not '}ok {number} - {name}", flush=True)

    for word, change in CHANGES.items():
        with open(images[word], "rb") as file:
            minor = struct.unpack_from("<H", file.read(), ABI)[0]
        ok(minor == image_minor(change), f"the {word} firmware speaks version {image_minor(change)}", f"it is {minor}")
    for word, change in CHANGES.items():
        for image, path in images.items():
            done = subprocess.run([programs[word], path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            ok(not done.returncode and done.stdout == library_version(change) + "\n",
               f"the {word} library works with the {image} firmware", done.stdout)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
