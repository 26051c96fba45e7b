#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that only words differ between two commits: same-code.py BASE [HEAD].

Without HEAD, BASE is compared with the files of the working tree. The script prints each file whose code differs, and
each file of a kind that it cannot compare; it fails when the code of a file differs.

C, C++, assembly and linker scripts are compared as the text that is left without comments, with gcc as
the program that knows what a comment is. Equal text gives equal sections of the object, but for __LINE__. This holds
under all flags, in each branch of an #if, and for the driver and headers, which the build here does not compile; an
object would show one configuration of the files that it compiles. Python is compared as its syntax tree without
docstrings, a shell script as bash prints it after parsing, which leaves comments out.
"""

import ast
import os
import subprocess
import sys

C_ENDINGS = (".c", ".h", ".def", ".inc", ".cc", ".cpp", ".hpp", ".S", ".ld", ".h.in", ".hpp.in")
SHELL_NAMES = ("npu", ".ci/run")


def run(command, where, text=None):
    return subprocess.run(command, cwd=where, input=text, check=True, stdout=subprocess.PIPE).stdout


def code_of_c(data):
    # The compiler joins continued lines before it looks for comments; with -fpreprocessed gcc does not.
    data = data.replace(b"\\\n", b"")
    out = run(["gcc", "-fpreprocessed", "-dD", "-E", "-P", "-w", "-x", "c", "-"], None, data).decode()
    code = []
    for line in map(str.strip, out.split("\n")):
        if line.startswith("#"):
            code += [line, "\n"]
        elif line:
            code.append(line)
    # The end of a line matters for directives only.
    return " ".join(code)


def code_of_python(data):
    tree = ast.parse(data)
    for node in ast.walk(tree):
        if (isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and
                ast.get_docstring(node, clean=False) is not None):
            node.body[0].value.value = ""
    return ast.dump(tree, indent=1)


def code_of_shell(data):
    return run(["bash", "--pretty-print", "/dev/stdin"], None, data).decode()


def parser_of(name, data):
    """Returns the function that leaves the words out of such a file, or None."""
    if name.endswith(C_ENDINGS):
        return code_of_c
    if name.endswith(".py"):
        return code_of_python
    if name.endswith(".sh") or name in SHELL_NAMES or data.startswith((b"#!/bin/sh", b"#!/bin/bash")):
        return code_of_shell
    return None


def first_difference(old, new):
    """Returns text about the first lines in which two codes differ."""
    at = len(os.path.commonprefix([old, new]))
    at = max(0, at - 20)
    return f'"{old[at:at + 50]}" became "{new[at:at + 50]}"'.replace("\n", " ")


def difference(name, old, new):
    """Returns text about where the codes of two contents differ; "" when they do not, None when
    that is unknown.
    """
    parser = parser_of(name, new)
    if not parser:
        return None
    try:
        codes = parser(old), parser(new)
    except (SyntaxError, subprocess.CalledProcessError) as error:
        return f"one side cannot be parsed: {error}"
    return first_difference(*codes) if codes[0] != codes[1] else ""


def changes(top, base, head):
    """Yields (path, statement on the change as a whole or None, old content, new content) of each
    changed file.
    """
    out = run(["git", "diff", "--raw", "--no-renames", "--no-abbrev", "-z", base] + ([head] if head else []), top)
    fields = out.decode().split("\0")
    for facts, name in zip(fields[0:-1:2], fields[1::2]):
        old_mode, new_mode, _, _, status = facts[1:].split(" ")
        if status in "AD":
            yield name, "is new" if status == "A" else "is gone", b"", b""
        elif old_mode != new_mode:
            yield name, f"its mode {old_mode} became {new_mode}", b"", b""
        elif head:
            yield name, None, run(["git", "show", f"{base}:{name}"], top), run(["git", "show", f"{head}:{name}"], top)
        else:
            with open(os.path.join(top, name), "rb") as file:
                yield name, None, run(["git", "show", f"{base}:{name}"], top), file.read()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: same-code.py BASE [HEAD]")
    top = run(["git", "rev-parse", "--show-toplevel"], None).decode().strip()
    base, head = sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else None
    same = differ = unknown = 0
    for name, statement, old, new in changes(top, base, head):
        found = statement or difference(name, old, new)
        if found is None:
            unknown += 1
            print(f"{name}: not compared")
        elif found:
            differ += 1
            print(f"{name}: {found}")
        else:
            same += 1
    print(f"{same} files differ in words only, {differ} in code, {unknown} were not compared")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
