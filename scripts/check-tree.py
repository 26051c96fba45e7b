#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules that hold for every file of the tree: check-tree.py [CHECKOUT].

A file has an SPDX line at the top (after "#!" or an XML declaration), in the one form that its
language has. A file of code has at most 800 lines, comments included; any file has at most 512 KiB.
No file holds the host name of a package registry or a path of one particular machine. The library
calls no plain malloc().
"""

import os
import re
import subprocess
import sys

MAX_LINES = 800
MAX_BYTES = 512 * 1024

# Formats without comments, licences, data, and templates, whose generator writes the line.
NO_SPDX = re.compile(r"(^|/)(LICENSES|regressions|data|golden)/|\.(json|md|csv|svg|txt|h\.in|json\.in|patch)$"
                     r"|^debian/(changelog|copyright|source/format|[^/]*\.doc-base)$")
CODE = re.compile(r"(\.(c|cc|h|hpp|S|py|sh|js|mjs)|(^|/)meson\.build|^npu)$")
# Interfaces that are one header by design: the ioctls and the generated programming interface.
ONE_HEADER = re.compile(r"^(uapi/drm|userspace/include)/")

SPDX = re.compile(r"SPDX-License-Identifier: (MIT|GPL-2\.0-only OR MIT)\b")
# The comment around the licence in each language, as in the kernel: "//" in sources, "/* */" in headers.
COMMENTS = [(re.compile(r"\.(c|cc|js|mjs|idl|ts|ts\.in|proto|mlir)$"), ("// ", "")),
            (re.compile(r"\.(h|hpp|inc|def|S|ld|css)(\.in)?$"), ("/* ", " */")),
            (re.compile(r"\.ir$"), ("; ", "")),
            (re.compile(r"\.rst$|^Documentation/ABI/"), (".. ", "")),
            (re.compile(r"\.1$"), ('.\\" ', "")),
            (re.compile(r"\.(xml|md|html)$"), ("<!-- ", " -->")),
            (re.compile(r""), ("# ", ""))]
REGISTRY = re.compile(r"\b(\w+\.)*(debian\.org/debian|pypi\.org|pythonhosted\.org|npmjs\.(org|com)"
                      r"|crates\.io|proxy\.golang\.org|(deb|ftp|security|snapshot)\.debian\.org)\b")
MACHINE = re.compile(r"(^|[\s\"'`=(:])/(work|root|home|tmp/onpu)/")


# The library takes its memory from the application's allocator (util/malloc.h). isa/ is left out,
# as a program uses it, too.
LIBRARY = re.compile(r"^userspace/src/(?!isa/|util/malloc\.c)")
ALLOCATION = re.compile(r"^(?!\s*/?\*).*(?<![\w.>])(malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign"
                        r"|strdup|strndup|free)\(")


def files(top):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=top,
                         check=True, stdout=subprocess.PIPE).stdout
    for name in sorted(set(out.decode().split("\0")) - {""}):
        if os.path.isfile(os.path.join(top, name)):
            yield name


def check_licence(name, lines):
    """Returns (line number, problem) when the licence line is missing or has a wrong form."""
    number = 2 if lines and lines[0].startswith(("#!", "<?xml")) else 1
    line = lines[number - 1] if len(lines) >= number else ""
    found = SPDX.search(line)
    if not found:
        yield number, "no SPDX-License-Identifier line at the top"
        return
    before, after = next(form for pattern, form in COMMENTS if pattern.search(name))
    right = before + found[0] + after
    if line != right:
        yield number, f"the licence line is '{line}' and not '{right}'"


def check(name, text):
    lines = text.splitlines()
    if not NO_SPDX.search(name):
        yield from check_licence(name, lines)
    if CODE.search(name) and not ONE_HEADER.search(name) and len(lines) > MAX_LINES:
        yield len(lines), f"more than {MAX_LINES} lines: one file, one concept"
    for number, line in enumerate(lines, 1):
        if REGISTRY.search(line):
            yield number, "names the host of a package registry"
        if MACHINE.search(line):
            yield number, "holds a path of one particular machine"
        allocation = LIBRARY.search(name) and ALLOCATION.search(line)
        if allocation:
            yield number, f"calls {allocation[1]}() where the library has wnn_{allocation[1]}()"


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = 0
    for name in files(top):
        with open(os.path.join(top, name), "rb") as file:
            content = file.read()
        if len(content) > MAX_BYTES:
            print(f"{name}: {len(content)} bytes: data of that size is made by the tests, and no program is committed")
            found += 1
        if b"\0" in content[:8192]:
            continue
        for line, problem in check(name, content.decode("utf-8", "replace")):
            print(f"{name}:{line}: {problem}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
