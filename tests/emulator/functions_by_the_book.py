#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the architected functions, implemented from functions.rst alone, with the emulator's.

This implementation is in Python, and computes an exact fma with fractions. It reads its constants
from the tables of functions.rst, so it fails when text, tables and emulator do not agree.

  functions_by_the_book.py FILTER FUNCTIONS_RST
"""

import math
import random
import re
import struct
import subprocess
import sys
from fractions import Fraction

INF, NAN = math.inf, math.nan
MASK64 = 2 ** 64 - 1


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits(u):
    return struct.unpack("<d", struct.pack("<Q", u & MASK64))[0]


def single(u):
    return struct.unpack("<f", struct.pack("<I", u))[0]


def fma(a, b, c):
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)) or a * b == 0:
        return a * b + c
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def divide(a, b):
    if b != 0 or math.isnan(a):
        return a / b
    return NAN if a == 0 else math.copysign(INF, a) * math.copysign(1, b)


def root(x):
    return NAN if x < 0 else math.sqrt(x)


def rounded(v):
    """Returns the bits of v rounded to float32: R of functions.rst."""
    if math.isnan(v):
        return 0x7fc00000
    if abs(v) >= float.fromhex("0x1.ffffffp127"):
        v = math.copysign(INF, v)
    return struct.unpack("<I", struct.pack("<f", v))[0]


def at_most(x, limit):
    return limit if x > limit else x


def at_least(x, limit):
    return limit if x < limit else x


def with_sign(v, x):
    return from_bits(bits(v) ^ (bits(x) & 1 << 63))


class Book:
    """Executes functions.rst: attributes are its tables, methods implement its text."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.polynomials = {}
        for name, value in re.findall(r"\* - (\w+)\n +- ``(\S+)``", text):
            setattr(self, name, float.fromhex(value))
        words = re.findall(r"W\[\d\] = 0x([0-9a-f]{16})", text)
        self.two_over_pi = int("".join(words), 16)
        for name, body in re.findall(r"^(\w+)\(\w\), .*::\n\n((?:    c\[.*\n)+)", text, re.M):
            self.polynomials[name] = [float.fromhex(v) for v in re.findall(r"= (\S+)", body)]

    def horner(self, name, x):
        table = self.polynomials[name]
        p = table[-1]
        for c in reversed(table[:-1]):
            p = fma(p, x, c)
        return p

    def expparts(self, x):
        t = fma(x, self.INV_LN2, self.SHIFT)
        k = t - self.SHIFT
        r = fma(-k, self.LN2_HI, x)
        r = fma(-k, self.LN2_LO, r)
        return from_bits((bits(t) + 1023) << 52), fma(r * r, self.horner("EXP", r), r)

    def expd(self, x):
        scale, rest = self.expparts(x)
        return fma(scale, rest, scale)

    def expm1d(self, x):
        scale, rest = self.expparts(x)
        return fma(scale, rest, scale - 1)

    def exp2d(self, x):
        t = x + self.SHIFT
        scale = from_bits((bits(t) + 1023) << 52)
        r = (x - (t - self.SHIFT)) * self.LN2_HI
        return fma(scale, fma(r * r, self.horner("EXP", r), r), scale)

    def log1pd(self, f):
        z = f / (2 + f)
        w = z * z
        return fma(z * w, self.horner("LOG", w), z + z)

    @staticmethod
    def logparts(x):
        b = bits(x)
        e = ((b + 0x3ff0000000000000 - 0x3fe6a09e667f3bcd) & MASK64) >> 52
        return float(e - 1023), from_bits(b - (e << 52) + 0x3ff0000000000000) - 1

    def angle(self, x):
        a = abs(x)
        if not math.isfinite(a):
            return 0, NAN
        if a < 2 ** 28:
            t = fma(a, self.TWO_OVER_PI, self.SHIFT)
            k = t - self.SHIFT
            return bits(t) & 3, fma(-k, self.PIO2_LO, fma(-k, self.PIO2_HI, a))
        e = math.frexp(a)[1] - 24
        window = self.two_over_pi >> (256 - (e + 126)) & (2 ** 128 - 1)
        turns = (int(a / 2 ** e) * window + 2 ** 125) % 2 ** 128
        return turns >> 126, float(turns % 2 ** 126 - 2 ** 125) * 2.0 ** -126 * self.PIO2_HI

    def sincos(self, rest):
        w = rest * rest
        return fma(rest * w, self.horner("SIN", w), rest), fma(w, self.horner("COS", w), 1.0)

    def exp(self, x, _):
        return rounded(self.expd(at_most(at_least(x, -128.0), 128.0)))

    def log(self, x, _):
        if math.isnan(x) or x < 0:
            return rounded(NAN)
        if x in (0, INF):
            return rounded(-INF if x == 0 else INF)
        k, f = self.logparts(x)
        return rounded(fma(k, self.LN2_HI, self.log1pd(f)))

    def sin(self, x, _):
        quadrant, rest = self.angle(x)
        sine, cosine = self.sincos(rest)
        v = cosine if quadrant & 1 else sine
        return rounded(with_sign(-v if quadrant in (2, 3) else v, x))

    def cos(self, x, _):
        quadrant, rest = self.angle(x)
        sine, cosine = self.sincos(rest)
        v = sine if quadrant & 1 else cosine
        return rounded(-v if quadrant in (1, 2) else v)

    def tan(self, x, _):
        quadrant, rest = self.angle(x)
        sine, cosine = self.sincos(rest)
        v = divide(cosine, -sine) if quadrant & 1 else divide(sine, cosine)
        return rounded(with_sign(v, x))

    def tanh(self, x, _):
        a = at_most(abs(x), 20.0)
        e = self.expm1d(a + a)
        return rounded(with_sign(e / (e + 2), x))

    def erf(self, x, _):
        a = at_most(abs(x), 4.0)
        v = a * self.horner("ERF_LOW", a * a) if a < 1 else self.horner("ERF_HIGH", a - 2.5)
        return rounded(with_sign(v, x))

    def sigmoid(self, x, _):
        a = at_most(at_least(x, -128.0), 128.0)
        return rounded(1 / (1 + self.expd(-a)))

    def gelu(self, x, _):
        if x == -INF:
            return rounded(NAN)
        a = at_most(abs(x), 15.0)
        tail = self.expd(-0.5 * (a * a)) * self.horner("TAIL", (a - 4) / (a + 4))
        return rounded(-a * tail if x < 0 else fma(-a, tail, x))

    def softplus(self, x, _):
        e = self.expd(-at_most(abs(x), 128.0))
        f, base = ((e - 1) * 0.5, self.LN2_HI) if e > 0.4140625 else (e, 0.0)
        return rounded(at_least(x, 0.0) + (base + self.log1pd(f)))

    def softsign(self, x, _):
        return rounded(x / (1 + abs(x)))

    def elu(self, x, alpha):
        return rounded(alpha * self.expm1d(at_least(x, -128.0)) if x < 0 else x)

    def recip(self, x, _):
        return rounded(divide(1.0, x))

    def sqrt(self, x, _):
        return rounded(root(x))

    def rsqrt(self, x, _):
        return rounded(divide(1.0, root(x)))

    def pow(self, x, y):
        a = abs(x)
        if a == 0 or not a < INF:
            l = -INF if a == 0 else a
        else:
            k, f = self.logparts(a)
            l = fma(self.log1pd(f), self.INV_LN2, k)
        p = 0.0 if a == 1 else y * l
        v = self.exp2d(at_most(at_least(p, -256.0), 256.0))
        integer = abs(y) == INF or y == math.floor(y) if not math.isnan(y) else False
        odd = integer and abs(y) < 2 ** 24 and int(y) & 1
        if -INF < x < 0 and not integer:
            v = NAN
        if math.copysign(1, x) < 0 and odd:
            v = -v
        if math.isnan(y):
            v = NAN
        return rounded(1.0 if y == 0 or x == 1 else v)


