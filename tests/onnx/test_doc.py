#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that Documentation/onnx-operators.rst lists the operators that the importer knows: test_doc.py
PROGRAM.

With --write it puts the table into the file.
"""
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Documentation/onnx-operators.rst"
BEGIN = ".. begin of the table of operators\n"
END = ".. end of the table of operators\n"


def table(program):
    lines = subprocess.run([program, "--operators"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    rows = [("Operator", "Since operator set", "Remark"), *(line.split("\t") for line in sorted(lines))]
    return ("\n.. csv-table::\n   :header-rows: 1\n\n" +
            "".join('   "{}", "{}", "{}"\n'.format(*(cell.replace('"', '""') for cell in row)) for row in rows) + "\n")


def main():
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + table(sys.argv[1]) + END + after
    if "--write" in sys.argv:
        PAGE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        print("Documentation/onnx-operators.rst is not up to date: tests/onnx/test_doc.py PROGRAM --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
