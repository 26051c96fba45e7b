#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libwebnn-onnx exports what webnn/onnx.h declares: test_exports.py LIBRARY."""
import pathlib
import re
import subprocess
import sys

HEADER = pathlib.Path(__file__).resolve().parents[2] / "userspace/include/webnn/onnx.h"


def main():
    text = HEADER.read_text(encoding="utf-8")
    wanted = set(re.findall(r"^WNN_EXPORT [^;]*?(wnnOnnx\w+)\(", text, re.M))
    listing = subprocess.run(["nm", "--dynamic", "--defined-only", sys.argv[1]], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
    symbols = (line.split() for line in listing.splitlines())
    exported = {s[-1].split("@")[0] for s in symbols if s[-2] != "A"}
    for name in sorted(wanted ^ exported):
        print(f"{name} is {'not exported' if name in wanted else 'exported, but not declared'}")
    return 0 if wanted and wanted == exported else 1


if __name__ == "__main__":
    sys.exit(main())
