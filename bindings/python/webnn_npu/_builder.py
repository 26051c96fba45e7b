# SPDX-License-Identifier: MIT
"""Operands and builders. A builder records its calls, so that the graph can be saved, and compiled
for other contexts."""
from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._errors import MLTypeError
from ._operators import ENUMS, INDEX, OPERATORS, Operators
from ._types import NAMES, as_array, as_data, count, shape_tuple, type_number

if TYPE_CHECKING:
    from ._context import MLContext
    from ._graph import MLGraph


class MLOperand:
    """A value of a graph that is being built."""

    __slots__ = ("_builder", "_native", "_id", "_name")

    def __init__(self, builder: MLGraphBuilder, native: Any, number: int, name: str | None = None) -> None:
        self._builder = builder
        self._native = native
        self._id = number
        self._name = name

    @property
    def data_type(self) -> str:
        """Name of the element type."""
        return NAMES[self._native.data_type]

    @property
    def shape(self) -> list[int]:
        """Sizes of the dimensions."""
        return self._native.shape  # type: ignore[no-any-return]

    @property
    def name(self) -> str | None:
        """Name of the operand, if it is an input."""
        return self._name

    def __repr__(self) -> str:
        return f"MLOperand(name='{self._name or 'unnamed'}', dtype='{self.data_type}', shape={self.shape})"


class Value:
    """An operand of a recorded graph."""

    __slots__ = ("kind", "name", "data_type", "shape", "data")

    def __init__(self, kind: str, name: str | None, data_type: str, shape: Iterable[int],
                 data: Any = None) -> None:
        self.kind, self.name, self.data_type, self.shape, self.data = kind, name, data_type, list(shape), data


class Call:
    """A recorded operator: its index, its arguments, in which numbers stand for operands, and its results."""

    __slots__ = ("index", "arguments", "count", "parts", "results")

    def __init__(self, index: int, arguments: list[Any], count: int, parts: int | None,
                 results: list[int]) -> None:
        self.index, self.arguments, self.count, self.parts, self.results = index, arguments, count, parts, results


class Recording:
    """All values and operators of a builder, in the order of the calls, and its updates of inputs."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.calls: list[Call] = []
        # Pairs of an input and the operand that updates it, by number.
        self.updates: list[tuple[int, int]] = []
        self.outputs: dict[str, int] = {}

    def snapshot(self, outputs: dict[str, int]) -> Recording:
        """Returns the operators recorded so far with these outputs; the builder can go on afterwards."""
        result = Recording()
        result.values, result.calls, result.outputs = list(self.values), list(self.calls), outputs
        result.updates = list(self.updates)
        return result

    def inputs(self) -> list[str]:
        return [value.name or "" for value in self.values if value.kind == "input"]

    def replay(self, context: Any) -> tuple[Any, list[Any]]:
        """Returns a builder of the library for another context, and its operands by number."""
        builder = _native.Builder(context)
        operands: list[Any] = [None] * len(self.values)
        for number, value in enumerate(self.values):
            arguments = (type_number(value.data_type), tuple(value.shape))
            if value.kind == "input":
                operands[number] = builder.input(value.name or "", *arguments)
            elif value.kind == "constant":
                operands[number] = builder.constant(*arguments, value.data)
        for call in self.calls:
            row = OPERATORS[call.index]
            given = tuple(native_argument(item[2], value, operands.__getitem__)
                          for item, value in zip(row[3], call.arguments))
            result = builder.call(call.index, given, call.count, call.parts)
            for number, operand in zip(call.results, result if call.count else (result,)):
                operands[number] = operand
        for pair in self.updates:
            builder.update_input(*(operands[number] for number in pair))
        return builder, operands

    def compile(self, context: Any) -> Any:
        """Returns the graph of the library for a context."""
        builder, operands = self.replay(context)
        return builder.build({name: operands[number] for name, number in self.outputs.items()})


def native_argument(kind: str, value: Any, operand: Callable[[int], Any]) -> Any:
    """Returns a recorded argument in the form that the library's call takes."""
    if value is None:
        return None
    if kind == "Operand":
        return operand(value)
    if kind == "Operand[]":
        return tuple(operand(number) for number in value)
    if kind in ENUMS:
        return ENUMS[kind][value]
    if kind.endswith("[]") and kind[:-2] in ENUMS:
        return tuple(ENUMS[kind[:-2]][item] for item in value)
    return value


