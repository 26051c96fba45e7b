#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that sorts of few elements are right on a device, with no operator on the CPU:
test_sorts.py STABLEHLO_TEST DEVICE.

Some comparators are as JAX writes them, with floats in total order except for signs of zeros and of
NaN; others are plain. Equal elements must keep their order, which a second operand shows.
"""
import itertools
import math
import random
import struct
import sys
import unittest

from made_programs import expect_passed

PROGRAM, DEVICE = sys.argv[1:3]
FORMATS = {"i8": "b", "ui8": "B", "i32": "i", "ui32": "I", "i64": "q", "ui64": "Q", "f16": "e", "f32": "f", "i1": "?", "bf16": "H"}


def dense(kind, numbers):
    return 'dense<"0x' + struct.pack(f"<{len(numbers)}{FORMATS[kind]}", *numbers).hex() + '">'


def typed(kind, dims):
    return f"tensor<{''.join(f'{dim}x' for dim in dims)}{kind}>"


def canonical(name, x, kind):
    """Returns lines that compute %name, the float @x made canonical as JAX does before it compares:
    zeros become 0, and every NaN becomes the same NaN.
    """
    scalar, nan = f"tensor<{kind}>", {"f16": "0x7E00", "f32": "0x7FC00000"}[kind]
    return f"""
      %{name}z = stablehlo.constant dense<0.0> : {scalar}
      %{name}e = stablehlo.compare EQ, {x}, %{name}z, FLOAT : ({scalar}, {scalar}) -> tensor<i1>
      %{name}s = stablehlo.select %{name}e, %{name}z, {x} : tensor<i1>, {scalar}
      %{name}n = stablehlo.compare NE, {x}, {x}, FLOAT : ({scalar}, {scalar}) -> tensor<i1>
      %{name}m = stablehlo.constant dense<{nan}> : {scalar}
      %{name} = stablehlo.select %{name}n, %{name}m, %{name}s : tensor<i1>, {scalar}"""


def comparator(kinds, direction, total):
    """Returns the text of a comparator. It compares the first operand; when elements are equal, the
    next operand decides.
    """
    lines, found = [], None
    for i, kind in reversed(list(enumerate(kinds))):
        x, y, order = f"%a{i}", f"%b{i}", ""
        if total and kind in ("f16", "f32"):
            lines += [canonical(f"x{i}", x, kind), canonical(f"y{i}", y, kind)]
            x, y, order = f"%x{i}", f"%y{i}", ", TOTALORDER"
        types = f"(tensor<{kind}>, tensor<{kind}>) -> tensor<i1>"
        lines.append(f"      %c{i} = stablehlo.compare {direction}, {x}, {y}{order} : {types}")
        if found:
            lines.append(f"      %q{i} = stablehlo.compare EQ, {x}, {y} : {types}")
            lines.append(f"      %r{i} = stablehlo.select %q{i}, {found}, %c{i} : tensor<i1>, tensor<i1>")
        found = f"%r{i}" if found else f"%c{i}"
    return "\n".join(lines + [f"      stablehlo.return {found} : tensor<i1>"])


def module(compute, given, expected):
    """Returns a module with @compute, the values that are its arguments, and its expected results.
    """
    names = [f"%v{i}" for i in range(len(given))]
    types = [typed(kind, dims) for kind, dims, _ in given]
    gives = [typed(kind, dims) for kind, dims, _ in expected]
    lines = ["module {", f"  func.func private @compute({', '.join(map('{}: {}'.format, names, types))}) -> ({', '.join(gives)}) {{",
             compute, f"    return {', '.join(f'%r#{i}' for i in range(len(gives)))} : {', '.join(gives)}", "  }",
             "  func.func @main() {"]
    lines += [f"    {name} = stablehlo.constant {dense(kind, numbers)} : {text}"
              for name, text, (kind, _, numbers) in zip(names, types, given)]
    lines.append(f"    %r:{len(gives)} = func.call @compute({', '.join(names)}) : ({', '.join(types)}) -> ({', '.join(gives)})")
    for i, (kind, dims, numbers) in enumerate(expected):
        text = typed(kind, dims)
        lines.append(f"    %e{i} = stablehlo.constant {dense(kind, numbers)} : {text}")
        # expect_eq does not treat two NaNs as equal.
        lines.append(f"    check.expect_close %r#{i}, %e{i}, max_ulp_difference = 0 : {text}, {text}" if kind in ("f16", "f32") else
                     f"    check.expect_eq %r#{i}, %e{i} : {text}")
    return "\n".join(lines + ["    return", "  }", "}"])


def sort(given, keys, dim, direction, total=True):
    kinds, dims = [kind for kind, _, _ in given], given[0][1]
    types = [typed(kind, dims) for kind in kinds]
    arguments = ", ".join(f"%a{i}: tensor<{kind}>, %b{i}: tensor<{kind}>" for i, kind in enumerate(kinds))
    compute = (f"    %r:{len(given)} = \"stablehlo.sort\"({', '.join(f'%v{i}' for i in range(len(given)))}) ({{\n"
               f"    ^bb0({arguments}):\n{comparator(kinds[:keys], direction, total)}\n"
               f"    }}) {{dimension = {dim} : i64, is_stable = true}} : ({', '.join(types)}) -> ({', '.join(types)})")
    results = [list(numbers) for _, _, numbers in given]
    inner = math.prod(dims[dim:][1:]) if dim >= 0 else math.prod(dims[len(dims) + dim + 1:])
    length = dims[dim]
    for line in range(math.prod(dims) // length):
        places = [line // inner * inner * length + line % inner + i * inner for i in range(length)]
        sign = 1 if direction == "LT" else -1

        def order(at):
            numbers = [given[k][2][at] for k in range(keys)]
            return [(sign * (x != x), 0 if x != x else sign * x) for x in numbers]
        for place, at in zip(places, sorted(places, key=order)):
            for k, (_, _, numbers) in enumerate(given):
                results[k][place] = numbers[at]
    return module(compute, given, [(kind, dims, numbers) for kind, numbers in zip(kinds, results)])


def numbers_of(kind, count, chance):
    if kind in ("f16", "f32"):
        some = [0.0, -0.0, 1.5, -1.5, math.inf, -math.inf, math.nan, 2.0 ** -14, -1.0, 65504.0]
    elif kind == "i1":
        some = [False, True]
    else:
        bits = 8 * struct.calcsize(FORMATS[kind])
        low = -(1 << (bits - 1)) if kind[0] == "i" else 0
        some = [low, low + 1, low + (1 << bits) - 1, 0, 1, 2, 3, 7]
    return [chance.choice(some) for _ in range(count)]


class Sorts(unittest.TestCase):
    def test_keys(self):
        """Tests sorts of all types, in both directions, along dimensions that are drawn; the second
        operand tells equal elements apart.
        """
        chance, modules = random.Random(18), []
        for kind, direction in itertools.product(("i1", "i8", "ui8", "i32", "ui32", "i64", "ui64", "f16", "f32"), ("LT", "GT")):
            dims = chance.choice(((7,), (3, 5), (4, 2, 3), (1, 16), (9, 1)))
            count, dim = math.prod(dims), chance.randrange(-len(dims), len(dims))
            carried = [kind, chance.choice(("bf16", "i32", "f32", "i64"))]
            given = [(carried[0], dims, numbers_of(kind, count, chance)), (carried[1], dims, list(range(count)))]
            modules.append(sort(given, 1, dim, direction))
        expect_passed(self, PROGRAM, DEVICE, modules)

    def test_two_keys(self):
        chance = random.Random(2)
        given = [(kind, (2, 20), [chance.choice((1, 2, 3)) for _ in range(40)]) for kind in ("i32", "f32", "ui8")]
        expect_passed(self, PROGRAM, DEVICE, [sort(given, keys, 1, "LT") for keys in (1, 2, 3)])

    def test_plain_floats(self):
        """Tests comparisons of floats that are no total order because of NaN. Without NaN they are
        an order, in which both zeros are equal.
        """
        chance = random.Random(3)
        given = [("f32", (50,), [chance.choice((0.0, -0.0, 1.0, -2.0, math.inf)) for _ in range(50)]), ("i32", (50,), list(range(50)))]
        expect_passed(self, PROGRAM, DEVICE, [sort(given, 1, -1, direction, total=False) for direction in ("LT", "GT")])

    def test_no_order(self):
        """Tests a plain comparison on floats with NaN, for which it is no order: the order of the
        result is open, but no element is lost.
        """
        chance, dims = random.Random(5), (40,)
        x = [chance.choice((math.nan, 1.0, 2.0, 3.0)) for _ in range(40)]
        integer, types = typed("i32", dims), f"({typed('f32', dims)}, {typed('i32', dims)})"
        compute = f"""
    %s:2 = "stablehlo.sort"(%v0, %v1) ({{
    ^bb0(%a0: tensor<f32>, %b0: tensor<f32>, %a1: tensor<i32>, %b1: tensor<i32>):
{comparator(["f32"], "LT", False)}
    }}) : {types} -> {types}
    %r:1 = "stablehlo.sort"(%s#1) ({{
    ^bb0(%a0: tensor<i32>, %b0: tensor<i32>):
{comparator(["i32"], "LT", False)}
    }}) : ({integer}) -> ({integer})"""
        expect_passed(self, PROGRAM, DEVICE, [module(compute, [("f32", dims, x), ("i32", dims, list(range(40)))],
                                                     [("i32", dims, list(range(40)))])])

    def test_largest(self):
        """Tests that top_k of integers takes the first of equal elements."""
        chance, modules = random.Random(4), []
        for kind, k in (("i8", 3), ("ui64", 1), ("i32", 11), ("ui32", 4)):
            numbers = numbers_of(kind, 22, chance)
            places = [sorted(range(11), key=lambda at, row=row: -numbers[row * 11 + at])[:k] for row in range(2)]
            compute = f"    %r:2 = chlo.top_k(%v0, k = {k}) : {typed(kind, (2, 11))} -> ({typed(kind, (2, k))}, {typed('i32', (2, k))})"
            modules.append(module(compute, [(kind, (2, 11), numbers)], [
                (kind, (2, k), [numbers[row * 11 + at] for row in range(2) for at in places[row]]),
                ("i32", (2, k), places[0] + places[1])]))
        expect_passed(self, PROGRAM, DEVICE, modules)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
