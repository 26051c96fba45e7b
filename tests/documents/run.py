#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types the commands of a page of Documentation/: run.py PAGE.rst [--class NAME]... [--link
NAME=FOLDER]...

The commands of its blocks "code-block:: console" run in their order in one shell, in a new folder
that has the files of Documentation/examples. A line that begins with "$ " or "# " is a command, and
a line that begins with "> " continues it. The lines after it are the expected output, where "…"
stands for any text, and a line of "…" alone for any lines. A block with a class is typed only when
that class is given: root, installed, npu, node, checkout.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

DOCUMENTATION = pathlib.Path(__file__).resolve().parents[2] / "Documentation"
BLOCK = re.compile(r"^( *)\.\. code-block:: console\n((?:\1   :.*\n)*)\n((?:\1   .*\n|\n)+)", re.M)
END = "end of the output"


def blocks(text):
    """Yields (class, [(command, lines that it prints or [])]) for each block of console text."""
    for match in BLOCK.finditer(text):
        kind = re.search(r":class: (\w+)", match[2])
        commands = []
        for line in textwrap.dedent(match[3]).rstrip("\n").split("\n"):
            if line[:2] in ("$ ", "# "):
                commands.append((line[2:], []))
            elif line.startswith("> ") and commands and not commands[-1][1]:
                commands[-1] = (commands[-1][0] + "\n" + line[2:], [])
            elif commands:
                commands[-1][1].append(line)
            else:
                sys.exit(f"a block begins with no command: {line}")
        yield kind[1] if kind else "", commands


def pattern(lines):
    text = "".join(".*\n" if line.strip() == "…" else re.escape(line).replace("…", "[^\n]*") + "\n"
                   for line in lines)
    return re.compile(text, re.S)


class Shell:
    def __init__(self, folder):
        self.process = subprocess.Popen(["bash", "--norc"], cwd=folder, stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def type(self, command):
        """Types a command into the shell, and returns its exit status and what it prints, standard
        error included."""
        self.process.stdin.write(f"{command}\necho \"$? {END}\"\n")
        self.process.stdin.flush()
        text = ""
        for line in self.process.stdout:
            done = re.fullmatch(rf"(.*?)(\d+) {END}\n", line, re.S)
            if done:
                return int(done[2]), text + done[1]
            text += line
        return 255, text


def run(page, classes, folder):
    typed = failed = 0
    shell = Shell(folder)
    for kind, commands in blocks(page.read_text(encoding="utf-8")):
        if kind and kind not in classes:
            continue
        for command, lines in commands:
            status, output = shell.type(command)
            typed += 1
            # Where the page shows no output, the command may print warnings about the terminal.
            wrong = status or (lines and not pattern(lines).fullmatch(output))
            if wrong:
                failed += 1
                print(f"{page.name}: $ {command}\nends with {status} and prints\n{output}"
                      f"The page says\n" + "\n".join(lines) + "\n")
    print(f"{page.name}: {typed} commands, {failed} failed")
    return failed or not typed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    parser.add_argument("--class", dest="classes", action="append", default=[])
    parser.add_argument("--link", action="append", default=[])
    options = parser.parse_args()
    failed = 0
    for page in options.pages:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for file in (DOCUMENTATION / "examples").iterdir():
                if file.is_file():
                    shutil.copy(file, folder)
            for link in options.link:
                target = folder / link.split("=")[0]
                target.parent.mkdir(exist_ok=True)
                target.symlink_to(os.path.abspath(link.split("=", 1)[1]))
            failed += bool(run(page, options.classes, folder))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
