# SPDX-License-Identifier: MIT
"""Graphs as models of ONNX, operator set 21: what MLContext.convert_to_onnx() writes.

Most operators become one operator of ONNX, or a few. Those without a counterpart are refused by
name.
"""
from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ._builder import Call, Recording, Value
from ._errors import MLNotSupportedError
from ._file import value_names
from ._operators import OPERATORS

OPSET, IR_VERSION = 21, 10
ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10, "uint32": 12, "uint64": 13,
            "uint4": 21, "int4": 22}
BOOL = 9

SAME = {"abs": "Abs", "ceil": "Ceil", "cos": "Cos", "erf": "Erf", "exp": "Exp", "floor": "Floor", "identity": "Identity",
        "log": "Log", "neg": "Neg", "reciprocal": "Reciprocal", "roundEven": "Round", "sin": "Sin", "sign": "Sign",
        "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid", "softplus": "Softplus",
        "softsign": "Softsign", "gelu": "Gelu", "hardSwish": "HardSwish", "add": "Add", "sub": "Sub", "mul": "Mul",
        "div": "Div", "max": "Max", "min": "Min", "pow": "Pow", "matmul": "MatMul", "prelu": "PRelu",
        "gatherND": "GatherND", "scatterND": "ScatterND"}
# Operators with attributes: ONNX's names of the attributes, and WebNN's names of the options.
WITH_ATTRIBUTES = {"elu": ("Elu", {"alpha": "alpha"}), "leakyRelu": ("LeakyRelu", {"alpha": "alpha"}),
                   "hardSigmoid": ("HardSigmoid", {"alpha": "alpha", "beta": "beta"}),
                   "softmax": ("Softmax", {"axis": "axis"}), "concat": ("Concat", {"axis": "axis"}),
                   "gather": ("Gather", {"axis": "axis"}), "gatherElements": ("GatherElements", {"axis": "axis"}),
                   "scatterElements": ("ScatterElements", {"axis": "axis"}), "transpose": ("Transpose", {"permutation": "perm"})}
COMPARISONS = {"equal": "Equal", "greater": "Greater", "greaterOrEqual": "GreaterOrEqual", "lesser": "Less",
               "lesserOrEqual": "LessOrEqual", "isNaN": "IsNaN", "isInfinite": "IsInf"}
LOGIC = {"logicalAnd": "And", "logicalOr": "Or", "logicalXor": "Xor", "logicalNot": "Not"}
REDUCTIONS = {"reduceL1": "ReduceL1", "reduceL2": "ReduceL2", "reduceLogSum": "ReduceLogSum",
              "reduceLogSumExp": "ReduceLogSumExp", "reduceMax": "ReduceMax", "reduceMean": "ReduceMean",
              "reduceMin": "ReduceMin", "reduceProduct": "ReduceProd", "reduceSum": "ReduceSum",
              "reduceSumSquare": "ReduceSumSquare"}
POOLS = {"averagePool2d": "AveragePool", "maxPool2d": "MaxPool"}
TO_NCHW, TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


# --- Protocol buffers --------------------------------------------------------------------------------

