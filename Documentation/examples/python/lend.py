# SPDX-License-Identifier: MIT
"""Lends arrays as the memory of tensors: no run copies them."""
import numpy as np
import webnn_npu

context = webnn_npu.ML().create_context()
builder = context.create_graph_builder()
graph = builder.build({"y": builder.mul(builder.input("x", [4]), builder.constant(2.0))})

data, result = np.array([1, 2, 3, 4], np.float32), np.empty(4, np.float32)
x, y = context.lend_tensor(data), context.lend_tensor(result)
context.dispatch(graph, {"x": x}, {"y": y})
context.wait()
print(result)

data *= 10
told = context.dispatch_measured(graph, {"x": x}, {"y": y})
print(result)
print(told["bytes_copied_in"] + told["bytes_copied_out"], "bytes copied")
