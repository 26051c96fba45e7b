#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that Documentation/stablehlo-operations.rst names every operation that the library knows,
and no other, and has the 98 operations of XLA's "Operation Semantics" in its table, and that the
other pages of StableHLO name only operations that are known.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]


def main():
    page = (TOP / "Documentation/stablehlo-operations.rst").read_text("utf-8")
    known = set(re.findall(r'^KIND\("([^"]+)"', (TOP / "userspace/import/stablehlo/kinds.def").read_text("utf-8"), re.M))
    everything = "".join(path.read_text("utf-8") for path in (TOP / "Documentation").glob("stablehlo*.rst"))
    named, mentioned = (set(re.findall(r"``((?:stablehlo|chlo|builtin|func|sdy|check|interpreter|arith)\.[a-z_0-9-]+)``", text))
                        for text in (page, everything))
    wrong = [f"not in the page: {name}" for name in sorted(known - named)]
    wrong += [f"not known: {name}" for name in sorted(mentioned - known - {"check.eq", "sdy.mesh", "sdy.sharding"})]
    table = page.split(".. begin of the table of XLA's operations\n")[1].split(".. end of the table")[0]
    rows = re.findall(r'^   "(\w+)", ', table, re.M)
    if len(rows) != 99 or len(set(rows)) != 99:
        wrong.append(f"the table has {len(rows) - 1} operations of XLA, there are 98")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
