# SPDX-License-Identifier: MIT
"""The Web Neural Network API for Python, on the Open NPU, on its model, and on the CPU.

    import numpy as np
    import webnn_npu

    context = webnn_npu.ML().create_context()
    builder = context.create_graph_builder()
    x = builder.input("x", [4], "float32")
    graph = builder.build({"y": builder.relu(x)})
    print(context.compute(graph, {"x": np.array([-1, 2, -3, 4], np.float32)})["y"])

WEBNN_DEVICE in the environment chooses the device: npu, npu:1, sim or cpu. webnn_npu.onnx runs models in
the format of ONNX; webnn_npu.onnxruntime has ONNX Runtime use the NPU.
"""
from . import _native
from ._builder import MLGraphBuilder, MLOperand
from ._context import ML, AsyncMLContext, MLContext
from ._errors import (MLError, MLFileError, MLInvalidStateError, MLNotSupportedError, MLOperationError,
                      MLTypeError, MLUnknownError)
from ._graph import MLCompiledGraph, MLGraph
from ._tensor import MLDeviceTensor, MLTensor
from ._types import pack, unpack

__version__ = ".".join(map(str, _native.version()))

__all__ = ["ML", "AsyncMLContext", "MLCompiledGraph", "MLContext", "MLDeviceTensor", "MLError", "MLFileError",
           "MLGraph", "MLGraphBuilder", "MLInvalidStateError", "MLNotSupportedError", "MLOperand",
           "MLOperationError", "MLTensor", "MLTypeError", "MLUnknownError", "pack", "unpack"]
