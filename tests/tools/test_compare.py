#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run compare: test_compare.py WEBNN_RUN"""
import json
import subprocess
import tempfile

import numpy as np
from onnx import TensorProto

from common import PROGRAM, USAGE, ToolTest, main, node, on_devices, perceptron, same, save

SIZE = 300


def make(folder, nodes, last="y"):
    return save(folder, "made", nodes, [("x", [1, SIZE])], [(last, [1, SIZE])])


def chain(folder, kinds):
    names = ["x"] + [f"v{i}" for i in range(len(kinds))]
    nodes = [node(kind, [names[i]], [names[i + 1]], f"n{i}") for i, kind in enumerate(kinds)]
    return make(folder, nodes, names[-1])


def differing():
    """Returns the name of an operator for which some result is rounded differently by sim and cpu.
    """
    for kind in ("HardSwish", "Softmax", "LpNormalization"):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([PROGRAM, "compare", chain(folder, [kind]), "-d", "sim", "--with", "cpu",
                                   "--tolerance", "0"], stdout=subprocess.DEVNULL, check=False)
        if done.returncode == 1:
            return kind
    raise AssertionError("sim and cpu agree to the bit: the test needs another operator")


OTHER = differing()


class Devices(ToolTest):
    def compare(self, model, *options, status=1):
        path = self.folder / "result.json"
        out, _ = self.tool("compare", model, "-d", "sim", "--with", "cpu", "--tolerance", 0, "--json",
                           path, *options, status=status)
        return out, json.loads(path.read_text())

    def test_same(self):
        out, result = self.compare(chain(self.folder, ["Neg", "Abs", "Relu"]), status=0)
        self.assertFalse(result["differs"])
        self.assertEqual([(o["name"], o["largest_error"]) for o in result["outputs"]], [("v2", 0)])
        self.assertIn("v2: agrees: largest error 0", out)

    def test_tolerance(self):
        model = chain(self.folder, [OTHER])
        out, result = self.compare(model)
        self.assertTrue(result["differs"])
        relative = result["outputs"][0]["relative_error"]
        self.assertTrue(0 < relative < 1e-5)
        self.assertIn("v0: DIFFERS", out)
        self.assertNotIn("first", result)
        self.tool("compare", model, "-d", "sim", "--with", "cpu")
        # One side has the result of webnn-run run on that device.
        self.tool("run", model, "-d", "cpu", "-r", 1, "-o", self.folder / "cpu.npy")
        expected = np.load(self.folder / "cpu.npy").reshape(-1)
        one = result["outputs"][0]
        self.assertAlmostEqual(one["expected"], float(expected[one["index"]]), places=9)
        self.assertAlmostEqual(one["largest_error"], abs(one["got"] - one["expected"]), places=9)

    def test_bisect(self):
        for before in range(0, 8):
            for after in (0, 3, 4):
                kinds = ["Neg"] * before + [OTHER] + ["Neg"] * after
                out, result = self.compare(chain(self.folder, kinds), "--bisect")
                first = result["first"]
                self.assertEqual((first["node"], first["operator"], first["output"],
                                  first["candidates"]),
                                 (f"n{before}", OTHER, f"v{before}", 1))
                self.assertTrue(first["difference"]["differs"])
                self.assertIn(f'first operator that differs: "n{before}" ({OTHER})', out)

    def test_bisect_branches(self):
        """Tests --bisect where the operator that differs is the first in the file, and the operator
        in the middle of the file belongs to another branch.
        """
        nodes = [node(OTHER, ["x"], ["a"], "culprit")]
        nodes += [node("Neg", [f"b{i}" if i else "x"], [f"b{i + 1}"], f"good{i}") for i in range(9)]
        nodes += [node("Add", ["a", "b9"], ["y"], "join")]
        model = make(self.folder, nodes)
        self.assertEqual(self.compare(model, "--bisect")[1]["first"]["node"], "culprit")

    def test_bisect_sequence(self):
        nodes = [node("Neg", ["x"], ["n"], "first"), node(OTHER, ["n"], ["s"], "before"),
                 node("SequenceConstruct", ["n", "s"], ["q"], "pack"),
                 node("SequenceAt", ["q", "one"], ["y"], "unpack")]
        model = save(self.folder, "sequence", nodes, [("x", [1, SIZE])], [("y", [1, SIZE])],
                     [("one", np.array(1))])
        self.assertEqual(self.compare(model, "--bisect")[1]["first"]["node"], "before")
        model = save(self.folder, "sequence", nodes[:3], [("x", [1, SIZE])], [("q", None)])
        self.assertEqual(self.compare(model, "--bisect")[1]["first"]["node"], "before")

    # The item of the sequence "q" has the name "q/0". When another value of this name crosses the
    # cut, too, nothing can be compared there.

    def test_bisect_goes_back(self):
        """Tests that the search goes on before the middle when no cut after the middle can be
        compared.
        """
        nodes = [node(OTHER, ["x"], ["q/0"], "culprit"),
                 node("SequenceConstruct", ["x"], ["q"], "pack"), node("Neg", ["x"], ["n"], "neg"),
                 node("SequenceAt", ["q", "zero"], ["e"], "unpack"),
                 node("Sum", ["q/0", "n", "e"], ["y"], "last")]
        model = save(self.folder, "back", nodes, [("x", [1, SIZE])], [("y", [1, SIZE])],
                     [("zero", np.array(0))])
        first = self.compare(model, "--bisect")[1]["first"]
        self.assertEqual((first["node"], first["candidates"]), ("culprit", 1))

    def test_bisect_neighbours(self):
        """Tests a model in which the cut right before the operator that differs cannot be compared:
        the report also names the operator before as possible cause.
        """
        nodes = [node("SequenceConstruct", ["x"], ["q"], "pack"), node("Neg", ["x"], ["q/0"], "neg"),
                 node(OTHER, ["q/0"], ["s"], "culprit"),
                 node("SequenceAt", ["q", "zero"], ["e"], "unpack"),
                 node("Add", ["s", "e"], ["y"], "last")]
        model = save(self.folder, "neighbours", nodes, [("x", [1, SIZE])], [("y", [1, SIZE])],
                     [("zero", np.array(0))])
        out, result = self.compare(model, "--bisect")
        self.assertEqual((result["first"]["node"], result["first"]["candidates"]), ("culprit", 2))
        self.assertIn("or one of the 1 before it", out)

    def test_bisect_constants_and_shapes(self):
        """Tests that shapes come from the files of inputs, and that an input on which shapes depend
        is a constant in every part.
        """
        nodes = [node("Neg", ["x"], ["n"], "neg"), node("Shape", ["n"], ["z"], "shape"),
                 node("Reshape", ["n", "s"], ["r"], "reshape"),
                 node(OTHER, ["r"], ["g"], "culprit"), node("Reshape", ["g", "z"], ["y"], "back")]
        model = save(self.folder, "shapes", nodes, [("x", ["N", 4]), ("s", [2], TensorProto.INT64)],
                     [("y", ["N", 4])])
        values = np.random.default_rng(6).uniform(-1, 1, (SIZE // 4, 4)).astype("f4")
        x = self.array("x.npy", values)
        s = self.array("s.npy", np.array([1, SIZE]))
        first = self.compare(model, "-i", f"x={x}", "-i", f"s={s}", "--bisect")[1]["first"]
        self.assertEqual(first["node"], "culprit")


class Recorded(ToolTest):
    @on_devices
    def test_recorded(self, device):
        model, expected = perceptron(self.folder)
        x = np.linspace(-1, 1, 12, dtype="f4").reshape(2, 6)
        y = expected(x).astype("f4")
        given = ("-d", device, "-i", self.array("x.npy", x))
        self.tool("compare", model, *given, "--expect", self.array("y.npy", y))
        y[1, 2] += 0.5
        out, _ = self.tool("compare", model, *given, "--expect", f"y={self.array('z.npy', y)}",
                           status=1)
        self.assertRegex(out, r"^y: DIFFERS: largest error 0\.5 .* at 6: ")
        self.tool("compare", model, *given, "--expect", self.folder / "z.npy", "--tolerance", 1)

    def test_integers(self):
        model = same(self.folder, "same", [3], TensorProto.INT64)
        x = self.array("x.npy", np.array([2 ** 60, 5, 100000]))
        for off, status in ((0, 0), (1, 1)):
            y = self.array("y.npy", np.array([2 ** 60 + off, 5, 100000]))
            self.tool("compare", model, "-i", x, "--expect", y, status=status)
        self.tool("compare", model, "-i", x, "--expect", y, "--tolerance", "1e-9")

    def test_no_numbers(self):
        model = same(self.folder, "same", [3])
        values = np.array([np.nan, np.inf, 1], "f4")
        x = self.array("x.npy", values)
        self.tool("compare", model, "-i", x, "--expect", x)
        for index in range(2):
            wrong = values.copy()
            wrong[index] = 0
            out, _ = self.tool("compare", model, "-i", x, "--expect", self.array("y.npy", wrong),
                               "--json", "-", status=1)
            one = json.loads(out)["outputs"][0]
            self.assertEqual((one["index"], one["largest_error"], one["got"]), (index, None, None))

    def test_messages(self):
        model = same(self.folder, "same", [3])
        y = self.array("y.npy", np.zeros(4, "f4"))
        self.refuses(3, 'it has float32 [4], output "y" is float32 [3]', "compare", model, "--expect", y)
        self.refuses(3, 'the model has no output of this name that has elements; there are "y"', "compare",
                     model, "--expect", f"q={y}")
        two = save(self.folder, "two", [node("Neg", ["x"], ["a"], "neg"), node("Abs", ["x"], ["b"], "abs")],
                   [("x", [3])], [("a", [3]), ("b", [3])])
        self.refuses(3, f"--expect {y}: the model has 2 outputs: say which as OUTPUT={y}", "compare", two, "--expect", y)
        none = self.folder / "none.npz"
        self.refuses(3, f"{none}: No such file or directory", "compare", two, "--expect", none)
        none.write_bytes(b"none")
        self.refuses(3, f"{none}: this is no archive of numpy, is damaged, or has no array", "compare", two,
                     "--expect", none, "--all")
        empty = same(self.folder, "empty", [0])
        self.refuses(3, f"--expect {y}: no output of the model has elements", "compare", empty, "--expect", y)
        self.refuses(USAGE, "either --with DEVICE or --expect FILE", "compare", model)
        self.refuses(USAGE, "--bisect needs --with", "compare", model, "--expect", y, "--bisect")
        self.refuses(USAGE, "there is no device 'tpu'", "compare", model, "--with", "tpu")


if __name__ == "__main__":
    main()
