#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests how many operators that only move numbers still have a kernel, and that results are right:
test_views.py WEBNN_RUN
"""
import json

import numpy as np

from common import ToolTest, main, node, on_devices, save


def shape(*dims):
    return np.array(dims, np.int64)


class Views(ToolTest):
    def steps(self, device, nodes, inputs, weights, wanted, most):
        """Checks that the result is that of numpy, and that at most @most nodes have a kernel; the
        other nodes are views.
        """
        arrays = {name: np.random.default_rng(len(name)).uniform(-1, 1, dims).astype(np.float32)
                  for name, dims in inputs}
        want = wanted(**arrays)
        model = save(self.folder, "views", nodes, inputs, [("y", want.shape)], weights)
        options = [text for name, values in arrays.items()
                   for text in ("-i", f"{name}={self.array(name + '.npy', values)}")]
        result, profile = self.folder / "y.npy", self.folder / "p.json"
        self.tool("run", model, "-d", device, *options, "-o", result)
        np.testing.assert_allclose(np.load(result), want, atol=1e-5)
        self.tool("profile", model, "-d", device, "--json", profile)
        kernels = [n["kernel"] for n in json.loads(profile.read_text())["nodes"] if n["kernel"]]
        self.assertLessEqual(len(kernels), most, kernels)

    @on_devices
    def test_reshapes(self, device):
        nodes = [node("Reshape", ["x", "s"], ["a"]), node("Relu", ["a"], ["b"]),
                 node("Unsqueeze", ["b", "i"], ["c"]), node("Squeeze", ["c", "i"], ["d"]),
                 node("Flatten", ["d"], ["y"])]
        self.steps(device, nodes, [("x", [2, 12])], [("s", shape(4, 3, 2)), ("i", shape(1))],
                   lambda x: np.maximum(x, 0).reshape(4, 6), 1)

    @on_devices
    def test_parts(self, device):
        nodes = [node("Sigmoid", ["x"], ["w"]), node("Split", ["w", "s"], ["a", "b"], axis=1),
                 node("Relu", ["b"], ["c"]), node("Neg", ["a"], ["d"]),
                 node("Concat", ["c", "d"], ["e"], axis=1), node("Abs", ["e"], ["y"])]
        self.steps(device, nodes, [("x", [1, 6, 5])], [("s", shape(2, 4))],
                   lambda x: np.roll(1 / (1 + np.exp(-x)), 4, 1), 4)

    @on_devices
    def test_parts_of_rows(self, device):
        """Tests a gated unit, whose halves are beside each other in each row, and a concat of rows.
        """
        nodes = [node("Split", ["x", "s"], ["a", "b"], axis=1), node("Sigmoid", ["b"], ["g"]), node("Mul", ["a", "g"], ["m"]),
                 node("Neg", ["z"], ["n"]), node("Concat", ["m", "n"], ["y"], axis=1)]
        self.steps(device, nodes, [("x", [6, 40]), ("z", [6, 3])], [("s", shape(20, 20))],
                   lambda x, z: np.concatenate([x[:, :20] / (1 + np.exp(-x[:, 20:])), -z], 1), 5 if device == "sim" else 3)

    @on_devices
    def test_transposes(self, device):
        nodes = [node("Transpose", ["x"], ["a"], perm=[0, 2, 3, 1]), node("Sigmoid", ["a"], ["s"]),
                 node("Mul", ["a", "s"], ["m"]), node("Add", ["m", "c"], ["b"]),
                 node("ReduceMax", ["b"], ["r"], axes=[1, 2], keepdims=1), node("Sub", ["b", "r"], ["d"]),
                 node("Transpose", ["d"], ["y"], perm=[0, 3, 1, 2])]
        bias = np.arange(3, dtype=np.float32)

        def wanted(x):
            b = x / (1 + np.exp(-x)) + bias[:, None, None]
            return b - b.max((2, 3), keepdims=True)

        self.steps(device, nodes, [("x", [2, 3, 4, 5])], [("c", bias)], wanted, 5)

    @on_devices
    def test_products(self, device):
        nodes = [node("Transpose", ["x"], ["a"], perm=[0, 2, 1]), node("Transpose", ["z"], ["b"], perm=[0, 2, 1]),
                 node("MatMul", ["a", "b"], ["c"]), node("Transpose", ["c"], ["y"], perm=[0, 2, 1])]
        self.steps(device, nodes, [("x", [2, 6, 4]), ("z", [2, 5, 6])], [], lambda x, z: z @ x, 1)

    @on_devices
    def test_heads(self, device):
        nodes = [node("Unsqueeze", ["k", "i"], ["a"]), node("Expand", ["a", "e"], ["b"]), node("Reshape", ["b", "r"], ["c"]),
                 node("Transpose", ["c"], ["d"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "d"], ["s"]),
                 node("Add", ["s", "mask"], ["m"]), node("Softmax", ["m"], ["p"], axis=-1),
                 node("Unsqueeze", ["val", "i"], ["f"]), node("Expand", ["f", "e"], ["g"]),
                 node("Reshape", ["g", "r"], ["h"]), node("MatMul", ["p", "h"], ["y"])]

        def wanted(q, k, val, mask):
            s = np.exp(q @ np.repeat(k, 3, 1).swapaxes(2, 3) + mask)
            return s / s.sum(-1, keepdims=True) @ np.repeat(val, 3, 1)

        for rows in (1, 5):
            self.steps(device, nodes, [("q", [2, 6, rows, 8]), ("k", [2, 2, 7, 8]), ("val", [2, 2, 7, 8]),
                                       ("mask", [2, 1, rows, 7])],
                       [("i", shape(2)), ("e", shape(2, 2, 3, 7, 8)), ("r", shape(2, 6, 7, 8))], wanted, 4)


if __name__ == "__main__":
    main()
