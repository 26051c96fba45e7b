# SPDX-License-Identifier: MIT
"""ML and its contexts."""
from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from . import _export, _native
from ._builder import MLGraphBuilder
from ._errors import MLTypeError
from ._graph import MLCompiledGraph, MLGraph
from ._operators import ENUMS, LIMITS
from ._tensor import MLDeviceTensor, MLTensor, _Tensor
from ._types import NAMES, as_memory, stored_shape

POLICIES = {"npu-only": 1, "prefer-npu": 2, "cpu-only": 3}
# Device types that programs for other back ends pass.
DEVICE_TYPES = ("auto", "cpu", "gpu", "npu")
TENSOR_DEVICES = ("cpu", "gpu", "npu", "sim", "cuda", "directml", "coreml")

_lock = threading.Lock()
_checking: Any = None


def checking_context() -> Any:
    """Returns a CPU context for builders without a context; it only checks their calls."""
    global _checking
    with _lock:
        if _checking is None:
            _checking = _native.Context(device="cpu")
        return _checking


class ML:
    """The entry point, which creates contexts."""

    def create_context(self, power_preference: str = "default", accelerated: bool = True,
                       device_type: str = "auto", *, device: str | None = None,
                       node_path: str | None = None, policy: str = "prefer-npu", threads: int = 0,
                       memory_limit: int = 0, profile: bool = False, sim_sram_bytes: int = 0,
                       sim_threads: int = 0, constant_folding: bool = True) -> MLContext:
        """Opens a device.

        device names it: "npu", "npu:1" (the NPU behind /dev/accel/accel1), "sim" or "cpu". Without
        device, the environment variable WEBNN_DEVICE names it, which has priority over the hints
        device_type and accelerated. Without both, it is the first NPU that opens, else the CPU. For
        the other arguments, see WNNContextDeviceOptions.
        """
        return MLContext(power_preference, accelerated, device_type, device=device, node_path=node_path,
                         policy=policy, threads=threads, memory_limit=memory_limit, profile=profile,
                         sim_sram_bytes=sim_sram_bytes, sim_threads=sim_threads,
                         constant_folding=constant_folding)

    async def create_context_async(self, *arguments: Any, **keywords: Any) -> MLContext:
        """Does the work of create_context() without blocking the event loop."""
        return await asyncio.to_thread(self.create_context, *arguments, **keywords)

    @staticmethod
    def devices() -> list[dict[str, Any]]:
        """Returns the devices of this machine: device, node_path, usable, reason and more of each.
        """
        return _native.devices()


def _one_of(what: str, value: Any, allowed: Iterable[str]) -> str:
    names = list(allowed)
    if value not in names:
        raise MLTypeError(f"{what} is {value!r}, and may be one of {', '.join(map(repr, names))}")
    return str(value)


