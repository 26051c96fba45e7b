#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds functions that are longer than 80 lines: check-functions.py [CHECKOUT].

In C the body of a function begins with "{" in the first column after a line that ends with ")", as kernel style has
it, and ends with "}" in the first column; the lines that count are those between the two. In Python they are the lines
of the body.
"""

import ast
import os
import re
import subprocess
import sys

MAX_LINES = 80
NAME = re.compile(r"(\w+)\s*\((?!.*\b\w+\s*\(\()")


def functions_of_c(text):
    """Yields (line, name, length of the body) of each function."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if line == "{" and number and lines[number - 1].rstrip().endswith(")"):
            start = number
        elif line == "}" and start is not None:
            head = start - 1
            while head > 0 and lines[head][:1] in (" ", "\t", ""):
                head -= 1
            name = NAME.search(lines[head])
            yield head + 1, name[1] if name else lines[head].strip(), number - start - 1
            start = None


def functions_of_python(text):
    """Yields (line, name, length of the body) of each function of Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.name, node.end_lineno - node.body[0].lineno + 1


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", "*.c", "*.h", "*.py"], cwd=top,
                         check=True, stdout=subprocess.PIPE).stdout
    found = 0
    for path in sorted(set(out.decode().split("\0")) - {""}):
        if not os.path.isfile(os.path.join(top, path)):
            continue
        functions = functions_of_python if path.endswith(".py") else functions_of_c
        with open(os.path.join(top, path), encoding="utf-8") as file:
            for line, name, length in functions(file.read()):
                if length > MAX_LINES:
                    print(f"{path}:{line}: {name}() has {length} lines, more than {MAX_LINES}")
                    found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
