#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each public function of the libraries is in the index of the documentation: check-doc.py HTML"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
HEADERS = TOP / "userspace" / "include" / "webnn"


def main():
    index = (pathlib.Path(sys.argv[1]) / "genindex.html").read_text(encoding="utf-8")
    there = set(re.findall(r'#c\.(wnn\w+)"', index))
    functions = set()
    for header in sorted(HEADERS.glob("*.h")):
        functions |= set(re.findall(r"^WNN_EXPORT [^(;]*?\b(wnn\w+)\(", header.read_text(encoding="utf-8"),
                                    re.M))
    missing = sorted(functions - there)
    for name in missing:
        print(f"{name} is not in the index: its page is made by userspace/generator/rst.py or "
              "Documentation/onnx_h_rst.py")
    print(f"{len(functions)} functions, {len(missing)} not in the index")
    return 1 if missing or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
