#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests programs that compare their own results: test_programs.py STABLEHLO_TEST DEVICE.

Our own programs must all pass; those of StableHLO's tests run if ../shared/stablehlo is there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared/stablehlo"
PROGRAM, DEVICE = sys.argv[1:3]


def run(*paths):
    with tempfile.NamedTemporaryFile() as file:
        done = subprocess.run([PROGRAM, "--device", DEVICE, "--json", file.name, *map(str, paths)],
                              check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done, json.load(file)


class Programs(unittest.TestCase):
    def test_own(self):
        done, result = run(HERE / "programs")
        self.assertEqual((done.returncode, result["failed"], result["refused"]), (0, 0, 0), done.stderr)
        self.assertGreater(result["passed"], 20)

    def test_graphs(self):
        """Tests that all of these programs become graphs on a device, with no operator on the CPU.
        """
        done, result = run(HERE / "programs/graphs.mlir")
        self.assertEqual(result["passed"], result["total"], done.stderr)
        self.assertEqual(result["no_cpu_operator"], 0 if DEVICE == "cpu" else result["total"])

    def test_wrong(self):
        """Tests that a comparison that fails is reported as a failure, with its location."""
        done, result = run(HERE / "wrong.mlir")
        self.assertEqual((done.returncode, result["failed"], result["passed"]), (1, result["total"], 0), done.stderr)
        self.assertIn("line 8, column 3: check.expect_eq_const: element 1 is 2, expected is 3", done.stderr)

    @unittest.skipUnless(SHARED.is_dir(), f"there is no {SHARED.name} beside the checkout")
    def test_interpreter(self):
        done, result = run(SHARED / "interpret")
        self.assertEqual((result["failed"], result["refused"]), (0, 0), done.stderr)
        self.assertGreater(result["passed"], 300)

    @unittest.skipUnless(SHARED.is_dir(), f"there is no {SHARED.name} beside the checkout")
    def test_testdata(self):
        done, result = run(SHARED / "testdata")
        self.assertEqual(result["failed"], 0, done.stderr)
        self.assertGreaterEqual(result["passed"], 0.99 * result["total"])
        self.assertGreaterEqual(result["no_cpu_operator"], 0 if DEVICE == "cpu" else 450)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
