# SPDX-License-Identifier: MIT
"""Graphs."""
from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import _file
from ._builder import Recording
from ._errors import MLInvalidStateError, MLTypeError
from ._operators import OPERATORS
from ._types import NAMES, as_data, storage, stored_shape

if TYPE_CHECKING:
    from ._context import MLContext


class Compiled:
    """A graph of the library, with the information that its runs need."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.inputs = [(name, NAMES[number], tuple(shape)) for name, number, shape in native.inputs]
        self.outputs = [(name, NAMES[number], tuple(shape)) for name, number, shape in native.outputs]

    def run(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs the graph on arrays; writes results into the arrays of outputs, or into new ones."""
        given = []
        for name, data_type, shape in self.inputs:
            if name not in inputs:
                raise MLTypeError(f"Missing input: {name}")
            given.append(as_data(inputs[name], data_type, shape, f"input {name!r}"))
        results = [self._result(row, outputs) for row in self.outputs]
        self.native.run(tuple(given), tuple(results))
        return {row[0]: result for row, result in zip(self.outputs, results)}

    def _result(self, row: tuple[str, str, tuple[int, ...]], outputs: Mapping[str, Any] | None) -> Any:
        name, data_type, shape = row
        dtype, stored = storage(data_type), stored_shape(data_type, shape)
        if outputs is None or name not in outputs:
            return np.empty(stored, dtype)
        array = outputs[name]
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != stored \
                or not array.flags.c_contiguous or not array.flags.writeable:
            raise MLTypeError(f"output {name!r} goes into a writable, contiguous array of {dtype} "
                              f"with shape {list(stored)}")
        return array


