#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds sentences that begin with "Of", "Whose" or "The same": check-words.py [CHECKOUT].

Such a sentence has no subject, so that the reader has to look for it in the code. The check looks at comments,
docstrings, messages and pages, whatever the language, and fails when there is one. Titles of pages are left out.
"""

import os
import re
import subprocess
import sys

# Licences, what older releases said, and the script itself and its test, which have the words as data.
LEFT_OUT = ("LICENSES/", "debian/changelog", "scripts/check-words.py", "tests/frontdoor/test_scripts.py")
# At the start of a line, of a comment or of a text, or behind the end of a sentence; not a word that is quoted.
BEGINNING = re.compile(r"""(?:^\s*|^\s*-\s+|/\*+<?\s*|^\s*\*\s+|//+\s*|\#\s+|[>"'`]|[.!?;:]["'`)]*\s+)"""
                       r"(Of|Whose|The same)\b(?![\"'`])")
UNDERLINE = re.compile(r"^([=\-~^*+#\"])\1{2,}$")


def sentences(text):
    """Yields (line, first words) of each sentence that begins so."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and UNDERLINE.match(lines[number + 1]):
            continue
        for match in BEGINNING.finditer(line):
            yield number + 1, match[1]


def main():
    top = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else
                          os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=top, check=True,
                         stdout=subprocess.PIPE).stdout
    found = []
    for name in sorted(set(out.decode().split("\0"))):
        path = os.path.join(top, name)
        if name.startswith(LEFT_OUT) or not os.path.isfile(path):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                found += [(name, line, word) for line, word in sentences(file.read())]
        except UnicodeDecodeError:
            continue  # It is a picture or an array.
    for name, line, word in found:
        print(f"{name}:{line}: a sentence begins with \"{word}\": begin with its subject, such as \"The size of …\"")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
