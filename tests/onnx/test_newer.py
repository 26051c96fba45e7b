#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares operators of sets 23 to 28, and further new features, with a few lines of numpy:
test_newer.py PROGRAM DEVICE….
"""
import pathlib
import sys
import tempfile

import numpy
from attention import attend, flat, heads, softmax
from onnx_cases import onnx, run_cases
from typed import BOOL, DOUBLE, FLOAT, FLOAT16, INT32, INT64, Typed, floats, write_typed

RANDOM = numpy.random.default_rng(11)
NOTHING = -numpy.inf


def node(operator, inputs, outputs, domain="", **attributes):
    names, made = ([name.replace("-", "") for name in text.split()] for text in (inputs, outputs))
    return onnx.helper.make_node(operator, names, made, domain=domain, **attributes)


def normal(*shape):
    return RANDOM.normal(0, 1, shape).astype(numpy.float32)


def positions(length, total, offset, left=-1, right=-1):
    """Returns a mask: 0 where a query may see a key, else -inf; each batch may have its own offset.
    """
    distance = numpy.arange(total) - (numpy.arange(length)[:, None] + offset)
    allowed = numpy.ones(distance.shape, bool)
    if left >= 0:
        allowed &= distance >= -left
    if right >= 0:
        allowed &= distance <= right
    return numpy.where(allowed, 0, NOTHING)


def attention_cases():
    q, k, v = normal(2, 4, 5, 8), normal(2, 2, 7, 8), normal(2, 2, 7, 6)
    base = {"q": floats(q), "k": floats(k), "v": floats(v)}
    mask = RANDOM.integers(0, 2, (5, 7)).astype(bool)
    mask[2] = False
    bias = normal(2, 1, 5, 7)
    bias[1, 0, 3] = NOTHING
    chosen = numpy.where(mask, 0, NOTHING)
    for name, attributes, extra, added in (
            ("plain", {}, {}, 0.0), ("scale", {"scale": 0.3, "softcap": 0.7}, {}, 0.0),
            ("causal", {"is_causal": 1}, {}, positions(5, 7, 0, right=0)),
            ("left", {"left_window_size": 1}, {}, positions(5, 7, 0, left=1)),
            ("both", {"left_window_size": 2, "right_window_size": 1}, {}, positions(5, 7, 0, 2, 1)),
            ("causal-left", {"left_window_size": 2, "right_window_size": 3, "is_causal": 1}, {},
             positions(5, 7, 0, 2, 0)),
            ("bool", {}, {"m": Typed(BOOL, mask)}, chosen),
            ("bool-causal", {"is_causal": 1}, {"m": Typed(BOOL, mask)},
             chosen + positions(5, 7, 0, right=0)),
            ("float", {"left_window_size": 3}, {"m": floats(bias)}, bias + positions(5, 7, 0, left=3)),
            ("heads", {}, {"m": Typed(BOOL, numpy.array([1, 0, 1, 1], bool).reshape(4, 1, 1) &
                                      numpy.ones((4, 5, 7), bool))},
             numpy.where(numpy.array([1, 0, 1, 1]).reshape(4, 1, 1), 0, NOTHING)),
            ("row", {}, {"m": floats(bias[0, 0, 0])}, bias[0, 0, 0]),
            ("short", {}, {"m": floats(bias[..., :4])},
             numpy.pad(bias[..., :4], ((0, 0),) * 3 + ((0, 3),), constant_values=NOTHING)),
            ("short-bool", {}, {"m": Typed(BOOL, mask[:, :5])},
             numpy.pad(chosen[:, :5], ((0, 0), (0, 2)), constant_values=NOTHING))):
        want = attend(q, k, v, added, attributes.get("scale"), attributes.get("softcap", 0.0))
        for mode in range(4):
            if mode and name not in ("plain", "scale", "bool", "float"):
                continue
            outputs = {"y": floats(want[0]), "p": floats(want[1 + mode])}
            yield (f"attention-{name}-{mode}",
                   [node("Attention", "q k v" + " m" * bool(extra), "y - - p",
                         qk_matmul_output_mode=mode, **attributes)],
                   {**base, **extra}, outputs, ())


def cache_cases():
    for grouped in (False, True):
        q, k, v = normal(2, 3, 4 * 6), normal(2, 3, 2 * 6), normal(2, 3, 2 * 4)
        pk, pv = normal(2, 2, 5, 6), normal(2, 2, 5, 4)
        keys = numpy.concatenate([pk, heads(k, 2)], 2)
        values = numpy.concatenate([pv, heads(v, 2)], 2)
        y = attend(heads(q, 4), keys, values, positions(3, 8, 5, 4, 0))[0]
        inputs = {"q": floats(q), "k": floats(k), "v": floats(v), "pk": floats(pk), "pv": floats(pv)}
        yield (f"attention-past-{grouped}",
               [node("Attention", "q k v - pk pv", "y ok ov",
                     q_num_heads=4, kv_num_heads=2, is_causal=1, left_window_size=4)],
               inputs, {"y": floats(flat(y)), "ok": floats(keys), "ov": floats(values)}, ())
        # The caller keeps the cache: each batch has its own number of keys, which may be below that
        # of queries.
        lengths = numpy.array([6, 2] if grouped else [8, 4])
        q, k, v = normal(2, 4, 3, 6), normal(2, 2, 8, 6), normal(2, 2, 8, 4)
        inside = numpy.where(numpy.arange(8) < lengths.reshape(2, 1, 1, 1), 0, NOTHING)
        seen = numpy.stack([positions(3, 8, length - 3, right=0) for length in lengths])[:, None]
        y = attend(q, k, v, inside + seen)[0]
        for constants in ((), ("n",)):
            yield (f"attention-outside-{grouped}-{len(constants)}",
                   [node("Attention", "q k v - - - n", "y", is_causal=1)],
                   {"q": floats(q), "k": floats(k), "v": floats(v), "n": Typed(INT64, lengths)},
                   {"y": floats(y)}, constants)
    # The first step of a decoder, whose cache has no elements.
    k, v = normal(1, 2, 3, 4), normal(1, 2, 3, 4)
    q = normal(1, 2, 3, 4)
    yield ("attention-first", [node("Attention", "q k v - pk pv", "y ok ov", is_causal=1)],
           {"q": floats(q), "k": floats(k), "v": floats(v), "pk": floats(numpy.zeros((1, 2, 0, 4))),
            "pv": floats(numpy.zeros((1, 2, 0, 4)))},
           {"y": floats(attend(q, k, v, positions(3, 3, 0, right=0))[0]), "ok": floats(k),
            "ov": floats(v)}, ())


def flex_cases():
    q, k, v = normal(1, 4, 3, 8), normal(1, 2, 5, 8), normal(1, 2, 5, 8)
    score = onnx.parser.parse_graph("""score (float[1,4,3,5] s) => (float[1,4,3,5] t) {
        two = Constant<value = float {2}>() t = Mul(s, two) }""")
    prob = onnx.parser.parse_graph("""prob (float[1,4,3,5] p) => (float[1,4,3,5] r) {
        half = Constant<value = float {0.5}>() r = Mul(p, half) }""")
    inputs = {"q": floats(q), "k": floats(k), "v": floats(v)}
    keys, values = (numpy.repeat(x, 2, 1) for x in (k, v))
    for name, attributes in (("plain", {}), ("scale", {"scale": 0.2}), ("score", {"score_mod": score}),
                             ("both", {"score_mod": score, "prob_mod": prob})):
        x = q @ keys.swapaxes(2, 3) * attributes.get("scale", 8 ** -0.5)
        weights = softmax(x * 2 if "score_mod" in attributes else x)
        weights = weights / 2 if "prob_mod" in attributes else weights
        yield (f"flex-{name}", [node("FlexAttention", "q k v", "y", "ai.onnx.preview", **attributes)],
               inputs, {"y": floats(weights @ values)}, ())


def linear_cases():
    batch, steps, size, wide = 2, 5, 4, 3
    for rule in ("linear", "gated", "delta", "gated_delta"):
        for queries, keys, past in ((2, 2, False), (4, 2, True), (2, 1, True)):
            q, k, v = (normal(batch, steps, count * columns) for count, columns in
                       ((queries, size), (keys, size), (keys, wide)))
            inputs = {"q": floats(q), "k": floats(k), "v": floats(v)}
            state = normal(batch, keys, size, wide) if past else numpy.zeros((batch, keys, size, wide))
            columns = 1 if queries == 2 else size
            decay, beta = -abs(normal(batch, steps, keys * columns)), abs(normal(batch, steps, keys))
            names = "q k v"
            for name, used, array in (("s", past, state), ("g", "gated" in rule, decay),
                                      ("b", "delta" in rule, beta)):
                names += f" {name}" if used else " -"
                if used:
                    inputs[name] = floats(array)
            out = []
            for t in range(steps):
                key, value = k[:, t].reshape(batch, keys, size), v[:, t].reshape(batch, keys, wide)
                if "gated" in rule:
                    state = state * numpy.exp(decay[:, t].reshape(batch, keys, columns, 1))
                if "delta" in rule:
                    value = beta[:, t, :, None] * (value - numpy.einsum("bhk,bhkv->bhv", key, state))
                state = state + key[..., None] * value[..., None, :]
                query = q[:, t].reshape(batch, queries, size)
                shared = numpy.repeat(state, queries // keys, 1)
                out.append(numpy.einsum("bhk,bhkv->bhv", query, shared).reshape(batch, 1, -1) / 2)
            yield (f"linear-{rule}-{queries}-{keys}",
                   [node("LinearAttention", names, "y z", update_rule=rule, q_num_heads=queries,
                         kv_num_heads=keys)],
                   inputs, {"y": floats(numpy.concatenate(out, 1)), "z": floats(state)}, ())


def conv_cases():
    for width, past, bias, activation in ((3, True, True, "silu"), (4, False, False, "none"),
                                          (2, True, False, "swish"), (4, False, True, "none")):
        for length in (5, 1):
            x, w, b, s = normal(2, 3, length), normal(3, 1, width), normal(3), normal(2, 3, width - 1)
            whole = numpy.concatenate([s if past else 0 * s, x], 2)
            y = sum(whole[:, :, i:i + length] * w[:, 0, i, None] for i in range(width))
            y = y + b[:, None] * bias
            y = y if activation == "none" else y / (1 + numpy.exp(-y))
            inputs = {"x": floats(x), "w": floats(w)}
            inputs.update({"b": floats(b)} if bias else {})
            inputs.update({"s": floats(s)} if past else {})
            yield (f"conv-{width}-{length}-{bias}",
                   [node("CausalConvWithState", f"x w {'b' if bias else '-'} {'s' if past else '-'}",
                         "y z", activation=activation)],
                   inputs, {"y": floats(y), "z": floats(whole[:, :, length:])}, ("w",))


def rotary_cases():
    for name, shape, attributes, turned in (
            ("plain", (2, 3, 4, 8), {}, 8), ("pairs", (2, 3, 4, 8), {"interleaved": 1}, 8),
            ("part", (2, 3, 4, 8), {"rotary_embedding_dim": 4}, 4),
            ("flat", (2, 4, 24), {"num_heads": 3}, 8),
            ("flat-part", (2, 4, 24), {"num_heads": 3, "rotary_embedding_dim": 6, "interleaved": 1}, 6)):
        x, at = normal(*shape), RANDOM.integers(0, 9, (2, 4))
        cos, sin = normal(9, turned // 2), normal(9, turned // 2)
        for given in (True, False):
            wide = heads(x, 3) if len(shape) == 3 else x
            c, s = (table[at][:, None] for table in (cos, sin))
            part, rest = wide[..., :turned], wide[..., turned:]
            if attributes.get("interleaved"):
                a, b = part[..., ::2], part[..., 1::2]
                part = numpy.stack([a * c - b * s, a * s + b * c], -1).reshape(part.shape)
            else:
                a, b = numpy.split(part, 2, -1)
                part = numpy.concatenate([a * c - b * s, a * s + b * c], -1)
            y = numpy.concatenate([part, rest], -1)
            inputs = {"x": floats(x), "c": floats(cos if given else cos[at]),
                      "s": floats(sin if given else sin[at])}
            inputs.update({"p": Typed(INT64, at)} if given else {})
            yield (f"rotary-{name}-{given}", [node("RotaryEmbedding", "x c s" + " p" * given, "y",
                                                   **attributes)],
                   inputs, {"y": floats(flat(y) if len(shape) == 3 else y)}, ())


def cache_update_cases():
    for name, shape, axis, length, at, mode in (
            ("default", (2, 3, 5, 4), None, 2, [1, 3], "linear"), ("three", (3, 6, 2), 1, 2, [0, 4, 2], "linear"),
            ("circular", (2, 5, 3), 1, 3, [4, 3], "circular"), ("none", (2, 5, 3), -2, 3, None, "linear"),
            ("last", (2, 3, 6), -1, 2, [4, 0], "linear")):
        past = normal(*shape)
        where = axis if axis is not None else -2
        update = normal(*(length if i == where % len(shape) else n for i, n in enumerate(shape)))
        y = past.copy()
        for b in range(shape[0]):
            for i in range(length):
                place = ((at[b] if at else 0) + i) % shape[where]
                target = [b] + [slice(None)] * (len(shape) - 1)
                source = list(target)
                target[where % len(shape)], source[where % len(shape)] = place, i
                y[tuple(target)] = update[tuple(source)]
        inputs = {"x": floats(past), "u": floats(update)}
        inputs.update({"i": Typed(INT64, at)} if at else {})
        attributes = {"mode": mode, **({"axis": axis} if axis is not None else {})}
        for constants in ((), ("i",)) if at else ((),):
            yield (f"scatter-{name}-{len(constants)}",
                   [node("TensorScatter", "x u" + " i" * bool(at), "y", **attributes)], inputs,
                   {"y": floats(y)}, constants)


def element_cases():
    x, w = normal(3, 4) * 3, normal(3, 4)
    for alpha in (1.0, 1.702, -0.5):
        y = x / (1 + numpy.exp(-alpha * x))
        yield (f"swish-{alpha}", [node("Swish", "x", "y", alpha=alpha), node("SwiGLU", "x w", "z", alpha=alpha)],
               {"x": floats(x), "w": floats(w)}, {"y": floats(y), "z": floats(y * w)}, ())
    half = x.astype(numpy.float16)
    y = (half / (1 + numpy.exp(-half.astype(float)))).astype(numpy.float16)
    yield "swish-half", [node("Swish", "x", "y")], {"x": Typed(FLOAT16, half)}, {"y": Typed(FLOAT16, y)}, ()
    for kind, data in ((FLOAT, normal(3, 5)), (INT32, RANDOM.integers(-4, 5, (3, 5))), (DOUBLE, normal(3, 5))):
        for axis in (0, -1):
            for exclusive in (0, 1):
                for reverse in (0, 1):
                    turned = numpy.flip(data, axis) if reverse else data
                    if exclusive:
                        ones = numpy.ones_like(numpy.take(turned, [0], axis))
                        rest = numpy.take(turned, range(turned.shape[axis] - 1), axis)
                        turned = numpy.concatenate([ones, rest], axis)
                    y = numpy.cumprod(turned, axis)
                    y = numpy.flip(y, axis) if reverse else y
                    yield (f"cumprod-{kind}-{axis}-{exclusive}-{reverse}",
                           [node("CumProd", "x a", "y", exclusive=exclusive, reverse=reverse)],
                           {"x": Typed(kind, data), "a": Typed(INT64, axis)}, {"y": Typed(kind, y)}, ("a",))
    image = normal(2, 3, 4, 6)
    blocks = image.reshape(2, 3, 2, 2, 3, 2)
    yield ("blocks", [node("SpaceToDepth", "x", "y", blocksize=2, mode="CRD"),
                      node("SpaceToDepth", "x", "z", blocksize=2),
                      node("DepthToSpace", "y", "w", blocksize=2, mode="CRD")], {"x": floats(image)},
           {"y": floats(blocks.transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 2, 3)),
            "z": floats(blocks.transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3)), "w": floats(image)}, ())


def signal_cases():
    for length in (8, 7, 5):
        x = normal(2, length)
        spectrum = numpy.fft.rfft(x)
        parts = numpy.stack([spectrum.real, spectrum.imag], -1)
        yield (f"irfft-{length}", [node("DFT", "x n a", "y", inverse=1, onesided=1)],
               {"x": floats(parts), "n": Typed(INT64, length), "a": Typed(INT64, 1)},
               {"y": floats(x[..., None])}, ("n", "a"))
    yield ("irfft-default", [node("DFT", "x", "y", inverse=1, onesided=1)],
           {"x": floats(parts)}, {"y": floats(numpy.fft.irfft(spectrum)[..., None])}, ())
    # irfft ignores bins beyond those that it needs, and takes missing bins as 0.
    for length in (4, 12):
        yield (f"irfft-cut-{length}", [node("DFT", "x n", "y", inverse=1, onesided=1)],
               {"x": floats(parts), "n": Typed(INT64, length)},
               {"y": floats(numpy.fft.irfft(spectrum, length)[..., None])}, ("n",))


def empty_cases():
    none = floats(numpy.zeros((2, 0, 3)))
    yield ("empty-slice", [node("Slice", "x a a o", "e"), node("Concat", "e x", "y", axis=1)],
           {"x": floats(normal(2, 3)), "a": Typed(INT64, [1]), "o": Typed(INT64, [1])}, {}, ("a", "o"))
    for kind, most, least in ((BOOL, 0, 1), (INT32, -(1 << 31), (1 << 31) - 1), (FLOAT, NOTHING, numpy.inf)):
        yield (f"empty-extreme-{kind}", [node("ReduceMax", "x a", "y", keepdims=0),
                                         node("ReduceMin", "x a", "z", keepdims=0),
                                         node("Identity", "w", "v")],
               {"x": Typed(kind, none.elements), "a": Typed(INT64, [1]), "w": floats([1.0])},
               {"y": Typed(kind, numpy.full((2, 3), most)), "z": Typed(kind, numpy.full((2, 3), least)),
                "v": floats([1.0])}, ("a",))
    yield ("empty-output", [node("Split", "x s", "a b", axis=0), node("Relu", "a", "c")],
           {"x": floats(normal(3, 2)), "s": Typed(INT64, [3, 0])}, {}, ("s",))


def finish(inputs, name):
    """Returns the outputs of the cases that are written without outputs; None for other cases."""
    x = inputs["x"].elements if "x" in inputs else None
    if name == "empty-slice":
        return {"y": floats(x)}
    if name == "empty-output":
        return {"c": floats(numpy.maximum(x, 0)), "b": floats(numpy.zeros((0, 2)))}
    return None


def write_sequences(folder):
    """Writes cases whose inputs are sequences and optional values, and which pass these on or take
    them apart; returns the folders.
    """
    sequence = onnx.helper.make_tensor_sequence_value_info
    made = []
    items = [normal(2, 3), normal(1, 3)]
    x = onnx.helper.make_tensor_value_info("x", FLOAT, None)
    tensors = [onnx.numpy_helper.from_array(item) for item in items]
    for name, nodes, outputs, want in (
            ("identity", [node("Identity", "s", "y")], [sequence("y", FLOAT, None)],
             [onnx.numpy_helper.from_list(items)]),
            ("concat", [node("ConcatFromSequence", "s", "y", axis=0)],
             [onnx.helper.make_tensor_value_info("y", FLOAT, None)],
             [onnx.numpy_helper.from_array(numpy.concatenate(items))]),
            ("insert", [node("SequenceInsert", "s x", "y")], [sequence("y", FLOAT, None)],
             [onnx.numpy_helper.from_list(items + [items[0]])]),
            ("length", [node("SequenceLength", "s", "y")],
             [onnx.helper.make_tensor_value_info("y", INT64, [])],
             [onnx.numpy_helper.from_array(numpy.array(2))])):
        graph = onnx.helper.make_graph(nodes, name, [sequence("s", FLOAT, None), x], outputs)
        made.append(write_raw(folder / f"sequence-{name}", graph,
                              [onnx.numpy_helper.from_list(items), tensors[0]], want))
    kind = onnx.helper.make_optional_type_proto(onnx.helper.make_tensor_type_proto(FLOAT, [2, 3]))
    given = onnx.helper.make_value_info("o", kind)
    for there in (True, False):
        graph = onnx.helper.make_graph([node("OptionalHasElement", "o", "y")], "has", [given],
                                       [onnx.helper.make_tensor_value_info("y", BOOL, [])])
        value = onnx.numpy_helper.from_optional(items[0] if there else None)
        made.append(write_raw(folder / f"optional-{there}", graph, [value],
                              [onnx.numpy_helper.from_array(numpy.array(there))]))
    graph = onnx.helper.make_graph([node("OptionalGetElement", "o", "e"), node("Neg", "e", "y")], "get",
                                   [given], [onnx.helper.make_tensor_value_info("y", FLOAT, [2, 3])])
    made.append(write_raw(folder / "optional-get", graph, [onnx.numpy_helper.from_optional(items[0])],
                          [onnx.numpy_helper.from_array(-items[0])]))
    return made


def write_raw(folder, graph, inputs, outputs):
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    model.ir_version = 8
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for kind, protos in (("input", inputs), ("output", outputs)):
        for index, proto in enumerate(protos):
            (data / f"{kind}_{index}.pb").write_bytes(proto.SerializeToString())
    return folder


def write_scan(folder):
    """Writes a case of Scan of operator set 8, which runs its body for each item of the batch
    separately; returns the folder.
    """
    body = onnx.parser.parse_graph("""body (float[2] s, float[2] a) => (float[2] t, float[2] o) {
        t = Add(s, a) o = Identity(t) }""")
    initial, x = normal(3, 2), normal(3, 4, 2)
    scan = onnx.helper.make_node("Scan", ["", "s", "x"], ["y", "z"], num_scan_inputs=1, body=body)
    graph = onnx.helper.make_graph([scan], "scan", [
        onnx.helper.make_tensor_value_info("s", FLOAT, [3, 2]),
        onnx.helper.make_tensor_value_info("x", FLOAT, [3, 4, 2])], [
            onnx.helper.make_tensor_value_info("y", FLOAT, [3, 2]),
            onnx.helper.make_tensor_value_info("z", FLOAT, [3, 4, 2])])
    sums = initial[:, None] + numpy.cumsum(x, 1)
    path = write_raw(folder / "scan-batches", graph, [
        onnx.numpy_helper.from_array(array) for array in (initial, x)], [
            onnx.numpy_helper.from_array(array) for array in (sums[:, -1], sums)])
    model = onnx.load(path / "model.onnx")
    model.opset_import[0].version = 8
    (path / "model.onnx").write_bytes(model.SerializeToString())
    return path


def main():
    paths = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for cases in (attention_cases, cache_cases, flex_cases, linear_cases, conv_cases, rotary_cases,
                      cache_update_cases, element_cases, signal_cases, empty_cases):
            for name, nodes, inputs, outputs, constants in cases():
                domain = "ai.onnx.preview" if name.startswith("flex") else ""
                paths.append(folder / name)
                write_typed(paths[-1], nodes, inputs, outputs or finish(inputs, name), constants, domain)
        paths += write_sequences(folder) + [write_scan(folder)]
        halves = [path for path in paths if path.name.endswith("half")]
        paths = [path for path in paths if path not in halves]
        good = [run_cases(sys.argv[1], device, *part) for device in sys.argv[2:]
                for part in ((paths, ["--range", "2e-5"]), (halves, []))]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
