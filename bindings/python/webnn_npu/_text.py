# SPDX-License-Identifier: MIT
"""The text form of .webnn files:

    webnn_graph "name" v1 {
      inputs { x: f32[1, 4]; }
      consts { w: f32[4, 2] @weights("w"); }
      nodes { y = matmul(x, w); [a, b] = split(y, splits=2, axis=1); }
      outputs { a, b; }
    }

parse() returns the graph in the form that JSON files have. Errors are ValueError with the line.
"""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

TYPES = {"f32": "float32", "f16": "float16", "i4": "int4", "u4": "uint4", "i32": "int32", "u32": "uint32",
         "i64": "int64", "u64": "uint64", "i8": "int8", "u8": "uint8"}

TOKEN = re.compile(r"""
    (?P<space>(?:\s|\#[^\n]*)+)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<number>-?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Infinity\b))
  | (?P<word>[@%]?[A-Za-z_/$](?:[A-Za-z0-9_./$]|::|-(?=[A-Za-z]))*)
  | (?P<mark>[{}\[\]():;,=])
""", re.VERBOSE)


class Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str, int]] = []
        position, line = 0, 1
        while position < len(text):
            match = TOKEN.match(text, position)
            if not match:
                raise ValueError(f"line {line}: {text[position]!r} is not expected")
            if match.lastgroup != "space":
                self.tokens.append((match.lastgroup or "", match[0].removeprefix("%"), line))
            line += match[0].count("\n")
            position = match.end()
        self.tokens.append(("end", "the end of the file", line))
        self.next = 0

    def peek(self) -> str:
        return self.tokens[self.next][1]

    def kind(self) -> str:
        return self.tokens[self.next][0]

    def wrong(self, wanted: str) -> ValueError:
        _, text, line = self.tokens[self.next]
        return ValueError(f"line {line}: {text} stands where {wanted} is expected")

    def take(self, kind: str, wanted: str) -> str:
        if self.kind() != kind:
            raise self.wrong(wanted)
        self.next += 1
        return self.tokens[self.next - 1][1]

    def skip(self, text: str) -> bool:
        if self.kind() in ("end", "string") or self.peek() != text:
            return False
        self.next += 1
        return True

    def expect(self, text: str) -> None:
        if not self.skip(text):
            raise self.wrong(repr(text))

    def string(self) -> str:
        return re.sub(r"\\(.)", r"\1", self.take("string", "a string")[1:-1])

    def integer(self) -> int:
        text = self.take("number", "a whole number")
        if not text.isdigit():
            self.next -= 1
            raise self.wrong("a whole number")
        return int(text)

    def number(self) -> int | float:
        text = self.take("number", "a number")
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)

    # --- Declarations ----------------------------------------------------------------------------

    def graph(self) -> dict[str, Any]:
        self.expect("webnn_graph")
        name = self.string()
        version = self.take("word", "a version such as v1")
        if not re.fullmatch(r"v\d+", version):
            self.next -= 1
            raise self.wrong("a version such as v1")
        quantized = self.skip("@quantized")
        result: dict[str, Any] = {"format": "webnn-graph-json", "version": int(version[1:]), "name": name,
                                  "quantized": quantized, "inputs": {}, "consts": {}, "nodes": [], "outputs": {}}
        self.expect("{")
        blocks: dict[str, Callable[[Any], None]] = {
            "inputs": self.inputs, "consts": self.consts, "nodes": self.nodes, "outputs": self.outputs}
        while not self.skip("}"):
            if self.peek() not in blocks:
                raise self.wrong("inputs, consts, nodes or outputs")
            block = self.take("word", "a block")
            self.expect("{")
            while not self.skip("}"):
                blocks[block](result[block])
        if self.kind() != "end":
            raise self.wrong("the end of the file")
        return result

    def type(self) -> tuple[str, list[Any]]:
        name = self.take("word", "a type")
        if name not in TYPES:
            self.next -= 1
            raise self.wrong("a type such as f32")
        self.expect("[")
        shape: list[Any] = []
        while not self.skip("]"):
            if shape:
                self.expect(",")
            if self.skip("dyn"):
                self.expect("(")
                dimension = {"name": self.string()}
                self.expect(",")
                shape.append({**dimension, "maxSize": self.integer()})
                self.expect(")")
            else:
                shape.append(self.integer())
        return TYPES[name], shape

    def inputs(self, result: dict[str, Any]) -> None:
        name = self.take("word", "the name of an input")
        self.expect(":")
        data_type, shape = self.type()
        self.expect(";")
        result[name] = {"dataType": data_type, "shape": shape}

    def consts(self, result: dict[str, Any]) -> None:
        name = self.take("word", "the name of a constant")
        self.expect(":")
        data_type, shape = self.type()
        init: dict[str, Any] = {"kind": "weights", "ref": name}
        while not self.skip(";"):
            word = self.take("word", "';'")
            self.expect("(")
            if word == "@weights":
                init = {"kind": "weights", "ref": self.string()}
            elif word == "@scalar":
                init = {"kind": "scalar", "value": self.number()}
            elif word == "@bytes":
                init = {"kind": "inlineBytes", "bytes": self.value()}
            else:
                self.next -= 2
                raise self.wrong("@weights, @scalar or @bytes")
            self.expect(")")
        result[name] = {"dataType": data_type, "shape": shape, "init": init}

    def outputs(self, result: dict[str, Any]) -> None:
        while True:
            name = self.take("word", "the name of an output")
            result[name] = name
            if not self.skip(","):
                break
        self.skip(";")

    # --- Operators -------------------------------------------------------------------------------

    def nodes(self, result: list[dict[str, Any]]) -> None:
        names = []
        several = self.skip("[")
        while True:
            names.append(self.take("word", "the name of a result"))
            if not several or not self.skip(","):
                break
        if several:
            self.expect("]")
        self.expect("=")
        node: dict[str, Any] = {"id": names[0], "op": "", "inputs": [], "options": {},
                                "outputs": names}
        operator = self.take("word", "an operator")
        if self.skip("("):
            node["op"] = operator
            self.arguments(node)
        else:
            node["inputs"] = [operator]
        self.expect(";")
        result.append(node)

    def arguments(self, node: dict[str, Any]) -> None:
        first = True
        while not self.skip(")"):
            if not first:
                self.expect(",")
            first = False
            if self.kind() == "word" and self.tokens[self.next + 1][1] == "=":
                name = self.take("word", "a name")
                self.expect("=")
                node["options"][name] = self.value()
                continue
            line = self.tokens[self.next][2]
            value = self.value()
            values = value if isinstance(value, list) else [value]
            if not all(isinstance(item, str) for item in values):
                raise ValueError(f"line {line}: {value!r} needs the name of its argument in front")
            node["inputs"] += values

    def value(self) -> Any:
        if self.kind() == "string":
            return self.string()
        if self.kind() == "number":
            return self.number()
        if self.skip("["):
            items: list[Any] = []
            while not self.skip("]"):
                if items:
                    self.expect(",")
                items.append(self.value())
            return items
        word = self.take("word", "a value")
        return {"true": True, "false": False, "null": None}.get(word, word)


def parse(text: str) -> dict[str, Any]:
    """Returns the graph in the form of JSON files."""
    return Parser(text).graph()