class MLGraph:
    """A graph: what was built, and its compiled form for each context that has used it."""

    _recording: Recording
    _compiled: weakref.WeakKeyDictionary[MLContext, Compiled]
    _lock: threading.Lock
    # The compiled form that was used last.
    _last: Compiled | None
    _destroyed: bool

    def __init__(self) -> None:
        raise TypeError("MLGraphBuilder.build() and MLGraph.load() make graphs")

    @classmethod
    def _made(cls, recording: Recording, context: MLContext | None = None, native: Any = None) -> Self:
        self = cls.__new__(cls)
        self._recording = recording
        self._compiled = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._last = None
        self._destroyed = False
        if context is not None and native is not None:
            self._last = self._compiled[context] = Compiled(native)
        return self

    def _for(self, context: MLContext) -> Compiled:
        if self._destroyed:
            raise MLInvalidStateError("the graph has been destroyed")
        with self._lock:
            compiled = self._compiled.get(context)
            if compiled is None:
                compiled = Compiled(self._recording.compile(context._native))
                self._compiled[context] = compiled
            self._last = compiled
        return compiled

    def _report(self, context: MLContext | None) -> Any:
        compiled = self._for(context) if context is not None else self._last
        if compiled is None:
            raise MLInvalidStateError("the graph is not compiled: name the context, or compute it first")
        return compiled.native

    def __repr__(self) -> str:
        return f"MLGraph(operands={self.operand_count}, operations={self.operation_count})"

    @property
    def operand_count(self) -> int:
        """Number of operands: inputs, constants and results."""
        return len(self._recording.values)

    @property
    def operation_count(self) -> int:
        """Number of operators."""
        return len(self._recording.calls)

    def get_input_names(self) -> list[str]:
        """Returns the names of the inputs, in the order in which they were made."""
        return self._recording.inputs()

    def get_output_names(self) -> list[str]:
        """Returns the names of the outputs."""
        return list(self._recording.outputs)

    def placement(self, context: MLContext | None = None) -> list[dict[str, Any]]:
        """Returns where each operator runs, and why: operator, label, device, kernel, reason, cycles, bytes_copied."""
        return self._report(context).placement()  # type: ignore[no-any-return]

    def statistics(self, context: MLContext | None = None) -> dict[str, int]:
        """Returns the statistics of the last run, such as its cycles."""
        return self._report(context).statistics()  # type: ignore[no-any-return]

    def profile(self, context: MLContext | None = None) -> dict[str, Any]:
        """Returns where the time of the last run went; the context must be made with profile=True.
        """
        return self._report(context).profile()  # type: ignore[no-any-return]

    def destroy(self) -> None:
        """Frees the memory of the compiled forms. The graph cannot be used any more."""
        with self._lock:
            for compiled in list(self._compiled.values()):
                compiled.native.destroy()
            self._destroyed = True

    # --- Files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str], quantized: bool = False) -> None:
        """Writes a .webnn file: JSON that contains the constants. quantized: what the file says the
        graph is; nothing else depends on it.
        """
        _file.save(self._recording, os.fspath(path), quantized)

    @staticmethod
    def load(path: str | os.PathLike[str], manifest_path: str | os.PathLike[str] | None = None,
             weights_path: str | os.PathLike[str] | None = None) -> MLGraph:
        """Reads a .webnn file, JSON or text, with weights beside it as manifest and blob or as safetensors."""
        return MLGraph._made(_file.load(path, manifest_path, weights_path))

    def save_compiled(self, path: str | os.PathLike[str], context: MLContext | None = None) -> None:
        """Writes the compiled graph, for MLContext.load_compiled()."""
        self._report(context).save(os.fspath(path))

    # --- What pywebnn has for looking into graphs ------------------------------------------------

    def debug_operand(self, idx: int) -> str:
        """Returns a line of text about an operand."""
        values = self._recording.values
        if not 0 <= idx < len(values):
            return f"Operand[{idx}]: not found"
        value = values[idx]
        return f"Operand[{idx}]: name={value.name!r}, kind={value.kind}, type={value.data_type}, shape={value.shape}"

    def count_empty_shapes(self) -> int:
        """Returns the number of operands that are scalars."""
        return sum(not value.shape for value in self._recording.values)

    def count_scalar_constants(self) -> int:
        """Returns the number of constants that are scalars."""
        return sum(not value.shape and value.kind == "constant" for value in self._recording.values)

    def count_unknown_shapes(self) -> int:
        """Returns the number of unknown shapes, 0: each call determines the shape of its result."""
        return 0

    def count_unknown_shapes_excluding_scalar_ops(self) -> int:
        """Does the work of count_unknown_shapes()."""
        return 0

    def debug_unknown_shapes(self) -> list[str]:
        """Returns the operands whose shapes are unknown: there are none."""
        return []

    def debug_unknown_shapes_structured(self) -> list[dict[str, Any]]:
        """Does the work of debug_unknown_shapes()."""
        return []

    def operators(self) -> list[str]:
        """Returns WebNN's names of the operators, in the order of the calls."""
        return [OPERATORS[call.index][0] for call in self._recording.calls]


class MLCompiledGraph(MLGraph):
    """A graph of a compiled file: it runs on the context that loaded it, and cannot be saved as .webnn."""

    _context: MLContext

    @classmethod
    def _loaded(cls, context: MLContext, native: Any) -> MLCompiledGraph:
        self = cls._made(Recording(), context, native)
        self._context = context
        return self

    def _for(self, context: MLContext) -> Compiled:
        if context is not self._context:
            raise MLTypeError("a compiled graph runs on the context that loaded it")
        return super()._for(context)

    def __repr__(self) -> str:
        return f"MLCompiledGraph(inputs={self.get_input_names()}, outputs={self.get_output_names()})"

    def get_input_names(self) -> list[str]:
        return [row[0] for row in self._last.inputs] if self._last else []

    def get_output_names(self) -> list[str]:
        return [row[0] for row in self._last.outputs] if self._last else []

    def save(self, path: str | os.PathLike[str], quantized: bool = False) -> None:
        raise MLInvalidStateError("a compiled graph has no operators to save: save_compiled() copies it")
