#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests operations whose attributes say where elements come from, with random attributes:
test_shapes.py STABLEHLO_TEST DEVICE.

Dimensions, padding, dilations, groups and so on are random, with zeros and negative numbers among
them. The test computes the expected results element by element, as the specification defines them.
Numbers are small integers, so that floats are exact in any order.
"""
import itertools
import random
import sys
import unittest

from made_programs import Array, COMBINE, expect_passed, listed, module, places, region, size, wrapped

PROGRAM, DEVICE = sys.argv[1:3]
KINDS = ("i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64", "f16", "f32", "f64")
COMPUTED = tuple(kind for kind in KINDS if kind not in ("i16", "ui16", "f64"))
EACH = 60


class Draw(random.Random):
    kinds = KINDS

    def array(self, dims, kind=None, least=-2, most=2):
        kind = kind or self.choice(self.kinds)
        return Array(dims, kind, [self.randint(0 if kind[0] == "u" else least, most) for _ in range(size(dims))])

    def some(self, numbers):
        return self.sample(list(numbers), self.randint(0, len(numbers)))

    def shuffled(self, things):
        return self.sample(things, len(things))


def one(name, given, attributes, expected, regions=""):
    names = ", ".join(f"%x{i}" for i in range(len(given)))
    types = ", ".join(x.type for x in given)
    return module(given, [f'%r = "{name}"({names}) {regions} {{{attributes}}} : ({types}) -> {expected.type}'], expected)


def padding_of(low, high):
    pairs = ", ".join(f"[{lo}, {hi}]" for lo, hi in zip(low, high))
    return f"padding = dense<{f'[{pairs}]' if low else ''}> : tensor<{len(low)}x2xi64>"


def dot_general(draw):
    batch, terms = ([draw.randint(0 if draw.random() < 0.05 else 1, 3) for _ in range(draw.randint(0, 2))] for _ in range(2))
    kind, sides, free = draw.choice(KINDS), [], []
    for _ in range(2):
        axes = [("b", i, d) for i, d in enumerate(batch)] + [("c", i, d) for i, d in enumerate(terms)]
        axes += [("f", i, draw.randint(1, 3)) for i in range(draw.randint(0, 2))]
        sides.append(draw.shuffled(axes))
        free.append([axis for axis in sides[-1] if axis[0] == "f"])
    x, y = (draw.array([axis[2] for axis in axes], kind) for axes in sides)

    def element(place):
        b, rest = place[:len(batch)], place[len(batch):]
        parts = rest[:len(free[0])], rest[len(free[0]):]

        def at(side, inner):
            frees = iter(parts[side])
            return [b[i] if what == "b" else inner[i] if what == "c" else next(frees) for what, i, _ in sides[side]]
        return wrapped(kind, sum(x.at(at(0, inner)) * y.at(at(1, inner)) for inner in places(terms)))

    def axes_of(side, what, count):
        return [[axis[:2] for axis in sides[side]].index((what, i)) for i in range(count)]
    expected = Array.made(batch + [axis[2] for axis in free[0] + free[1]], kind, element)
    return one("stablehlo.dot_general", [x, y], "dot_dimension_numbers = #stablehlo.dot<"
               f"lhs_batching_dimensions = {axes_of(0, 'b', len(batch))}, rhs_batching_dimensions = {axes_of(1, 'b', len(batch))}, "
               f"lhs_contracting_dimensions = {axes_of(0, 'c', len(terms))}, "
               f"rhs_contracting_dimensions = {axes_of(1, 'c', len(terms))}>", expected)


def convolution(draw):  # pylint: disable=too-many-locals
    kind, rank = draw.choice(("f32", "f16", "f64", "i32", "i8")), draw.choice((0, 1, 2, 2, 3))
    groups, batches = draw.choice(((1, 1), (1, 1), (2, 1), (3, 1), (1, 2)))
    features, results, batch = groups * draw.randint(1, 2), groups * batches * draw.randint(1, 2), batches * draw.randint(1, 2)
    dims, window = [draw.randint(0 if draw.random() < 0.05 else 1, 5) for _ in range(rank)], draw.choices((1, 2, 3), k=rank)
    strides, base, apart = (draw.choices((1, 1, 2, 3), k=rank) for _ in range(3))
    low, high = ([draw.randint(-1, 2) for _ in range(rank)] for _ in range(2))
    turned = draw.choices((False, False, True), k=rank)
    padded = [lo + ((d - 1) * b + 1 if d else 0) + hi for d, b, lo, hi in zip(dims, base, low, high)]
    if any(p < 0 for p in padded):
        return None
    out = [max(0, (p - (w - 1) * a - 1) // s + 1) for p, w, a, s in zip(padded, window, apart, strides)]
    spatial = [str(i) for i in range(rank)]
    names = [draw.shuffled(two + spatial) for two in (["b", "f"], ["i", "o"], ["b", "f"])]

    def laid(which, numbers):
        return [numbers[name] for name in names[which]]

    def with_dims(numbers, sizes):
        return numbers | dict(zip(spatial, sizes))
    x = draw.array(laid(0, with_dims({"b": batch, "f": features}, dims)), kind)
    kernel = draw.array(laid(1, with_dims({"i": features // groups, "o": results}, window)), kind)

    def element(place):
        at, total = dict(zip(names[2], place)), 0
        group, part = at["f"] // (results // groups), at["f"] // (results // batches)
        for inner in places(window):
            cell = [at[str(i)] * strides[i] + (window[i] - 1 - k if turned[i] else k) * apart[i] - low[i] for i, k in enumerate(inner)]
            if any(c < 0 or c % b or c // b >= d for c, b, d in zip(cell, base, dims)):
                continue
            cell = [c // b for c, b in zip(cell, base)]
            for k in range(features // groups):
                total += (x.at(laid(0, with_dims({"b": at["b"] + part * (batch // batches), "f": group * (features // groups) + k}, cell))) *
                          kernel.at(laid(1, with_dims({"i": k, "o": at["f"]}, inner))))
        return wrapped(kind, total)
    expected = Array.made(laid(2, with_dims({"b": batch // batches, "f": results}, out)), kind, element)
    order = [f"[{', '.join(each)}]" for each in names]
    turns = ", ".join("true" if turn else "false" for turn in turned)
    return one("stablehlo.convolution", [x, kernel], f"dimension_numbers = #stablehlo.conv<{order[0]}x{order[1]}->{order[2]}>, "
               f"window_strides = {listed(strides)}, {padding_of(low, high)}, lhs_dilation = {listed(base)}, "
               f"rhs_dilation = {listed(apart)}, window_reversal = array<i1{': ' if turns else ''}{turns}>, "
               f"feature_group_count = {groups} : i64, batch_group_count = {batches} : i64", expected)


class Slices:  # pylint: disable=too-many-instance-attributes
    """Makes slices at indices: gather reads them, and scatter writes them."""

    def __init__(self, draw):
        rank = draw.randint(1, 4)
        self.dims = [draw.randint(1, 4) for _ in range(rank)]
        self.batching = [draw.randrange(rank)] if rank > 1 and draw.random() < 0.3 else []
        rest = [i for i in range(rank) if i not in self.batching]
        self.sizes = [1 if i in self.batching else draw.randint(1, d) for i, d in enumerate(self.dims)]
        self.collapsed = [i for i in rest if self.sizes[i] == 1 and draw.random() < 0.6]
        self.indexed = draw.some(rest)
        outer = draw.shuffled([("own", self.dims[i]) for i in self.batching] +
                              [("other", draw.randint(1, 3)) for _ in range(draw.randint(0, 2))])
        self.vector = draw.randint(0, len(outer))
        self.implied = len(self.indexed) == 1 and self.vector == len(outer)
        shape = [d for _, d in outer]
        self.outer = [i for i, (what, _) in enumerate(outer) if what == "own"]
        if not self.implied:
            shape = shape[:self.vector] + [len(self.indexed)] + shape[self.vector:]
        self.indices = draw.array(shape, draw.choice(("i32", "i64", "ui32", "i8", "ui8")), -2, 5)
        self.inner = [i for i in range(rank) if i not in self.collapsed + self.batching]
        count = len(outer) + len(self.inner)
        self.offsets = sorted(draw.sample(range(count), len(self.inner)))
        self.rest = [i for i in range(count) if i not in self.offsets]
        sizes = dict(zip(self.offsets, (self.sizes[i] for i in self.inner))) | dict(zip(self.rest, (d for _, d in outer)))
        self.result = [sizes[i] for i in range(count)]

    def place(self, place, clamped):
        outer = [place[i] for i in self.rest]
        at = [0] * len(self.dims)
        for k, i in enumerate(self.indexed):
            start = self.indices.at(outer if self.implied else outer[:self.vector] + [k] + outer[self.vector:])
            at[i] = max(0, min(start, self.dims[i] - self.sizes[i])) if clamped else start
        for i, k in zip(self.batching, self.outer):
            at[i] = outer[k]
        for i, k in zip(self.inner, self.offsets):
            at[i] += place[k]
        return at

    def outer_dims(self):
        return [k if self.implied or k < self.vector else k + 1 for k in self.outer]


def gather(draw):
    s = Slices(draw)
    x = draw.array(s.dims)
    expected = Array.made(s.result, x.kind, lambda place: x.at(s.place(place, True)))
    return one("stablehlo.gather", [x, s.indices], f"dimension_numbers = #stablehlo.gather<offset_dims = {s.offsets}, "
               f"collapsed_slice_dims = {s.collapsed}, operand_batching_dims = {s.batching}, start_indices_batching_dims = "
               f"{s.outer_dims()}, start_index_map = {s.indexed}, index_vector_dim = {s.vector}>, slice_sizes = {listed(s.sizes)}", expected)


def scatter(draw):
    s, op = Slices(draw), draw.choice(("add", "multiply", "maximum", "minimum"))
    x = draw.array(s.dims)
    updates, found = draw.array(s.result, x.kind), dict(zip(places(s.dims), x.values))
    for place in places(s.result):
        at = tuple(s.place(place, False))
        if at in found:
            found[at] = wrapped(x.kind, COMBINE[op](found[at], updates.at(place)))
    if x.kind == "f16" and any(abs(number) > 2048 for number in found.values()):
        return None
    return one("stablehlo.scatter", [x, s.indices, updates], "scatter_dimension_numbers = #stablehlo.scatter<"
               f"update_window_dims = {s.offsets}, inserted_window_dims = {s.collapsed}, input_batching_dims = {s.batching}, "
               f"scatter_indices_batching_dims = {s.outer_dims()}, scatter_dims_to_operand_dims = {s.indexed}, "
               f"index_vector_dim = {s.vector}>", Array(s.dims, x.kind, found.values()), region(op, x.kind))


def select_and_scatter(draw):
    rank = draw.randint(1, 3)
    x = draw.array([draw.randint(1, 6) for _ in range(rank)], least=-3, most=3)
    window, strides = ([draw.randint(1, 3) for _ in range(rank)] for _ in range(2))
    low, high = ([draw.randint(0, 1) for _ in range(rank)] for _ in range(2))
    dims = [(d + lo + hi - w) // s + 1 for d, lo, hi, w, s in zip(x.dims, low, high, window, strides)]
    if any(d < 1 for d in dims) or any(w == 1 for w, lo, hi in zip(window, low, high) if lo or hi):
        return None
    source, first, later = draw.array(dims, x.kind), draw.array((), x.kind), draw.random() < 0.5
    found = dict.fromkeys(places(x.dims), first.values[0])
    for place in places(dims):
        cells = [tuple(p * s + k - lo for p, s, k, lo in zip(place, strides, inner, low)) for inner in places(window)]
        cells = [cell for cell in cells if cell in found]
        most = max(map(x.at, cells))
        at = [cell for cell in cells if x.at(cell) == most][-1 if later else 0]
        found[at] = wrapped(x.kind, found[at] + source.at(place))
    scalar = f"tensor<{x.kind}>"
    select = (f"({{ ^bb0(%a: {scalar}, %b: {scalar}): %c = stablehlo.compare {'GT' if later else 'GE'}, %a, %b : "
              f"({scalar}, {scalar}) -> tensor<i1> stablehlo.return %c : tensor<i1> }}, ")
    return one("stablehlo.select_and_scatter", [x, source, first], f"window_dimensions = {listed(window)}, "
               f"window_strides = {listed(strides)}, {padding_of(low, high)}", Array(x.dims, x.kind, found.values()),
               select + region("add", x.kind)[1:])


class Shapes(unittest.TestCase):
    def passes(self, make, kinds=KINDS, graphs=False):
        draw = Draw(make.__name__)
        draw.kinds = kinds
        modules = itertools.islice(filter(None, (make(draw) for _ in itertools.count())), EACH)
        expect_passed(self, PROGRAM, DEVICE, list(modules), graphs)

    def test_dot_general(self):
        self.passes(dot_general)

    def test_convolution(self):
        self.passes(convolution)

    def test_gather(self):
        self.passes(gather)

    def test_scatter(self):
        self.passes(scatter)

    def test_select_and_scatter(self):
        self.passes(select_and_scatter)
        self.passes(select_and_scatter, COMPUTED, graphs=True)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
