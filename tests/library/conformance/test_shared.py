#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wnn-conformance on the shared cases: test_shared.py PROGRAM FOLDER [OPTIONS of the program]

Skipped (77) where the folder is not there. Nothing may fail, no case may go missing, and none may be
skipped where the CPU may run it.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

MESON_SKIP = 77
TYPES_ABSENT = re.compile(r"opSupportLimits of the device lists no u?int4 for ")


def main():
    program, folder, options = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if not (folder / "counts.json").exists():
        print(f"skipped: there is no {folder / 'counts.json'}")
        return MESON_SKIP
    with tempfile.TemporaryDirectory() as work:
        path = pathlib.Path(work) / "report.json"
        status = subprocess.run([program, *options, "--json", path, folder]).returncode
        report = json.loads(path.read_text())
    total = json.loads((folder / "counts.json").read_text())["total"]
    stored = total["value"] + total["validation"] + total["outsideSpec"]
    cases = [case for file in report["files"] for case in file["cases"]]
    absent = sum(bool(TYPES_ABSENT.match(case.get("reason", ""))) for case in cases)
    if len(cases) != stored:
        print(f"{len(cases)} cases ran, counts.json says {stored}")
        status = 1
    if absent > total["int4"]:
        print(f"{absent} cases of int4 and uint4, counts.json says {total['int4']}")
        status = 1
    if (report["device"] == "cpu" or "--mixed" in options) and report["skipped"]:
        print(f"{report['skipped']} cases were skipped, though the CPU runs everything")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
