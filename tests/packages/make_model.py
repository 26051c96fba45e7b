#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a model for webnn-run, and its expected result: make_model.py FOLDER.

Writes model.onnx, x.npy, y.npy, which is computed here, and wrong.npy, in which one element differs
from y.npy.
"""
import pathlib
import sys

import numpy
import onnx
from onnx import helper, numpy_helper


def main():
    folder = pathlib.Path(sys.argv[1])
    draw = numpy.random.default_rng(1)
    x = draw.uniform(-1, 1, (3, 8)).astype(numpy.float32)
    weights = draw.uniform(-1, 1, (8, 5)).astype(numpy.float32)
    bias = draw.uniform(-1, 1, 5).astype(numpy.float32)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "weights", "bias"], ["h"]),
         helper.make_node("Relu", ["h"], ["r"]),
         helper.make_node("Softmax", ["r"], ["y"], axis=1)],
        "layer",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (3, 5))],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(bias, "bias")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")

    exact = numpy.exp(numpy.maximum(x.astype(numpy.float64) @ weights + bias, 0))
    y = (exact / exact.sum(axis=1, keepdims=True)).astype(numpy.float32)
    numpy.save(folder / "x.npy", x)
    numpy.save(folder / "y.npy", y)
    y[1, 2] += 0.01
    numpy.save(folder / "wrong.npy", y)


if __name__ == "__main__":
    main()
