#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library exports exactly the functions of webnn.map: test_exports.py LIBRARY."""
import pathlib
import re
import subprocess
import sys

MAP = pathlib.Path(__file__).resolve().parents[2] / "userspace" / "webnn.map"


def main():
    wanted = set(re.findall(r"^\t(wnn\w+);$", MAP.read_text(encoding="utf-8"), re.M))
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
