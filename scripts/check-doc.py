#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the pages that Sphinx has made: check-doc.py HTML

Each public function of the libraries, option of a man page and environment variable is in the index, and each page
begins with the question that it answers.
"""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
HEADERS = TOP / "userspace" / "include" / "webnn"


# The list of pages, pages that Sphinx makes by itself, and a report that is sent to others as it is.
NO_QUESTION = ("index.html", "genindex.html", "search.html", "upstream/")
QUESTION = re.compile(r"</h1>\s*<p><em>[^<]*\?</em></p>")


def functions():
    for header in sorted(HEADERS.glob("*.h")):
        yield from re.findall(r"^WNN_EXPORT [^(;]*?\b(wnn\w+)\(", header.read_text(encoding="utf-8"), re.M)


def options():
    for folder in "emulator", "userspace":
        for page in sorted((TOP / folder).rglob("*.1")):
            text = page.read_text(encoding="utf-8").replace("\\-", "-")
            for name in re.findall(r'^\.TP\n\.BR? (?:-\w ", " )?--([a-z-]+)', text, re.M):
                yield f"{page.stem} --{name}"


def variables():
    page = (TOP / "Documentation/environment.rst").read_text(encoding="utf-8")
    for block in re.findall(r"^\.\. envvar:: (\w+(?:\n +\w+)*)$", page, re.M):
        yield from block.split()


def without_question(html):
    for page in sorted(html.rglob("*.html")):
        name = str(page.relative_to(html))
        if not name.startswith(NO_QUESTION) and not QUESTION.search(page.read_text(encoding="utf-8")):
            yield name


def main():
    html = pathlib.Path(sys.argv[1])
    index = (html / "genindex.html").read_text(encoding="utf-8")
    status = 0
    for kind, names, anchor, origin in (
            ("functions", functions(), r"#c\.(wnn\w+)\"", "userspace/generator/rst.py or Documentation/onnx_h_rst.py"),
            ("options", options(), r'man/([\w-]+)\.html#cmdoption-[\w-]+">(--[a-z-]+)<', "Documentation/man_rst.py"),
            ("variables", variables(), r"#envvar-(\w+)\"", "Documentation/environment.rst")):
        names = set(names)
        missing = sorted(names - {" ".join(match.groups()) for match in re.finditer(anchor, index)})
        for name in missing:
            print(f"{name} is not in the index: its page is made by {origin}")
        print(f"{len(names)} {kind}, {len(missing)} not in the index")
        status |= bool(missing) or not names
    for name in without_question(html):
        print(f"{name} does not begin with the question that it answers: a paragraph in italics behind the title")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
