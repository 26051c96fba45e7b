#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Count sentences that begin with "Of", "Whose" or "The same": check-words.py [CHECKOUT [MOST]].

Such a sentence has no subject, so that the reader has to look for it in the code. The check looks at comments,
docstrings, messages and pages, and fails when there are more than MOST. Titles of pages are left out.
"""

import os
import re
import subprocess
import sys

# How many there are. Lower it with each commit that mends some; never raise it.
MOST = 121

ENDINGS = (".c", ".h", ".hpp", ".cpp", ".in", ".py", ".sh", ".rst", ".md", ".txt", ".def", ".json", ".build", ".js",
           ".mlir", ".xml", ".1", ".5", ".8")
LEFT_OUT = ("LICENSES/", "debian/changelog")
# At the start of a line, of a comment or of a text, or behind the end of a sentence; not a word that is quoted.
BEGINNING = re.compile(r"""(?:^\s*|^\s*-\s+|/\*+<?\s*|^\s*\*\s+|//+\s*|\#\s+|["'`]|[.!?;:]["'`)]*\s+)"""
                       r"(Of|Whose|The same)\b(?![\"'`])")
UNDERLINE = re.compile(r"^([=\-~^*+#\"])\1{2,}$")


def sentences(text):
    """(line, the word) of each sentence that begins so."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and UNDERLINE.match(lines[number + 1]):
            continue
        for match in BEGINNING.finditer(line):
            yield number + 1, match[1]


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    most = int(sys.argv[2]) if len(sys.argv) > 2 else MOST
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=top, check=True,
                         stdout=subprocess.PIPE).stdout
    found = []
    for name in sorted(set(out.decode().split("\0"))):
        path = os.path.join(top, name)
        # The script itself and its test have the words as data.
        if (not name.endswith(ENDINGS) or name.startswith(LEFT_OUT) or not os.path.isfile(path) or
                name in ("scripts/check-words.py", "tests/frontdoor/test_scripts.py")):
            continue
        with open(path, encoding="utf-8") as file:
            found += [(name, line, word) for line, word in sentences(file.read())]
    if len(found) <= most:
        if len(found) < most:
            print(f"only {len(found)} of {most} such sentences are left: "
                  f"set MOST in scripts/check-words.py to {len(found)}")
        return 0
    for name, line, word in found:
        print(f"{name}:{line}: a sentence begins with \"{word}\": begin with its subject, such as \"The size of …\"")
    print(f"{len(found)} such sentences, more than {most}: rewrite the new ones")
    return 1


if __name__ == "__main__":
    sys.exit(main())
