#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the logits of small models against a reference in numpy, and those of SmolLM2 against llama.cpp,
where both were fetched. test_model.py WEBNN_RUN GGUF_READ SAMPLES GGUF_LOGITS
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import llama_cpp
import small_model

SAMPLES, LOGITS = pathlib.Path(sys.argv[3]), sys.argv[4]
LLAMA, SMOLLM2 = SAMPLES / "ggml/llama", SAMPLES / "smollm2.gguf"
TOKENS = [5, 256, 7, 270, 99, 3, 3, 200, 41, 8, 260]


def normed(x, weight):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def rotated(x, count, divisors):
    """Returns x [positions, heads, size] with its pairs of neighbours rotated, among the first
    @count numbers of each head. The angles of the pairs are divided by @divisors.
    """
    angles = np.arange(len(x))[:, None, None] * 10000.0 ** (-np.arange(0, count, 2) / count) / divisors
    a, b = x[..., 0:count:2], x[..., 1:count:2]
    y = x.copy()
    y[..., 0:count:2] = a * np.cos(angles) - b * np.sin(angles)
    y[..., 1:count:2] = a * np.sin(angles) + b * np.cos(angles)
    return y


def reference(weights, tokens, layers=2, heads=4, key_heads=2, size=16, turned=None, divisors=1.0):
    """Returns the logits after every token, in double, computed from all tokens at once. The first
    @turned numbers of a head are rotated (None: all), by angles that are divided by @divisors.
    """
    w = {name: weight.astype(float) for name, weight in weights.items()}
    x = w["token_embd.weight"][tokens]
    count = len(tokens)
    for i in range(layers):
        part = {name.split(".")[2]: weight for name, weight in w.items() if name.startswith(f"blk.{i}.")}
        y = normed(x, part["attn_norm"])
        q = rotated((y @ part["attn_q"].T).reshape(count, heads, size), turned or size, divisors)
        k = rotated((y @ part["attn_k"].T).reshape(count, key_heads, size), turned or size, divisors)
        v = (y @ part["attn_v"].T).reshape(count, key_heads, size)
        out = np.zeros((count, heads, size))
        for h in range(heads):
            group = h // (heads // key_heads)
            scores = q[:, h] @ k[:, group].T / size ** 0.5
            scores[np.triu_indices(count, 1)] = -np.inf
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, h] = scores / scores.sum(-1, keepdims=True) @ v[:, group]
        x = x + out.reshape(count, -1) @ part["attn_output"].T
        y = normed(x, part["ffn_norm"])
        gate = y @ part["ffn_gate"].T
        x = x + (gate / (1 + np.exp(-gate)) * (y @ part["ffn_up"].T)) @ part["ffn_down"].T
    return normed(x, w["output_norm.weight"]) @ w.get("output.weight", w["token_embd.weight"]).T


def set_key(file, name, value):
    file.keys = [k for k in file.keys if not k[8:].startswith(name.encode())]
    file.add(name, value)


