# SPDX-License-Identifier: MIT
"""Models in the format of ONNX.

    session = webnn_npu.onnx.Session("model.onnx", device="sim")
    [scores] = session.run(None, {"image": picture})

run() is that of ONNX Runtime. A model with dimensions that the file leaves open is compiled for the
shapes that it is given, and the last of these graphs are kept.
"""
from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .. import _native
from .._builder import checked_integer
from .._context import ML, MLContext
from .._errors import MLInvalidStateError, MLNotSupportedError, MLTypeError
from .._graph import Compiled
from .._types import NAMES, PACKED, as_array, as_data, storage, stored_shape, unpack

__all__ = ["NodeArg", "Session"]

# The first bytes of files of Session.save().
COMPILED = b"WNNGRAPH"
TENSOR, SEQUENCE, OPTIONAL = 1, 2, 3
# ONNX types whose NumPy arrays have another type than WebNN's tensors.
ONNX_DTYPES = {"bool": "bool", "double": "float64", "float64": "float64", "int16": "int16", "uint16": "uint16"}


class NodeArg:
    """An input or output: its name, type and shape, which has None or a name where the file leaves
    a size open.
    """

    def __init__(self, row: tuple[str, int, str, int, list[Any] | None]) -> None:
        self.name, self.kind, self.element, number, self.shape = row
        self.data_type = NAMES.get(number)
        self.type = f"tensor({self.element})" if self.kind == TENSOR else f"{self.element or 'value'} of kind {self.kind}"

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class Session:
    """A model on a device."""

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes, device: str | None = None, *,
                 context: MLContext | None = None, dimensions: Mapping[str, int] | None = None,
                 graphs: int = 8, seed: int = 0, **options: Any) -> None:
        """Loads a model, and compiles it where all of its shapes are known.

        device, and the options of ML.create_context(), make a context unless one is given.
        dimensions sets dimensions by their names. At most `graphs` graphs are kept.
        Nodes that draw random numbers draw new ones in each run; sessions with one seed draw equal
        numbers.
        """
        if not hasattr(_native, "OnnxModel"):
            raise MLNotSupportedError("this package was built without libwebnn-onnx")
        if graphs < 1:
            raise MLTypeError(f"graphs is {graphs}, and must be at least 1")
        self._seed = checked_integer("seed", seed, 0, 2 ** 64)
        self._context = context if context is not None else ML().create_context(device=device, **options)
        self._source: Any = path_or_bytes if isinstance(path_or_bytes, (bytes, bytearray, memoryview)) \
            else os.fspath(path_or_bytes)
        self._dimensions = dict(dimensions or {})
        self._limit = graphs
        self._graphs: OrderedDict[Any, Compiled] = OrderedDict()
        # Models that draw random numbers for their graphs.
        self._drawers: dict[Compiled, Any] = {}
        self._runs = 0
        self._lock = threading.RLock()
        self._values: list[str] = []
        self._last: Compiled | None = None
        self._elements: dict[str, str] = {}
        if self._head() == COMPILED:
            self._load_compiled()
        else:
            model = self._model()
            self._inputs = [NodeArg(row) for row in model.inputs]
            self._outputs = [NodeArg(row) for row in model.outputs]
            self._elements = {arg.name: arg.element for arg in self._outputs}
            if all(known(arg) for arg in self._inputs):
                self._try_first(model)

    def _head(self) -> bytes:
        if not isinstance(self._source, str):
            return bytes(self._source[:len(COMPILED)])
        with open(self._source, "rb") as file:
            return file.read(len(COMPILED))

    def _load_compiled(self) -> None:
        if not isinstance(self._source, str):
            raise MLTypeError("a compiled graph is loaded from a file: give its path")
        compiled = Compiled(self._context._native.load_graph(self._source))
        self._inputs, self._outputs = ([NodeArg((name, TENSOR, data_type, 0, list(shape)))
                                        for name, data_type, shape in rows]
                                       for rows in (compiled.inputs, compiled.outputs))
        self._graphs[None] = self._last = compiled

    def _model(self) -> Any:
        if isinstance(self._source, str):
            model = _native.OnnxModel(self._source, None, None)
        else:
            model = _native.OnnxModel(None, self._source, None)
        for name, size in self._dimensions.items():
            model.set_dimension(name, size)
        return model

    def _try_first(self, model: Any) -> None:
        """Compiles now, unless shapes depend on values of inputs, which only the first run has."""
        try:
            self._keep(self._key({}), model)
        except MLNotSupportedError:
            if not self._note_values(model):
                raise

    def _note_values(self, model: Any) -> bool:
        """Notes inputs whose values a build needs. Returns whether there are new ones.

        Nodes that are refused for another reason may be in a branch that these values do not choose.
        """
        names = {refusal["input"] for refusal in model.refusals()} - {"", *self._values}
        self._values += sorted(names)
        return bool(names)

    # --- What it is ------------------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        """Returns the inputs for which the file has no values."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Returns the outputs."""
        return list(self._outputs)

    @property
    def context(self) -> MLContext:
        """The context that the model runs on."""
        return self._context

    @property
    def device(self) -> str:
        """Name of the device: "npu", "sim" or "cpu"."""
        return self._context.device

    # --- Runs ------------------------------------------------------------------------------------

    def run(self, outputs: Iterable[str] | None, feeds: Mapping[str, Any], run_options: Any = None) -> list[Any]:
        """Returns the outputs of these names, or all, for the inputs. Several threads may run a session at once."""
        names = [arg.name for arg in self._outputs] if not outputs else list(outputs)
        for name in names:
            if name not in {arg.name for arg in self._outputs}:
                raise MLTypeError(f"{name!r} is no output of the model, which has "
                                  f"{', '.join(arg.name for arg in self._outputs)}")
        arrays = self._arrays(feeds)
        with self._lock:
            compiled = self._graph(arrays)
            arrays |= self._draw(compiled)
        results = compiled.run(arrays)
        for name, data_type, shape in compiled.outputs:
            if data_type in PACKED:
                results[name] = unpack(results[name], shape, data_type)
        return [self._result(name, results) for name in names]

    def _arrays(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        known_names = {arg.name: arg for arg in self._inputs}
        for name in feeds:
            if name not in known_names:
                raise MLTypeError(f"{name!r} is no input of the model, which has {', '.join(known_names) or 'none'}")
        arrays = {}
        for name, arg in known_names.items():
            if name not in feeds:
                raise MLTypeError(f"Missing input: {name}")
            if arg.kind == SEQUENCE:
                raise MLNotSupportedError(f"input {name!r} is a sequence: inputs are tensors")
            if feeds[name] is None:
                raise MLNotSupportedError(f"input {name!r} is an optional value that is empty: inputs are tensors")
            arrays[name] = array = as_array(feeds[name])
            check_shape(arg, array.shape)
        return arrays

    def _key(self, arrays: Mapping[str, Any]) -> Any:
        """Returns the key of a compiled graph. It has names of inputs, as a later model may depend on more inputs."""
        shapes = tuple((name, array.shape) for name, array in arrays.items() if not self._fixed_shape(name))
        values = tuple((name, arrays[name].tobytes()) for name in self._values if name in arrays)
        return shapes, values

    def _fixed_shape(self, name: str) -> bool:
        return any(arg.name == name and known(arg) for arg in self._inputs)

    def _graph(self, arrays: Mapping[str, Any]) -> Compiled:
        with self._lock:
            if None in self._graphs:
                return self._graphs[None]
            key = self._key(arrays)
            compiled = self._graphs.get(key)
            while compiled is None:
                model = self._model()
                self._set(model, arrays)
                try:
                    compiled = self._keep(self._key(arrays), model)
                except MLNotSupportedError:
                    if not self._note_values(model):
                        raise
            self._last = compiled
            if key in self._graphs:
                self._graphs.move_to_end(key)
            return compiled

    def _set(self, model: Any, arrays: Mapping[str, Any]) -> None:
        args = {arg.name: arg for arg in self._inputs}
        for name, array in arrays.items():
            if not known(args[name]) or not array.size:
                model.set_shape(name, array.shape)
            if name in self._values:
                data_type = args[name].data_type or "float32"
                model.set_value(name, as_data(array, data_type, array.shape, f"input {name!r}"))

    def _keep(self, key: Any, model: Any) -> Compiled:
        compiled = Compiled(model.build(self._context._native))
        if model.random_inputs:
            self._drawers[compiled] = model
        self._graphs[key] = self._last = compiled
        while len(self._graphs) > self._limit:
            _, dropped = self._graphs.popitem(last=False)
            self._drawers.pop(dropped, None)
        return compiled

    def _draw(self, compiled: Compiled) -> dict[str, Any]:
        """Returns the random inputs of one run by their names. The caller holds the lock."""
        drawn: dict[str, Any] = {}
        model = self._drawers.get(compiled)
        if model is None:
            return drawn
        names = model.random_inputs
        for name, data_type, shape in compiled.inputs:
            if name in names:
                drawn[name] = np.empty(stored_shape(data_type, shape), storage(data_type))
                model.draw(name, self._seed, self._runs, drawn[name])
        self._runs += 1
        return drawn

    def _result(self, name: str, results: Mapping[str, Any]) -> Any:
        if name in results:
            element = ONNX_DTYPES.get(self._elements.get(name, ""))
            return results[name].astype(element, copy=False) if element else results[name]
        parts = sorted((key for key in results if key.startswith(name + "/")), key=lambda key: int(key.rpartition("/")[2]))
        return [results[key] for key in parts]

    # --- Where it runs, and what it costs --------------------------------------------------------

    def _native(self) -> Any:
        if self._last is None:
            raise MLInvalidStateError("the model has no graph before its first run(), which gives the shapes: call run() first")
        return self._last.native

    def placement(self) -> list[dict[str, Any]]:
        """Returns where each operator of the last graph runs, and why."""
        return self._native().placement()  # type: ignore[no-any-return]

    def statistics(self) -> dict[str, int]:
        """Returns the statistics of the last run, such as its cycles."""
        return self._native().statistics()  # type: ignore[no-any-return]

    def profile(self) -> dict[str, Any]:
        """Returns how the last run spent its time; the session must be made with profile=True."""
        return self._native().profile()  # type: ignore[no-any-return]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the last graph, compiled; Session(path) runs it without a compiler."""
        self._native().save(os.fspath(path))


def known(arg: NodeArg) -> bool:
    return arg.shape is not None and all(isinstance(size, int) for size in arg.shape)


def check_shape(arg: NodeArg, shape: tuple[int, ...]) -> None:
    if arg.shape is None:
        return
    if len(shape) != len(arg.shape) or any(isinstance(size, int) and size != given
                                           for size, given in zip(arg.shape, shape)):
        raise MLTypeError(f"Shape mismatch: input {arg.name!r} has shape {arg.shape}, and the data {list(shape)}")
