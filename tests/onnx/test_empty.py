#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares operators on tensors without elements with numpy: test_empty.py PROGRAM DEVICE….

A result without elements is compared by its shape and type. A result with elements is what the operator
makes of nothing: a sum without terms is 0, and a product without factors is 1.
"""
import pathlib
import sys
import tempfile

import numpy
from attention import attend, flat, heads
from onnx_cases import onnx, run_cases, write_case

RANDOM = numpy.random.default_rng(41)
INT64 = numpy.int64


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(numpy.float32)


def none(*shape, dtype=numpy.float32):
    return numpy.zeros(shape, dtype)


def first_steps():
    """Yields first steps of decoders: the past has no positions."""
    for batch, length, count, size in ((1, 1, 2, 4), (2, 3, 4, 8)):
        q, k, v = (floats(batch, length, count * size) for _ in range(3))
        past = none(batch, count, 0, size)
        want = [flat(attend(*(heads(x, count) for x in (q, k, v)))[0]), heads(k, count), heads(v, count)]
        yield ("MultiHeadAttention", [q, k, v, None, None, None, past, past], want,
               {"num_heads": count}, "com.microsoft")
        x, w, b = floats(batch, length, 6), floats(6, 3 * count * size), floats(3 * count * size)
        q, k, v = (heads(part, count) for part in numpy.split(x @ w + b, 3, -1))
        yield ("Attention", [x, w, b, None, none(2, batch, count, 0, size)],
               [flat(attend(q, k, v)[0]), numpy.stack([k, v])], {"num_heads": count}, "com.microsoft")
    q, k, v = floats(1, 2, 3, 4), floats(1, 2, 3, 4), floats(1, 2, 3, 4)
    past = none(1, 2, 0, 4)
    yield "Attention", [q, k, v, None, past, past], [
        attend(q, k, v)[0], k, v], {}, ""


def sums():
    """Yields sums without terms, which are 0; the rest of the operator is added to them."""
    c = floats(2, 3)
    yield "Gemm", [none(2, 0), none(0, 3), c], [c], {}, ""
    row = floats(3)
    yield ("Gemm", [none(0, 2), none(3, 0), row], [numpy.broadcast_to(row, (2, 3))],
           {"transA": 1, "transB": 1}, "")
    yield "Gemm", [none(2, 0), none(0, 3), c], [-2 * c], {"beta": -2.0}, ""
    yield "Gemm", [none(2, 0), none(0, 3)], [none(2, 3)], {}, ""
    yield "MatMul", [none(4, 2, 0), none(0, 3)], [none(4, 2, 3)], {}, ""
    for equation, shapes, result in (("ij,jk->ik", [(2, 0), (0, 3)], (2, 3)),
                                     ("ij->i", [(2, 0)], (2,)), ("bij,bjk->bik", [(4, 2, 0), (4, 0, 3)], (4, 2, 3)),
                                     ("i,i", [(0,), (0,)], ()), ("ij,jk->ik", [(0, 2), (2, 3)], (0, 3))):
        yield "Einsum", [none(*shape) for shape in shapes], [none(*result)], {"equation": equation}, ""
    zeros = [numpy.uint8(3), numpy.uint8(5)]
    yield ("MatMulInteger", [none(2, 0, dtype=numpy.uint8), none(0, 3, dtype=numpy.uint8), *zeros],
           [none(2, 3, dtype=numpy.int32)], {}, "")
    quantised = [none(2, 0, dtype=numpy.uint8), numpy.float32(0.1), zeros[0], none(0, 3, dtype=numpy.uint8),
                 numpy.float32(0.2), zeros[1], numpy.float32(0.5), numpy.uint8(7)]
    yield "QLinearMatMul", quantised, [numpy.full((2, 3), 7, numpy.uint8)], {}, ""
    yield ("FusedMatMul", [none(0, 2), none(0, 3)], [none(2, 3)], {"transA": 1, "alpha": 2.0},
           "com.microsoft")
    bias = floats(4)
    yield ("Conv", [none(1, 0, 5, 5), none(4, 0, 3, 3), bias],
           [numpy.broadcast_to(bias.reshape(4, 1, 1), (1, 4, 3, 3))], {}, "")
    states = floats(1, 2, 3)
    w, r = none(1, 9, 0), none(1, 9, 3)
    yield "GRU", [none(1, 2, 0), w, r, None, None, states], [states[None] / 2, states / 2], {"hidden_size": 3}, ""
    yield "ReduceSum", [none(2, 0), numpy.array([1])], [none(2, 1)], {}, ""
    yield "ReduceProd", [none(2, 0), numpy.array([1])], [numpy.ones((2, 1), numpy.float32)], {}, ""
    yield "Det", [none(3, 0, 0)], [numpy.ones(3, numpy.float32)], {}, ""


def batches():
    """Yields cases with batches of 0, and other cases whose results have no elements."""
    image, weight = none(0, 4, 8, 8), floats(6, 4, 3, 3)
    yield "Conv", [image, weight], [none(0, 6, 4, 4)], {"strides": [2, 2], "pads": [1, 1, 1, 1]}, ""
    yield ("FlexAttention", [none(0, 4, 3, 8), none(0, 2, 5, 8), none(0, 2, 5, 8)], [none(0, 4, 3, 8)], {},
           "ai.onnx.preview")
    yield "ConvTranspose", [image, floats(4, 2, 3, 3)], [none(0, 2, 10, 10)], {}, ""
    for name, shape in (("MaxPool", (0, 4, 7, 7)), ("AveragePool", (0, 4, 7, 7)), ("LpPool", (0, 4, 7, 7))):
        yield name, [image], [none(*shape)], {"kernel_shape": [2, 2]}, ""
    for name in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
        yield name, [image], [none(0, 4, 1, 1)], {}, ""
    yield ("TopK", [none(0, 8), numpy.array([3])], [none(0, 3), none(0, 3, dtype=INT64)], {}, "")
    yield ("OneHot", [none(0, 2, dtype=INT64), numpy.array(5), floats(2)], [none(0, 2, 5)], {}, "")
    yield "GatherND", [floats(3, 4), none(0, 2, dtype=INT64)], [none(0)], {}, ""
    data = floats(3, 4)
    yield "GatherND", [data, none(2, 0, dtype=INT64)], [numpy.stack([data, data])], {}, ""
    yield "GatherElements", [floats(3, 4), none(0, 4, dtype=INT64)], [none(0, 4)], {}, ""
    yield "ScatterND", [data, none(0, 1, dtype=INT64), none(0, 4)], [data], {}, ""
    yield "Resize", [none(0, 2, 4, 4), None, numpy.array([1, 1, 2, 2], numpy.float32)], [
        none(0, 2, 8, 8)], {}, ""
    yield "LSTM", [none(5, 0, 3), floats(1, 16, 3), floats(1, 16, 4)], [
        none(5, 1, 0, 4), none(1, 0, 4), none(1, 0, 4)], {"hidden_size": 4}, ""
    yield "RNN", [none(5, 0, 3), floats(1, 4, 3), floats(1, 4, 4)], [
        none(5, 1, 0, 4), none(1, 0, 4)], {"hidden_size": 4}, ""
    yield "Softmax", [none(3, 0)], [none(3, 0)], {}, ""
    yield "SpaceToDepth", [none(2, 2, 0, 6)], [none(2, 8, 0, 3)], {"blocksize": 2}, ""
    yield "DepthToSpace", [none(1, 0, 2, 3)], [none(1, 0, 4, 6)], {"blocksize": 2}, ""
    yield "LayerNormalization", [none(0, 4), floats(4), floats(4)], [
        none(0, 4), none(0, 1), none(0, 1)], {}, ""
    yield "DFT", [none(0, 8, 1)], [none(0, 8, 2)], {"axis": 1}, ""
    yield "QuantizeLinear", [none(0, 3), numpy.float32(0.1), numpy.int8(0)], [none(0, 3, dtype=numpy.int8)], {}, ""
    yield "DequantizeLinear", [none(0, 3, dtype=numpy.int8), numpy.float32(0.1)], [none(0, 3)], {}, ""
    yield "MatMulInteger", [none(0, 4, dtype=numpy.int8), numpy.ones((4, 3), numpy.int8)], [
        none(0, 3, dtype=numpy.int32)], {}, ""
    yield "Split", [none(0, 6), numpy.array([2, 4])], [none(0, 2), none(0, 4)], {"axis": 1}, ""
    yield "NonMaxSuppression", [none(1, 0, 4), none(1, 1, 0), numpy.array([3])], [
        none(0, 3, dtype=INT64)], {}, ""
    yield "Unique", [none(0)], [none(0), *(none(0, dtype=INT64) for _ in range(3))], {}, ""
    yield "Pad", [none(0, 2), numpy.array([0, 1, 0, 1])], [none(0, 4)], {}, ""


def steps():
    """Yields recurrent networks without steps, which leave their states as they are."""
    for operator, gates, states in (("RNN", 1, 1), ("LSTM", 4, 2), ("GRU", 3, 1)):
        for directions, attributes in ((1, {}), (1, {"layout": 1}), (2, {"direction": "bidirectional"})):
            w, r = floats(directions, 4 * gates, 3), floats(directions, 4 * gates, 4)
            first = attributes.get("layout", 0)
            x, y = (none(2, 0, 3), none(2, 0, 1, 4)) if first else (none(0, 2, 3), none(0, directions, 2, 4))
            shape = (2, 1, 4) if first else (directions, 2, 4)
            given = [floats(*shape) for _ in range(states)]
            attributes = {"hidden_size": 4, **attributes}
            yield operator, [x, w, r], [y, *[none(*shape)] * states], attributes, ""
            yield (operator, [x, w, r, floats(directions, 8 * gates), None, *given], [y, *given], attributes, "")
    weights, again = (RANDOM.integers(-9, 9, (1, size, 16)).astype(numpy.int8) for size in (3, 4))
    given = [floats(1, 2, 4) for _ in range(2)]
    scale, zero = numpy.float32([0.1]), numpy.int8([0])
    yield ("DynamicQuantizeLSTM", [none(0, 2, 3), weights, again, None, None, *given, None, scale, zero, scale, zero],
           [none(0, 1, 2, 4), *given], {"hidden_size": 4}, "com.microsoft")


def losses():
    """Yields cases of losses without targets. A mean that divides by a sum of no weights is NaN."""
    for operator in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        target = none(0, 4, dtype=INT64)
        for reduction, result, weighted in (("none", none(0, 4), none(0, 4)), ("sum", none(), none()),
                                            ("mean", none(), numpy.float32("nan"))):
            yield operator, [none(0, 3, 4), target], [result], {"reduction": reduction}, ""
            yield operator, [none(0, 3, 4), target, floats(3)], [weighted], {"reduction": reduction}, ""
        yield operator, [none(0, 3, 4), target], [weighted], {"ignore_index": 1}, ""
    yield "SoftmaxCrossEntropyLoss", [none(0, 3), none(0, dtype=INT64)], [none(), none(0, 3)], {}, ""


def rests():
    """Yields cases of further operators with operands or results that have no elements."""
    bias = floats(2)
    for strides, height in ((1, 2), (2, 1)):
        yield "ConvTranspose", [none(1, 4, 0, 5), floats(4, 2, 3, 3), bias], [
            numpy.broadcast_to(bias.reshape(2, 1, 1), (1, 2, height, 4 * strides + 3))], {"strides": [strides] * 2}, ""
    yield "ConvTranspose", [none(1, 4, 0), floats(4, 2, 3)], [none(1, 2, 2)], {}, ""
    for ratio in (0, 2):
        yield "RoiAlign", [floats(1, 2, 5, 5), none(0, 4), none(0, dtype=INT64)], [none(0, 2, 3, 4)], {
            "output_height": 3, "output_width": 4, "sampling_ratio": ratio}, ""
    yield "DynamicQuantizeLinear", [none(0, 3)], [
        none(0, 3, dtype=numpy.uint8), numpy.float32(1), numpy.uint8(0)], {}, ""
    yield "MultiHeadAttention", [floats(1, 2, 8), none(1, 0, 8), none(1, 0, 8)], [none(1, 2, 8)], {
        "num_heads": 2}, "com.microsoft"
    yield "STFT", [none(0, 16, 1), numpy.array(4), floats(8)], [none(0, 3, 5, 2)], {}, ""
    yield "DFT", [none(2, 8, 0, 1)], [none(2, 8, 0, 2)], {"axis": 1}, ""
    for shape, chosen, attributes, result in (((0, 3), [1, 0, 1], {"axis": 0}, (0, 3)), ((0, 3), [1], {"axis": 1}, (0, 1)),
                                              ((0, 3), [1, 0, 1], {"axis": 1}, (0, 2)), ((0, 3), [1, 1], {}, (0,)),
                                              ((4, 3), [], {"axis": 0}, (0, 3))):
        yield "Compress", [floats(*shape), numpy.array(chosen, bool)], [none(*result)], attributes, ""
    boxes, scores = floats(1, 3, 4), none(1, 1, 3)
    boxes[0] = [[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 3, 3]]
    scores[0, 0] = [0.9, 0.8, 0.7]
    yield "NonMaxSuppression", [boxes, scores, none(0, dtype=INT64)], [none(0, 3, dtype=INT64)], {}, ""
    yield "NonMaxSuppression", [boxes, scores, numpy.array([2]), none(0), none(0)], [
        numpy.array([[0, 0, 0], [0, 0, 2]])], {}, ""
    a, b, bias = none(2, 0, dtype=numpy.uint8), none(0, 3, dtype=numpy.uint8), floats(3)
    scale, zero = numpy.float32(0.5), numpy.uint8(3)
    rows = numpy.broadcast_to(bias, (2, 3))
    yield "MatMulIntegerToFloat", [a, b, scale, scale, zero, zero, bias], [rows], {}, "com.microsoft"
    yield "DynamicQuantizeMatMul", [none(2, 0), b, scale, zero, bias], [rows], {}, "com.microsoft"
    whole = numpy.array([10, 20, -8], numpy.int32)
    yield "QGemm", [a, scale, zero, b, scale, zero, whole, scale, zero], [
        numpy.broadcast_to(numpy.array([8, 13, 0], numpy.uint8), (2, 3))], {}, "com.microsoft"


def write_scan(folder):
    """Writes a scan over no rows, which leaves its states as they are and stacks nothing; returns
    the folder.
    """
    body = onnx.parser.parse_graph("""body (float[2] s, float[2] a) => (float[2] t, float[2] o) {
        t = Add(s, a) o = Mul(a, a) }""")
    state, rows = floats(2), none(0, 2)
    model = onnx.helper.make_model(onnx.helper.make_graph(
        [onnx.helper.make_node("Scan", ["s", "x"], ["y", "z"], num_scan_inputs=1, body=body)], "scan",
        [onnx.helper.make_tensor_value_info(name, 1, array.shape) for name, array in (("s", state), ("x", rows))],
        [onnx.helper.make_empty_tensor_value_info(name) for name in "yz"]),
                                   ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 18)])
    write_case(folder, model, [state, rows], [state, rows])
    return folder


def write(folder, operator, inputs, want, attributes, domain):
    """Writes a case of one node to the folder, which it returns. Tensors of int64 with elements are
    parameters and become constants; other tensors become inputs.
    """
    values, tensors, feed, names = [], [], [], []
    for index, array in enumerate(inputs):
        names.append("" if array is None else f"i{index}")
        if array is None:
            continue
        array = numpy.asarray(array)
        if array.size and array.dtype == INT64:
            tensors.append(onnx.numpy_helper.from_array(array, names[-1]))
            continue
        feed.append(array)
        values.append(onnx.helper.make_tensor_value_info(
            names[-1], onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    made = [f"y{index}" for index in range(len(want))]
    node = onnx.helper.make_node(operator, names, made, domain=domain, **attributes)
    sets = [onnx.helper.make_opsetid("", 23 if operator == "Attention" and not domain else 18),
            onnx.helper.make_opsetid("com.microsoft", 1), onnx.helper.make_opsetid("ai.onnx.preview", 1)]
    graph = onnx.helper.make_graph([node], operator, values,
                                   [onnx.helper.make_empty_tensor_value_info(name) for name in made], tensors)
    write_case(folder, onnx.helper.make_model(graph, ir_version=8, opset_imports=sets), feed, want)
    return folder


def main():
    paths = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for cases in (first_steps, sums, batches, steps, losses, rests):
            for number, case in enumerate(cases()):
                paths.append(write(folder / f"{cases.__name__}-{number}-{case[0]}", *case))
        paths.append(write_scan(folder / "scan"))
        good = [run_cases(sys.argv[1], device, paths, ["--range", "2e-5"]) for device in sys.argv[2:]]
    print(f"{len(paths)} models")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