NAMES = ("exp log sin cos tan tanh erf sigmoid gelu softplus softsign elu recip sqrt rsqrt"
         " pow").split()
SPECIAL = [0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800000,
           0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffa12345, 0x4d800000,
           0x4d7fffff, 0xc0400000, 0x3f000000, 0x4b000001, 0xcb800001, 0x40800000, 0xc1700000]


def arguments(name, generator):
    """Yields pairs of bit patterns: all special pairs, any bits, and numbers of medium
    magnitude.
    """
    for x in SPECIAL:
        for y in SPECIAL if name in ("pow", "elu") else SPECIAL[:1]:
            yield x, y
    for _ in range(300):
        yield generator.getrandbits(32), generator.getrandbits(32)
        yield ((generator.randrange(0x3c000000, 0x42ffffff) | generator.getrandbits(1) << 31),
               (generator.randrange(0x3e000000, 0x41800000) | generator.getrandbits(1) << 31))


def main():
    program, text = sys.argv[1:]
    book = Book(text)
    generator = random.Random(1)
    cases = [(name, x, y) for name in NAMES for x, y in arguments(name, generator)]
    lines = "".join("%s %08x %08x\n" % case for case in cases)
    output = subprocess.run([program], input=lines, stdout=subprocess.PIPE, check=True,
                            universal_newlines=True).stdout.split()
    if len(output) != len(cases):
        sys.exit("%s answered %d of %d lines" % (program, len(output), len(cases)))
    wrong = 0
    for (name, x, y), result in zip(cases, output):
        expected = getattr(book, name)(single(x), single(y))
        if expected != int(result, 16):
            wrong += 1
            print("%s(%08x, %08x): the emulator gives %s, functions.rst %08x"
                  % (name, x, y, result, expected))
    print("%d of %d results differ" % (wrong, len(cases)))
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
