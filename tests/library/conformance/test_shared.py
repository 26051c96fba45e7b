#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests wnn-conformance on the shared cases: test_shared.py PROGRAM FOLDER [OPTIONS of the program]

Without the folder the test is skipped (77). No case may fail, go missing or be skipped.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

MESON_SKIP = 77


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
    # With --every N, only the first of each N cases of a file runs.
    every = int(options[options.index("--every") + 1]) if "--every" in options else 1
    if not stored <= every * len(cases) <= stored + (every - 1) * len(report["files"]):
        print(f"{len(cases)} cases ran, counts.json says {stored}")
        status = 1
    if report["skipped"]:
        print(f"{report['skipped']} cases were skipped")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
