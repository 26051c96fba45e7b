#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes models and data for run.sh: make_models.py FOLDER"""
import pathlib
import sys
import wave

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(sys.argv[1])


def save(name, nodes, x, y, constants):
    graph = helper.make_graph(nodes, "graph", [helper.make_tensor_value_info(x[0], TensorProto.FLOAT, x[1])],
                              [helper.make_tensor_value_info(y[0], TensorProto.FLOAT, y[1])],
                              [numpy_helper.from_array(array, name) for name, array in constants.items()])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(FOLDER / name))


def picture():
    """Writes picture.onnx, a classifier of pictures, and the description of its tensors that
    GStreamer needs."""
    draw = numpy.random.default_rng(1).uniform
    save("picture.onnx",
         [helper.make_node("Conv", ["image", "w", "b"], ["c"], strides=[2, 2]),
          helper.make_node("Relu", ["c"], ["r"]), helper.make_node("GlobalAveragePool", ["r"], ["p"]),
          helper.make_node("Flatten", ["p"], ["f"]), helper.make_node("MatMul", ["f", "d"], ["m"]),
          helper.make_node("Softmax", ["m"], ["scores"])],
         ("image", [1, 3, 32, 32]), ("scores", [1, 5]),
         {"w": draw(-1, 1, (8, 3, 3, 3)).astype(numpy.float32), "b": draw(-1, 1, 8).astype(numpy.float32),
          "d": draw(-1, 1, (8, 5)).astype(numpy.float32)})
    (FOLDER / "picture.onnx.modelinfo").write_text("""[modelinfo]
version=1.0
group-id=onpu-test

[image]
id=onpu-test-image
type=float32
dims=1,3,32,32
dir=input
ranges=0.0,1.0;0.0,1.0;0.0,1.0

[scores]
id=onpu-test-scores
type=float32
dims=1,5
dir=output
""", encoding="ascii")


def sound():
    """Saves a model that halves each sample and adds a quarter, and a minute of samples of 0.5."""
    save("sound.onnx", [helper.make_node("Conv", ["x", "w", "b"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
         ("x", [1, 1, 256]), ("y", [1, 1, 256]),
         {"w": numpy.full((1, 1, 1), 0.5, numpy.float32), "b": numpy.full(1, 0.25, numpy.float32)})
    with wave.open(str(FOLDER / "sound.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48000)
        file.writeframes(numpy.full(48000 * 60, 16384, numpy.int16).tobytes())


picture()
sound()
