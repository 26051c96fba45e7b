#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests ./npu bench operators: test_operators.py BUILD. It checks that times are reported, not how
long they are.
"""
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
BENCH = ROOT / "tests" / "bench" / "bench_operators.py"


def bench(*arguments):
    return subprocess.run([sys.executable, "-B", BENCH, "--build", BUILD, "--rounds", "1", "--turn", "0", *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


class Operators(unittest.TestCase):
    def test_json(self):
        """Tests operators that both sides run, one that ONNX Runtime lacks, one that takes no time,
        and one with a subgraph.
        """
        done = bench("--json", "--threads", "1", "And", "Relu", "If", "SwiGLU", "Shape")
        if done.returncode == 77:
            print(done.stdout.strip())
            sys.exit(77)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(list(result["operators"]), ["And", "Relu", "If", "SwiGLU"])
        self.assertEqual(list(result["alone"]), ["Shape"])
        for name in ("And", "Relu", "If"):
            row = result["operators"][name]["t1"]
            self.assertGreater(row["ours_ms"], 0)
            self.assertAlmostEqual(row["ratio"], row["ours_ms"] / row["ort_ms"])
            self.assertLess(row["difference"], 1e-6)
        alone = result["operators"]["SwiGLU"]["t1"]
        self.assertGreater(alone["ours_ms"], 0)
        self.assertNotIn("ratio", alone)
        self.assertIn("find an implementation", alone["ort_failure"])

    def test_unknown(self):
        done = bench("Rleu")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no operator Rleu", done.stderr)


if __name__ == "__main__":
    unittest.main()
