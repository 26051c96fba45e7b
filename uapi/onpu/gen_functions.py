#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Derives the constants of the architected functions.

functions.rst is the normative text; its constant tables and the C header of the
emulator both come from here, from exact or 150-digit arithmetic, so that every
printed bit can be derived again. Standard library only.

  gen_functions.py --header FILE   write the C polynomials and constants
  gen_functions.py --rst FILE      replace the tables between the markers in FILE
  gen_functions.py --check RST HEADER
                                   fail when either file differs from what is derived
"""

import argparse
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

DIGITS = 150
TINY = Decimal(10) ** -(DIGITS - 2)
BEGIN = ".. tables-begin (written by gen_functions.py, do not edit)"
END = ".. tables-end"


def arctan_inverse(n):
    """Returns arctan(1/n), by its Taylor series."""
    total, term, k = Decimal(0), Decimal(1) / n, 0
    while abs(term) > TINY:
        total += -term / (2 * k + 1) if k % 2 else term / (2 * k + 1)
        term /= n * n
        k += 1
    return total


def cosine(x):
    total, term, n = Decimal(0), Decimal(1), 0
    while abs(term) > TINY:
        total += term
        term = -term * x * x / ((2 * n + 1) * (2 * n + 2))
        n += 1
    return total


def erfc(x, pi):
    """Returns 1 - erf(x). The series of erf has positive terms only, so that it loses no digits."""
    if x == 0:
        return Decimal(1)
    total, term, n = Decimal(0), x, 0
    while term > TINY * total:
        total += term
        n += 1
        term = term * 2 * x * x / (2 * n + 1)
    return 1 - 2 / pi.sqrt() * (-x * x).exp() * total


def interpolate(function, low, high, degree, pi):
    """Returns the polynomial that interpolates function at the Chebyshev points of [low, high].

    The result is a list of count = degree + 1 coefficients, that of the lowest power first.
    """
    count = degree + 1
    middle, half = (low + high) / 2, (high - low) / 2
    angles = [pi * (2 * j + 1) / (2 * count) for j in range(count)]
    values = [function(middle + half * cosine(a)) for a in angles]
    series = []
    for k in range(count):
        dot = sum(v * cosine(k * a) for v, a in zip(values, angles))
        series.append(dot * (1 if k == 0 else 2) / count)
    scale, shift = 1 / half, -middle / half
    previous, current = [Decimal(1)], [shift, scale]
    total = [Decimal(0)] * count
    for k in range(count):
        for i, c in enumerate(previous):
            total[i] += series[k] * c
        following = [Decimal(0)] * (len(current) + 1)
        for i, c in enumerate(current):
            following[i] += 2 * shift * c
            following[i + 1] += 2 * scale * c
        for i, c in enumerate(previous):
            following[i] -= c
        previous, current = current, following
    return total


def nearest(value):
    """Returns the double nearest to an exact value (Python rounds a Fraction correctly)."""
    return float(Fraction(value))


def split(value, parts):
    """Returns doubles with the sum value; each is the nearest to what the earlier ones leave."""
    result, rest = [], Fraction(value)
    for _ in range(parts):
        result.append(float(rest))
        rest -= Fraction(result[-1])
    return result


def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


def scalar_constants(pi):
    ln2 = Decimal(2).ln()
    ln2_parts = split(ln2, 2)
    half_pi = split(pi / 2, 2)
    return [
        ("SHIFT", 1.5 * 2.0 ** 52, "adding it rounds to an integer, held in the low bits"),
        ("INV_LN2", nearest(1 / ln2), "1 / ln 2"),
        ("LN2_HI", ln2_parts[0], "ln 2"),
        ("LN2_LO", ln2_parts[1], "ln 2 - LN2_HI"),
        ("TWO_OVER_PI", nearest(2 / pi), "2 / pi"),
        ("PIO2_HI", half_pi[0], "pi / 2"),
        ("PIO2_LO", half_pi[1], "pi / 2 - PIO2_HI"),
    ]


def polynomials(pi):
    """Returns a list of (name, argument, coefficients lowest first, description)."""
    def erf_ratio(w):
        x = w.sqrt()
        return (1 - erfc(x, pi)) / x

    def erf_middle(u):
        return 1 - erfc(u + Decimal("2.5"), pi)

    def mills(t):
        a = 4 * (1 + t) / (1 - t)
        return erfc(a / Decimal(2).sqrt(), pi) * (a * a / 2).exp() / 2

    gelu_top = (Decimal(15) - 4) / (Decimal(15) + 4)
    return [
        ("EXP", "r", [Fraction(1, factorial(n)) for n in range(2, 13)],
         "(e^r - 1 - r) / r^2: Taylor, 1 / (i + 2)!"),
        ("LOG", "w", [Fraction(2, 2 * i + 3) for i in range(9)],
         "(log((1 + z) / (1 - z)) - 2z) / z^3 with w = z^2: Taylor, 2 / (2i + 3)"),
        ("SIN", "w", [Fraction((-1) ** (i + 1), factorial(2 * i + 3)) for i in range(7)],
         "(sin r - r) / r^3 with w = r^2: Taylor, (-1)^(i+1) / (2i + 3)!"),
        ("COS", "w", [Fraction((-1) ** (i + 1), factorial(2 * i + 2)) for i in range(8)],
         "(cos r - 1) / r^2 with w = r^2: Taylor, (-1)^(i+1) / (2i + 2)!"),
        ("ERF_LOW", "w", interpolate(erf_ratio, Decimal(0), Decimal(1), 10, pi),
         "erf(a) / a with w = a^2, 0 <= a < 1: Chebyshev in w"),
        ("ERF_HIGH", "u", interpolate(erf_middle, Decimal("-1.5"), Decimal("1.5"), 20, pi),
         "erf(u + 2.5), -1.5 <= u <= 1.5: Chebyshev in u"),
        ("TAIL", "t", interpolate(mills, Decimal(-1), gelu_top, 16, pi),
         "e^(a^2/2) erfc(a / sqrt 2) / 2, t = (a - 4) / (a + 4), 0 <= a <= 15: Chebyshev in t"),
    ]


def two_over_pi_words(pi):
    """Returns the first 256 bits of 2/pi after the binary point, as 4 words, the highest first."""
    bits = int(Fraction(2 / pi) * 2 ** 256)
    return [(bits >> (64 * (3 - i))) & (2 ** 64 - 1) for i in range(4)]


def derive():
    getcontext().prec = DIGITS
    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    polys = [(name, arg, [nearest(c) for c in coefs], text)
             for name, arg, coefs, text in polynomials(pi)]
    return scalar_constants(pi), polys, two_over_pi_words(pi)


def header(scalars, polys, words):
    out = ["/* SPDX-License-Identifier: MIT */",
           "/*",
           " * Constants and polynomials of the architected functions: uapi/onpu/functions.rst.",
           " * Written by uapi/onpu/gen_functions.py; do not edit.",
           " */",
           "#ifndef ONPU_MATH_FUNCTIONS_POLY_H",
           "#define ONPU_MATH_FUNCTIONS_POLY_H",
           "",
           "#include <stdint.h>",
           ""]
    for name, value, text in scalars:
        out.append("/* %s */" % text)
        out.append("#define FN_%s %s" % (name, value.hex()))
    out += ["", "/* The first 256 bits of 2/pi after the binary point. */",
            "#define FN_TWO_OVER_PI_WORDS \\"]
    out.append("\t{ " + ", \\\n\t  ".join("UINT64_C(0x%016x)" % w for w in words) + " }")
    for name, arg, coefs, text in polys:
        out += ["", "/* %s */" % text,
                "static inline __attribute__((always_inline)) double fn_%s_poly(double %s)"
                % (name.lower(), arg),
                "{",
                "\tdouble p = %s;" % coefs[-1].hex(),
                ""]
        out += ["\tp = __builtin_fma(p, %s, %s);" % (arg, c.hex()) for c in coefs[-2::-1]]
        out += ["\treturn p;", "}"]
    out += ["", "#endif", ""]
    return "\n".join(out)


def tables(scalars, polys, words):
    """Returns the reStructuredText of the tables, with the markers around them."""
    out = [BEGIN, "", ".. list-table:: Constants", "   :header-rows: 1", "",
           "   * - Name", "     - Value", "     - Meaning"]
    for name, value, text in scalars:
        out += ["   * - %s" % name, "     - ``%s``" % value.hex(), "     - %s" % text]
    out += ["", "The first 256 bits of 2/pi after the binary point, most significant first::", ""]
    out += ["    W[%d] = 0x%016x" % (i, w) for i, w in enumerate(words)]
    for name, arg, coefs, text in polys:
        out += ["", "%s(%s), %s::" % (name, arg, text), ""]
        out += ["    c[%d] = %s" % (i, c.hex()) for i, c in enumerate(coefs)]
    out += ["", END]
    return "\n".join(out)


def replace_tables(text, new, path):
    start, stop = text.find(BEGIN), text.find(END)
    if start < 0 or stop < start:
        sys.exit("%s: the table markers '%s' and '%s' are missing" % (path, BEGIN, END))
    return text[:start] + new + text[stop + len(END):]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--header", metavar="FILE")
    parser.add_argument("--rst", metavar="FILE")
    parser.add_argument("--check", nargs=2, metavar=("RST", "HEADER"))
    options = parser.parse_args()
    if not (options.header or options.rst or options.check):
        parser.error("one of --header, --rst, --check is needed")
    derived = derive()
    if options.header:
        write(options.header, header(*derived))
    if options.rst:
        write(options.rst, replace_tables(read(options.rst), tables(*derived), options.rst))
    if options.check:
        rst, source = options.check
        text = read(rst)
        if replace_tables(text, tables(*derived), rst) != text:
            sys.exit("%s: tables differ from the derived ones; run gen_functions.py --rst" % rst)
        if read(source) != header(*derived):
            sys.exit("%s: differs from the derived one; run gen_functions.py --header" % source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
