#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the elements of tensors of every type that is read. test_values.py WEBNN_RUN GGUF_READ"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import formats
import gguf_file

READ = sys.argv[2]


class Values(unittest.TestCase):
    def read(self, kind, data, elements):
        with tempfile.TemporaryDirectory() as folder:
            file = gguf_file.File()
            file.tensor("before", (3,), "F32", bytes(12))
            file.tensor("t", elements, kind, data)
            path = file.save(pathlib.Path(folder) / "t.gguf")
            done = subprocess.run([READ, "values", path, "t"], check=True, stdout=subprocess.PIPE)
        return np.frombuffer(done.stdout, np.float32)

    def test_blocks(self):
        rng = np.random.default_rng(44)
        for kind in formats.BLOCKS:
            with self.subTest(kind):
                data = formats.random_blocks(kind, rng, 40)
                got = self.read(kind, data, (gguf_file.TYPES[kind][1] * 4, 10))
                want = formats.decode(kind, data)
                self.assertGreater(len(np.unique(want)), 100)
                np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)

    def test_floats(self):
        every = np.arange(65536, dtype=np.uint16)
        np.testing.assert_array_equal(self.read("F16", every.tobytes(), (256, 256)), formats.decode("F16", every.tobytes()))
        got = self.read("BF16", every.tobytes(), (256, 256))
        np.testing.assert_array_equal(got, formats.decode("BF16", every.tobytes()))
        some = np.array([1.5, -0.0, np.inf, 1e-45], np.float32)
        np.testing.assert_array_equal(self.read("F32", some.tobytes(), (4,)).view(np.uint32), some.view(np.uint32))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
