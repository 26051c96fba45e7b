# SPDX-License-Identifier: MIT
"""Files of graphs, as the tools around rustnn have them: JSON with constants in it, or text with the
weights beside it, as a manifest and a blob or as safetensors."""
from __future__ import annotations

import base64
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from . import _text, _weights
from ._builder import MLGraphBuilder, MLOperand, Recording
from ._errors import MLError, MLFileError
from ._operators import INDEX, OPERATORS
from ._types import count, storage, stored_shape, unpack

FORMAT = "webnn-graph-json"
# Names of arguments that other programs use.
OTHER_NAMES = {"dataType": ("to", "type"), "splits": ("split",), "axis": (), "newShape": ("shape",)}
# Members of the options that are no options of an operator.
NOT_OPTIONS = {"kind", "label"}


# --- Writing -----------------------------------------------------------------------------------------

def save(recording: Recording, path: str, quantized: bool) -> None:
    names = value_names(recording)
    inputs, consts = {}, {}
    for name, value in zip(names, recording.values):
        if value.kind == "input":
            inputs[name] = {"dataType": value.data_type, "shape": value.shape}
        elif value.kind == "constant":
            consts[name] = {"dataType": value.data_type, "shape": value.shape,
                            "init": {"kind": "inlineBytes", "bytes": list(constant_bytes(value))}}
    nodes = [node(number, call, names) for number, call in enumerate(recording.calls)]
    text = json.dumps({"format": FORMAT, "version": 2, "name": "graph", "quantized": bool(quantized),
                       "inputs": inputs, "consts": consts, "nodes": nodes,
                       "outputs": {name: names[number] for name, number in recording.outputs.items()}})
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def value_names(recording: Recording) -> list[str]:
    """Returns a name for each value: the name of the input or output, or operand_ and a number."""
    taken = set(recording.inputs())
    given: dict[int, str] = {}
    for name, number in recording.outputs.items():
        if name not in taken and number not in given:
            given[number] = name
            taken.add(name)
    names = []
    for number, value in enumerate(recording.values):
        name = (value.name if value.kind == "input" else given.get(number)) or ""
        if not name:
            name = f"operand_{number}"
            while name in taken:
                name += "_"
            taken.add(name)
        names.append(name)
    return names


def constant_bytes(value: Any) -> bytes:
    """Returns data in the form of these files, which have a byte for each element of int4 and uint4."""
    data = np.asarray(value.data)
    if value.data_type in ("int4", "uint4"):
        data = unpack(data, value.shape, value.data_type)
    return data.tobytes()


def node(number: int, call: Any, names: list[str]) -> dict[str, Any]:
    operator = OPERATORS[call.index][0]
    inputs: list[str] = []
    options: dict[str, Any] = {}
    required = True
    for (idl, _, kind), value in zip(OPERATORS[call.index][3], call.arguments):
        required = required and idl != "label"
        if value is None or value == "" and idl == "label":
            continue
        if kind == "Operand[]":
            inputs += [names[item] for item in value]
        elif kind == "Operand":
            inputs.append(names[value])
            if not required:
                options[idl] = value
        else:
            options[idl] = call.parts if kind == "splits" and call.parts is not None else json_value(value)
    if operator == "cast":
        options["to"] = options["dataType"]
    return {"id": f"op_{number}", "op": operator, "inputs": inputs, "options": options,
            "outputs": [names[result] for result in call.results]}


def json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return list(value) if isinstance(value, tuple) else value


# --- Reading -----------------------------------------------------------------------------------------

