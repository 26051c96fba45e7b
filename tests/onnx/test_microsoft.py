#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares operators of com.microsoft with ONNX Runtime: test_microsoft.py PROGRAM DEVICE….

ONNX's own tests lack these operators; they also lack some paths of ONNX's operators, which this file
tests, too.
Outputs must agree within 2e-5 of their range, 3e-3 in float16; quantised outputs within one step.
"""
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
from onnx_cases import make_model, onnx, run_cases, run_reference, write_case

RANDOM = numpy.random.default_rng(1)


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(numpy.float32)


def scales(*shape):
    return RANDOM.uniform(0.01, 0.05, shape).astype(numpy.float32)


def bytes_of(*shape, dtype=numpy.uint8):
    """Returns random bytes. Signed bytes, which are weights, have 7 bits: without VNNI, ONNX
    Runtime's sums of 8-bit products saturate.
    """
    info = numpy.iinfo(dtype)
    return RANDOM.integers(info.min // 2, info.max // 2 + 1 if info.min else info.max + 1, shape).astype(dtype)


def ints(*values, dtype=numpy.int64):
    return numpy.array(values, dtype)


def numbers(**values):
    """Returns scalars by name: float32 for floats, which are scales, and uint8 for integers, which
    are zero points."""
    return {name: numpy.float32(value) if isinstance(value, float) else numpy.uint8(value)
            for name, value in values.items()}


def nibbles(name, *shape, kind="UINT4"):
    return onnx.helper.make_tensor(name, getattr(onnx.TensorProto, kind), shape,
                                   RANDOM.integers(0, 16, numpy.prod(shape)) - 8 * (kind == "INT4"))


def bits_cases():
    for bits, depth, columns, block, zeros in ((4, 64, 24, 32, True), (4, 96, 16, 32, False),
                                               (4, 48, 8, 32, True), (4, 40, 6, 16, True),
                                               (4, 256, 8, 128, True),
                                               (4, 256, 128, 32, True)):
        blocks = -(-depth // block)
        inputs = {"a": floats(2, 3, depth), "b": bytes_of(columns, blocks, block * bits // 8),
                  "s": scales(columns * blocks),
                  "z": bytes_of(columns * ((blocks * bits + 7) // 8)) if zeros else None}
        yield ("MatMulNBits", inputs, 1, ["b", "s"] + ["z"] * zeros,
               {"K": depth, "N": columns, "bits": bits, "block_size": block})
    inputs = {"a": floats(5, 64), "b": bytes_of(8, 2, 16), "s": scales(8 * 2), "z": None,
              "g": RANDOM.permutation(numpy.repeat(numpy.arange(2, dtype=numpy.int32), 32)),
              "bias": floats(8)}
    yield ("MatMulNBits", inputs, 1, ["b", "s", "g", "bias"],
           {"K": 64, "N": 8, "bits": 4, "block_size": 32})
    inputs = {"a": floats(5, 64), "b": bytes_of(8, 2, 32), "s": scales(8 * 2), "z": bytes_of(8 * 2)}
    yield ("MatMulNBits", inputs, 1, ["b", "s", "z"],
           {"K": 64, "N": 8, "bits": 8, "block_size": 32})
    # Incomplete last blocks, and zero points that are absent, packed and floats.
    for bits, depth, block, zeros in ((2, 64, 16, None), (2, 100, 16, "packed"), (2, 70, 32, "floats"),
                                      (2, 33, 64, "packed"), (8, 70, 32, "floats"), (8, 33, 16, None)):
        blocks = -(-depth // block)
        inputs = {"a": floats(2, 3, depth), "b": bytes_of(7, blocks, block * bits // 8), "s": scales(7 * blocks),
                  "z": {"packed": bytes_of(7 * -(-blocks * bits // 8)), "floats": floats(7 * blocks) + 1}.get(zeros)}
        yield ("MatMulNBits", inputs, 1, ["b", "s"] + ["z"] * (zeros is not None),
               {"K": depth, "N": 7, "bits": bits, "block_size": block})
    for zeros in (nibbles("z", 10, 2), None):
        inputs = {"d": nibbles("d", 10, 32), "i": ints([3, 9], [0, 3]), "s": scales(10, 2),
                  "z": zeros}
        yield ("GatherBlockQuantized", inputs, 1, ["d", "s"] + ["z"] * (zeros is not None),
               {"block_size": 16})
    # Data are bytes that hold numbers of 8, 4 or 2 bits, some with incomplete last blocks or
    # without zero points.
    for bits, row, block, zeros in ((8, 64, 16, False), (8, 64, 16, True), (4, 32, 32, False), (4, 32, 32, True),
                                    (None, 40, 32, True), (4, 40, 64, False), (2, 8, 16, False), (2, 20, 16, True)):
        count = row * 8 // (bits or 4)
        blocks = -(-count // block)
        inputs = {"d": bytes_of(10, row), "i": ints([3, 9], [0, -3]), "s": scales(10, blocks),
                  "z": bytes_of(10, -(-blocks * (bits or 4) // 8)) if zeros else None}
        attributes = {"block_size": block, "quantize_axis": -1} | ({"bits": bits} if bits else {})
        yield "GatherBlockQuantized", inputs, 1, ["d", "s"] + ["z"] * zeros, attributes
        if block == 16:
            # The data is an input as well: the table is computed.
            yield "GatherBlockQuantized", inputs, 1, ["s"] + ["z"] * zeros, attributes
    for shape, axis, quantised, kind in (((5, 33), 0, 1, "INT4"), ((5, 34), 0, 1, "INT4"), ((3, 4, 20), 1, 2, "UINT4"),
                                         ((3, 40, 6), 2, 1, "INT4"), ((40, 4, 6), 1, 0, "UINT4")):
        blocks = tuple(-(-size // 16) if at == quantised else size for at, size in enumerate(shape))
        inputs = {"d": nibbles("d", *shape, kind=kind), "i": ints([2, 0, 1], [-1, 2, -2]), "s": scales(*blocks),
                  "z": nibbles("z", *blocks, kind=kind)}
        yield ("GatherBlockQuantized", inputs, 1, ["d", "s", "z"],
               {"block_size": 16, "gather_axis": axis, "quantize_axis": quantised})


def default_cases():
    """Yields cases of ONNX's own domain."""
    numbers_of = numpy.round(RANDOM.uniform(-3, 3, (2, 30, 3))).astype(numpy.float32)
    for x, axis, k, largest in ((numbers_of, 1, 7, 1), (numbers_of, 1, 7, 0),
                                (numbers_of, 0, 1, 1), (floats(50), 0, 50, 1), (floats(9000), 0, 5, 1),
                                (bytes_of(20, 4).astype(numpy.int32), 0, 6, 0)):
        yield ("TopK", {"x": x, "k": ints(k)}, 2, ["k"],
               {"domain": "", "axis": axis, "largest": largest})
    regions = numpy.array([[0, 1, 5, 6], [2, 2, 2.5, 9], [-3, -2, 4, 3]], numpy.float32)
    for mode, place in (("avg", "half_pixel"), ("avg", "output_half_pixel"), ("max", "half_pixel")):
        yield ("RoiAlign", {"x": floats(2, 3, 8, 8), "r": regions, "b": ints(1, 0, 1)}, 1, ["b"],
               {"domain": "", "mode": mode, "coordinate_transformation_mode": place,
                "output_height": 2, "output_width": 3, "sampling_ratio": 2, "spatial_scale": 0.8})
    for padding in ("border", "reflection", "zeros"):
        grid = (1.6 * floats(2, 4, 3, 2)).astype(numpy.float32)
        yield ("GridSample", {"x": floats(2, 2, 3, 4), "g": grid}, 1, [],
               {"domain": "", "mode": "bicubic", "padding_mode": padding})
    # The size is rounded up in one dimension, but not in the other, where a window would begin
    # after the input.
    yield ("MaxPool", {"x": floats(1, 2, 8, 7)}, 1, [],
           {"domain": "", "kernel_shape": [3, 3], "strides": [3, 3], "ceil_mode": 1,
            "pads": [1, 0, 1, 0]})
    yield ("Resize", {"x": floats(1, 2, 3, 4), "r": None, "s": None, "z": ints(1, 2, 3, 1)}, 1,
           ["z"], {"domain": "", "mode": "cubic",
                   "coordinate_transformation_mode": "pytorch_half_pixel"})
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        inputs = {"x": 3 * floats(3, 2, 4), "w": 2 * floats(2, gates * 5, 4), "r": 2 * floats(2, gates * 5, 5),
                  "b": floats(2, 2 * gates * 5), "l": None, "h": floats(2, 2, 5)}
        if kind == "LSTM":
            inputs |= {"c": 3 * floats(2, 2, 5), "p": floats(2, 3 * 5)}
        yield (kind, inputs, 3 if kind == "LSTM" else 2, ["w", "r", "b"],
               {"domain": "", "hidden_size": 5, "direction": "bidirectional", "clip": 0.3})
    for size in (1, 3, 4):
        yield "Det", {"x": floats(2, size, size)}, 1, [], {"domain": ""}
    yield ("Col2Im", {"x": floats(2, 12, 6), "i": ints(6, 7), "b": ints(2, 3)}, 1, ["i", "b"],
           {"domain": "", "strides": [2, 2], "dilations": [2, 1], "pads": [0, 0, 0, 0]})
    yield ("TfIdfVectorizer", {"x": RANDOM.integers(0, 3, (2, 9))}, 1, [],
           {"domain": "", "mode": "TFIDF", "min_gram_length": 1, "max_gram_length": 2,
            "max_skip_count": 2, "ngram_counts": [0, 2], "ngram_indexes": [3, 0, 1, 2],
            "pool_int64s": [0, 2, 0, 1, 1, 1], "weights": [0.5, 2.0, 1.5, 3.0]})
    step = onnx.parser.parse_graph("""step (float[2] s, float[2] a, float[2] b)
        => (float[2] t, float[2] o, float[2] p) { t = Add(s, a) o = Mul(t, b) p = Neg(a) }""")
    yield ("Scan", {"s": floats(2), "a": floats(3, 2), "b": floats(2, 3)}, 3, [],
           {"domain": "", "body": step, "num_scan_inputs": 2, "scan_input_axes": [0, 1],
            "scan_input_directions": [0, 1], "scan_output_axes": [1, 0],
            "scan_output_directions": [1, 0]})
    loop = onnx.parser.parse_graph("""loop (int64 i, bool c, float[2] v)
        => (bool d, float[2] w, float[2] o) { l = Constant<value = int64 {2}>() d = Less(i, l)
        w = Add(v, v) o = Identity(v) }""")
    yield ("Loop", {"m": numpy.array(10), "c": numpy.array(True), "v": floats(2)}, 2, ["m", "c"],
           {"domain": "", "body": loop})


