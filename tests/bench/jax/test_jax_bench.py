#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests ./npu bench jax: test_jax_bench.py BUILD. It checks that times are reported, not how long
they are.
"""
import json
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(sys.argv.pop()).resolve()
BENCH = ROOT / "tests" / "bench" / "bench_jax.py"


def bench(*arguments):
    return subprocess.run([sys.executable, "-B", BENCH, "--build", BUILD, "--rounds", "1", "--turn", "0", *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


class Jax(unittest.TestCase):
    def test_json(self):
        """Tests programs with one result, with several, and with complex numbers."""
        done = bench("--json", "--threads", "1", "cholesky", "top_k", "fft")
        if done.returncode == 77:
            print(done.stdout.strip())
            sys.exit(77)
        self.assertEqual(done.returncode, 0, done.stderr)
        programs = json.loads(done.stdout)["programs"]
        self.assertEqual(list(programs), ["cholesky", "top_k", "fft"])
        for row in programs.values():
            row = row["t1"]
            self.assertGreater(row["ours_ms"], 0)
            self.assertAlmostEqual(row["ratio"], row["ours_ms"] / row["jaxlib_ms"])
            self.assertLess(row["difference"], 1e-5)

    def test_unknown(self):
        done = bench("colesky")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no program colesky", done.stderr)


if __name__ == "__main__":
    unittest.main()
