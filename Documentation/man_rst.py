# SPDX-License-Identifier: MIT
"""Makes pages of the man pages, with an index of their options: man_rst.py FOLDER MAN…

Each man page becomes FOLDER/PROGRAM.rst, whose options the index lists with the program's name.
FOLDER/options.rst lists the options of all programs in the order of the alphabet. The script knows
the requests of man(7) that these pages use, and fails at others.
"""
import pathlib
import re
import sys

TITLE = """.. SPDX-License-Identifier: MIT

{title}
{line}

*{question}*

"""
QUESTIONS = {
    "onpu-emu": "Which options does the device for virtual machines have?",
    "onpu-isa": "How do I assemble, disassemble and check a program of the NPU?",
    "onpu-smi": "Which commands and options show the NPUs of a machine?",
    "webnn-run": "Which commands and options run, time and compare a model?",
    "wnn-conformance": "Which options run conformance cases of WebNN?",
}
FONTS = ("B", "I", "BR", "RB", "BI", "IB", "IR", "RI")
MARKS = {"B": "**", "I": "*", "R": ""}


def fail(where, what):
    sys.exit(f"man_rst.py: {where}: {what}")


def words(text):
    """Returns the arguments of a request: words, or what stands between quotes."""
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', text)]


def unescape(text):
    return text.replace("\\-", "-").replace("\\&", "").replace("\\(aq", "'").replace("\\e", "\\")


def spans(text, font="R"):
    """Yields (font, text) of the parts of a text that has escapes to change the font."""
    for part in re.split(r"(\\f[BIRP])", text):
        if part.startswith("\\f"):
            font = {"P": "R"}.get(part[2], part[2])
        elif part:
            yield font, unescape(part)


def request_spans(name, rest):
    """Returns (font, text) of the arguments of a request, such as .BR, which sets them in two fonts
    by turns.
    """
    if name in ("B", "I"):
        return [(font, text) for font, text in spans(rest.replace('"', ""), name)]
    found = []
    for index, word in enumerate(words(rest)):
        found += spans(word, name[index % 2])
    return found


def inline(found):
    """Returns the text with the marks of reStructuredText. Each mark touches its word; an escaped
    blank separates it from what is beside it.
    """
    text = ""
    for font, part in found:
        before, core, after = re.fullmatch(r"(\s*)(.*?)(\s*)", part, re.S).groups()
        core = re.sub(r"([*`\\|_])", r"\\\1", core)
        if not core or font == "R":
            text += before + core + after
            continue
        text += f"{before}\\ {MARKS[font]}{core}{MARKS[font]}\\ {after}"
    # At the end of a line, a backslash would take the line feed away.
    return text.strip().removeprefix("\\ ").removesuffix("\\")


def plain(found):
    return "".join(part for _, part in found).strip()


class Page:
    def __init__(self, path):
        self.path, self.program = path, path.name.rsplit(".", 1)[0]
        self.options, self.depth = [], ""
        self.tag = self.code = False
        self.section, self.synopsis = "", []
        title = self.program
        if self.program not in QUESTIONS:
            fail(path.name, "its question is missing here")
        self.text = TITLE.format(title=title, line="=" * len(title), question=QUESTIONS[self.program])
        self.text += f".. program:: {self.program}\n\n"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            self.where = f"{path.name}:{number}"
            self.line(line)

    def heading(self, text, mark):
        text = unescape(text.strip().strip('"'))
        text = text.capitalize() if mark == "-" else text
        self.text, self.depth = f"{self.text.rstrip()}\n\n{text}\n{mark * len(text)}\n\n", ""

    def paragraph(self, found):
        """Adds a line of text. The first line after a .TP is the term that the text is about."""
        if self.section == "NAME":
            what = plain(found).removeprefix(f"{self.program} - ")
            self.text += f"``{self.program}``: {what}.\n"
        elif self.section == "SYNOPSIS":
            self.synopsis.append(plain(found))
        elif self.tag:
            self.tag = False
            self.text = self.text.rstrip() + "\n\n" + self.term(found)
            self.depth = "   "
        else:
            self.text += f"{self.depth}{inline(found)}\n"

    def term(self, found):
        text = plain(found)
        if not text.startswith("-"):
            return f"{inline(found)}\n"
        names = re.findall(r"(?<![\w-])(--?[\w-]+)", text)
        self.options.append((names[-1], text))
        return f".. option:: {text}\n\n"

    def line(self, line):
        if line.startswith('.\\"'):
            return
        if self.code and line != ".fi":
            self.text += f"   {unescape(line)}\n"
        elif not line.startswith("."):
            self.paragraph(list(spans(line)))
        else:
            self.request(*re.fullmatch(r"\.(\w+)\s*(.*)", line).groups())

    def request(self, name, rest):
        if name == "SH":
            if self.synopsis:
                self.text += f"\n::\n\n   {' '.join(self.synopsis)}\n"
            self.section, self.synopsis = rest, []
            if rest not in ("NAME", "SYNOPSIS"):
                self.heading(rest, "-")
        elif name == "SS":
            self.heading(rest, "~")
        elif name == "TP":
            self.tag = True
        elif name in ("PP", "IP"):
            self.text += "\n"
            self.depth = self.depth if name == "IP" else ""
        elif name == "nf":
            self.code = True
            self.text = self.text.rstrip() + "\n\n::\n\n"
        elif name == "fi":
            self.code = False
            self.text += "\n"
        elif name in FONTS:
            self.paragraph(request_spans(name, rest))
        elif name != "TH":
            fail(self.where, f"the request .{name} is not known here")


def options_page(pages):
    title = "Options of all tools"
    text = TITLE.format(title=title, line="=" * len(title), question="Which tool has this option?")
    text += "The options of ``./npu`` and of its commands are told by ``./npu help``.\n\n"
    text += ".. list-table::\n   :header-rows: 1\n\n   * - Option\n     - Tools that have it\n"
    tools = {}
    for page in pages:
        for name, _ in page.options:
            tools.setdefault(name, set()).add(page.program)
    for name in sorted(tools, key=lambda n: n.lstrip("-").lower()):
        refs = ", ".join(f":option:`{tool} <{tool} {name}>`" for tool in sorted(tools[name]))
        text += f"   * - ``{name}``\n     - {refs}\n"
    return text


def main():
    folder, pages = pathlib.Path(sys.argv[1]), [Page(pathlib.Path(name)) for name in sys.argv[2:]]
    for page in pages:
        if not page.options:
            fail(page.path.name, "it has no option")
        (folder / f"{page.program}.rst").write_text(page.text.rstrip() + "\n", encoding="utf-8")
    (folder / "options.rst").write_text(options_page(pages), encoding="utf-8")


if __name__ == "__main__":
    main()