def load(path: str | os.PathLike[str], manifest: str | os.PathLike[str] | None,
         weights: str | os.PathLike[str] | None) -> Recording:
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"File not found: {file}")
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise MLFileError(f"{file} is no .webnn file: it is not text") from None
    try:
        graph = json.loads(text) if text.lstrip().startswith("{") else _text.parse(text)
    except ValueError as error:
        raise MLFileError(f"{file}: {error}") from None
    try:
        return Reader(file, graph, manifest, weights).recording()
    except MLError as error:
        raise error if isinstance(error, MLFileError) else MLFileError(f"{file}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise MLFileError(f"{file} is no graph of WebNN as {FORMAT}: {error!r}") from error


class Reader:
    """Repeats the calls of a builder that a file describes."""

    def __init__(self, file: Path, graph: dict[str, Any], manifest: Any, weights: Any) -> None:
        if graph.get("format") != FORMAT or graph.get("version") not in (1, 2):
            raise MLFileError(f"{file}: the format is {graph.get('format')!r} {graph.get('version')}, "
                              f"and must be {FORMAT!r} 1 or 2")
        self.file, self.graph = file, graph
        self.builder = MLGraphBuilder()
        self.operands: dict[str, MLOperand] = {}
        self.external = _weights.Weights(file, manifest, weights)

    def recording(self) -> Recording:
        for name, item in self.graph["inputs"].items():
            shape = [size["maxSize"] if isinstance(size, dict) else size for size in item["shape"]]
            self.operands[name] = self.builder.input(name, shape, item["dataType"])
        for name, item in self.graph.get("consts", {}).items():
            self.operands[name] = self.constant(name, item)
        for item in self.graph["nodes"]:
            self.node(item)
        for name, value in self.graph["outputs"].items():
            self.builder._recording.outputs[name] = self.operand(value, f"output {name!r}")._id
        if not self.builder._recording.outputs:
            raise MLFileError(f"{self.file}: the graph has no outputs")
        return self.builder._recording

    def operand(self, name: str, what: str) -> MLOperand:
        if name not in self.operands:
            raise MLFileError(f"{self.file}: {what} is {name!r}, which is no input, constant or result of an "
                              "earlier node")
        return self.operands[name]

    def constant(self, name: str, item: dict[str, Any]) -> MLOperand:
        data_type, shape, init = item["dataType"], item["shape"], item["init"]
        if init["kind"] == "scalar":
            value = np.full(shape, float(init["value"]) if isinstance(init["value"], str) else init["value"])
            return self.builder.constant(value, shape, data_type)
        if init["kind"] == "weights":
            data = self.external.find(init.get("ref", name), data_type, shape)
        elif init["kind"] == "inlineBytes":
            data = np.frombuffer(inline_bytes(init["bytes"]), np.uint8)
        else:
            raise MLFileError(f"{self.file}: constant {name!r} is of kind {init['kind']!r}; allowed are "
                              "scalar, weights and inlineBytes")
        return self.bytes_constant(name, data, data_type, shape)

    def bytes_constant(self, name: str, data: Any, data_type: str, shape: list[int]) -> MLOperand:
        if data_type in ("int4", "uint4") and data.size == count(shape):
            values = data.view(np.int8 if data_type == "int4" else np.uint8).reshape(shape)
            return self.builder.constant(values, shape, data_type)
        stored = stored_shape(data_type, shape)
        size = count(stored) * storage(data_type).itemsize
        if data.size != size:
            raise MLFileError(f"{self.file}: constant {name!r} has {data.size} bytes, and {data_type} "
                              f"{shape} has {size}")
        return self.builder.constant(data.view(storage(data_type)).reshape(stored), shape, data_type, copy=False)

    def node(self, item: dict[str, Any]) -> None:
        operator = item["op"]
        what = f"{operator or 'the alias'} {item['id']!r}"
        inputs = [self.operand(name, f"an input of {what}") for name in item["inputs"]]
        options = {key: value for key, value in item.get("options", {}).items() if value is not None}
        names = item.get("outputs") or [item["id"]]
        if operator == "":
            results: Any = inputs[0]
        elif operator == "constant":
            data = np.frombuffer(base64.b64decode(options["data"]), np.uint8)
            results = self.bytes_constant(item["id"], data, options["dataType"], options["shape"])
        elif operator in ("squeeze", "unsqueeze", "globalAveragePool", "globalMaxPool"):
            results = self.own(operator, inputs[0], options)
        elif operator in INDEX:
            results = self.call(INDEX[operator], what, inputs, options, len(names))
        else:
            raise MLFileError(f"{self.file}: {what}: there is no such operator")
        results = results if isinstance(results, list) else [results]
        if len(results) < len(names):
            raise MLFileError(f"{self.file}: {what} gives {len(results)} results, not {len(names)}")
        self.operands.update(zip(names, results))

    def own(self, operator: str, operand: MLOperand, options: dict[str, Any]) -> Any:
        """Returns the result of a squeeze or global pool, which pywebnn has and WebNN lacks."""
        if operator.endswith("squeeze"):
            return getattr(self.builder, operator)(operand, options.get("axes"))
        method = self.builder.global_max_pool if operator == "globalMaxPool" else self.builder.global_average_pool
        return method(operand, options.get("layout"))

    def call(self, index: int, what: str, inputs: list[MLOperand], options: dict[str, Any], results: int) -> Any:
        _, _, sequence, rows = OPERATORS[index]
        if sequence and results > 1 and "returnSequence" not in options:
            options = {**options, "returnSequence": results > (OPERATORS[index][1] or 0)}
        left = list(inputs)
        named = [idl for idl, _, kind in rows if kind == "Operand" and idl in options]
        arguments: list[Any] = []
        known, required = set(NOT_OPTIONS), True
        for idl, python, kind in rows:
            required = required and idl != "label"
            known |= {idl, python, *OTHER_NAMES.get(idl, ())}
            if kind == "Operand[]":
                arguments.append(left)
                left = []
            elif kind == "Operand":
                # Optional operands follow the others; the options tell which of them are present.
                there = left and (required or not named or idl in named)
                arguments.append(self.named(left, options.get(idl)) if there or idl in named else None)
            elif idl == "label":
                arguments.append(options.get("label", ""))
            else:
                arguments.append(self.option(idl, python, kind, options))
        unknown = sorted(set(options) - known)
        if unknown or left:
            raise MLFileError(f"{self.file}: {what} has " + (f"the option {unknown[0]!r}, which its operator does not take"
                                                            if unknown else "more inputs than the operator takes"))
        return self.builder._call(index, *arguments)

    def named(self, left: list[MLOperand], value: Any) -> MLOperand:
        """Returns the next operand, or the operand that an option names."""
        if isinstance(value, str):
            operand = self.operand(value, "an option")
            if left and left[0] is operand:
                left.pop(0)
            return operand
        if not left:
            raise MLFileError(f"{self.file}: an option needs an operand, but the node has too few inputs")
        return left.pop(0)

    def option(self, idl: str, python: str, kind: str, options: dict[str, Any]) -> Any:
        for name in (idl, python, *OTHER_NAMES.get(idl, ())):
            if name in options:
                value = options[name]
                if isinstance(value, str) and kind in ("number", "f64"):
                    return float(value)
                return value
        return None


def inline_bytes(value: Any) -> bytes:
    """Returns bytes from a list of numbers, as serde writes them, or from base64."""
    return base64.b64decode(value, validate=True) if isinstance(value, str) else bytes(value)
