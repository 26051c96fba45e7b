#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares types that WebNN lacks with their definitions: test_types.py PROGRAM DEVICE….

Cast, QuantizeLinear and DequantizeLinear of floats and integers of few bits, as inputs, outputs and
constants; BitCast; arithmetic of 16 bits, which wraps; bfloat16 and double.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from onnx_cases import onnx, run_cases
from typed import (BFLOAT16, BOOL, DOUBLE, E2M1, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0, FEW_BITS, FLOAT,
                   FLOAT16, INT2, INT4, INT8, INT16, INT32, INT64, NAMES, PLAIN, UINT2, UINT4, UINT8,
                   UINT16, UINT32, UINT64, Typed, coded, decode, floats, numbers_of, write_typed)

RANDOM = numpy.random.default_rng(7)
SMALL = (E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E2M1)
INFINITY, NAN = float("inf"), float("nan")


def node(operator, inputs, outputs, **attributes):
    return onnx.helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def awkward(kind):
    """Returns numbers of a type, numbers between two of them, and numbers beyond the largest."""
    bits = 4 if kind == E2M1 else 8
    own = sorted(x for x in (decode(kind, code) for code in range(1 << bits)) if numpy.isfinite(x))
    middle = [(a + b) / 2 for a, b in zip(own, own[1:])]
    beyond = [own[-1] * factor for factor in (1.01, 1.04, 1.0625, 1.07, 1.125, 1.2, 2, -2, 1e4)]
    return floats(own + middle + list(RANDOM.normal(0, own[-1] / 3, 40)) + beyond +
                  [1e-8, -1e-8, 3e38, INFINITY, -INFINITY, NAN])


def cast_cases():
    for kind in SMALL:
        x = awkward(kind)
        for saturate in (1, 0):
            want = coded(kind, x.elements, bool(saturate))
            back = floats(numbers_of(want))
            nodes = [node("Cast", "x", "y", to=kind, saturate=saturate),
                     node("Cast", "y", "z", to=FLOAT)]
            for constants in ((), ("x",)):
                inputs = {"x": x} if not constants else {"x": x, "w": floats([0.0])}
                extra = [] if not constants else [node("Identity", "w", "v")]
                outputs = {"y": want, "z": back}
                if constants:
                    outputs["v"] = floats([0.0])
                yield f"cast-{NAMES[kind]}-{saturate}-{len(constants)}", nodes + extra, inputs, \
                    outputs, constants
        every = Typed(kind, numpy.arange(16 if kind == E2M1 else 256))
        for to in (FLOAT, FLOAT16):
            yield (f"from-{NAMES[kind]}-{to}", [node("Cast", "x", "y", to=to)], {"x": every},
                   {"y": Typed(to, numbers_of(every))}, ())
    x = floats([0, -0.0, 1, -1.00390625, 1.01171875, 3.3895e38, 3e-39, 1e-30, INFINITY, -INFINITY,
                NAN, 65504, *RANDOM.normal(0, 100, 40)])
    want = coded(BFLOAT16, x.elements)
    yield ("cast-bfloat16", [node("Cast", "x", "y", to=BFLOAT16), node("Cast", "y", "z", to=FLOAT)],
           {"x": x}, {"y": want, "z": floats(numbers_of(want))}, ())


def power_cases():
    x = floats([1, 1.5, 1.25, 1.75, 3, 0.1, 1e-30, 1e30, 2.0 ** 127, 1.5 * 2.0 ** 127, INFINITY, NAN])
    codes = {"up": [127, 128, 128, 128, 129, 124, 28, 227, 254, 254, 255, 255],
             "down": [127, 127, 127, 127, 128, 123, 27, 226, 254, 254, 255, 255],
             "nearest": [127, 128, 127, 128, 129, 124, 27, 227, 254, 254, 255, 255]}
    for mode, want in codes.items():
        for constants in ((), ("x",)):
            inputs, outputs = {"x": x}, {"y": Typed(E8M0, want)}
            nodes = [node("Cast", "x", "y", to=E8M0, round_mode=mode)]
            if constants:
                inputs["w"] = outputs["v"] = floats([1.0])
                nodes.append(node("Identity", "w", "v"))
            yield f"cast-e8m0-{mode}-{len(constants)}", nodes, inputs, outputs, constants


