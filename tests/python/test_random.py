#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that random graphs give the same bits in Python as in C: test_random.py GRAPH_FUZZ DEVICE
COUNT [SEED]

graph-fuzz makes the graphs, runs them by the C API, and writes their inputs and results.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

import webnn_npu
from webnn_npu._operators import INDEX, OPERATORS
from webnn_npu._types import storage, stored_shape


def number(text):
    kind, _, rest = text.partition(":")
    return float(rest) if kind == "d" else int(rest)


def value_of(kind, text):
    if kind == "number":
        return number(text)
    if text.startswith("["):
        items = [item for item in text[1:-1].split(",") if item]
        if kind == "f32[]":
            return [float(item) for item in items]
        return [int(item) if item.isdigit() else item for item in items]
    if kind == "bool":
        return text in ("1", "true")
    if kind == "f64":
        return float(text)
    return text if kind[0].isupper() else int(text)


class Graph:
    """A graph in the form that graph-fuzz prints."""

    def __init__(self, lines):
        self.lines, self.data, self.results = [], {}, {}
        for line in lines:
            word, *rest = line.split()
            if word in ("leaf", "result"):
                (self.data if word == "leaf" else self.results)[rest[0]] = bytes.fromhex(rest[1] if rest[1:] else "")
            else:
                self.lines.append(line)

    def compute(self, context):
        builder, values, feeds, outputs = context.create_graph_builder(), {}, {}, []
        for line in self.lines:
            if line.startswith(("graph", "#")):
                continue
            if line.startswith("output"):
                outputs = line.split()[1:]
                continue
            left, _, right = line.partition(" = ")
            words = right.split()
            if words[0] in ("input", "constant"):
                self.leaf(builder, left, words, values, feeds)
            else:
                self.call(builder, left.split(), words, values)
        graph = builder.build({name: values[name] for name in outputs})
        return context.compute(graph, feeds)

    def leaf(self, builder, name, words, values, feeds):
        shape = [int(size) for size in words[2][1:-1].split(",") if size]
        data = np.frombuffer(self.data[name], storage(words[1])).reshape(stored_shape(words[1], shape))
        if words[0] == "input":
            values[name] = builder.input(name, shape, words[1])
            feeds[name] = data
        else:
            values[name] = builder.constant(data, shape, words[1])

    def call(self, builder, names, words, values):
        index = INDEX[words[0]]
        given = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        operands = [values.get(word) for word in words[1:] if "=" not in word and word != "equal"]
        arguments, left = [], list(operands)
        required = True
        rows = OPERATORS[index][3]
        optional = [row[0] for row in rows if row[2] == "Operand"]
        for idl, _, kind in rows:
            required = required and idl != "label"
            if kind == "Operand[]":
                arguments.append(left)
                left = []
            elif kind == "Operand" and required:
                arguments.append(left.pop(0))
                optional.remove(idl)
            elif kind == "Operand":
                arguments.append(None)
            elif idl == "label":
                arguments.append("")
            elif kind == "splits":
                arguments.append(len(names) if "equal" in words else value_of("u32[]", given[idl]))
            else:
                arguments.append(value_of(kind, given[idl]) if idl in given else None)
        # The text has optional operands without names, in the order in which the operator's options
        # have them.
        for idl, operand in zip(optional, left):
            arguments[[row[0] for row in rows].index(idl)] = operand
        results = builder._call(index, *arguments)
        values.update(zip(names, results if isinstance(results, list) else [results]))


def graphs(path):
    lines = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("end"):
                yield Graph(lines)
                lines = []
            else:
                lines.append(line.rstrip("\n"))


def main():
    fuzz, device, count = sys.argv[1:4]
    seed = sys.argv[4] if sys.argv[4:] else "1"
    sim = device == "sim"
    context = webnn_npu.ML().create_context(device=device, policy="npu-only" if sim else "cpu-only",
                                            threads=1 if sim else 2, constant_folding=not sim)
    bad = done = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graphs")
        subprocess.run([fuzz, "-d", device, "-n", count, "-s", seed, "-V", path] + (["-S", str(4 << 20)] if sim else []),
                       check=True, stdout=subprocess.DEVNULL)
        for graph in graphs(path):
            done += 1
            try:
                results = graph.compute(context)
            except webnn_npu.MLError as error:
                print("\n".join(graph.lines), f"\n{error!r}")
                bad += 1
                continue
            for name, expected in graph.results.items():
                if results[name].tobytes() != expected:
                    print("\n".join(graph.lines), f"\n{name} has other bits than in C")
                    bad += 1
    print(f"{done} graphs on {device}, {bad} with other bits")
    return 1 if bad or done < int(count) * 9 // 10 else 0


if __name__ == "__main__":
    sys.exit(main())
