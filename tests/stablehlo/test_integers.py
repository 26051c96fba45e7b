#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that integers are exact on a device, and that none of their operators runs on the CPU:
test_integers.py STABLEHLO_TEST DEVICE.

The tests have all pairs of 8-bit numbers and, for wider types, pairs of numbers at and next to
powers of two, zero and the ends of the type.
"""
import itertools
import random
import sys
import unittest

from made_programs import expect_passed

PROGRAM, DEVICE = sys.argv[1:3]
TYPES = ("i8", "ui8", "i32", "ui32", "i64", "ui64")


class Type:
    def __init__(self, name):
        self.name, self.signed, self.bits = name, name[0] == "i", int(name.lstrip("ui"))

    def of(self, number):
        """Returns the value that this type has for the low bits of the number."""
        number &= (1 << self.bits) - 1
        return number - (1 << self.bits) if self.signed and number >> (self.bits - 1) else number

    def plain(self, number):
        return number & ((1 << self.bits) - 1)

    def edges(self):
        if self.bits == 8:
            return [self.of(i) for i in range(256)]
        chance = random.Random(self.bits)
        numbers = {0, 3, 7, 10, 100, 0x5555555555555555, 0x3333333333333333, 12345678901234567890}
        numbers |= {(1 << k) + d for k in range(self.bits + 1) for d in (-1, 0, 1)}
        numbers |= {-(1 << k) + d for k in range(0, self.bits, 5) for d in (-1, 0, 1)}
        numbers |= {chance.getrandbits(self.bits) for _ in range(20)}
        return sorted({self.of(number) for number in numbers})

    def pairs(self):
        """Returns all pairs of 8-bit numbers. For wider types, returns all pairs of a few numbers
        and some random pairs.
        """
        if self.bits == 8:
            return list(itertools.product(self.edges(), repeat=2))
        few = {0, 1, 2, 3, 5, self.bits - 1, self.bits, self.bits + 1, -1, -2, -3, 1 << (self.bits - 1), 0x33333333}
        few |= {(1 << (self.bits - 1)) - 1, (1 << (self.bits - 1)) + 1, 1 << (self.bits // 2), 1 << self.bits // 3}
        chance, numbers = random.Random(self.bits), self.edges()
        return (list(itertools.product(sorted({self.of(number) for number in few}), repeat=2)) +
                [(chance.choice(numbers), chance.choice(numbers)) for _ in range(600)])


def quotient(t, x, y):
    return (abs(x) // abs(y)) * (-1 if (x < 0) != (y < 0) else 1) if y else -1


def power(t, x, y):
    if y >= 0:
        return pow(x, y, 1 << t.bits)
    return 1 if x == 1 else 0 if x != -1 else -1 if y & 1 else 1


def arithmetic(t, x, y):
    low = t.plain(x)
    if low >> (t.bits - 1):
        low -= 1 << t.bits
    return low >> min(t.plain(y), t.bits - 1)


BINARY = {
    "divide": quotient,
    "remainder": lambda t, x, y: x - quotient(t, x, y) * y if y else x,
    "power": power,
    "and": lambda t, x, y: x & y,
    "or": lambda t, x, y: x | y,
    "xor": lambda t, x, y: x ^ y,
    "shift_left": lambda t, x, y: x << t.plain(y) if t.plain(y) < t.bits else 0,
    "shift_right_logical": lambda t, x, y: t.plain(x) >> t.plain(y),
    "shift_right_arithmetic": arithmetic,
}
UNARY = {
    "not": lambda t, x: ~x,
    "negate": lambda t, x: -x,
    "popcnt": lambda t, x: bin(t.plain(x)).count("1"),
    "count_leading_zeros": lambda t, x: t.bits - t.plain(x).bit_length(),
}


def dense(t, numbers):
    return 'dense<"0x' + b"".join(t.plain(n).to_bytes(t.bits // 8, "little") for n in numbers).hex() + '">'


def program(t, op, columns, result):
    """Returns a module whose function @compute has the operation; the function does not know that
    its arguments are constants.
    """
    kind = f"tensor<{len(result)}x{t.name}>"
    names = [f"%{letter}" for letter, _ in zip("xy", columns)]
    given = [f"    {name} = stablehlo.constant {dense(t, numbers)} : {kind}" for name, numbers in zip(names, columns)]
    return "\n".join([
        "module {",
        f"  func.func private @compute({', '.join(f'{name}: {kind}' for name in names)}) -> {kind} {{",
        f"    %r = stablehlo.{op} {', '.join(names)} : {kind}",
        f"    return %r : {kind}",
        "  }",
        "  func.func @main() {",
        *given,
        f"    %r = call @compute({', '.join(names)}) : ({', '.join([kind] * len(names))}) -> {kind}",
        f"    check.expect_eq_const %r, {dense(t, result)} : {kind}",
        "    return",
        "  }",
        "}"])


class Integers(unittest.TestCase):
    def passes(self, programs):
        expect_passed(self, PROGRAM, DEVICE, programs)

    def test_binary(self):
        for name in TYPES:
            t = Type(name)
            pairs = t.pairs()
            columns = list(zip(*pairs))
            with self.subTest(type=name):
                self.passes([program(t, op, columns, [t.of(f(t, x, y)) for x, y in pairs])
                             for op, f in BINARY.items()])

    def test_unary(self):
        for name in TYPES:
            t = Type(name)
            numbers = t.edges()
            with self.subTest(type=name):
                self.passes([program(t, op, [numbers], [t.of(f(t, x)) for x in numbers])
                             for op, f in UNARY.items()])

    def test_region(self):
        """Tests a region that uses one constant for many elements."""
        text = """module {
  func.func private @compute(%x: tensor<2x3xi32>) -> tensor<2x3xi32> {
    %r = "stablehlo.map"(%x) ({
    ^bb0(%a: tensor<i32>):
      %c = stablehlo.constant dense<6> : tensor<i32>
      %d = stablehlo.constant dense<1> : tensor<i32>
      %e = stablehlo.and %c, %a : tensor<i32>
      %f = stablehlo.shift_left %e, %d : tensor<i32>
      %g = stablehlo.xor %f, %c : tensor<i32>
      %h = stablehlo.popcnt %g : tensor<i32>
      %i = stablehlo.add %g, %h : tensor<i32>
      stablehlo.return %i : tensor<i32>
    }) {dimensions = array<i64: 0, 1>} : (tensor<2x3xi32>) -> tensor<2x3xi32>
    return %r : tensor<2x3xi32>
  }
  func.func @main() {
    %x = stablehlo.constant dense<[[0, 2, 4], [6, 7, -1]]> : tensor<2x3xi32>
    %r = call @compute(%x) : (tensor<2x3xi32>) -> tensor<2x3xi32>
    check.expect_eq_const %r, dense<[[8, 3, 17], [12, 12, 12]]> : tensor<2x3xi32>
    return
  }
}"""
        self.passes([text])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