def wrapped(kind, elements):
    bits, signed = FEW_BITS.get(kind) or (8 * numpy.dtype(PLAIN[kind]).itemsize,
                                          numpy.dtype(PLAIN[kind]).kind == "i")
    elements = numpy.asarray(elements).astype(numpy.int64) & (1 << bits) - 1
    return Typed(kind, elements - ((elements >> (bits - 1)) << bits) * signed)


def integer_cases():
    x = floats([-9, -8, -2.7, -1, -0.5, 0, 0.9, 1.5, 2, 7, 8, 15, 16, 17, 100, -100])
    for kind in (INT4, UINT4, INT2, UINT2, INT16, UINT16):
        want = wrapped(kind, numpy.trunc(x.elements))
        yield (f"cast-{NAMES[kind]}", [node("Cast", "x", "y", to=kind), node("Cast", "y", "z", to=INT32)],
               {"x": x}, {"y": want, "z": Typed(INT32, want.elements)}, ())
    x = Typed(INT64, [-40000, -1, 0, 65536, 70000, 2 ** 33 + 5])
    for kind in (INT16, UINT16, INT4, UINT2):
        yield (f"cast-int64-{NAMES[kind]}", [node("Cast", "x", "y", to=kind)], {"x": x},
               {"y": wrapped(kind, x.elements)}, ())
    for kind in (INT2, UINT2, INT4, UINT4):
        want = wrapped(kind, numpy.arange(11))
        yield (f"from-{NAMES[kind]}", [node("Cast", "x", "y", to=FLOAT16), node("Cast", "x", "z", to=INT8),
                                       node("Cast", "x", "b", to=BOOL)], {"x": want},
               {"y": Typed(FLOAT16, want.elements), "z": Typed(INT8, want.elements),
                "b": Typed(BOOL, want.elements != 0)}, ())


def arithmetic_cases():
    for kind in (INT16, UINT16):
        low, high = (-32768, 32767) if kind == INT16 else (0, 65535)
        a = Typed(kind, [low, high, 1, 300, 12345, 2, high - 1, low + 1])
        b = Typed(kind, [1, 1, 3, 300, 7, 5, 2, 3])
        x, y = a.elements.astype(numpy.int64), b.elements.astype(numpy.int64)
        results = {"Add": x + y, "Sub": x - y, "Mul": x * y, "Div": numpy.trunc(x / y),
                   "Max": numpy.maximum(x, y), "Min": numpy.minimum(x, y), "BitwiseAnd": x & y,
                   "BitwiseXor": x ^ y}
        for operator, want in results.items():
            yield (f"{operator}-{NAMES[kind]}", [node(operator, "a b", "y")], {"a": a, "b": b},
                   {"y": wrapped(kind, want)}, ())
        yield (f"unary-{NAMES[kind]}", [node("BitwiseNot", "a", "y"), node("Abs", "a", "z"),
                                        node("ReduceSum", "a", "s", keepdims=0),
                                        node("CumSum", "a n", "c"), node("Less", "a b", "l")],
               {"a": a, "b": b, "n": Typed(INT64, 0)},
               {"y": wrapped(kind, ~x), "z": wrapped(kind, abs(x)), "s": wrapped(kind, x.sum()),
                "c": wrapped(kind, numpy.cumsum(x)), "l": Typed(BOOL, x < y)}, ("n",))
        yield (f"constant-{NAMES[kind]}", [node("Add", "a b", "y"), node("Transpose", "b", "t")],
               {"a": a, "b": b}, {"y": wrapped(kind, x + y), "t": b}, ("b",))


def shift_cases():
    for kind in (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32):
        bits = 8 * numpy.dtype(PLAIN[kind]).itemsize
        signed = numpy.dtype(PLAIN[kind]).kind == "i"
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        shifts = [0, 1, 2, bits - 2, bits - 1, bits, bits + 1, 100] + ([-1, -bits] if signed else [])
        numbers = [low, high, 1, 5, 100] + ([-1, -7] if signed else [])
        pairs = [(x, by) for x in numbers for by in shifts]
        a, b = (Typed(kind, [pair[i] for pair in pairs]) for i in (0, 1))
        right = [x >> by if 0 <= by < bits else -(x < 0) for x, by in pairs]
        left = [(x << by if 0 <= by < bits else 0) & (1 << bits) - 1 for x, by in pairs]
        left = [x - (1 << bits) if signed and x >> (bits - 1) else x for x in left]
        yield (f"shift-{kind}", [node("BitShift", "a b", "y", direction="RIGHT"),
                                 node("BitShift", "a b", "z", direction="LEFT")], {"a": a, "b": b},
               {"y": Typed(kind, right), "z": Typed(kind, left)}, ())