def checked_argument(operator: str, name: str, kind: str, value: Any) -> Any:
    """Returns an argument of a program in its recorded form; operands are handled elsewhere."""
    what = f"{operator}: {name}"
    if kind in ("u32", "i32"):
        return checked_integer(what, value, 0 if kind == "u32" else -2 ** 31, 2 ** 32 if kind == "u32" else 2 ** 31)
    if kind == "u32[]":
        return shape_tuple(value, what)
    if kind == "f32[]":
        return tuple(checked_float(what, item) for item in value)
    if kind == "f64":
        return checked_float(what, value)
    if kind == "number":
        return int(value) if isinstance(value, (int, np.integer)) else checked_float(what, value)
    if kind == "bool":
        return bool(value)
    if kind == "StringView":
        return str(value)
    if kind in ENUMS:
        return checked_name(operator, name, kind, value)
    if kind.endswith("[]") and kind[:-2] in ENUMS:
        return tuple(checked_name(operator, name, kind[:-2], item) for item in value)
    raise MLTypeError(f"{what} is {value!r}", operator)


def checked_integer(what: str, value: Any, least: int, end: int) -> int:
    try:
        number = int(value.__index__())
    except (TypeError, AttributeError):
        raise MLTypeError(f"{what} is {value!r}, and must be an int") from None
    if not least <= number < end:
        raise MLTypeError(f"{what} is {number}, and must be from {least} to {end - 1}")
    return number


