# SPDX-License-Identifier: MIT
"""Computes y = relu(x * w + 1) for one row."""
import numpy as np
import webnn_npu

context = webnn_npu.ML().create_context()
builder = context.create_graph_builder()
x = builder.input("x", [1, 3])
w = builder.constant(np.array([[1, -1], [2, -2], [3, -3]], np.float32))
one = builder.constant(1.0)
y = builder.relu(builder.add(builder.matmul(x, w, label="dense"), one))
graph = builder.build({"y": y})
result = context.compute(graph, {"x": np.array([[1, 2, 3]], np.float32)})
print(*(f"{value:g}" for value in result["y"][0]))
