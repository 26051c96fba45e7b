# SPDX-License-Identifier: MIT
"""Makes quarter.onnx, which tells the brightest quarter of a picture, and a picture to try it with."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = [
    # The mean of each quarter: a filter of 8x8 that moves by 8.
    numpy_helper.from_array(numpy.full((1, 1, 8, 8), 1 / 64, numpy.float32), "mean"),
    # How sure the answer is: differences count ten times.
    numpy_helper.from_array(10 * numpy.eye(4, dtype=numpy.float32), "sure"),
]
nodes = [
    helper.make_node("Conv", ["picture", "mean"], ["means"], name="quarters", strides=[8, 8]),
    helper.make_node("Flatten", ["means"], ["row"], name="row"),
    helper.make_node("MatMul", ["row", "sure"], ["scores"], name="scores"),
    helper.make_node("Softmax", ["scores"], ["answer"], name="answer", axis=1),
]
graph = helper.make_graph(
    nodes, "quarter",
    [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["batch", 1, 16, 16])],
    [helper.make_tensor_value_info("answer", TensorProto.FLOAT, ["batch", 4])], weights)
model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
onnx.checker.check_model(model)
onnx.save(model, "quarter.onnx")

picture = numpy.zeros((1, 1, 16, 16), numpy.float32)
picture[:, :, 8:, :8] = 0.8
numpy.save("picture.npy", picture)
with open("labels.txt", "w", encoding="utf-8") as labels:
    labels.write("upper left\nupper right\nlower left\nlower right\n")
