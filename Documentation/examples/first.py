# SPDX-License-Identifier: MIT
"""Writes y = relu(x * w + 1) as first.onnx, and a value of x as first.npy."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

weights = [numpy_helper.from_array(numpy.array([[1, -1], [2, -2], [3, -3]], numpy.float32), "w"),
           numpy_helper.from_array(numpy.array(1, numpy.float32), "one")]
nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="dense"),
         helper.make_node("Add", ["product", "one"], ["sum"]),
         helper.make_node("Relu", ["sum"], ["y"])]
graph = helper.make_graph(nodes, "first",
                          [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])], weights)
onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), "first.onnx")
numpy.save("first.npy", numpy.array([[1, 2, 3]], numpy.float32))
