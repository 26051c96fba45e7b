#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that programs with the library do not hang when address space is limited (ulimit -v):
test_address_space.py PROGRAM

OpenBLAS waits for ever for memory that it does not get. A program without products does not load
OpenBLAS; one with products says how much is missing. oneDNN needs less: when it can be loaded,
products are computed.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
MIB = 1 << 20
SIZE = 64
LINES = 4


def tensor(name, value, lines):
    return {"name": name, "dataType": "float32", "shape": [lines, SIZE], "fill": value}


def product():
    """Returns a case with a product of two inputs that has so few rows that none of our own kernels
    takes it.
    """
    call = {"name": "matmul", "outputs": ["y"],
            "arguments": {"a": {"operand": "a"}, "b": {"operand": "b"}}}
    return {"format": "webnn-conformance/1", "operator": "matmul", "cases": [{
        "name": "product", "inputs": [tensor("a", 1, LINES), tensor("b", 2, SIZE)], "operators": [call],
        "expectedOutputs": [tensor("y", 2 * SIZE, LINES)], "tolerance": {"metric": "ULP", "value": 0}}]}


def run(mib, path, **layer):
    limit = mib * MIB if mib else resource.RLIM_INFINITY
    return subprocess.run([PROGRAM, "--device=cpu", "--threads=2", path], text=True, timeout=60,
                          env=os.environ | layer, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


class AddressSpace(unittest.TestCase):
    def test_no_file(self):
        for mib in (20, 60, 100, 150, 200, 300, 500):
            done = run(mib, "/nonexistent")
            self.assertNotIn(done.returncode, (0, None), done.stdout)
            self.assertRegex(done.stdout, "No such file|memory|no thread|cannot", f"{mib} MiB")

    def test_product(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "product.json"
            path.write_text(json.dumps(product()))
            for layer in {}, {"WEBNN_CPU_LAYER": "openblas"}:
                done = run(None, path, **layer)
                self.assertEqual(done.returncode, 0, done.stdout)
                for mib in (60, 80, 100, 120, 140, 150, 200, 250, 300):
                    done = run(mib, path, **layer)
                    if done.returncode == 0 and not layer:
                        continue
                    self.assertEqual(done.returncode, 1, f"{mib} MiB: {done.stdout}")
                    # How much memory threads take that begin at the same time depends on how busy
                    # the processors are.
                    self.assertRegex(done.stdout, f"this process may have {mib} MiB of address space .ulimit -v., but "
                                                  "OpenBLAS needs [0-9]+ MiB more|no thread can be started")


if __name__ == "__main__":
    # Sanitizers need more address space than any limit leaves.
    if "Sanitizer" in run(1 << 20, "/nonexistent").stdout:
        print("not with a sanitizer")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
