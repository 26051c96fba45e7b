#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that each reason for which a node is refused is given by some model: test_refusals.py
PROGRAM [--write].

Compares the refusals of small models with the messages of refusals.py, and checks that each message
in the source of the importer occurs there and in Documentation/onnx-refusals.rst, where --write
puts them.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import refusals
from onnx_cases import onnx

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCES = TOP / "userspace/import/onnx"
PAGE = TOP / "Documentation/onnx-refusals.rst"
BEGIN = ".. begin of the table of refusals\n"
END = ".. end of the table of refusals\n"
TYPES = {"int4": onnx.TensorProto.INT4, "string": onnx.TensorProto.STRING}


def make_row(operator, inputs, attributes, others, domain, newer=False):
    values, tensors, names = [], [], []
    for index, given in enumerate(inputs):
        names.append("" if given is None else f"i{index}")
        if isinstance(given, tuple):
            plain = not given or isinstance(given[0], int)
            kind, shape = (numpy.float32, given) if plain else (given[0], given[1:])
            kind = TYPES.get(kind) if isinstance(kind, str) else \
                onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
            values.append(onnx.helper.make_tensor_value_info(names[-1], kind, shape))
        elif given is not None:
            tensors.append(onnx.numpy_helper.from_array(given, names[-1]))
    outputs = others.get("outputs", "y")
    node = onnx.helper.make_node(operator, names, list(outputs), domain=domain, **attributes)
    graph = onnx.helper.make_graph([node], operator, values, [
        onnx.helper.make_empty_tensor_value_info(name) for name in outputs], tensors)
    return onnx.helper.make_model(graph, ir_version=8, opset_imports=[
        onnx.helper.make_opsetid("", others.get("version", 28 if newer else 18)),
        onnx.helper.make_opsetid("com.microsoft", 1), onnx.helper.make_opsetid("ai.onnx.preview", 1)])


def node(*parts, **attributes):
    return onnx.helper.make_node(*parts, **attributes)


def several(nodes, shape=(2,), functions=()):
    """Returns a model of several nodes, with an input x."""
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    graph = onnx.helper.make_graph(nodes, "several", [value],
                                   [onnx.helper.make_empty_tensor_value_info("y")])
    return onnx.helper.make_model(graph, ir_version=8, functions=functions, opset_imports=[
        onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("own", 1)])


def constant(name, *numbers):
    return node("Constant", [], [name], value_ints=numbers)


def function(name, outputs, nodes):
    return onnx.helper.make_function("own", name, ["x"], outputs, nodes, [
        onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("own", 1)])


def nested():
    """Returns a model whose function calls itself in a branch and is called in a branch: there are
    too many branches.
    """
    call = ("Own", ["x"], ["y"], None, None, "own")
    branch = refusals.graph([], ["y"], [call])
    body = function("Own", ["y"], [constant("c", 1), node("If", ["c"], ["y"], then_branch=branch)])
    return several([constant("c", 1), node("If", ["c"], ["y"], then_branch=branch)],
                   functions=[body])


