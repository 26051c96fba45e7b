# SPDX-License-Identifier: MIT
"""The interface that ONNX has for back ends: its own tests run on it.

    import onnx.backend.test
    import webnn_npu.onnx.backend as backend
    tests = onnx.backend.test.BackendTest(backend, __name__)

The device is CPU, which is the device cpu; NPU, which is npu; NPU:1, which is npu:1; or another
device after a colon, such as CPU:sim. With WEBNN_DEVICE in the environment CPU is that device.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._context import ML
from .._errors import MLNotSupportedError
from . import Session

# Graphs hold these types in wider ones, but ONNX expects results with their bits.
_WITHOUT_ARRAYS = ("bfloat16", "float4", "float6", "float8", "int2", "uint2")
_contexts: dict[str | None, Any] = {}
_NAMES = {"CPU": None, "NPU": "npu"}


def _device(name: str) -> str | None:
    kind, _, rest = name.partition(":")
    if rest and not rest.isdigit():
        return rest
    if rest and kind == "NPU":
        return f"npu:{rest}"
    return _NAMES.get(kind, kind.lower())


def _context(name: str) -> Any:
    device = _device(name)
    if device not in _contexts:
        _contexts[device] = ML().create_context(device=device) if device else ML().create_context(device_type="cpu")
    return _contexts[device]


def supports_device(device: str) -> bool:
    """Returns whether the device is present."""
    try:
        _context(device)
    except Exception:  # noqa: BLE001: whatever it is, it is not there
        return False
    return True


def is_compatible(model: Any, device: str = "CPU", **unused: Any) -> bool:
    """Returns whether all nodes can become part of a graph; nodes that depend on values count as
    possible."""
    try:
        prepare(model, device)
    except Exception:  # noqa: BLE001
        return False
    return True


class BackendRep:
    """A model that is ready to run."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(self, inputs: Any, **unused: Any) -> tuple[Any, ...]:
        """Returns the outputs; inputs are a dict, or a list in the order of the model's inputs."""
        if not isinstance(inputs, Mapping):
            items: Sequence[Any] = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            inputs = {arg.name: item for arg, item in zip(self.session.get_inputs(), items)}
        return tuple(self.session.run(None, inputs))


def prepare(model: Any, device: str = "CPU", **unused: Any) -> BackendRep:
    """Loads a model: bytes, or an onnx.ModelProto."""
    data = model if isinstance(model, bytes) else model.SerializeToString()
    session = Session(data, context=_context(device))
    for arg in (*session.get_inputs(), *session.get_outputs()):
        if arg.element.startswith(_WITHOUT_ARRAYS):
            raise MLNotSupportedError(f'"{arg.name}" is of {arg.element}, of which NumPy has no arrays')
    return BackendRep(session)


def run_model(model: Any, inputs: Any, device: str = "CPU", **unused: Any) -> tuple[Any, ...]:
    """Loads a model and runs it once."""
    return prepare(model, device).run(inputs)


def run_node(node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None,
             **attributes: Any) -> tuple[Any, ...]:
    """Runs one node on its inputs."""
    import numpy as np
    import onnx

    values = []
    arrays = [np.asarray(item) for item in inputs]
    for name, array in zip([name for name in node.input if name], arrays):
        element = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        values.append(onnx.helper.make_tensor_value_info(name, element, array.shape))
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", values, outputs)
    opset = attributes.get("opset_version", min(onnx.defs.onnx_opset_version(), 22))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid(node.domain, opset)])
    model = onnx.shape_inference.infer_shapes(model)
    feeds = dict(zip([value.name for value in values], arrays))
    return tuple(prepare(model, device).run(feeds))


class Backend:
    """The functions of this module as a class."""

    is_compatible = staticmethod(is_compatible)
    prepare = staticmethod(prepare)
    run_model = staticmethod(run_model)
    run_node = staticmethod(run_node)
    supports_device = staticmethod(supports_device)
