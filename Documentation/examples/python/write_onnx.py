# SPDX-License-Identifier: MIT
"""Writes y = relu(x * w + 1) as first.onnx."""
import numpy as np
import webnn_npu

context = webnn_npu.ML().create_context(device="cpu")
builder = context.create_graph_builder()
x = builder.input("x", [1, 3], "float32")
w = builder.constant(np.array([[1, -1], [2, -2], [3, -3]], np.float32))
product = builder.matmul(x, w, label="dense")
y = builder.relu(builder.add(product, builder.constant(np.ones(1, np.float32))))
context.convert_to_onnx(builder.build({"y": y}), "first.onnx")