class MLContext:
    """A device with a timeline: enqueued work runs in the order of the calls."""

    def __init__(self, power_preference: str = "default", accelerated: bool = True,
                 device_type: str = "auto", *, device: str | None = None, policy: str = "prefer-npu",
                 **options: Any) -> None:
        powers = ENUMS["PowerPreference"]
        self._power = _one_of("power_preference", power_preference, powers)
        self._device_type = _one_of("device_type", device_type, DEVICE_TYPES)
        wanted = bool(accelerated) and device_type != "cpu"
        # The environment has priority over a hint, but not over a device.
        if device is None and device_type == "cpu" and not os.environ.get("WEBNN_DEVICE"):
            device = "cpu"
        self._native = _native.Context(device=device, power=powers[self._power], accelerated=wanted,
                                       policy=POLICIES[_one_of("policy", policy, POLICIES)], **options)
        self._accelerated = wanted and self._native.accelerated
        self._device: str = self._native.device_info()["device"]

    @property
    def device(self) -> str:
        """Name of the device: "npu", "sim" or "cpu"."""
        return self._device

    @property
    def power_preference(self) -> str:
        """The power preference that the program asked for."""
        return self._power

    @property
    def accelerated(self) -> bool:
        """Whether an NPU, real or simulated, was requested and is present."""
        return self._accelerated

    def __repr__(self) -> str:
        return f"MLContext(accelerated={self.accelerated}, power='{self._power}', device='{self.device}')"

    def create_graph_builder(self) -> MLGraphBuilder:
        """Returns a builder of graphs for this context."""
        return MLGraphBuilder(self)

    # --- Tensors ---------------------------------------------------------------------------------

    def create_tensor(self, shape: Iterable[int], data_type: str, readable: bool = False,
                      writable: bool = False, exportable_to_gpu: bool = False) -> MLTensor:
        """Returns a tensor of zeros."""
        return MLTensor(self, data_type, shape, (readable, writable, exportable_to_gpu))

    def lend_tensor(self, memory: Any, data_type: str | None = None,
                    shape: Iterable[int] | None = None) -> MLTensor:
        """Returns a tensor in memory of the program: an array, a buffer, or an object with DLPack.

        Nothing is copied where the device can use that memory. The program must not change it while
        enqueued work reads or writes it, that is until wait() or dispatch_measured() returns. The
        tensor keeps the memory alive. data_type and shape are those of the array, unless they are
        given.
        """
        array, name, sizes = as_memory(memory, data_type, shape)
        return MLTensor(self, name, sizes, (True, array.flags.writeable, False), memory=array)

    def create_host_tensor(self, shape: Iterable[int], data_type: str) -> MLTensor:
        """Returns a tensor that is readable and writable."""
        return self.create_tensor(shape, data_type, True, True)

    def create_device_tensor(self, graph: MLGraph, shape: Iterable[int], data_type: str,
                             device: str | None = None) -> MLDeviceTensor:
        """Returns a tensor with methods read() and write(); its member device is the given type."""
        if not isinstance(graph, MLGraph):
            raise MLTypeError(f"graph is {type(graph).__name__}, and must be an MLGraph")
        if device is None:
            device = self.device if self._device_type == "auto" else self._device_type
        _one_of("Unsupported device: device", device, TENSOR_DEVICES)
        return MLDeviceTensor(self, data_type, shape, (True, True, False), device)

    def read_tensor(self, tensor: MLTensor, out: Any = None) -> Any:
        """Returns the elements of a tensor, after the work that was enqueued before."""
        self._own(tensor)
        shape = stored_shape(tensor.data_type, tensor.shape)
        if out is not None and getattr(out, "shape", None) != shape:
            raise MLTypeError(f"out has shape {getattr(out, 'shape', None)}, and takes {shape}")
        return tensor._read(out)

    def write_tensor(self, tensor: MLTensor, data: Any) -> None:
        """Enqueues the writing of a tensor; the data is copied before the call returns."""
        self._own(tensor)
        tensor._write(data)

    def _own(self, tensor: Any) -> None:
        if not isinstance(tensor, _Tensor):
            raise MLTypeError(f"tensor is {type(tensor).__name__}, and must be an MLTensor")
        if tensor._context is not self:
            raise MLTypeError("the tensor belongs to another context")

    # --- Runs ------------------------------------------------------------------------------------

    def compute(self, graph: MLGraph, inputs: Mapping[str, Any],
                outputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs a graph on arrays and gives its outputs as arrays: new ones, or those of outputs.

        Other threads of Python run meanwhile, and may compute the same graph.
        """
        compiled = self._graph(graph)._for(self)
        known, results = graph.get_input_names(), graph.get_output_names()
        for name in inputs:
            if name not in known:
                raise MLTypeError(f"{name!r} is no input of the graph, which has {', '.join(known) or 'none'}")
        for name in outputs or ():
            if name not in results:
                raise MLTypeError(f"{name!r} is no output of the graph, which has {', '.join(results)}")
        return compiled.run(inputs, outputs)

    def dispatch(self, graph: MLGraph, inputs: Mapping[str, _Tensor], outputs: Mapping[str, _Tensor]) -> None:
        """Enqueues a run of a graph on tensors. Reading an output waits for the run, and raises its failure."""
        self._dispatch(graph, inputs, outputs, False)

    def dispatch_measured(self, graph: MLGraph, inputs: Mapping[str, _Tensor],
                          outputs: Mapping[str, _Tensor]) -> dict[str, int]:
        """Runs a graph on tensors, waits, and returns the cost and the number of bytes that were copied."""
        told: dict[str, int] = self._dispatch(graph, inputs, outputs, True)
        return told

    def _dispatch(self, graph: MLGraph, inputs: Mapping[str, _Tensor], outputs: Mapping[str, _Tensor],
                  measured: bool) -> Any:
        compiled = self._graph(graph)._for(self)
        for tensor in [*inputs.values(), *outputs.values()]:
            self._own(tensor)
            tensor._usable()
        for tensor in outputs.values():
            tensor._may_be_output()
        needed = {row[0] for row in compiled.inputs}
        unused = set(graph.get_input_names()) - needed
        return self._native.dispatch(compiled.native, {n: t for n, t in inputs.items() if n not in unused},
                                     dict(outputs), measured)

    def _graph(self, graph: Any) -> MLGraph:
        if not isinstance(graph, MLGraph):
            raise MLTypeError(f"graph is {type(graph).__name__}, and must be an MLGraph")
        return graph

    def wait(self) -> None:
        """Waits until all work enqueued so far has finished; raises its failure."""
        self._native.wait()

    def load_compiled(self, path: str | os.PathLike[str]) -> MLCompiledGraph:
        """Loads a graph from a file of MLGraph.save_compiled(), without compiling."""
        return MLCompiledGraph._loaded(self, self._native.load_graph(os.fspath(path)))

    def destroy(self) -> None:
        """Destroys the context: it is lost, with its graphs and tensors."""
        self._native.destroy()

    async def compute_async(self, graph: MLGraph, inputs: Mapping[str, Any],
                            outputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Does the work of compute() without blocking the event loop."""
        return await asyncio.to_thread(self.compute, graph, inputs, outputs)

    async def dispatch_async(self, graph: MLGraph, inputs: Mapping[str, _Tensor],
                             outputs: Mapping[str, _Tensor]) -> None:
        """Calls dispatch(), and waits for the end of the run without blocking the event loop."""
        self.dispatch(graph, inputs, outputs)
        await asyncio.to_thread(self.wait)

    async def read_tensor_async(self, tensor: MLTensor) -> Any:
        """Does the work of read_tensor() without blocking the event loop."""
        return await asyncio.to_thread(self.read_tensor, tensor)

    async def write_tensor_async(self, tensor: MLTensor, data: Any) -> None:
        """Does the work of write_tensor() without blocking the event loop."""
        await asyncio.to_thread(self.write_tensor, tensor, data)

    # --- What it is ------------------------------------------------------------------------------

    def op_support_limits(self) -> dict[str, Any]:
        """Returns types and ranks of the operands of each operator, by the names of WebNN."""
        layout, size, flat = self._native.limits()
        items = iter(flat)
        layouts = {number: name for name, number in ENUMS["InputOperandLayout"].items()}
        result: dict[str, Any] = {"preferredInputLayout": layouts[layout], "maxTensorByteLength": size}
        for name, *members in LIMITS:
            if members:
                result[name] = {member: _limits(next(items)) for member in members}
            else:
                result[name] = _limits(next(items))
        return result

    def device_info(self) -> dict[str, Any]:
        """Returns the device, why it was chosen, and how much of its memory is in use."""
        return self._native.device_info()

    def cpu_info(self) -> dict[str, Any]:
        """Returns the kernels, libraries and threads that the CPU computes with."""
        return self._native.cpu_info()

    def backend_info(self) -> dict[str, Any]:
        """Lists the names of pywebnn's back ends and whether each is available here."""
        return {"backend": f"webnn-npu:{self.device}", "accelerated_available": self.accelerated,
                "backend_available": True, "compiled_features": {"webnn_npu": True}}

    def convert_to_onnx(self, graph: MLGraph, output_path: str) -> None:
        """Writes a graph as an ONNX model. Operators that ONNX lacks are refused by name."""
        data = _export.export(self._graph(graph)._recording)
        with open(output_path, "wb") as file:
            file.write(data)


def _limits(item: tuple[int, int, int]) -> dict[str, Any]:
    types, least, greatest = item
    return {"dataTypes": [name for number, name in NAMES.items() if types >> number & 1],
            "rankRange": {"min": least, "max": greatest}}


class AsyncMLContext:
    """A context whose dispatch() is a coroutine, as pywebnn has it beside the blocking one."""

    def __init__(self, context: MLContext) -> None:
        self._context = context

    async def dispatch(self, graph: MLGraph, inputs: Mapping[str, _Tensor],
                       outputs: Mapping[str, _Tensor]) -> None:
        """Runs a graph on tensors."""
        await self._context.dispatch_async(graph, inputs, outputs)

    def create_tensor(self, shape: Iterable[int], data_type: str, readable: bool = True,
                      writable: bool = True, exportable_to_gpu: bool = False) -> MLTensor:
        """Returns a tensor of zeros, which the program may read and write."""
        return self._context.create_tensor(shape, data_type, readable, writable, exportable_to_gpu)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)
