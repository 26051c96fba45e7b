#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that Documentation/environment.rst lists the environment variables that the sources read,
and no others.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
# Prefixes of variables that third-party libraries read.
OTHERS = ("OPENBLAS_", "ONEDNN_")
# Variables that ./npu sets for processes of its own.
OWN = {"ONPU_INSIDE"}
# Variables that many programs read, so that the page does not list them.
COMMON = {"TMPDIR"}


def looked_at():
    found = {}
    patterns = {
        ".c": r'getenv\("(\w+)"\)|#define \w+_VARIABLE "(\w+)"', ".js": r"process\.env\.(\w+)",
        ".py": r'environ(?:\.get\(|\[)"((?:ONPU|WEBNN)_\w+)"|\b(ONPU_GUEST_\w+)=',
        ".sh": r"\$\{(ONPU_[A-Z_]+)(?::?[-+?])",
    }
    for folder in ("userspace", "emulator", "bindings/node/lib", "bindings/node/src", "bindings/jax", "scripts", "Documentation"):
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix not in patterns:
                continue
            for groups in re.findall(patterns[path.suffix], path.read_text(encoding="utf-8")):
                for name in [groups] if isinstance(groups, str) else filter(None, groups):
                    found.setdefault(name, path.relative_to(TOP))
    return found


def main():
    found = looked_at()
    page = (TOP / "Documentation/environment.rst").read_text(encoding="utf-8")
    told = {name for block in re.findall(r"^\.\. envvar:: (\w+(?:\n +\w+)*)$", page, re.M) for name in block.split()}
    wrong = 0
    for name in sorted(set(found) - told - OWN - COMMON):
        print(f"{found[name]} looks at {name}, which Documentation/environment.rst does not tell of")
        wrong = 1
    for name in sorted(told - set(found)):
        if not name.startswith(OTHERS):
            print(f"Documentation/environment.rst tells of {name}, which nothing looks at")
            wrong = 1
    if not found:
        print("no variable was found")
    return wrong or not found


if __name__ == "__main__":
    sys.exit(main())