def half_cases():
    """Yields some of the cases in float16."""
    for name, inputs, count, constants, attributes in (
            next(bits_cases()), next(rotary_cases()), list(group_cases())[3]):
        inputs = {key: array.astype(numpy.float16) if array is not None and
                  array.dtype == numpy.float32 else array for key, array in inputs.items()}
        yield name, inputs, count, constants, attributes


def rotary_cases():
    inputs = {"x": floats(2, 3, 16), "p": ints(2), "c": floats(8, 4), "s": floats(8, 4)}
    yield "RotaryEmbedding", inputs, 1, ["p"], {}
    yield "RotaryEmbedding", inputs, 1, [], {"interleaved": 1}
    inputs = dict(inputs, p=RANDOM.integers(0, 8, (2, 3)))
    yield "RotaryEmbedding", inputs, 1, [], {}
    yield "RotaryEmbedding", dict(inputs, x=floats(2, 4, 3, 8)), 1, [], {"interleaved": 1}
    yield ("RotaryEmbedding", dict(inputs, x=floats(2, 3, 24), c=floats(8, 2), s=floats(8, 2)), 1,
           [], {"num_heads": 2, "rotary_embedding_dim": 4})


def attention_cases():
    inputs = {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24)}
    yield "Attention", inputs, 1, ["w", "b"], {"num_heads": 2}
    yield "Attention", inputs, 1, ["w", "b"], {"num_heads": 2, "unidirectional": 1, "scale": 0.3}
    for mask in (ints(2, 3, dtype=numpy.int32), ints(3, 2, 0, 1, dtype=numpy.int32),
                 ints([1, 1, 0], [1, 1, 1], dtype=numpy.int32),
                 RANDOM.integers(0, 2, (2, 3, 3)).astype(numpy.int32)):
        yield "Attention", dict(inputs, mask=mask), 1, ["w", "b"], {"num_heads": 2}
    inputs.update(mask=None, past=floats(2, 2, 2, 4, 4))
    yield "Attention", inputs, 2, ["w", "b"], {"num_heads": 2}
    inputs.update(past=None, bias=floats(2, 2, 3, 3))
    yield "Attention", inputs, 1, ["w", "b"], {"num_heads": 2}
    yield ("Attention", {"x": floats(1, 3, 8), "w": floats(8, 28), "b": floats(28)}, 1, ["w"],
           {"num_heads": 2, "qkv_hidden_sizes": [8, 8, 12]})
    inputs = {"x": bytes_of(2, 3, 8), "w": bytes_of(8, 24, dtype=numpy.int8), "b": floats(24),
              **numbers(xs=0.02, ws=0.01), "m": ints([1, 1, 0], [1, 1, 1], dtype=numpy.int32),
              **numbers(xz=120), "wz": numpy.int8(3)}
    yield "QAttention", inputs, 1, ["w", "b", "xs", "ws", "xz", "wz"], {"num_heads": 2}
    inputs = {"q": floats(2, 3, 8), "k": floats(2, 5, 8), "v": floats(2, 5, 12)}
    yield "MultiHeadAttention", inputs, 1, [], {"num_heads": 2}
    inputs.update(b=floats(28), mask=RANDOM.integers(0, 2, (2, 5)).astype(numpy.int32) | 1)
    yield "MultiHeadAttention", inputs, 1, ["b"], {"num_heads": 2, "mask_filter_value": -50.0}
    inputs = {"q": floats(2, 3, 8), "k": floats(2, 3, 8), "v": floats(2, 3, 8), "b": None,
              "m": None, "bias": floats(1, 2, 3, 5), "pk": floats(2, 2, 2, 4),
              "pv": floats(2, 2, 2, 4)}
    yield "MultiHeadAttention", inputs, 3, [], {"num_heads": 2, "unidirectional": 1}
    yield ("MultiHeadAttention", {"q": floats(2, 3, 2, 3, 4), "k": None, "v": None, "b": floats(24)},
           1, ["b"], {"num_heads": 2, "scale": 0.4})
    yield ("MultiHeadAttention", {"q": floats(2, 3, 8), "k": floats(2, 5, 2, 2, 4)}, 1, [],
           {"num_heads": 2})
    yield ("MultiHeadAttention", {"q": floats(1, 3, 8), "k": floats(1, 2, 5, 4),
                                  "v": floats(1, 2, 5, 4)}, 1, [], {"num_heads": 2})


