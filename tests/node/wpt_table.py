#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Updates the table of results of the Web Platform Tests in node-web.rst: wpt_table.py [--check]
REPORT.json…

The script replaces the table by one from the reports of ./npu wpt --json; with --check, it fails if
the table would change.
"""
import json
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Documentation/node-web.rst"
RULE = "======= ======== ========= ======== ========"
HEAD = "device  files    passed    failed   listed"


def row(report):
    summary = report["summary"]
    cells = [report["run_info"]["device"], len(report["results"]), summary["passed"], summary["failed"], summary["listed"]]
    return "".join(str(cell).ljust(len(column) + 1) for cell, column in zip(cells, RULE.split())).rstrip()


def main():
    check = sys.argv[1:2] == ["--check"]
    reports = [json.loads(pathlib.Path(name).read_text(encoding="utf-8")) for name in sys.argv[1 + check:]]
    table = "\n".join([RULE, HEAD, RULE, *(row(report) for report in reports), RULE])
    before, old, after = PAGE.read_text(encoding="utf-8").partition(f"{RULE}\n{HEAD}\n{RULE}\n")
    text = before + table + after[after.index(RULE) + len(RULE):]
    assert old, f"there is no table in {PAGE}"
    if check:
        sys.exit(text != PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
