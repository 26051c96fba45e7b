#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that webnn-run info describes files of GGUF, and says what is wrong with damaged ones.
test_file.py WEBNN_RUN GGUF_READ
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

import gguf_file

PROGRAM = sys.argv[1]


def small(version=3):
    file = gguf_file.File(version)
    file.add("general.architecture", "llama")
    file.add("general.name", "A small one")
    file.add("llama.context_length", 128)
    file.add("tokenizer.ggml.model", "gpt2")
    file.add("tokenizer.ggml.pre", "smollm")
    file.add("tokenizer.ggml.tokens", ["a", "b", "c"])
    file.tensor("x", (32, 4), "Q4_1", bytes(80))
    file.tensor("y", (3,), "F32", bytes(12))
    file.tensor("z", (256,), "Q2_K", bytes(84))
    return file


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "model.gguf"

    def info(self, data, *options):
        self.path.write_bytes(data)
        return subprocess.run([PROGRAM, "info", self.path, *options], text=True, capture_output=True, check=False)

    def refuses(self, data, text):
        done = self.info(data)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"webnn-run: {self.path}: {text}\n")

    def test_text(self):
        for version in (2, 3):
            done = self.info(small(version).bytes())
            self.assertEqual(done.returncode, 0, done.stderr)
            for line in (f"GGUF, version {version}, \"A small one\"", "architecture   llama",
                         "parameters     387 in 3 tensors", "Q4_1         1 tensor, 0.0 MiB", "context        128 tokens",
                         "tokenizer      gpt2 (smollm), 3 tokens",
                         "Q2_K         1 tensor, 0.0 MiB, which cannot be read"):
                self.assertIn(line, done.stdout)

    def test_printable(self):
        """Tests that texts of a file cannot control the terminal, and that long ones are cut off.
        """
        bad = "\x1b[2J\r\n\x7f\x9b2Jé"
        file = gguf_file.File()
        for key in ("general.name", "general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre"):
            file.add(key, bad + "x" * 1000)
        done = self.info(file.bytes())
        self.assertEqual(done.returncode, 0, done.stderr)
        for character in done.stdout.replace("\n", ""):
            self.assertTrue(character.isprintable(), done.stdout.encode())
        self.assertEqual(done.stdout.count("?[2J???"), 4)
        self.assertEqual(done.stdout.count("é" + "x" * 100), 4)
        self.assertNotIn("x" * 121, done.stdout)
        file = gguf_file.File()
        file.tensor(bad, (16,), "Q4_0", b"")
        self.refuses(file.bytes(), 'tensor "?[2J?????2Jé" has rows of 16 elements, which are not whole blocks of Q4_0: '
                                   "these have 32")

    def test_json(self):
        result = json.loads(self.info(small().bytes(), "--json", "-").stdout)
        self.assertEqual(result["types"], {"Q4_1": {"tensors": 1, "bytes": 80, "read": True},
                                           "F32": {"tensors": 1, "bytes": 12, "read": True},
                                           "Q2_K": {"tensors": 1, "bytes": 84, "read": False}})
        self.assertEqual([result[k] for k in ("architecture", "parameters", "context", "pre", "tokens")],
                         ["llama", 387, 128, "smollm", 3])

    def test_nothing(self):
        done = self.info(gguf_file.File().bytes())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("architecture   unknown", done.stdout)

    def test_versions(self):
        self.refuses(small(1).bytes(), "it has version 1 of GGUF; 2 and 3 are read")
        self.refuses(b"GGUF" + struct.pack(">I", 3) + bytes(16),
                     "its numbers are big-endian; only little-endian files are read")

    def test_every_length(self):
        """Tests that a file that is cut off anywhere is refused, except in the padding after the
        last tensor.
        """
        data = small().bytes()
        end = len(data) - (-84 % 32)
        for length in range(4, len(data), 13):
            done = self.info(data[:length])
            self.assertEqual(done.returncode, 2 if length < end else 0, length)
            if length < end:
                self.assertRegex(done.stderr, "it ends (within|before)|it cannot have")

    def test_keys(self):
        def file(*keys):
            made = gguf_file.File()
            made.keys += keys
            return made.bytes()

        name = gguf_file.text("k")
        self.refuses(file(name + struct.pack("<I", 13)), 'key "k" has values of kind 13; there are kinds 0 to 12')
        self.refuses(file(name + struct.pack("<IIQ", 9, 9, 1)), 'key "k" is an array of arrays')
        self.refuses(file(name + struct.pack("<IIQ", 9, 12, 1 << 61)), 'it ends within key "k"')
        self.refuses(file(name + struct.pack("<IIQ", 9, 8, 1) + struct.pack("<Q", (1 << 64) - 1)),
                     'it ends within key "k"')
        self.refuses(file(name + struct.pack("<IB", 0, 1), name + struct.pack("<IB", 0, 1)),
                     'it has key "k" twice')
        made = gguf_file.File()
        made.add("general.alignment", 32)
        self.refuses(made.bytes().replace(b"\x04\0\0\0\x20\0\0\0", b"\x04\0\0\0\x21\0\0\0"),
                     "general.alignment is 33; it must be a power of two")
        made = gguf_file.File()
        made.add("general.architecture", 1)
        self.refuses(made.bytes(), "key general.architecture is no string")
        for value, kind in ((-1, "int32"), (1.0, "float32"), ([1], "uint32")):
            made = gguf_file.File()
            made.add("general.architecture", "x")
            made.add("x.context_length", value, kind)
            self.assertIn("key x.context_length", self.info(made.bytes()).stderr)

    def test_counts(self):
        for tensors, keys in ((1 << 63, 0), (0, 1 << 63), (1, 1)):
            data = b"GGUF" + struct.pack("<IQQ", 3, tensors, keys)
            self.refuses(data, f"it cannot have {keys} keys and {tensors} tensors in 24 bytes")

    def test_tensors(self):
        def file(sizes, kind="F32", offset=0, number=None, rank=None, twice=False, second=32):
            number = gguf_file.TYPES[kind][0] if number is None else number
            offsets = [offset, second] if twice else [offset]
            head = b"GGUF" + struct.pack("<IQQ", 3, len(offsets), 0)
            for at in offsets:
                head += gguf_file.text("t") + struct.pack("<I", rank or len(sizes))
                head += struct.pack(f"<{len(sizes)}QIQ", *sizes, number, at)
            return head + bytes(-len(head) % 32) + bytes(64)

        self.assertEqual(self.info(file([16])).returncode, 0)
        self.refuses(file([17]), 'it ends before tensor "t" does: a part of the file is missing')
        self.refuses(file([1], offset=64 + 32), 'it ends before tensor "t" does: a part of the file is missing')
        self.refuses(file([1], offset=1 << 63), 'it ends before tensor "t" does: a part of the file is missing')
        self.refuses(file([1], offset=3),
                     'tensor "t" begins at offset 3, which is no multiple of the alignment 32')
        self.refuses(file([1], number=4), 'tensor "t" has type 4, which is unknown')
        self.refuses(file([1] * 5), 'tensor "t" has 5 dimensions; 4 are the most')
        self.refuses(file([16, 1], kind="Q4_0"),
                     'tensor "t" has rows of 16 elements, which are not whole blocks of Q4_0: these have 32')
        for sizes in ([0], [1 << 33, 1 << 33]):
            self.refuses(file(sizes), 'tensor "t" has a dimension of 0, or more elements than can be counted')
        self.refuses(file([1 << 31, 1 << 31]), 'tensor "t" has more bytes than can be counted')
        self.refuses(file([1], twice=True), 'it has tensor "t" twice')
        for first, second, end in ((0, 0, 20), (32, 0, 52)):
            self.refuses(file([5], offset=first, twice=True, second=second),
                         f'tensor "t" begins at offset {second}, but the tensors before it end at {end}')


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
