#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""onpu-demo: what one run keeps, another one compares with, to the bit.

test_demo.py ONPU_DEMO
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.run_demo("--record", cls.path / "record", "--json", cls.path / "here.json")
        cls.record = json.loads((cls.path / "record").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_demo(cls, *options, status=0):
        done = subprocess.run([PROGRAM, "--device", "sim", "--models", cls.path / "none", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def compare(self, record, status=0):
        path = self.path / "changed"
        path.write_text(json.dumps(record))
        said = self.run_demo("--compare", path, "--json", self.path / "out.json", status=status)
        return said if status else json.loads((self.path / "out.json").read_text())

    def test_same_figures(self):
        here = json.loads((self.path / "here.json").read_text())
        there = self.compare(self.record)
        for data in here, there:
            self.assertEqual(data["digits"]["count"], 359)
            del data["digits"]["ms"]["sim"]
        self.assertAlmostEqual(here["digits"]["ms"].pop("cpu"), there["digits"]["ms"].pop("cpu"))
        self.assertEqual(here, there)

    def test_record_is_the_answer(self):
        """What is compared with is what the file says, not what the CPU would compute."""
        record = json.loads(json.dumps(self.record))
        rows = record["digits"]["cpu"]["results"]
        rows[7] = rows[7][1:] + rows[7][:1]
        self.assertEqual(self.compare(record)["digits"]["agree"], 358)

    def test_bits(self):
        """The decimal numbers stand for the bits: the model's own results come back the same."""
        again = self.path / "again"
        self.run_demo("--record", again)
        self.assertEqual(json.loads(again.read_text())["digits"]["sim"]["results"],
                         self.record["digits"]["sim"]["results"])

    def test_missing(self):
        self.assertIn("no results of 'digits' on 'cpu'",
                      self.compare({"digits": {"sim": {}}}, status=1))
        short = json.loads(json.dumps(self.record))
        short["digits"]["cpu"]["results"].pop()
        self.assertIn("picture 358: 0 results recorded, not 10", self.compare(short, status=1))
        self.assertIn("nowhere", self.run_demo("--compare", "/nowhere", status=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
