#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that each page of Documentation/ that shows commands is typed by run.py, or is listed here
with the reason why not: test_typed.py PAGE…, with the names of the pages that are typed.
"""
import pathlib
import re
import sys

DOCUMENTATION = pathlib.Path(__file__).resolve().parents[2] / "Documentation"
# A page with blocks "code-block:: console", or literal blocks that begin with a command of the project.
SHOWS = re.compile(r"^ *\.\. code-block:: console$|::\n\n +(?:\$ )?(?:\./npu |onpu-emu |webnn-run )", re.M)
NOT_TYPED = {
    "adding": "the operator has to be written first, and its tests compile and take longer than 5 s",
    "coredump": "the commands start a guest; guest_smi.sh and smi-program test onpu-smi dump",
    "dimensions": "the models are the reader's own; tools-run has each command, and the example is a test of the suite library",
    "driver": "the commands build the driver and load it as root; ./npu check driver and the guest tests do so",
    "emulator": "the commands start a server and a guest; guest_*.sh do so",
    "generate": "the model is the reader's own; gguf-generate has each command on models that it makes",
    "guest": "the commands start guests",
    "guide": "the command opens a shell for the reader; each example of the page is a test of the suite examples or library",
    "webnn-run": "the model is the reader's own; the suite tools has each command on models that it makes",
}


def main():
    typed = set(sys.argv[1:])
    shown = {page.stem for page in DOCUMENTATION.glob("*.rst") if SHOWS.search(page.read_text(encoding="utf-8"))}
    wrong = [f"{page}.rst shows commands: add it to the pages of tests/documents/meson.build, or to NOT_TYPED of "
             "test_typed.py with the reason" for page in sorted(shown - typed - set(NOT_TYPED))]
    wrong += [f"{page}.rst is typed, and stands in NOT_TYPED" for page in sorted(typed & set(NOT_TYPED))]
    wrong += [f"{page}.rst shows no commands: take it from the list" for page in sorted((typed | set(NOT_TYPED)) - shown)]
    print("\n".join(wrong) or f"{len(shown)} pages, {len(typed)} of them typed")
    return 1 if wrong or not typed else 0


if __name__ == "__main__":
    sys.exit(main())