def group(batch, length, past, total, lengths, heads=4, keys=2, size=16, packed=False, rotary=False):
    inputs = {"q": floats(batch, length, (heads + 2 * keys * packed) * size),
              "k": None if packed else floats(batch, length, keys * size),
              "v": None if packed else floats(batch, length, keys * size),
              "pk": floats(batch, keys, past, size) if past else None,
              "pv": floats(batch, keys, past, size) if past else None,
              "lengths": numpy.array(lengths, numpy.int32), "total": ints(total, dtype=numpy.int32)}
    if rotary:
        inputs.update(c=floats(max(total, past), size // 2), s=floats(max(total, past), size // 2))
    return inputs


def group_cases():
    name, both = "GroupQueryAttention", {"num_heads": 4, "kv_num_heads": 2}
    yield name, group(2, 5, 0, 5, [4, 4]), 3, ["total"], both
    turned = dict(both, do_rotary=1)
    yield name, group(1, 5, 0, 5, [4], packed=True, rotary=True), 3, ["total"], turned
    for constants in (["total"], ["total", "lengths"]):
        yield name, group(2, 1, 6, 7, [6, 6], rotary=True), 3, constants, turned
        yield (name, group(1, 1, 9, 10, [9]), 3, constants,
               dict(both, local_window_size=3, softcap=2.0, scale=0.5))
    yield name, group(2, 1, 6, 7, [6, 4], rotary=True), 3, ["total"], dict(turned, smooth_softmax=1)
    yield (name, group(1, 3, 6, 9, [8], rotary=True), 3, ["total"],
           dict(turned, rotary_interleaved=1))
    # Caches that do not grow. ONNX Runtime clears positions after those in use; here they stay as they were.
    for constants in (["total"], ["total", "lengths"]):
        yield name, group(2, 1, 8, 8, [7, 7], rotary=True), 3, constants, turned
    yield name, group(2, 1, 8, 8, [7, 7]), 3, ["total"], dict(both, local_window_size=3)


def quantised_cases():
    a = numbers(s=0.02, z=120)
    inputs = {"a": bytes_of(2, 3, 4), "as": a["s"], "az": a["z"], "b": bytes_of(3, 1),
              **numbers(bs=0.03, bz=9, cs=0.05, cz=100)}
    yield "QLinearAdd", inputs, 1, ["as", "az", "bs", "bz", "cs", "cz"], {}
    yield "QLinearMul", inputs, 1, ["as", "az", "bs", "bz", "cs", "cz"], {}
    one = {"x": bytes_of(2, 3, 4, 5), **numbers(xs=0.03, xz=110, ys=0.01, yz=128)}
    fixed = ["xs", "xz", "ys", "yz"]
    yield "QLinearSigmoid", dict(one, ys=numpy.float32(1 / 256), yz=numpy.uint8(0)), 1, fixed, {}
    yield "QLinearLeakyRelu", one, 1, fixed, {"alpha": 0.2}
    yield "QLinearAveragePool", one, 1, fixed, {"kernel_shape": [2, 3], "strides": [1, 2]}
    yield ("QLinearAveragePool", one, 1, fixed,
           {"kernel_shape": [2, 2], "pads": [1, 0, 0, 1], "channels_last": 1})
    yield "QLinearGlobalAveragePool", one, 1, fixed, {}
    yield "QLinearGlobalAveragePool", one, 1, fixed, {"channels_last": 1}
    yield "QLinearReduceMean", one, 1, fixed, {"axes": [1, -1], "keepdims": 0}
    yield ("QLinearSoftmax", dict(one, ys=numpy.float32(1 / 256), yz=numpy.uint8(0)), 1, fixed,
           {"axis": 1, "opset": 13})
    yield ("QLinearConcat", {**numbers(ys=0.04, yz=80), "a": bytes_of(2, 3), **numbers(s=0.02, z=1),
                             "b": bytes_of(2, 4), **numbers(t=0.05, u=128)}, 1,
           ["ys", "yz", "s", "z", "t", "u"], {"axis": -1})
    yield ("QLinearWhere", {"c": RANDOM.integers(0, 2, (2, 3)).astype(bool), "x": bytes_of(2, 3),
                            **numbers(xs=0.02, xz=3), "y": bytes_of(2, 3),
                            **numbers(ys=0.03, yz=100, zs=0.04, zz=50)}, 1,
           ["xs", "xz", "ys", "yz", "zs", "zz"], {})
    inputs = {"a": bytes_of(3, 8), "as": a["s"], "az": a["z"], "b": bytes_of(8, 4), "bs": scales(4),
              "bz": bytes_of(4), "c": bytes_of(4).astype(numpy.int32), **numbers(ys=0.1, yz=128)}
    fixed = ["as", "az", "b", "bs", "bz", "c", "ys", "yz"]
    yield "QGemm", inputs, 1, fixed, {}
    inputs = {"a": bytes_of(8, 3), "as": a["s"], "az": a["z"], "b": bytes_of(4, 8),
              **numbers(bs=0.05, bz=100)}
    yield "QGemm", inputs, 1, ["as", "az", "b", "bs", "bz"], {"transA": 1, "transB": 1, "alpha": 0.5}
    inputs = {"a": bytes_of(3, 8), "b": bytes_of(8, 4, dtype=numpy.int8), "as": a["s"],
              "bs": scales(4), "az": a["z"], "bz": None, "bias": floats(4)}
    yield "MatMulIntegerToFloat", inputs, 1, ["b", "bs", "as", "az"], {}
    # The weights are big enough not to be dequantised when the graph is built.
    yield ("MatMulIntegerToFloat", dict(inputs, a=bytes_of(3, 256), bs=scales(128), bias=floats(128),
                                        b=bytes_of(256, 128, dtype=numpy.int8),
                                        bz=bytes_of(128, dtype=numpy.int8)), 1,
           ["b", "bs", "as", "az", "bz"], {})
    inputs = {"a": floats(3, 256), "b": bytes_of(256, 128, dtype=numpy.int8), "bs": scales(128),
              "bz": numpy.full(128, 3, numpy.int8), "bias": floats(128)}
    yield "DynamicQuantizeMatMul", inputs, 1, ["b", "bs", "bz", "bias"], {}
    inputs = {"a": bytes_of(3, 8), "as": a["s"], "az": a["z"], "bs": scales(4),
              "b": bytes_of(8, 4, dtype=numpy.int8), "bz": numpy.zeros(4, numpy.int8),
              "c": bytes_of(4).astype(numpy.int32), **numbers(ys=0.1, yz=128)}
    order = ["a", "as", "az", "b", "bs", "bz", "c", "ys", "yz"]
    # ONNX Runtime's optimiser writes these for processors; the filter keeps its order.
    image = {"x": bytes_of(2, 6, 5, 4), "xs": a["s"], "xz": a["z"]}
    filters = {"w": bytes_of(6, 4, 3, 2), "ws": scales(6), "wz": numpy.full(6, 128, numpy.uint8),
               **numbers(ys=0.1, yz=128), "b": bytes_of(6).astype(numpy.int32)}
    grouped = dict(filters, w=bytes_of(6, 2, 3, 2, dtype=numpy.int8), wz=numpy.zeros(6, numpy.int8))
    for weights, attributes in ((filters, {"pads": [1, 0, 1, 1], "strides": [2, 1]}), (grouped, {"group": 2}),
                                (filters, {"dilations": [2, 1]}), (filters, {"auto_pad": "SAME_UPPER"})):
        yield ("QLinearConv", image | weights, 1, ["xs", "xz", *weights], attributes | {"channels_last": 1})
    row = {"w": bytes_of(6, 4, 3), **{key: value for key, value in filters.items() if key != "w"}}
    yield ("QLinearConv", dict(image, x=bytes_of(2, 6, 4)) | row, 1, ["xs", "xz", *row],
           {"channels_last": 1, "pads": [1, 1]})
    yield "QGemm", {key: inputs[key] for key in order}, 1, order[1:], {}


def fused_cases():
    ids, words = RANDOM.integers(0, 5, (2, 3)).astype(numpy.int32), floats(5, 8)
    inputs = {"ids": ids, "segments": (ids % 2).astype(numpy.int32), "words": words,
              "places": floats(4, 8), "tables": floats(2, 8), "gamma": floats(8), "beta": floats(8),
              "mask": ints([1, 1, 0], [1, 1, 1], dtype=numpy.int32)}
    yield "EmbedLayerNormalization", inputs, 2, ["words", "places", "tables"], {}
    inputs = dict(inputs, segments=None, tables=None, mask=None,
                  at=ints([2, 1, 0], [0, 1, 2], dtype=numpy.int32))
    yield "EmbedLayerNormalization", inputs, 3, ["words", "places"], {"epsilon": 0.01}
    norm = {"x": floats(2, 3, 2, 8), "gamma": floats(8), "beta": floats(8)}
    yield "GroupNorm", norm, 1, [], {"groups": 2, "activation": 1}
    yield ("GroupNorm", dict(norm, x=floats(2, 8, 3, 2)), 1, [],
           {"groups": 4, "activation": 0, "channels_last": 0})
    yield ("SkipGroupNorm", dict(norm, skip=floats(2, 8), bias=floats(8)), 2, [],
           {"groups": 2, "activation": 0, "epsilon": 0.1})
    yield "BiasAdd", {"x": floats(2, 3, 8), "b": floats(8), "skip": floats(2, 3, 8)}, 1, [], {}
    yield "BiasSplitGelu", {"x": floats(2, 3, 8), "b": floats(8)}, 1, [], {}
    yield "GemmFastGelu", {"x": floats(2, 3, 8), "w": floats(8, 4), "b": floats(4)}, 1, ["w"], {}
    yield ("Range", {"start": numpy.array(2), "limit": numpy.array(7)}, 1, ["start", "limit"], {})


def other_cases():
    x = floats(2, 3, 8)
    yield "BiasGelu", {"x": x, "b": floats(8)}, 1, [], {}
    yield "FastGelu", {"x": x, "b": floats(8)}, 1, [], {}
    yield "QuickGelu", {"x": x}, 1, [], {"alpha": 1.5}
    yield "Gelu", {"x": x}, 1, [], {}
    # With small numbers, whose variance is small, the result depends on the default of epsilon,
    # 1e-12.
    skip = {"x": x * numpy.float32(0.02), "skip": floats(2, 3, 8) * numpy.float32(0.02), "gamma": floats(8)}
    yield "SkipSimplifiedLayerNormalization", skip, 1, [], {}
    yield "SkipLayerNormalization", dict(skip, beta=floats(8)), 1, [], {}
    skip = {"x": x, "skip": floats(2, 3, 8), "gamma": floats(8)}
    yield "SkipSimplifiedLayerNormalization", dict(skip, bias=floats(8)), 1, [], {"epsilon": 0.01}
    yield "SkipLayerNormalization", dict(skip, beta=floats(8), bias=floats(8)), 1, [], {}
    yield "FusedMatMul", {"a": floats(2, 8, 3), "b": floats(2, 8, 4)}, 1, [], {"transA": 1,
                                                                              "alpha": 0.5}
    yield "TransposeMatMul", {"a": floats(3, 8), "b": floats(4, 8)}, 1, [], {"transB": 1}
    yield ("FusedGemm", {"a": floats(3, 8), "b": floats(8, 4), "c": floats(4)}, 1, [],
           {"activation": "LeakyRelu", "activation_alpha": 0.3, "beta": 0.5})
    yield ("FusedConv", {"x": floats(1, 3, 6, 6), "w": floats(4, 3, 3, 3), "b": floats(4),
                         "z": floats(1, 4, 4, 4)}, 1, ["w"], {"activation": "Relu"})
    product = {"a": 3 * floats(3, 8), "b": floats(8, 4)}
    for activation, parameters in (
            ("Elu", {"alpha": 1.0}), ("Elu", {"alpha": 0.5}), ("Selu", {"alpha": 1.5, "gamma": 0.5}), ("Softplus", {}),
            ("Softsign", {}), ("Tanh", {}), ("ThresholdedRelu", {"alpha": 0.4}),
            ("HardSigmoid", {"alpha": 0.3, "beta": 0.4})):
        yield ("FusedGemm", product, 1, [], {"activation": activation} | {
            f"activation_{key}": value for key, value in parameters.items()})
    image = {"x": floats(1, 6, 5, 3), "w": floats(4, 2, 3, 3), "b": floats(4)}
    yield "NhwcConv", image, 1, ["w"], {"pads": [0, 1, 1, 0]}
    yield "NhwcConv", dict(image, w=floats(6, 2, 3, 1), b=floats(6)), 1, ["w"], {"group": 3, "strides": [2, 1]}
    image = {"x": floats(1, 6, 5, 3), "w": floats(4, 3, 3, 3), "b": floats(4), "z": floats(1, 4, 3, 4)}
    for activation in ("Relu", "Tanh"):
        yield "NhwcFusedConv", image, 1, ["w"], {"activation": activation}
    for shape, attributes in (((2, 6, 5, 4), {"kernel_shape": [2, 3], "strides": [1, 2]}),
                              ((1, 7, 7, 3), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
                              ((1, 6, 3), {"kernel_shape": [2], "pads": [1, 0]}),
                              ((1, 6, 6, 2), {"kernel_shape": [2, 2], "dilations": [2, 2]})):
        yield "NhwcMaxPool", {"x": bytes_of(*shape)}, 1, [], attributes
    yield "NhwcMaxPool", {"x": bytes_of(1, 5, 5, 2, dtype=numpy.int8)}, 1, [], {"kernel_shape": [2, 2], "pads": [1] * 4}
    yield "Trilu", {"x": floats(3, 4), "k": numpy.array(1)}, 1, ["k"], {"upper": 0}
    yield "Pad", {"x": floats(2, 3), "p": ints(0, 1, 2, 1), "v": floats(1)}, 1, ["p", "v"], {}
    yield ("GridSample", {"x": floats(1, 2, 4, 4), "g": floats(1, 3, 3, 2)}, 1, [],
           {"mode": "bilinear", "padding_mode": "border"})
    yield "GatherND", {"x": floats(3, 4), "i": ints([0, 1], [2, 3])}, 1, [], {}


def reduce_mean(inputs, axes, keepdims):
    x = (inputs["x"].astype(float) - inputs["xz"]) * inputs["xs"]
    y = numpy.round(x.mean(tuple(axes), keepdims=bool(keepdims)) / inputs["ys"]) + inputs["yz"]
    return [numpy.clip(y, 0, 255).astype(numpy.uint8)]


def codes_of(array, bits, count):
    """Returns the numbers in the bytes of the last dimension; the first number is in the low bits.
    """
    parts = [array >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)]
    return numpy.stack(parts, -1).reshape(*array.shape[:-1], -1)[..., :count].astype(float)


def matmul_bits(inputs, bits, N, K, block_size, **_):
    """Returns the result of MatMulNBits for 2 or 8 bits, which older versions of ONNX Runtime
    refuse, and None for 4 bits, for which ONNX Runtime is the reference.
    """
    if bits == 4:
        return None
    scale, zeros = inputs["s"].reshape(N, -1, 1), inputs["z"]
    if zeros is None:
        zeros = numpy.array(1 << bits - 1)
    elif zeros.dtype == numpy.uint8:
        zeros = codes_of(zeros.reshape(N, -1), bits, scale.shape[1])[:, :, None]
    else:
        zeros = zeros.reshape(scale.shape)
    weights = (codes_of(inputs["b"], bits, block_size) - zeros) * scale
    return [(inputs["a"] @ weights.reshape(N, -1)[:, :K].T).astype(numpy.float32)]


def nhwc_conv(inputs, **attributes):
    """Returns the result of a convolution whose last dimension is the channels, by Conv of ONNX."""
    fused = "activation" in attributes
    x, w = numpy.moveaxis(inputs["x"], -1, 1), inputs["w"] if fused else numpy.moveaxis(inputs["w"], -1, 1)
    feed = {"x": x, "w": w, "b": inputs["b"]}
    activation = attributes.pop("activation", "Relu")
    y = run_reference(make_model("Conv", feed, ["y"], domain="", **attributes), feed)[0]
    if fused:
        y = y + numpy.moveaxis(inputs["z"], -1, 1)
        y = {"Relu": numpy.maximum(y, 0), "Tanh": numpy.tanh(y)}[activation]
    return [numpy.moveaxis(y, 1, -1)]


def gather_blocks(inputs, block_size, bits=4, **_):
    data, blocks = inputs["d"], inputs["s"].shape[-1]
    if not isinstance(data, numpy.ndarray):
        return None
    codes = codes_of(data, bits, None)
    zeros = 1 << bits - 1 if inputs["z"] is None else \
        codes_of(inputs["z"], bits, blocks).repeat(block_size, -1)[:, :codes.shape[-1]]
    return [((codes - zeros) * inputs["s"].repeat(block_size, -1)[:, :codes.shape[-1]])
            .astype(numpy.float32)[inputs["i"]]]


def erf(x):
    return numpy.vectorize(math.erf)(x.astype(float))


def group_norm(inputs, groups, activation, channels_last=1, epsilon=1e-5):
    x = inputs["x"].astype(float)
    if "skip" in inputs:
        x = x + inputs["skip"][:, None, None, :] + inputs["bias"]
    y = numpy.moveaxis(x, 3, 1) if channels_last else x
    parts = y.reshape(y.shape[0], groups, -1)
    parts = (parts - parts.mean(2, keepdims=True)) / numpy.sqrt(parts.var(2, keepdims=True) + epsilon)
    y = parts.reshape(y.shape) * inputs["gamma"][:, None, None] + inputs["beta"][:, None, None]
    y = y / (1 + numpy.exp(-y)) if activation else y
    results = [numpy.moveaxis(y, 1, 3) if channels_last else y, x]
    return [result.astype(numpy.float32) for result in results[:1 + ("skip" in inputs)]]


def bias_add(inputs):
    return [inputs["x"] + inputs["b"] + inputs["skip"]]


def bias_split_gelu(inputs):
    left, right = numpy.split(inputs["x"] + inputs["b"], 2, -1)
    return [(left * right * 0.5 * (1 + erf(right / math.sqrt(2)))).astype(numpy.float32)]


def gemm_fast_gelu(inputs):
    x = (inputs["x"] @ inputs["w"] + inputs["b"]).astype(float)
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
    return [(0.5 * x * (1 + numpy.tanh(inner))).astype(numpy.float32)]


def packed_attention(inputs, num_heads, scale=None):
    """Returns the result of a MultiHeadAttention with query, key and value packed in one input or,
    if there is an input "k", with key and value packed in it.
    """
    q, k = inputs["q"].astype(float), inputs["k"]
    if k is None:
        q, k, v = (q[:, :, :, i] for i in range(3))
    else:
        q = q.reshape(*q.shape[:2], num_heads, -1)
        k, v = (k[:, :, :, i].astype(float) for i in range(2))
    if "b" in inputs:
        q, k, v = (x + b for x, b in zip((q, k, v), inputs["b"].reshape(3, num_heads, -1)))
    scores = numpy.einsum("bqhd,bkhd->bhqk", q, k) * (scale or 1 / math.sqrt(q.shape[3]))
    weights = numpy.exp(scores) / numpy.exp(scores).sum(3, keepdims=True)
    y = numpy.einsum("bhqk,bkhd->bqhd", weights, v)
    return [y.reshape(*y.shape[:2], -1).astype(numpy.float32)]


# References of operators that ONNX Runtime has no kernel for on the CPU, or not in all of its versions.
BY_HAND = {"QLinearReduceMean": reduce_mean, "MatMulNBits": matmul_bits, "NhwcConv": nhwc_conv,
           "NhwcFusedConv": nhwc_conv, "GroupNorm": group_norm,
           "SkipGroupNorm": group_norm, "BiasAdd": bias_add, "BiasSplitGelu": bias_split_gelu,
           "GemmFastGelu": gemm_fast_gelu, "packed": packed_attention,
           "GatherBlockQuantized": gather_blocks}
# The operators on integers that must be in the compiled graphs of these cases.
INTEGERS = {"MatMulNBits-bits_cases-5": "wmatmul", "QLinearAdd-quantised_cases-0": "qbinary",
            "QLinearSigmoid-quantised_cases-2": "qunary", "QGemm-quantised_cases-22": "qmatmul",
            "DynamicQuantizeMatMul-quantised_cases-16": "qmatmul",
            "MatMulIntegerToFloat-quantised_cases-15": "wmatmul"}
STEPS = ("QLinear", "QGemm", "DynamicQuantize")


def becomes(program, paths, wanted):
    """Returns whether the compiled graphs have each of the wanted operators."""
    done = subprocess.run([program, "--device", "sim", "--text", *paths], check=False, text=True,
                          stdout=subprocess.PIPE)
    missing = [name for name in wanted if f" = {name}(" not in done.stdout]
    if missing:
        print(f"there is no {missing} in:\n{done.stdout}")
    return not missing


def main():
    exact, rounded, halves = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for cases in (bits_cases, rotary_cases, attention_cases, group_cases, quantised_cases,
                      fused_cases, other_cases, half_cases, default_cases):
            for number, (name, inputs, count, constants, attributes) in enumerate(cases()):
                model = make_model(name, inputs, [f"y{i}" for i in range(count)], constants,
                                   **attributes)
                feed = {key: value for key, value in inputs.items()
                        if value is not None and key not in constants}
                path = pathlib.Path(folder) / f"{name}-{cases.__name__}-{number}"
                kind = "packed" if any(
                    array is not None and array.ndim == 5 for key, array in inputs.items()
                    if key in "qk") else name
                by_hand = BY_HAND.get(kind)
                results = by_hand(inputs, **attributes) if by_hand else None
                results = results or run_reference(model, feed)
                write_case(path, model, feed.values(), results)
                (rounded if name.startswith(STEPS) else
                 halves if cases is half_cases else exact).append(path)
        good = [run_cases(sys.argv[1], device, paths, options) for device in sys.argv[2:]
                for paths, options in ((exact, ["--range", "2e-5"]), (halves, ["--range", "3e-3"]),
                                       (rounded, ["--steps", "1"]))]
        good += [becomes(sys.argv[1], [f"{folder}/{name}"], [wanted])
                 for name, wanted in INTEGERS.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
