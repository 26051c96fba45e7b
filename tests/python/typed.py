# SPDX-License-Identifier: MIT
"""A program that mypy reads: most lines are right, and each line with an expected error has that
error.
"""
import webnn_npu
from webnn_npu import onnx

context: webnn_npu.MLContext = webnn_npu.ML().create_context(device="cpu")
builder = context.create_graph_builder()
x: webnn_npu.MLOperand = builder.input("x", [1, 3, 8, 8])
w = builder.constant([[1.0, 2.0]], [1, 2])
y = builder.conv2d(x, w, strides=[1, 1], input_layout="nchw", label="stem")
parts: list[webnn_npu.MLOperand] = builder.split(y, 2, axis=1)
graph: webnn_npu.MLGraph = builder.build({"y": builder.relu(parts[0])})
names: list[str] = graph.get_output_names()
tensor: webnn_npu.MLTensor = context.create_tensor([1], "float32", writable=True)
session = onnx.Session("model.onnx", device="cpu")

builder.conv2d(x, w, input_layout="chwn")  # type: ignore[arg-type]
builder.relu(3)  # type: ignore[arg-type]
builder.softmax(x)  # type: ignore[call-arg]
builder.reshape(x, "flat", speed=1)  # type: ignore[arg-type, call-arg]
context.compute(graph)  # type: ignore[call-arg]
webnn_npu.MLTensor.colour  # type: ignore[attr-defined]