def other_rows():
    """Yields (reason, model) of refusals that take more than one node."""
    sequence = node("SequenceConstruct", ["x", "x"], ["s"])
    yield ("input 0 is a sequence instead of a tensor",
           several([sequence, node("Relu", ["s"], ["y"])]))
    yield ("position is beyond a sequence of 2",
           several([sequence, constant("i", 2), node("SequenceAt", ["s", "i"], ["y"])]))
    yield ("input 1 is missing", several([sequence, node("SequenceInsert", ["s"], ["y"])]))
    yield ("the sequence is empty", several([node("SequenceEmpty", [], ["s"]),
                                             node("ConcatFromSequence", ["s"], ["y"], axis=0)]))
    yield ("the result would have more than 8 dimensions",
           several([sequence, node("ConcatFromSequence", ["s"], ["y"], axis=0, new_axis=1)],
                   (1,) * 8))
    yield ("item 1 has 2 dimensions, but item 0 has 1",
           several([constant("a", 0), node("Unsqueeze", ["x", "a"], ["z"]),
                    node("SequenceConstruct", ["x", "z"], ["s"]),
                    node("ConcatFromSequence", ["s"], ["y"], axis=0)]))
    short = refusals.graph(["a", "b"], ["a"])
    yield ("input 1 is missing, or too short",
           several([sequence, node("SequenceConstruct", ["x"], ["t"]),
                    node("SequenceMap", ["s", "t"], ["y"], body=short)]))
    yield ("functions and graphs are nested more than 32 deep",
           several([node("Own", ["x"], ["y"], domain="own")], functions=[
               function("Own", ["y"], [node("Own", ["x"], ["y"], domain="own")])]))
    yield ("the function does not make its output y",
           several([node("Own", ["x"], ["y"], domain="own")], functions=[
               function("Own", ["y"], [node("Neg", ["x"], ["z"])])]))
    yield "functions and graphs are nested more than 32 deep", nested()
    big = onnx.helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], [0])
    yield ("the constants that are computed here are too big together: 16000000 elements after 128000002, at "
           "most 134217728",
           several([constant("n", 4000, 4000), node("ConstantOfShape", ["n"], ["c"], value=big),
                    *(node("EyeLike", ["c"], [f"e{i}"]) for i in range(9)),
                    node("Sum", [f"e{i}" for i in range(9)], ["y"])]))
    yield ("ONNX Runtime saved this file for one kind of processor: take the model from before that, or save it "
           "with optimisations of level extended or less",
           several([node("Conv", ["x"], ["y"], domain="com.microsoft.nchwc")]))
    sequence_type = several([node("SequenceLength", ["x"], ["y"])])
    sequence_type.graph.input[0].type.CopyFrom(onnx.helper.make_sequence_type_proto(
        onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2])))
    yield ("how many items the sequence \"x\" has is not known: set the shape of \"x/0\" and those that "
           "follow, or that it is empty", sequence_type)
    a_map = several([node("Identity", ["x"], ["y"])])
    a_map.graph.input[0].type.map_type.key_type = onnx.TensorProto.INT64
    yield "the input \"x\" is no tensor", a_map
    yield ("the input \"x\" has 9 dimensions: at most 8 are allowed",
           several([node("Identity", ["x"], ["y"])], [1] * 9))
    optional = node("Optional", [], ["o"], type=onnx.helper.make_tensor_type_proto(1, [2]))
    yield ("input 0 is an optional value that is not there",
           several([optional, node("Relu", ["o"], ["y"])]))
    yield ("the optional value is not there",
           several([optional, node("OptionalGetElement", ["o"], ["y"])]))
    body = refusals.graph(["s", "a"], ["s", "a"])
    for inputs, reason in ((["x", "x", "x"], "sequence_lens must be absent: all sequences are as long as the input"),
                           (["", "x", "c"], "its inputs must be tensors with equal first dimensions")):
        old = several([constant("c", 1, 2, 3),
                       node("Scan", inputs, ["y", "z"], num_scan_inputs=1, body=body)], (2, 3))
        old.opset_import[0].version = 8
        yield reason, old


# Messages that no model of refusals.py gives, with the reason.
UNREACHABLE = {
    "what the output \"%s\" depends on is refused": "what is refused says itself why",
    "a constant of shape %s has more than the %d elements that are allowed": "one of more than 2^31 elements is no test",
    "a dimension would be %lld: 0 to %d are allowed": "operators look at the sizes of their results before",
    "it is not computed for inputs like these": "what is only computed at import says itself why not",
}