def checked_float(what: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MLTypeError(f"{what} is {value!r}, and must be a number") from None


def checked_name(operator: str, name: str, kind: str, value: Any) -> str:
    if value not in ENUMS[kind]:
        allowed = " or ".join([", ".join(list(ENUMS[kind])[:-1]), list(ENUMS[kind])[-1]])
        raise MLTypeError(f"Invalid {name} {value!r}: {operator} takes {allowed}", operator)
    return str(value)


class MLGraphBuilder(Operators):
    """Makes a graph, operator by operator.

    Without a context it checks its calls by the CPU's limits, and the graph is compiled for the
    context that first computes it.
    """

    def __init__(self, context: MLContext | None = None) -> None:
        from ._context import checking_context

        self._context = context
        self._checks = context._native if context is not None else checking_context()
        self._native = _native.Builder(self._checks)
        self._recording = Recording()
        # Operands of the library, by number.
        self._operands: list[Any] = []
        self._built = False

    def _fresh(self) -> Any:
        """Returns the library's builder. It builds only once; then a new one with the same calls replaces it."""
        if self._built:
            self._native, self._operands = self._recording.replay(self._checks)
            self._built = False
        return self._native

    def _add(self, native: Any, kind: str, name: str | None = None, data: Any = None) -> MLOperand:
        operand = MLOperand(self, native, len(self._operands), name)
        self._operands.append(native)
        self._recording.values.append(Value(kind, name, operand.data_type, operand.shape, data))
        return operand

    def input(self, name: str, shape: Iterable[int], data_type: str = "float32") -> MLOperand:
        """Adds an input of the graph, and returns its operand."""
        sizes, number = shape_tuple(shape), type_number(data_type)
        return self._add(self._fresh().input(name, number, sizes), "input", name)

    def constant(self, value: Any, shape: Iterable[int] | None = None, data_type: str | None = None, *,
                 copy: bool = True) -> MLOperand:
        """Adds a constant: an array of NumPy or DLPack, a list, a number, or bytes with shape and
        type.

        Data that cannot change is not copied. With copy=False, data of the right type is not
        copied, either: the program promises not to change it as long as the graph lives.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):
            if shape is None or data_type is None:
                raise MLTypeError("a constant of bytes needs its shape and its data_type")
            value = np.frombuffer(value, np.uint8)
            number, sizes = type_number(data_type), shape_tuple(shape)
            return self._constant(number, sizes, fixed(value, value if copy else None))
        array = as_array(value)
        number = type_number(data_type if data_type is not None else default_type(value, array))
        sizes = shape_tuple(shape) if shape is not None else array.shape
        if array.shape != sizes and array.size == count(sizes):
            array = array.reshape(sizes)
        made = as_data(array, NAMES[number], sizes, "the constant")
        return self._constant(number, sizes, fixed(made, array if copy else None))

    def _constant(self, number: int, sizes: tuple[int, ...], data: Any) -> MLOperand:
        return self._add(self._fresh().constant(number, sizes, data), "constant", None, data)

    def _call(self, index: int, *arguments: Any) -> Any:
        name, outputs, sequence, rows = OPERATORS[index]
        parts, results = None, outputs
        recorded: list[Any] = []
        for (idl, python, kind), value in zip(rows, arguments):
            if kind == "splits":
                parts, value = split_argument(value)
                results = parts if parts is not None else len(value)
            elif value is not None and kind in ("Operand", "Operand[]"):
                value = self._numbers(name, python, kind, value)
            elif value is not None:
                value = checked_argument(name, python, kind, value)
                if idl in ("axis", "axes"):
                    self._check_axes(name, recorded[0], value)
            if idl == "returnSequence" and sequence and value:
                results = (outputs or 0) + 1
            recorded.append(value)
        return self._make(Call(index, recorded, results or 0, parts, []), outputs == 0)

    def _check_axes(self, operator: str, operand: Any, value: Any) -> None:
        """Checks that axes are dimensions of the first operand."""
        number = operand[0] if isinstance(operand, list) and operand else operand
        if isinstance(number, int):
            axes = value if isinstance(value, tuple) else (value,)
            unique_axes(operator, axes, len(self._recording.values[number].shape))

    def _make(self, call: Call, single: bool) -> Any:
        rows, native = OPERATORS[call.index][3], self._fresh()
        given = tuple(native_argument(row[2], value, self._operands.__getitem__)
                      for row, value in zip(rows, call.arguments))
        result = native.call(call.index, given, call.count, call.parts)
        made = [self._add(operand, "result") for operand in ((result,) if single else result)]
        call.results = [operand._id for operand in made]
        self._recording.calls.append(call)
        return made[0] if single else made

    def _numbers(self, operator: str, name: str, kind: str, value: Any) -> Any:
        if kind == "Operand[]":
            if hasattr(value, "__iter__"):
                return [self._numbers(operator, name, "Operand", item) for item in value]
            raise MLTypeError(f"{operator}: {name} must be a list of operands", operator)
        if not isinstance(value, MLOperand):
            raise MLTypeError(f"{operator}: {name} is {type(value).__name__}, and must be an MLOperand; "
                              "constant() makes one of an array", operator)
        if value._builder is not self:
            raise MLTypeError(f"{operator}: {name} belongs to another builder", operator)
        return value._id

    # --- Methods that WebNN lacks, or has with other arguments -----------------------------------

    def pad(self, input: MLOperand, padding: Iterable[int], mode: str | None = None,
            value: float | None = None, *, label: str = "") -> MLOperand:
        """Adds elements at the borders. padding lists how many come before each dimension, then how
        many after each.
        """
        sizes = shape_tuple(padding, "pad: padding")
        if len(sizes) % 2:
            raise MLTypeError(f"pad: padding has {len(sizes)} numbers, and takes two for each dimension", "pad")
        half = len(sizes) // 2
        return self._call(INDEX["pad"], input, sizes[:half], sizes[half:], label, mode, value)  # type: ignore[no-any-return]

    def hard_swish(self, input: MLOperand, alpha: float = 1 / 6, beta: float = 0.5, *,
                   label: str = "") -> MLOperand:
        """Returns x * clamp(alpha * x + beta, 0, 1); WebNN's own operator if alpha is 1/6 and beta
        is 1/2.
        """
        if abs(alpha - 1 / 6) < 1e-6 and beta == 0.5:
            return self._call(INDEX["hardSwish"], input, label)  # type: ignore[no-any-return]
        return self.mul(input, self.hard_sigmoid(input, alpha, beta, label=label), label=label)

    def logical_not(self, x: MLOperand, *, label: str = "") -> MLOperand:
        """Returns 1 where x is 0, else 0. Types other than uint8 are allowed, too."""
        return super().logical_not(self._truth("logicalNot", x), label=label)

    def logical_and(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Returns 1 where both operands are not 0, else 0. Types other than uint8 are allowed, too.
        """
        return super().logical_and(self._truth("logicalAnd", a), self._truth("logicalAnd", b), label=label)

    def logical_or(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Returns 1 where an operand is not 0, else 0. Types other than uint8 are allowed, too."""
        return super().logical_or(self._truth("logicalOr", a), self._truth("logicalOr", b), label=label)

    def logical_xor(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Returns 1 where exactly one operand is 0, else 0. Types other than uint8 are allowed,
        too.
        """
        return super().logical_xor(self._truth("logicalXor", a), self._truth("logicalXor", b), label=label)

    def where_(self, condition: MLOperand, true_value: MLOperand, false_value: MLOperand, *,
               label: str = "") -> MLOperand:
        """Returns true_value where condition is not 0, else false_value. The condition may be of any type."""
        return super().where_(self._truth("where", condition), true_value, false_value, label=label)

    where = where_

    def quantize_linear(self, input: MLOperand, scale: MLOperand, zero_point: MLOperand, *,
                        label: str = "") -> MLOperand:
        """Returns round(input / scale) + zero_point, saturated. A scalar applies to all elements.
        """
        given = [self._like(input, operand) for operand in (scale, zero_point)]
        return super().quantize_linear(input, *given, label=label)

    def dequantize_linear(self, input: MLOperand, scale: MLOperand, zero_point: MLOperand, *,
                          label: str = "") -> MLOperand:
        """Returns (input - zero_point) * scale. A scalar applies to all elements."""
        given = [self._like(input, operand) for operand in (scale, self._narrow(input, zero_point))]
        return super().dequantize_linear(input, *given, label=label)

    def _truth(self, operator: str, operand: MLOperand) -> MLOperand:
        self._numbers(operator, "an operand", "Operand", operand)
        if operand.data_type == "uint8":
            return operand
        return self.not_equal(operand, self.constant(0, [], operand.data_type))

    def _like(self, input: MLOperand, operand: MLOperand) -> MLOperand:
        """Returns a scalar with the rank of the input, as WebNN demands."""
        if isinstance(operand, MLOperand) and isinstance(input, MLOperand) and not operand.shape and input.shape:
            return self.reshape(operand, [1] * len(input.shape))
        return operand

    def _narrow(self, input: MLOperand, operand: MLOperand) -> MLOperand:
        """Gives an 8-bit constant the type of a 4-bit input, because NumPy has no 4-bit types."""
        if not isinstance(input, MLOperand) or not isinstance(operand, MLOperand) or operand._builder is not self:
            return operand
        value = self._recording.values[operand._id]
        if (input.data_type, operand.data_type) in (("int4", "int8"), ("uint4", "uint8")) and value.kind == "constant":
            return self.constant(value.data, value.shape, input.data_type)
        return operand

    def squeeze(self, input: MLOperand, axes: Iterable[int] | None = None, *, label: str = "") -> MLOperand:
        """Removes dimensions of size 1: those that axes lists, or all."""
        shape = self._shape("squeeze", input)
        chosen = ([i for i, size in enumerate(shape) if size == 1] if axes is None
                  else unique_axes("squeeze", axes, len(shape)))
        for axis in chosen:
            if shape[axis] != 1:
                raise MLTypeError(f"squeeze: dimension {axis} has size {shape[axis]}, not 1", "squeeze", label)
        return self.reshape(input, [s for i, s in enumerate(shape) if i not in chosen], label=label)

    def unsqueeze(self, input: MLOperand, axes: Iterable[int], *, label: str = "") -> MLOperand:
        """Adds dimensions of size 1, at these indices of the result."""
        shape = self._shape("unsqueeze", input)
        sizes = list(axes)
        chosen = unique_axes("unsqueeze", sizes, len(shape) + len(sizes))
        rest = iter(shape)
        return self.reshape(input, [1 if i in chosen else next(rest) for i in range(len(shape) + len(sizes))],
                            label=label)

    def global_average_pool(self, input: MLOperand, layout: str | None = None, *, label: str = "") -> MLOperand:
        """Returns the mean of each channel of a picture."""
        self._picture("Global pooling", input)
        return self.average_pool2d(input, layout=layout, label=label)  # type: ignore[arg-type]

    def global_max_pool(self, input: MLOperand, layout: str | None = None, *, label: str = "") -> MLOperand:
        """Returns the greatest value of each channel of a picture."""
        self._picture("Global pooling", input)
        return self.max_pool2d(input, layout=layout, label=label)  # type: ignore[arg-type]

    def _shape(self, operator: str, input: MLOperand) -> list[int]:
        self._numbers(operator, "input", "Operand", input)
        return input.shape

    def _picture(self, what: str, input: MLOperand) -> None:
        shape = self._shape(what, input)
        if len(shape) != 4:
            raise MLTypeError(f"{what} input must be 4D, and has shape {shape}")

    # --- Graphs ----------------------------------------------------------------------------------

    def update_input(self, input: MLOperand, output: MLOperand) -> None:
        """Declares that an output of the graph updates one of its inputs in place.

        dispatch() then takes one tensor for both, and writes only the elements that change. The
        output is made of the input by scatter_elements or scatter_nd; see
        wnnGraphBuilderUpdateInput. It must be among the outputs of build(). A .webnn file has no
        updates: a graph that is loaded from one takes two tensors.
        """
        pair = (self._numbers("update_input", "input", "Operand", input),
                self._numbers("update_input", "output", "Operand", output))
        self._fresh().update_input(*(self._operands[number] for number in pair))
        self._recording.updates.append(pair)

    def build(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """Returns the graph of these outputs. The builder can go on afterwards."""
        from ._graph import MLGraph

        if not isinstance(outputs, Mapping) or not outputs:
            raise MLTypeError("build() takes a dict with at least one output")
        numbers = {name: self._numbers("build", f"output {name!r}", "Operand", operand)
                   for name, operand in outputs.items()}
        recording, native = self._recording.snapshot(numbers), None
        if self._context is not None:
            builder = self._fresh()
            self._built = True
            native = builder.build({name: self._operands[number] for name, number in numbers.items()})
        return MLGraph._made(recording, self._context, native)

    async def build_async(self, outputs: Mapping[str, MLOperand]) -> MLGraph:
        """Does the work of build() without blocking the event loop."""
        return await asyncio.to_thread(self.build, outputs)


def split_argument(value: Any) -> tuple[int | None, tuple[int, ...]]:
    """Returns a number of slices or their sizes as a tuple, the form in which they are recorded."""
    if hasattr(value, "__index__"):
        parts = checked_integer("split: splits", value, 0, 2 ** 32)
        return parts, (parts,)
    return None, shape_tuple(value, "split: splits")


def unique_axes(operator: str, axes: Iterable[int], rank: int) -> list[int]:
    result: list[int] = []
    for value in axes:
        axis = checked_integer(f"{operator}: axes", value, 0, 2 ** 32)
        if axis >= rank:
            raise MLTypeError(f"{operator}: Axis {axis} out of bounds for rank {rank}", operator)
        if axis in result:
            raise MLTypeError(f"{operator}: Duplicate axis {axis}", operator)
        result.append(axis)
    return result


def default_type(value: Any, array: Any) -> Any:
    """Returns the type of a constant when none is given, because Python's numbers have no size."""
    if array.dtype.kind == "b":
        return "uint8"
    if array.dtype == np.float64 and not hasattr(value, "dtype"):
        return "float32"
    return array.dtype


def fixed(made: Any, source: Any) -> Any:
    """Returns `made`, or a copy of it when a program could change it by changing `source`.

    source None: nothing is copied, because the program promises not to change the array.
    """
    if source is not None and np.may_share_memory(made, source) and not is_constant(made):
        made = made.copy()
    return made


def is_constant(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes)