def varint(number: int) -> bytes:
    number &= 2 ** 64 - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number: int, value: Any) -> bytes:
    """Returns a member of a message, as protobuf encodes an int, float, str or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(number: int, values: Iterable[Any]) -> bytes:
    return b"".join(field(number, value) for value in values)


def attribute(name: str, value: Any) -> bytes:
    if isinstance(value, float):
        content = field(2, value) + field(20, 1)
    elif isinstance(value, int):
        content = field(3, int(value)) + field(20, 2)
    elif isinstance(value, str):
        content = field(4, value) + field(20, 3)
    else:
        content = fields(8, map(int, value)) + field(20, 7)
    return field(1, name) + content


def value_info(name: str, value: Value) -> bytes:
    shape = b"".join(field(1, field(1, size)) for size in value.shape)
    return field(1, name) + field(2, field(1, field(1, ELEMENTS[value.data_type]) + field(2, shape)))


# --- Operators ---------------------------------------------------------------------------------------

class Exporter:
    """Writes the operators of a recording, one after the other."""

    def __init__(self, recording: Recording) -> None:
        self.recording, self.names = recording, value_names(recording)
        self.nodes: list[bytes] = []
        self.initializers: list[bytes] = []
        self.made = 0

    def model(self) -> bytes:
        values = self.recording.values
        for name, value in zip(self.names, values):
            if value.kind == "constant":
                self.initializers.append(fields(1, value.shape) + field(2, ELEMENTS[value.data_type]) + field(8, name)
                                         + field(9, np.ascontiguousarray(value.data).tobytes()))
        for call in self.recording.calls:
            self.call(call)
        inputs = [value_info(name, value) for name, value in zip(self.names, values) if value.kind == "input"]
        outputs = []
        for name, number in self.recording.outputs.items():
            if self.names[number] != name:
                self.node("Identity", [self.names[number]], name)
            outputs.append(value_info(name, values[number]))
        graph = (fields(1, self.nodes) + field(2, "graph") + fields(5, self.initializers) + fields(11, inputs)
                 + fields(12, outputs))
        return (field(1, IR_VERSION) + field(2, "webnn-npu") + field(7, graph) + field(8, field(1, "") + field(2, OPSET)))

    def fresh(self) -> str:
        self.made += 1
        return f"made/{self.made}"

    def node(self, kind: str, inputs: list[str], output: str | list[str] = "", label: str = "", **attributes: Any) -> str:
        outputs = [output or self.fresh()] if isinstance(output, str) else output
        self.nodes.append(fields(1, inputs) + fields(2, outputs) + field(3, label) + field(4, kind) +
                          fields(5, [attribute(n, v) for n, v in attributes.items() if v is not None]))
        return outputs[0]

    def numbers(self, values: Iterable[Any], data_type: str = "int64", scalar: bool = False) -> str:
        array, name = np.asarray(list(values), data_type), self.fresh()
        shape = () if scalar else array.shape
        self.initializers.append(fields(1, shape) + field(2, ELEMENTS[data_type]) + field(8, name) + field(9, array.tobytes()))
        return name

    def call(self, call: Call) -> None:
        operator, _, _, rows = OPERATORS[call.index]
        options: dict[str, Any] = {}
        operands: list[int] = []
        for (idl, _, kind), value in zip(rows, call.arguments):
            if kind == "Operand[]":
                operands += value
            elif kind == "Operand" and not idl.startswith("output") and value is not None and "label" not in options:
                operands.append(value)
            else:
                options[idl] = value
        inputs, outputs = [self.names[n] for n in operands], [self.names[n] for n in call.results]
        self.first = self.recording.values[operands[0]]
        self.result = self.recording.values[call.results[0]]
        label = options.get("label") or ""
        if operator in SAME:
            self.node(SAME[operator], inputs, outputs, label)
        elif operator in WITH_ATTRIBUTES:
            kind, names = WITH_ATTRIBUTES[operator]
            self.node(kind, inputs, outputs, label, **{onnx: options[idl] for idl, onnx in names.items()})
        else:
            self.other(operator, inputs, outputs, label, options, call)

    def other(self, operator: str, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any],
              call: Call) -> None:
        output = outputs[0]
        if operator in COMPARISONS or operator == "notEqual":
            self.bytes_of(self.node(COMPARISONS.get(operator, "Equal"), inputs, "", label), output, operator == "notEqual")
        elif operator in LOGIC:
            self.bytes_of(self.node(LOGIC[operator], [self.truth(name) for name in inputs], "", label), output)
        elif operator in REDUCTIONS:
            axes = options["axes"] if options["axes"] is not None else range(len(self.first.shape))
            self.node(REDUCTIONS[operator], [*inputs, self.numbers(axes)], output, label,
                      keepdims=int(bool(options["keepDimensions"])), noop_with_empty_axes=1)
        elif operator in POOLS:
            self.pool(operator, inputs[0], output, label, options)
        else:
            function: Callable[..., None] | None = getattr(self, f"put_{operator}", None)
            if function is None:
                raise MLNotSupportedError(f"{operator} is not written as ONNX; MLGraph.save() writes all operators", operator, label)
            function(inputs, outputs, label, options, call)

    def truth(self, name: str) -> str:
        return self.node("Cast", [name], to=BOOL)

    def bytes_of(self, name: str, output: str, inverted: bool = False) -> None:
        self.node("Cast", [self.node("Not", [name]) if inverted else name], output, to=ELEMENTS["uint8"])

    def put_where(self, inputs: list[str], outputs: list[str], label: str, *unused: Any) -> None:
        self.node("Where", [self.truth(inputs[0]), *inputs[1:]], outputs, label)

    def put_cast(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        self.node("Cast", inputs, outputs, label, to=ELEMENTS[options["dataType"]])

    def put_reshape(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        self.node("Reshape", [*inputs, self.numbers(options["newShape"])], outputs, label)

    def put_expand(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        self.node("Expand", [*inputs, self.numbers(options["newShape"])], outputs, label)

    def put_tile(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        self.node("Tile", [*inputs, self.numbers(options["repetitions"])], outputs, label)

    def put_slice(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        starts, sizes = options["starts"], options["sizes"]
        steps = options["strides"] or [1] * len(starts)
        ends = [start + size for start, size in zip(starts, sizes)]
        self.node("Slice", [*inputs, *map(self.numbers, (starts, ends, range(len(starts)), steps))], outputs, label)

    def put_pad(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        mode = {"reflection": "reflect"}.get(options["mode"] or "constant", options["mode"] or "constant")
        pads = self.numbers([*options["beginningPadding"], *options["endingPadding"]])
        value = [self.numbers([options["value"] or 0], self.first.data_type, True)] if mode == "constant" else []
        self.node("Pad", [*inputs, pads, *value], outputs, label, mode=mode)

    def put_clamp(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        limits = ["" if value is None or abs(value) == float("inf") else self.numbers([value], self.first.data_type, True)
                  for value in (options["minValue"], options["maxValue"])]
        self.node("Clip", [*inputs, *limits], outputs, label)

    def put_split(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], call: Call) -> None:
        axis = options["axis"] or 0
        sizes = [self.recording.values[number].shape[axis] for number in call.results]
        self.node("Split", [*inputs, self.numbers(sizes)], outputs, label, axis=axis)

    def put_gemm(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        c = [self.names[options["c"]]] if options["c"] is not None else []
        self.node("Gemm", [*inputs, *c], outputs, label, alpha=options["alpha"], beta=options["beta"],
                  transA=int(bool(options["aTranspose"])), transB=int(bool(options["bTranspose"])))

    def put_argMin(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], call: Call) -> None:
        made = self.node(OPERATORS[call.index][0].replace("arg", "Arg"), inputs, "", label, axis=options["axis"],
                         keepdims=int(bool(options["keepDimensions"])))
        self.node("Cast", [made], outputs, to=ELEMENTS[self.result.data_type])

    put_argMax = put_argMin

    def channels(self, options: dict[str, Any], name: str, layout: str) -> tuple[str, bool]:
        """Returns the picture with its channels in front, and whether that takes a transpose."""
        last = options[layout] == "nhwc"
        return (self.node("Transpose", [name], perm=TO_NCHW) if last else name), last

    def back(self, name: str, output: str, last: bool, label: str) -> None:
        self.node("Transpose" if last else "Identity", [name], output, label, perm=TO_NHWC if last else None)

    def window(self, options: dict[str, Any]) -> dict[str, Any]:
        padding = options["padding"] or (0, 0, 0, 0)
        return {"strides": options["strides"], "dilations": options["dilations"],
                "pads": [padding[0], padding[2], padding[1], padding[3]]}

    def pool(self, operator: str, name: str, output: str, label: str, options: dict[str, Any]) -> None:
        kind = POOLS[operator]
        picture, last = self.channels(options, name, "layout")
        spatial = self.first.shape[1:3] if last else self.first.shape[2:]
        wide = kind == "AveragePool" and options["dilations"] not in (None, (1, 1))
        if wide or options["outputSizes"] is not None:
            raise MLNotSupportedError(f"{operator}: {'dilations' if wide else 'outputSizes'} are not written as ONNX; "
                                      "MLGraph.save() writes all options", operator, label)
        ceil = int(options["outputShapeRounding"] == "ceil")
        self.back(self.node(kind, [picture], kernel_shape=options["windowDimensions"] or spatial, ceil_mode=ceil,
                            **self.window(options)), output, last, label)

    def put_conv2d(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        order = {"oihw": None, "hwio": (3, 2, 0, 1), "ohwi": (0, 3, 1, 2), "ihwo": (3, 0, 1, 2)}
        self.convolution("Conv", order[options["filterLayout"] or "oihw"], inputs, outputs, label, options, {})

    def put_convTranspose2d(self, inputs: list[str], outputs: list[str], label: str, options: dict[str, Any], *unused: Any) -> None:
        order = {"iohw": None, "hwoi": (3, 2, 0, 1), "ohwi": (3, 0, 1, 2)}
        if options["outputSizes"] is not None:
            raise MLNotSupportedError("convTranspose2d: outputSizes are not written as ONNX", "convTranspose2d", label)
        self.convolution("ConvTranspose", order[options["filterLayout"] or "iohw"], inputs, outputs, label, options,
                         {"output_padding": options["outputPadding"]})

    def convolution(self, kind: str, order: Any, inputs: list[str], outputs: list[str], label: str,
                    options: dict[str, Any], more: dict[str, Any]) -> None:
        picture, last = self.channels(options, inputs[0], "inputLayout")
        kernel = self.node("Transpose", [inputs[1]], perm=order) if order else inputs[1]
        bias = [self.names[options["bias"]]] if options["bias"] is not None else []
        self.back(self.node(kind, [picture, kernel, *bias], group=options["groups"], **self.window(options), **more),
                  outputs[0], last, label)


def export(recording: Recording) -> bytes:
    """Returns the bytes of the model."""
    return Exporter(recording).model()
