#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that programs with libwebnn-stablehlo end when address space is limited (ulimit -v):
test_address_space.py STABLEHLO_TEST

OpenBLAS waits for ever for memory that it does not get. Only programs with linear algebra load
OpenBLAS; they say how much is missing.
"""
import pathlib
import resource
import subprocess
import sys
import unittest

LINEAR = pathlib.Path(__file__).resolve().parent / "programs/linear.mlir"
PROGRAM = sys.argv[1]
MIB = 1 << 20


def run(mib, path):
    limit = mib * MIB if mib else resource.RLIM_INFINITY
    return subprocess.run([PROGRAM, "--device=cpu", path], text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


class AddressSpace(unittest.TestCase):
    def test_no_file(self):
        for mib in (60, 100, 150, 200, 300, 500):
            done = run(mib, "/nonexistent.mlir")
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("No such file", done.stdout, f"{mib} MiB")

    def test_linear_algebra(self):
        done = run(None, LINEAR)
        self.assertEqual(done.returncode, 0, done.stdout)
        for mib in (60, 100, 150, 180):
            done = run(mib, LINEAR)
            self.assertEqual(done.returncode, 1, f"{mib} MiB: {done.stdout}")
            self.assertRegex(done.stdout, f"stablehlo.cholesky: this process may have {mib} MiB of address space .ulimit -v., "
                                          "but OpenBLAS needs [0-9]+ MiB more")


if __name__ == "__main__":
    # With sanitizers, a program needs more address space than any limit of this test.
    if "Sanitizer" in run(1 << 20, "/nonexistent.mlir").stdout:
        print("not with a sanitizer")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