def bitwise_cases():
    """Yields cases of bit operators and of remainders, with the sign of the divisor or of the
    dividend.
    """
    for kind in (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64):
        signed, bits = numpy.dtype(PLAIN[kind]).kind == "i", 8 * numpy.dtype(PLAIN[kind]).itemsize
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        numbers = [high, 1, 12, 85, high // 3] + ([low, -1, -7] if signed else [high // 2 + 1])
        pairs = [(x, y) for x in (low, *numbers) for y in numbers]
        a, b = (Typed(kind, numpy.array([pair[i] for pair in pairs], PLAIN[kind])) for i in (0, 1))
        x, y = a.elements, b.elements
        rest = [abs(x) % abs(y) * (-1 if x < 0 else 1) for x, y in pairs]
        results = {"n": ~x, "c": x & y, "d": x | y, "e": x ^ y,
                   "f": numpy.array(rest, PLAIN[kind]),
                   "g": numpy.array([x % y for x, y in pairs], PLAIN[kind])}
        nodes = [node("BitwiseNot", "a", "n"), node("BitwiseAnd", "a b", "c"), node("BitwiseOr", "a b", "d"),
                 node("BitwiseXor", "a b", "e"), node("Mod", "a b", "f", fmod=1), node("Mod", "a b", "g")]
        yield (f"bitwise-{kind}", nodes, {"a": a, "b": b},
               {name: Typed(kind, result) for name, result in results.items()}, ())
    x, one = numpy.array([[7, -7, 12], [-1, 0, 100]], "<i4"), numpy.array([5], "<i4")
    yield ("bitwise-broadcast", [node("BitwiseAnd", "a b", "c"), node("Mod", "b a", "d"), node("BitShift", "u v", "e",
                                                                                              direction="LEFT")],
           {"a": Typed(INT32, x + (x == 0)), "b": Typed(INT32, one), "u": Typed(UINT8, [[1], [3]]),
            "v": Typed(UINT8, [0, 2, 7])},
           {"c": Typed(INT32, (x + (x == 0)) & 5), "d": Typed(INT32, 5 % (x + (x == 0))),
            "e": Typed(UINT8, [[1, 4, 128], [3, 12, 128]])}, ("b",))


def scale_cases():
    """Yields cases with one scale, with a scale for each row, and with blocks of which the last is
    short.
    """
    for kind in (*SMALL, INT2, UINT2, INT16, UINT16):
        signed = kind not in (UINT2, UINT16)
        top = {INT2: 1, UINT2: 3, INT16: 32767, UINT16: 65535}.get(kind) or \
            max(x for x in map(lambda code: decode(kind, code), range(16 if kind == E2M1 else 128))
                if numpy.isfinite(x))
        x = floats(RANDOM.uniform(-top if signed else 0, top, (4, 6)) * 0.6)
        for name, shape, attributes, axis in (("one", (), {}, None), ("rows", (4,), {"axis": 0}, 0),
                                              ("blocks", (2, 6), {"axis": 0, "block_size": 2}, 0),
                                              ("short", (4, 2), {"axis": 1, "block_size": 4}, 1)):
            scale = 2.0 ** RANDOM.integers(-2, 2, shape)
            wide = scale.reshape(-1, 1) if name == "rows" else scale if name == "one" else \
                numpy.repeat(scale, attributes["block_size"], axis)[:4, :6]
            if kind in SMALL:
                want = coded(kind, x.elements / wide)
            else:
                least = -top - 1 if signed else 0
                want = Typed(kind, numpy.clip(numpy.rint(x.elements / wide), least, top).astype(int))
            scale = floats(scale)
            back = floats(numbers_of(want) * wide)
            yield (f"quantise-{NAMES[kind]}-{name}",
                   [node("QuantizeLinear", "x s", "y", output_dtype=kind, **attributes),
                    node("DequantizeLinear", "y s", "z", **attributes)],
                   {"x": x, "s": scale}, {"y": want, "z": back}, ("s",))
            if name == "short" and kind not in SMALL:
                continue
            yield (f"weights-{NAMES[kind]}-{name}",
                   [node("DequantizeLinear", "y s", "z", **attributes), node("Add", "z x", "v")],
                   {"x": x, "y": want, "s": scale}, {"v": floats(back.elements + x.elements)},
                   ("y", "s"))
    zero = wrapped(UINT16, [30000])
    x = floats(RANDOM.uniform(-30000, 30000, 12))
    want = Typed(UINT16, numpy.clip(numpy.rint(x.elements / 2) + 30000, 0, 65535).astype(int))
    yield ("zero-uint16", [node("QuantizeLinear", "x s n", "y"), node("DequantizeLinear", "y s n", "z")],
           {"x": x, "s": floats([2.0]), "n": zero},
           {"y": want, "z": floats((want.elements - 30000.0) * 2)}, ("s", "n"))


def bits_cases():
    f32 = numpy.array([0, -0.0, 1, -1.5, 3.14159, 1e-38, 1e38, INFINITY, -INFINITY, 65504], "<f4")
    yield ("bits-float", [node("BitCast", "x", "y", to=INT32), node("BitCast", "y", "z", to=FLOAT)],
           {"x": Typed(FLOAT, f32)}, {"y": Typed(INT32, f32.view("<i4")), "z": Typed(FLOAT, f32)}, ())
    f16 = numpy.arange(0, 65536, 37, dtype="<u2").view("<f2")
    f16 = f16[~numpy.isnan(f16)]
    yield ("bits-half", [node("BitCast", "x", "y", to=UINT16), node("BitCast", "y", "z", to=FLOAT16),
                         node("BitCast", "x", "w", to=INT16)],
           {"x": Typed(FLOAT16, f16)}, {"y": Typed(UINT16, f16.view("<u2")), "z": Typed(FLOAT16, f16),
                                        "w": Typed(INT16, f16.view("<i2"))}, ())
    b16 = (numpy.array([0, 1, -2.5, 1e30, -1e-30], "<f4").view("<u4") >> 16).astype("<u2")
    yield ("bits-bfloat", [node("BitCast", "x", "y", to=INT16), node("BitCast", "y", "z", to=BFLOAT16)],
           {"x": Typed(BFLOAT16, b16)}, {"y": Typed(INT16, b16.view("<i2")), "z": Typed(BFLOAT16, b16)},
           ())
    f64 = numpy.array([0, 1, -2.5, 1e30, 0.1], "<f4").astype("<f8")
    yield ("bits-double", [node("BitCast", "x", "y", to=INT64), node("BitCast", "y", "z", to=DOUBLE)],
           {"x": Typed(DOUBLE, f64)}, {"y": Typed(INT64, f64.view("<i8")), "z": Typed(DOUBLE, f64)}, ())
    u8 = numpy.arange(256, dtype="u1")
    for kind in (E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ):
        codes = numpy.array([code for code in u8 if not numpy.isnan(decode(kind, int(code)))], "u1")
        yield (f"bits-{NAMES[kind]}", [node("BitCast", "x", "y", to=kind), node("BitCast", "y", "z", to=UINT8)],
               {"x": Typed(UINT8, codes)}, {"y": Typed(kind, codes), "z": Typed(UINT8, codes)}, ())
    yield ("bits-signs", [node("BitCast", "x", "y", to=INT8), node("BitCast", "w", "v", to=UINT64)],
           {"x": Typed(UINT8, u8), "w": Typed(INT64, [-1, 5, -(1 << 63)])},
           {"y": Typed(INT8, u8.view("i1")), "v": Typed(UINT64, numpy.array([(1 << 64) - 1, 5, 1 << 63], numpy.uint64))}, ())
    yield ("bits-constant", [node("BitCast", "x", "y", to=INT32), node("Add", "y w", "z")],
           {"x": Typed(FLOAT, f32), "w": Typed(INT32, [1])},
           {"z": Typed(INT32, f32.view("<i4") + 1)}, ("x",))


def move_cases():
    """Yields cases of operators that move elements, of inputs and of constants."""
    for kind in (*SMALL, E8M0, INT2, UINT2, INT4, UINT4, INT16, BFLOAT16):
        bits, signed = FEW_BITS.get(kind, (4, 0))
        low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, (1 << bits) - 1)
        e = RANDOM.integers(low, high, (2, 3, 4))
        for constants in ((), ("x",)):
            inputs = {"x": Typed(kind, e), "r": Typed(INT64, [4, 6]), "u": Typed(INT64, [0]),
                      "b": Typed(INT64, [1]), "i": Typed(INT64, [2, 0]), "w": floats([1.0])}
            nodes = [node("Transpose", "x", "t", perm=[2, 0, 1]), node("Reshape", "x r", "q"),
                     node("Unsqueeze", "x u", "n"), node("Flatten", "n", "f"), node("Identity", "x", "d"),
                     node("Slice", "x u b b", "s"), node("Gather", "x i", "g", axis=1),
                     node("Concat", "x x", "c", axis=2), node("Shape", "x", "h"), node("Identity", "w", "v")]
            outputs = {"t": e.transpose(2, 0, 1), "q": e.reshape(4, 6), "f": e.reshape(1, -1), "d": e,
                       "s": e[:, :1], "g": e[:, [2, 0]], "c": numpy.concatenate([e, e], 2)}
            outputs = {name: Typed(kind, array) for name, array in outputs.items()}
            yield (f"move-{NAMES[kind]}-{len(constants)}", nodes, inputs,
                   {**outputs, "h": Typed(INT64, [2, 3, 4]), "v": floats([1.0])},
                   ("r", "u", "b", "i", *constants))