class Model(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "model.gguf"

    def run_model(self, *arguments, device="cpu", path=None):
        return subprocess.run([LOGITS, path or self.path, *map(str, arguments)], capture_output=True, check=False,
                              env={**os.environ, "WEBNN_DEVICE": device})

    def logits(self, length, block, *lists, device="cpu", path=None):
        done = self.run_model(length, block, *(",".join(map(str, l)) for l in lists), device=device, path=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.frombuffer(done.stdout, np.float32).reshape(len(lists), -1)

    def check(self, device, length, block, ends, tolerance=1e-4, **options):
        """Feeds TOKENS in slices that end at @ends, and compares the logits after each slice."""
        file, _, weights = small_model.small(small_model.pair_tokenizer, "gpt-2", **options)
        file.save(self.path)
        lists = [TOKENS[a:b] for a, b in zip([0, *ends], ends)]
        got = self.logits(length, block, *lists, device=device)
        shape = {name: options[name] for name in ("layers", "heads", "key_heads", "size") if name in options}
        want = reference(weights, TOKENS[:ends[-1]], **shape)[[end - 1 for end in ends]]
        self.assertGreater(want.std(), 0.1)
        np.testing.assert_allclose(got, want, atol=tolerance * np.abs(want).max())

    def test_steps(self):
        for length, block, ends in ((16, 4, [11]), (16, 4, [6, 7, 8, 9, 11]), (11, 1, [1, 2, 11]), (12, 8, [8, 9, 10, 11])):
            with self.subTest(block=block, ends=ends):
                self.check("cpu", length, block, ends)

    def test_types(self):
        for kind in ("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4"):
            with self.subTest(kind):
                self.check("cpu", 12, 4, [7, 8], kind=kind, embedding=kind, tied=True)
        for kind in ("Q4_K", "Q5_K", "Q6_K", "IQ4_XS"):
            with self.subTest(kind):
                self.check("cpu", 12, 4, [7, 8], kind=kind, width=256, hidden=256, heads=16, key_heads=4, layers=1)

    def test_shapes(self):
        self.check("cpu", 12, 4, [7, 8], heads=4, key_heads=1)
        self.check("cpu", 12, 4, [7, 8], heads=2, key_heads=2, size=32)

    def test_rotation(self):
        """Tests models that rotate a part of each head, with scaling and with factors for each
        frequency.
        """
        factors, scaling = np.linspace(1, 8, 4, dtype=np.float32), "llama.rope.scaling."
        for keys, tensor, divisors in (({}, None, 1.0), ({scaling + "factor": 4.0}, None, 4.0),
                                       ({"llama.rope.scale_linear": 3.0}, None, 3.0), ({}, factors, factors),
                                       ({scaling + "factor": 4.0, scaling + "type": "none"}, None, 1.0)):
            with self.subTest(keys=keys, divisors=divisors):
                file, _, weights = small_model.small(small_model.pair_tokenizer, "gpt-2", layers=1)
                for name, value in {"llama.rope.dimension_count": 8, **keys}.items():
                    set_key(file, name, value)
                if tensor is not None:
                    file.tensor("rope_freqs.weight", (len(tensor),), "F32", tensor.tobytes())
                file.save(self.path)
                got = self.logits(12, 4, TOKENS[:7], TOKENS[7:8])
                want, other = (reference(weights, TOKENS[:8], layers=1, **options)[6:]
                               for options in ({"turned": 8, "divisors": divisors}, {}))
                np.testing.assert_allclose(got, want, atol=1e-4 * np.abs(want).max())
                # The test would find a wrong rotation: another one gives other logits.
                self.assertGreater(np.abs(want - other).max(), 1e-2 * np.abs(want).max())

    def test_sim(self):
        for kind in ("F32", "Q4_1"):
            with self.subTest(kind):
                self.check("sim", 8, 4, [5, 6, 7], tolerance=2e-3, kind=kind, layers=1)

    def test_refusals(self):
        def refuses(change, message):
            file = small_model.small(small_model.pair_tokenizer, "gpt-2", layers=1)[0]
            change(file)
            file.save(self.path)
            done = self.run_model(8, 4, "1")
            self.assertEqual((done.returncode, done.stderr.decode()), (2, message + "\n"))

        def drop(name):
            return lambda file: file.tensors.remove(next(t for t in file.tensors if t[0] == name))

        def key(name, value):
            return lambda file: set_key(file, name, value)

        def other(name, sizes, kind="F32"):
            def change(file):
                drop(name)(file)
                file.tensor(name, sizes, kind, bytes(4 * int(np.prod(sizes))))
            return change

        refuses(lambda file: file.keys.pop(0), "key general.architecture is missing")
        refuses(key("general.architecture", "gemma3"), 'its architecture is "gemma3", which cannot be run; llama can')
        refuses(drop("blk.0.attn_q.weight"), 'tensor "blk.0.attn_q.weight" is missing')
        refuses(lambda file: file.tensor("blk.0.attn_q.bias", (64,), "F32", bytes(256)),
                'tensor "blk.0.attn_q.bias" is unknown in models of the architecture llama with a block_count of 1')
        refuses(key("llama.block_count", 2000), "key llama.block_count is 2000; it must be at most 1024")
        refuses(key("llama.block_count", 0), "key llama.block_count is 0; it must be at least 1")
        refuses(key("llama.embedding_length", 128),
                'tensor "blk.0.attn_norm.weight" has shape [64], but it must have [128]')
        refuses(other("blk.0.attn_q.weight", (64, 64, 2)),
                'tensor "blk.0.attn_q.weight" has shape [2, 64, 64], but it must have [64, 64]')
        refuses(drop("token_embd.weight"), 'tensor "token_embd.weight" is missing')
        refuses(other("token_embd.weight", (64, 4, 2)), 'tensor "token_embd.weight" has 3 dimensions; it must have 2')
        refuses(other("token_embd.weight", (32, 4)),
                'tensor "token_embd.weight" has rows of 32 numbers, but key llama.embedding_length is 64')
        refuses(other("token_embd.weight", (64, 4), "I32"),
                'tensor "token_embd.weight" has type I32, which cannot be read')
        refuses(key("llama.attention.head_count_kv", 3),
                "llama.attention.head_count is 4, head_count_kv 3, key_length 16, value_length 16 and "
                "llama.rope.dimension_count 16: the first must be a multiple of the second, the lengths equal, the "
                "last even and at most the lengths, and heads of up to 1048576 numbers in all")
        refuses(key("llama.expert_count", 8), "it is a mixture of 8 experts, which cannot be run")
        refuses(key("llama.rope.scaling.type", "yarn"),
                'llama.rope.scaling.type is "yarn", which cannot be run; none and linear can')
        refuses(key("llama.attention.layer_norm_rms_epsilon", 0.0),
                "key llama.attention.layer_norm_rms_epsilon is 0; it must be above 0")
        refuses(key("llama.rope.freq_base", -1.0), "key llama.rope.freq_base is -1; it must be above 0")
        refuses(key("llama.rope.scaling.factor", -2.0),
                "key llama.rope.scaling.factor is -2; it must be 0 (no scaling) or more")
        refuses(key("llama.rope.scale_linear", -2.0),
                "key llama.rope.scale_linear is -2; it must be 0 (no scaling) or more")

    def test_full(self):
        small_model.small(small_model.pair_tokenizer, "gpt-2", layers=1)[0].save(self.path)
        done = self.run_model(4, 4, "1,2,3,4", "5")
        self.assertEqual(done.stderr.decode(), "the caches have room for 4 tokens and hold 4: 1 more cannot be added\n")
        done = self.run_model(4, 4, "5000")
        self.assertIn("the model has no token 5000; it has 0 to ", done.stderr.decode())

    def test_smollm2(self):
        if not (SMOLLM2.exists() and LLAMA.exists()):
            self.skipTest(f"{SMOLLM2} or {LLAMA} was not fetched (scripts/fetch-samples.sh)")
        llama = llama_cpp.Llama(LLAMA, SMOLLM2)
        prompt = llama.tokens("The capital of France is", True, False)
        paris = llama.tokens(" Paris", False, False)
        got = self.logits(32, 8, prompt, paris, path=SMOLLM2)
        self.assertEqual([int(got[0].argmax())], paris)
        for i, tokens in enumerate((prompt, prompt + paris)):
            want = np.array(llama.logits(tokens))
            # llama.cpp rounds activations to 8 bits.
            self.assertLess(np.abs(got[i] - want).max(), 0.05 * np.abs(want).max())
            self.assertGreater(np.corrcoef(got[i], want)[0, 1], 0.997)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
