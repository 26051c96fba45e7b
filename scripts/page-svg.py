#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Saves a drawing of the page of webnn-run profile as a file: page-svg.py PAGE ID FILE.svg

The page has its drawings within HTML, without quotes round attributes and with one style sheet for
all. A file needs quotes, a style sheet of its own, and the name space of SVG.
"""
import html
import html.parser
import pathlib
import sys

STYLE = "text{font-family:sans-serif}\n"


class Drawing(html.parser.HTMLParser):
    def __init__(self, name):
        super().__init__(convert_charrefs=True)
        self.name, self.depth, self.text = name, 0, ""
        self.style, self.in_style = "", False

    def handle_starttag(self, tag, attrs):
        self.in_style = tag == "style"
        if tag == "svg" and ("id", self.name) in attrs:
            # The parser gives names of attributes in small letters.
            box = dict(attrs)["viewbox"]
            self.text = ("<!-- SPDX-License-Identifier: MIT -->\n"
                         f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{box.split()[2]}">\n'
                         f"<style>{self.style}{STYLE}</style>")
            self.depth = 1
        elif self.depth:
            self.depth += 1
            self.text += f"<{tag}" + "".join(f' {name}="{html.escape(value)}"' for name, value in attrs) + ">"

    def handle_endtag(self, tag):
        self.in_style = False
        if self.depth:
            self.depth -= 1
            self.text += f"</{tag}>"

    def handle_data(self, data):
        if self.in_style:
            self.style += data
        elif self.depth:
            self.text += html.escape(data, quote=False)


def main():
    page, name, target = sys.argv[1:]
    drawing = Drawing(name)
    drawing.feed(pathlib.Path(page).read_text(encoding="utf-8"))
    if not drawing.text or drawing.depth:
        sys.exit(f"page-svg.py: {page} has no drawing {name}")
    pathlib.Path(target).write_text(drawing.text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
