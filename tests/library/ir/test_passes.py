# SPDX-License-Identifier: MIT
"""Tests passes on graphs as text: test_passes.py IR-OPT runs the cases of every file
passes/NAME.ir.

A case is

    ;; what it shows
    ;; run: PASS…
    the text of a graph
    ;; gives
    what ir-opt prints

In the expected text, values have the numbers that ir-opt gives them, from 0. ";; run:" with
"supports" as the last word prints what the NPU takes, with "views" which values share memory on the
CPU.
"""
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def cases(path):
    """Returns (line, title, words of run, text, expected text) of each case."""
    found, part = [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(keepends=True), 1):
        if line.startswith(";; run:"):
            found[-1][2] += line[len(";; run:"):].split()
            part = 3
        elif line.startswith(";; gives"):
            part = 4
        elif line.startswith(";;"):
            found.append([number, line[2:].strip(), [], "", ""])
            part = None
        elif line.strip() and part:
            found[-1][part] += line
        elif line.strip() and not line.startswith("; "):
            raise ValueError(f"{path}:{number}: this belongs to no case")
    return found


class Passes(unittest.TestCase):
    maxDiff = None

    def test_files(self):
        files = sorted((HERE / "passes").glob("*.ir"))
        self.assertTrue(files)
        for path in files:
            found = cases(path)
            self.assertTrue(found, path)
            for line, title, words, text, wanted in found:
                with self.subTest(file=path.name, line=line, title=title):
                    self.assertTrue(words and text and wanted, "the case lacks a part")
                    done = subprocess.run([IR_OPT, *words], input=text, capture_output=True, text=True)
                    self.assertEqual(done.stdout + done.stderr, wanted)

    def test_mistakes(self):
        for words, text, message in ((["fold"], "%0", "line 1, column 3: a data type is expected, such as float32\n"),
                                     (["fould"], "", 'there is no pass "fould"\n')):
            done = subprocess.run([IR_OPT, *words], input=text, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, message))


if __name__ == "__main__":
    IR_OPT = sys.argv.pop(1)
    unittest.main()