def wide_cases():
    x, w = RANDOM.normal(0, 1, (4, 8)), RANDOM.normal(0, 1, (8, 3))
    for kind in (DOUBLE, BFLOAT16):
        a, b = (coded(kind, m) if kind == BFLOAT16 else Typed(kind, m) for m in (x, w))
        want = numpy.tanh(numbers_of(a) @ numbers_of(b) + 0.5)
        half = coded(kind, [0.5]) if kind == BFLOAT16 else Typed(kind, [0.5])
        out = coded(kind, want) if kind == BFLOAT16 else Typed(kind, want)
        yield (f"wide-{NAMES[kind]}", [node("MatMul", "x w", "m"), node("Add", "m h", "a"),
                                       node("Tanh", "a", "y"), node("Cast", "y", "z", to=FLOAT),
                                       node("ReduceMax", "y", "r", keepdims=0)],
               {"x": a, "w": b, "h": half},
               {"y": out, "r": Typed(kind, numpy.max(out.elements) if kind == DOUBLE else
                                     coded(kind, [want.max()]).elements[0])}, ("w", "h"))


# For cases by name: the function of integers on the CPU that each node of the case becomes, in the
# order of the nodes.
OWN_FUNCTIONS = {f"bitwise-{INT32}": ["sub", "bit_and", "bit_or", "bit_xor", "remainder", "floored_remainder"],
                 f"bitwise-{UINT64}": ["sub", "bit_and", "bit_or", "bit_xor", "remainder"],
                 f"shift-{INT8}": ["shift_right", "shift_left"]}


def has_functions(program, path, wanted):
    """Returns whether each node became exactly one function, and nothing else is there."""
    text = subprocess.run([program, "--device", "cpu", "--text", path], check=False, text=True,
                          stdout=subprocess.PIPE).stdout
    found = re.findall(r"= (\w+)\(.*\) ?(\w*)", text)
    if found != [("binary", function) for function in wanted]:
        print(f"{found} instead of {wanted} on cpu in {path}")
    return found == [("binary", function) for function in wanted]


def main():
    paths = []
    with tempfile.TemporaryDirectory() as folder:
        for cases in (cast_cases, power_cases, integer_cases, arithmetic_cases, shift_cases,
                      bitwise_cases, scale_cases, bits_cases, move_cases, wide_cases):
            for name, nodes, inputs, outputs, constants in cases():
                paths.append(pathlib.Path(folder) / name)
                write_typed(paths[-1], nodes, inputs, outputs, constants)
        good = [run_cases(sys.argv[1], device, paths, []) for device in sys.argv[2:]]
        good += [has_functions(sys.argv[1], f"{folder}/{name}", wanted)
                 for name, wanted in OWN_FUNCTIONS.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
