# SPDX-License-Identifier: MIT
"""Helpers of the tests of webnn-run: the program, small ONNX models, and their results."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

PROGRAM, DEVICES = sys.argv[1], ("cpu", "sim")
USAGE = 64


def save(folder, name, nodes, inputs, outputs, weights=()):
    """Saves a model of float tensors; inputs and outputs are (name, shape) or (name, shape, type).
    Returns the path.
    """
    def info(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(nodes, name, [info(*i) for i in inputs], [info(*o) for o in outputs],
                              [numpy_helper.from_array(w, n) for n, w in weights])
    model = helper.make_model(graph, ir_version=8, producer_name="tests",
                              opset_imports=[helper.make_opsetid("", 17)])
    path = pathlib.Path(folder) / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def node(kind, inputs, outputs, name=None, **attributes):
    return helper.make_node(kind, inputs, outputs, name=name, **attributes)


def perceptron(folder, scale=1.0):
    """Saves a model of two layers, from [N, 6] to [N, 4]; returns the path, and a function that
    computes the expected output.
    """
    random = np.random.default_rng(7)
    first = random.uniform(-1, 1, (6, 5)).astype(np.float32)
    second = (random.uniform(-1, 1, (5, 4)) * scale).astype(np.float32)
    bias = random.uniform(-1, 1, 4).astype(np.float32)
    nodes = [node("MatMul", ["x", "first"], ["hidden"], "layer1"),
             node("Relu", ["hidden"], ["active"], "relu1"),
             node("MatMul", ["active", "second"], ["sum"], "layer2"),
             node("Add", ["sum", "bias"], ["y"], "bias2")]
    path = save(folder, "perceptron" if scale == 1.0 else "scaled", nodes, [("x", ["N", 6])],
                [("y", ["N", 4])], [("first", first), ("second", second), ("bias", bias)])
    return path, lambda x: np.maximum(x.astype(float) @ first, 0) @ second + bias


def convolution(folder):
    """Saves a model that turns a picture of 16x16 into the probabilities of four classes; returns
    the path.
    """
    random = np.random.default_rng(8)
    weights = [("filter", random.uniform(-1, 1, (8, 3, 3, 3)).astype(np.float32)),
               ("dense", random.uniform(-1, 1, (8 * 8 * 8, 4)).astype(np.float32))]
    nodes = [node("Conv", ["x", "filter"], ["c"], "conv", pads=[1, 1, 1, 1]),
             node("Relu", ["c"], ["r"], "relu"),
             node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
             node("Flatten", ["p"], ["f"], "flat"),
             node("MatMul", ["f", "dense"], ["d"], "dense"),
             node("Softmax", ["d"], ["y"], "softmax", axis=1)]
    return save(folder, "convolution", nodes, [("x", [1, 3, 16, 16])], [("y", [1, 4])], weights)


# The tensors that convolution() computes from its input.
CONVOLUTION_TENSORS = ["c", "r", "p", "f", "d", "y"]


def same(folder, name, shape, kind=TensorProto.FLOAT):
    """Saves a model whose output is its input; returns the path."""
    return save(folder, name, [node("Identity", ["x"], ["y"], "copy")], [("x", shape, kind)],
                [("y", shape, kind)])


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tool(self, *arguments, status=0):
        """Runs webnn-run, which must end with this status; returns its standard output and its
        standard error."""
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              check=False, env={**os.environ, "WEBNN_DEVICE": "cpu"})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout, done.stderr

    def refuses(self, status, text, *arguments):
        """Checks that the program ends with this status, prints nothing on its standard output, and
        an error with this text.
        """
        out, err = self.tool(*arguments, status=status)
        self.assertIn(text, err)
        self.assertEqual(out, "")

    def array(self, name, values):
        path = self.folder / name
        np.save(path, values)
        return path


class CompareTest(ToolTest):
    def compare(self, model, *options, status=0, device="cpu"):
        """Runs webnn-run compare; returns its result as JSON, and all text that the program
        printed."""
        path = self.folder / "result.json"
        out, err = self.tool("compare", model, "-d", device, "--json", path, *options, status=status)
        return json.loads(path.read_text()), out + err

    @staticmethod
    def names(result):
        return [o["name"] for o in result["outputs"]]


def on_devices(test):
    """Returns a test that runs @test, which takes a device, on each of DEVICES."""
    def run(self):
        for device in DEVICES:
            with self.subTest(device):
                test(self, device)
    return run


def main():
    unittest.main(argv=sys.argv[:1])
