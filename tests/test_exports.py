#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that a library exports exactly what its interface declares: test_exports.py LIBRARY FILE…

A FILE is a header, whose functions count, the version script of generated headers, or the list of
symbols of a Debian package.
"""
import pathlib
import re
import subprocess
import sys

GLOBAL = re.compile(r"^\t(\w+);$", re.MULTILINE)
LISTED = re.compile(r"^ ([a-z]\w+)@", re.MULTILINE)
DECLARED = re.compile(r"^(?:WNN_EXPORT )?(?!static|typedef)[a-zA-Z][\w *]*?\b(\w+)\([^;{]*\);", re.MULTILINE)


def main():
    wanted = set()
    for path in map(pathlib.Path, sys.argv[2:]):
        pattern = {".map": GLOBAL, ".symbols": LISTED}.get(path.suffix, DECLARED)
        wanted |= set(pattern.findall(path.read_text("utf-8")))
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", sys.argv[1]], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
    symbols = (line.split() for line in listing.splitlines())
    exported = {s[-1].split("@")[0] for s in symbols if s[-2] != "A"}
    for name in sorted(wanted - exported):
        print(f"not exported: {name}")
    for name in sorted(exported - wanted):
        print(f"exported, but not part of the interface: {name}")
    return 0 if wanted and wanted == exported else 1


if __name__ == "__main__":
    sys.exit(main())
