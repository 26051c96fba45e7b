#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the README's program is the one that is compiled, and that its counts are those of the
tables.

test_readme.py CHECKOUT PROGRAM
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

TOP = pathlib.Path(sys.argv[1])
PROGRAM = sys.argv[2]


def read(name):
    return (TOP / name).read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_program(self):
        """Tests that the README has the file's text after the licence line, word for word."""
        shown = re.findall(r"^```c\n(.*?)^```$", read("README.md"), re.M | re.S)
        self.assertEqual(shown, [read("Documentation/examples/readme.c").split("\n", 1)[1]])

    def test_output(self):
        # The program releases nothing before it ends, which the sanitizer calls leaks.
        env = os.environ | {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        done = subprocess.run([PROGRAM], stdout=subprocess.PIPE, text=True, check=True, env=env)
        self.assertEqual(done.stdout, "0 2 0 4\n")
        self.assertIn("prints `0 2 0 4`", read("README.md"))

    def test_counts(self):
        """Tests that the README's number of operators of each interface is the number of rows in
        its table.
        """
        groups = json.loads(read("userspace/webnn.json"))["operators"]
        onnx = read("userspace/import/onnx/table.c")
        kinds = read("userspace/import/stablehlo/kinds.def")
        text = " ".join(read("README.md").split())
        for count, what in (
                (sum(len(group["methods"]) for group in groups), "operators of WebNN"),
                (len(set(re.findall(r'\{ ONNX "(\w+)"', onnx))), "operators of ONNX"),
                (len(set(re.findall(r'\{ MS "(\w+)"', onnx))), "of `com.microsoft`"),
                (len(set(re.findall(r'KIND\("stablehlo\.(\w+)"', kinds))), "operations of StableHLO"),
                (len(set(re.findall(r'KIND\("chlo\.(\w+)"', kinds))), "of CHLO")):
            self.assertIn(f"{count} {what}", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