def source_messages():
    """Yields (file name, format string) of each refusal in the importer's source."""
    for path in sorted(SOURCES.glob("*.c")):
        # probe.c has reasons for programs that compute nodes themselves; test_graph.c tests these
        # reasons.
        if path.name == "probe.c":
            continue
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"onnx_refuse\(", text):
            call = text[match.end():text.index(";", match.end())]
            parts = re.findall(r'"((?:[^"\\]|\\.)*)"|([,?:()])', call)
            # The third argument is the format, a string or a choice of strings.
            depth, commas, pieces = 0, 0, []
            for string, mark in parts:
                if mark in ("(", ")"):
                    depth += 1 if mark == "(" else -1
                elif mark == "," and depth == 0:
                    commas += 1
                elif commas == 2 and depth == 0 and not mark:
                    pieces.append(string)
            if pieces:
                yield path.name, "".join(pieces).replace('\\"', '"')


def pattern(message):
    return re.sub(r"%(\\\.\\\*)?(zu|lld|[dusg])", ".*", re.escape(message).replace(r"\%", "%"))


def table(rows):
    """Returns the table of messages; each row has a message and the operators that are refused with
    it.
    """
    operators = {}
    for message, model in rows:
        formats = [text for _, text in source_messages() if re.fullmatch(pattern(text), message)]
        # When several formats match, the one with the longest fixed text is taken.
        text = max(formats, key=lambda text: len(re.sub("%[a-z]+", "", text)), default=message)
        name = model.graph.node[-1]
        operators.setdefault(re.sub(r"%(\.\*)?(zu|lld|[dusg])", "…", text), set()).add(
            f"{name.domain}.{name.op_type}" if name.domain == "com.microsoft" else name.op_type)
    lines = "".join('   "{}", "{}"\n'.format(text.replace('"', '""'), ', '.join(sorted(names)))
                    for text, names in sorted(operators.items()))
    return '\n.. csv-table::\n   :header-rows: 1\n\n   "Reason", "Such as of"\n' + lines + "\n"


def check_page(rows, write):
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + table(rows) + END + rest.split(END)[1]
    if write:
        PAGE.write_text(wanted, encoding="utf-8")
    elif text != wanted:
        print("Documentation/onnx-refusals.rst is not up to date: tests/onnx/test_refusals.py PROGRAM --write")
        return 1
    return 0


def main():
    rows = [(message, make_row(*row[:3], row[3] if len(row) > 3 else {}, domain))
            for domain, lists in (("", (refusals.SHAPES, refusals.GENERAL, refusals.PRODUCTS,
                                        refusals.PICTURES, refusals.SEQUENCES)),
                                  ("com.microsoft", (refusals.MICROSOFT,)))
            for rows in lists for message, *row in rows]
    rows += [(message, make_row(*row, {}, domain, True))
             for domain, rows_of in (("", refusals.NEWER), ("ai.onnx.preview", refusals.PREVIEW))
             for message, *row in rows_of]
    rows += other_rows()
    of_cpu = len(rows)
    rows += [(message, make_row(*row, {}, "")) for message, *row in refusals.NPU]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for index, (_, model) in enumerate(rows):
            paths.append(f"{folder}/{index}.onnx")
            pathlib.Path(paths[-1]).write_bytes(model.SerializeToString())
        given = {}
        for device, files in (("cpu", paths[:of_cpu]), ("sim", paths[of_cpu:])):
            done = subprocess.run([sys.argv[1], "--device", device, "--refusals", *files],
                                  check=True, text=True, stdout=subprocess.PIPE)
            for line in done.stdout.splitlines():
                path, operator, _, reason = line.split("\t")
                given.setdefault(path, []).append((operator.removeprefix("com.microsoft."), reason))
    for path, (message, model) in zip(paths, rows):
        reasons = [reason for _, reason in given.get(path, [])]
        if message not in reasons:
            print(f"{model.graph.node[-1].op_type}: {reasons} instead of \"{message}\"")
            failed += 1
    seen = [reason for reasons in given.values() for _, reason in reasons]
    for name, message in sorted(set(source_messages())):
        if not any(re.fullmatch(pattern(message), reason) for reason in seen) and \
                message not in UNREACHABLE:
            print(f"{name}: no model is refused because \"{message}\"")
            failed += 1
    failed += check_page(rows, "--write" in sys.argv)
    print(f"{len(rows)} models, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
