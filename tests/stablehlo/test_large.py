#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests windows, padding, sums and products on a device, with no operator on the CPU: test_large.py
STABLEHLO_TEST DEVICE.

Numbers are small integers, so that floats are exact in any order; the test computes the expected
results element by element.
"""
import sys
import unittest

from made_programs import Array, expect_passed, folded, listed, module, places, region, wrapped

PROGRAM, DEVICE = sys.argv[1:3]


# pylint: disable-next=too-many-arguments,too-many-positional-arguments,too-many-locals
def window(op, x, initial, window_size, strides=None, low=None, high=None, base=None, apart=None):
    rank = len(x.dims)
    ones, zeros = (1,) * rank, (0,) * rank
    strides, base, apart, low, high = strides or ones, base or ones, apart or ones, low or zeros, high or zeros
    dims = [((d - 1) * b + 1 + lo + hi - (w - 1) * a - 1) // s + 1
            for d, b, lo, hi, w, a, s in zip(x.dims, base, low, high, window_size, apart, strides)]

    def cell(place, inner):
        at = [p * s + i * a - lo for p, s, i, a, lo in zip(place, strides, inner, apart, low)]
        if any(k < 0 or k % b or k // b >= d for k, b, d in zip(at, base, x.dims)):
            return initial
        return x.at([k // b for k, b in zip(at, base)])

    expected = Array.made(dims, x.kind, lambda place: folded(op, x.kind, [initial] + [
        cell(place, inner) for inner in places(window_size)]))
    given = [x, Array((), x.kind, [initial])]
    padding = ", ".join(f"[{lo}, {hi}]" for lo, hi in zip(low, high))
    return module(given, [
        f'%r = "stablehlo.reduce_window"(%x0, %x1) {region(op, x.kind)} {{',
        f"window_dimensions = {listed(window_size)}, window_strides = {listed(strides)},",
        f"base_dilations = {listed(base)}, window_dilations = {listed(apart)},",
        f"padding = dense<[{padding}]> : tensor<{rank}x2xi64>",
        f"}} : ({x.type}, tensor<{x.kind}>) -> {expected.type}"], expected)


def pad(x, value, low, high, interior):
    dims = [d + lo + hi + max(d - 1, 0) * k for d, lo, hi, k in zip(x.dims, low, high, interior)]

    def element(place):
        at = [p - lo for p, lo in zip(place, low)]
        inside = all(a >= 0 and a % (k + 1) == 0 and a // (k + 1) < d for a, k, d in zip(at, interior, x.dims))
        return x.at([a // (k + 1) for a, k in zip(at, interior)]) if inside else value

    expected = Array.made(dims, x.kind, element)
    return module([x, Array((), x.kind, [value])], [
        f"%r = stablehlo.pad %x0, %x1, low = {list(low)}, high = {list(high)}, interior = {list(interior)} : "
        f"({x.type}, tensor<{x.kind}>) -> {expected.type}"], expected)


def dot(x, y, kind):
    rows, terms, columns = x.dims[0], x.dims[1], y.dims[1]
    expected = Array.made((rows, columns), kind, lambda p: wrapped(kind, sum(
        x.at((p[0], k)) * y.at((k, p[1])) for k in range(terms))))
    return module([x, y], [f"%r = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : "
                           f"({x.type}, {y.type}) -> {expected.type}"], expected)


def reduce(op, x, initial):
    expected = Array.made(x.dims[:1], x.kind, lambda p: folded(
        op, x.kind, [initial] + [x.at((p[0], k)) for k in range(x.dims[1])]))
    return module([x, Array((), x.kind, [initial])], [
        f"%r = stablehlo.reduce(%x0 init: %x1) applies stablehlo.{op} across dimensions = [1] : "
        f"({x.type}, tensor<{x.kind}>) -> {expected.type}"], expected)


class Large(unittest.TestCase):
    def passes(self, *modules):
        expect_passed(self, PROGRAM, DEVICE, modules)

    def test_windows(self):
        bits = Array.random((150,), "i1", 0, 1)
        self.passes(
            window("add", Array.random((100,), "f32"), 0, (100,), low=(99,)),
            window("add", Array.random((3, 90), "i32"), 5, (1, 90), low=(0, 89)),
            window("maximum", Array.random((200,), "i8", -128, 127), -128, (77,), (3,), (5,), (70,), (2,), (3,)),
            window("minimum", Array.random((12, 14, 2), "f32"), 9, (9, 8, 1), (2, 1, 1), (3, 0, 0), (0, 4, 0)),
            window("multiply", Array.random((100,), "i32"), 3, (66,)),
            window("and", bits, 1, (65,), low=(64,)),
            window("add", Array.random((40,), "f16"), 0, (7,), low=(3,), high=(3,)),
            window("add", Array.random((6, 90), "f16", -2, 2), 1, (2, 70)),
            window("maximum", Array.random((80,), "f32"), -9, (65,), low=(-4,), high=(-2,)),
            # There are more windows than a list of positions holds.
            window("maximum", Array.random((3, 150, 150), "ui8", 0, 255), 0, (1, 2, 3), (1, 1, 2)))

    def test_padding(self):
        self.passes(
            pad(Array.random((3, 4), "i32"), 7, (1, 0), (0, 2), (2, 0)),
            pad(Array.random((7, 5, 6), "i8"), 77, (-1, 2, -7), (3, -4, 9), (2, 1, 3)),
            pad(Array.random((2, 3), "f32"), 5, (-3, 0), (4, 0), (0, 0)),
            pad(Array.random((1, 3), "f32"), 5, (0, -2), (0, 0), (4, 1)),
            pad(Array.random((150, 150), "ui8", 0, 255), 200, (-1, 3), (3, -2), (1, 1)))

    def test_products(self):
        # The number of products is odd and each is odd, so that the sum is odd; it exceeds 2^24.
        low = Array((2, 301), "i8", [-128] * 602)
        high = Array((301, 2), "ui8", [255] * 602)
        self.passes(
            dot(Array.random((3, 600), "i8", -128, 127), Array.random((600, 4), "i8", -128, 127), "i32"),
            dot(low, Array((301, 2), "i8", [-128] * 602), "i32"), dot(low, high, "i32"), dot(low, high, "i8"),
            dot(Array((2, 301), "ui8", [255] * 602), high, "ui32"),
            dot(Array((2, 301), "ui8", [255] * 602), high, "ui8"),
            dot(Array.random((2, 5), "i8", -128, 127), Array.random((5, 3), "i8", -128, 127), "i8"),
            dot(Array.random((2, 5), "i8", -128, 127), Array.random((5, 3), "i32"), "i32"),
            dot(Array.random((3, 100), "i32", -2**31, 2**31 - 1), Array.random((100, 5), "i32", -2**31, 2**31 - 1),
                "i32"),
            dot(Array.random((3, 70), "i64", -2**63, 2**63 - 1), Array.random((70, 5), "i64", -2**63, 2**63 - 1),
                "i64"))

    def test_sums(self):
        self.passes(
            reduce("add", Array.random((3, 50), "i8", -128, 127), 5),
            reduce("multiply", Array.random((3, 50), "ui8", 0, 255), 3),
            reduce("add", Array.random((3, 5), "f16"), 2), reduce("add", Array.random((3, 50), "f16"), 2),
            reduce("multiply", Array.random((3, 8), "f16", 1, 2), 2))

    def test_many(self):
        x = Array.random((2, 3), "i32")
        names = ", ".join(["%x0", "%y"] * 65)
        expected = Array.made((2, 390), "i32", lambda p: x.at((p[0], p[1] % 3)) * (-1 if p[1] // 3 % 2 else 1))
        nine = [Array((2,), "f32", [i, i + 1]) for i in range(9)]
        self.passes(
            module([x], [f"%y = stablehlo.negate %x0 : {x.type}",
                         f"%r = stablehlo.concatenate {names}, dim = 1 : "
                         f"({', '.join([x.type] * 130)}) -> {expected.type}"], expected),
            module(nine, [f"%o:9 = stablehlo.optimization_barrier {', '.join(f'%x{i}' for i in range(9))} : "
                          f"{', '.join(['tensor<2xf32>'] * 9)}",
                          "%r = stablehlo.add %o#0, %o#8 : tensor<2xf32>"], Array((2,), "f32", [8, 10])))

    def test_places(self):
        """Tests slices whose start is an integer of 8 bits, and that updates of one element are
        rounded at each step: in f16, 2048 + 1 is 2048.
        """
        x = Array.random((300,), "f32")
        taken = Array((3,), "f32", x.values[100:103])
        self.passes(
            module([x, Array((), "i8", [100])],
                   ["%r = stablehlo.dynamic_slice %x0, %x1, sizes = [3] : (tensor<300xf32>, tensor<i8>) -> tensor<3xf32>"],
                   taken),
            module([x, Array((), "ui8", [255])],
                   ["%r = stablehlo.dynamic_slice %x0, %x1, sizes = [299] : (tensor<300xf32>, tensor<ui8>) -> "
                    "tensor<299xf32>"], Array((299,), "f32", x.values[1:])),
            module([Array((2,), "f16", [2048, 20]), Array((4,), "f16", [1, 1, 3, 1])],
                   ["%i = stablehlo.constant dense<[[0], [0], [1], [0]]> : tensor<4x1xi32>",
                    f'%r = "stablehlo.scatter"(%x0, %i, %x1) {region("add", "f16")} {{scatter_dimension_numbers = '
                    "#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
                    "index_vector_dim = 1>} : (tensor<2xf16>, tensor<4x1xi32>, tensor<4xf16>) -> tensor<2xf16>"],
                   Array((2,), "f16", [2048, 23])))

    def test_convolution(self):
        """Tests that negative padding removes elements."""
        x, kernel = Array.random((1, 1, 9), "f32"), Array((1, 1, 2), "f32", [2, 3])
        self.passes(module([x, kernel], [
            "%r = stablehlo.convolution(%x0, %x1) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], "
            "window = {pad = [[-2, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
            "(tensor<1x1x9xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>"],
            Array((1, 1, 6), "f32", [2 * a + 3 * b for a, b in zip(x.values[2:], x.values[3:])])))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
