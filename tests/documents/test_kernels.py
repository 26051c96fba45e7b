#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Documentation/cpu-kernels.rst has the name of each kernel of the CPU that the placement tells, and no other."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


def main():
    # Names of reference kernels begin with cpu/ref-, and are one row.
    named = {name for path in (TOP / "userspace/src/cpu").glob("*.[cd]*")
             for name in re.findall(r'"(cpu/(?!ref-)[a-z0-9-]+)"', path.read_text(encoding="utf-8"))}
    page = (TOP / "Documentation/cpu-kernels.rst").read_text(encoding="utf-8")
    told = {name for row in re.findall(r"^   \* - (``cpu/.*)$", page, re.M)
            for name in re.findall(r"``(cpu/(?!ref-)[a-z0-9-]+)``", row)}
    for name in sorted(named - told):
        print(f"Documentation/cpu-kernels.rst does not have {name}: add it to a row of the table of names")
    for name in sorted(told - named):
        print(f"Documentation/cpu-kernels.rst has {name}, which no kernel is called")
    print(f"{len(named)} kernels")
    return 1 if named != told or not named else 0


if __name__ == "__main__":
    sys.exit(main())
