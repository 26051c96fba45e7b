#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the man page and the completion of webnn-run have all options: test_documents.py
WEBNN_RUN FOLDER
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

PROGRAM, FOLDER = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()


def help_of(*command):
    return subprocess.run([PROGRAM, *command, "--help"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


COMMANDS = re.findall(r"^  ([a-z]+) +\S", help_of(), re.MULTILINE)


def options_of(command):
    found = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", help_of(command), re.MULTILINE))
    return found - {"--help", "--usage"}


def complete(*words):
    """Returns the words that bash offers to complete the last of @words."""
    script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _webnn_run;'
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", script, "bash", FOLDER / "webnn-run.bash", PROGRAM, *words],
                          stdout=subprocess.PIPE, text=True, check=True, cwd=FOLDER)
    return set(done.stdout.split())


class Documents(unittest.TestCase):
    def setUp(self):
        page = (FOLDER / "webnn-run.1").read_text().replace("\\-", "-")
        self.page = re.sub(r"\\f.", "", page)

    def test_there_are_commands(self):
        self.assertLessEqual({"info", "run", "bench", "compile", "explain", "profile", "compare", "extract"}, set(COMMANDS))
        # The doctor takes no model, and models of generate and transcribe have no dimensions that are open.
        for command in ("generate", "transcribe"):
            self.assertIn("--device", options_of(command))
        for command in set(COMMANDS) - {"doctor", "generate", "transcribe"}:
            self.assertLessEqual({"--device", "--dim"}, options_of(command))

    def test_man_page(self):
        for command in COMMANDS:
            self.assertIn(f".TP\n.B {command}\n", self.page)
        known = set().union(*map(options_of, COMMANDS))
        told = set(re.findall(r"^\.BR? (?:-\w \", \" )?(--[a-z-]+)", self.page, re.MULTILINE))
        self.assertEqual(told, known)

    def test_completion(self):
        self.assertEqual(complete(""), {*COMMANDS, "--help", "--version"})
        for command in COMMANDS:
            self.assertEqual(complete(command, "--"), options_of(command) | {"--help", "--usage"})
        self.assertEqual(complete("run", "--device", ""), {"npu", "sim", "cpu"})
        self.assertEqual(complete("run", "--layout", "=", "nh"), {"nhwc"})
        self.assertIn("webnn-run.bash", complete("run", os.path.join("webnn-r")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
