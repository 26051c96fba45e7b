# SPDX-License-Identifier: MIT
"""Makes StableHLO programs that compute with given arrays of numbers and check the results, and
runs them with stablehlo-test. Used by the tests in this folder."""
import functools
import itertools
import json
import operator
import pathlib
import random
import struct
import subprocess
import tempfile

LETTERS = {"f64": "d", "f32": "f", "f16": "e", "i8": "b", "ui8": "B", "i16": "h", "ui16": "H", "i32": "i", "ui32": "I", "i64": "q",
           "ui64": "Q", "i1": "?"}


class Array:
    def __init__(self, dims, kind, values):
        self.dims, self.kind, self.values = tuple(dims), kind, list(values)

    @property
    def type(self):
        return f"tensor<{''.join(f'{d}x' for d in self.dims)}{self.kind}>"

    @property
    def dense(self):
        return f'dense<"0x{struct.pack(f"<{len(self.values)}{LETTERS[self.kind]}", *self.values).hex()}"> : {self.type}'

    def at(self, place):
        offset = 0
        for i, d in zip(place, self.dims):
            offset = offset * d + i
        return self.values[offset]

    @staticmethod
    def random(dims, kind, least=-9, most=9):
        chance = random.Random(str((dims, kind)))
        return Array(dims, kind, [chance.randint(least, most) for _ in range(size(dims))])

    @staticmethod
    def made(dims, kind, function):
        return Array(dims, kind, [function(place) for place in places(dims)])


def size(dims):
    return functools.reduce(operator.mul, dims, 1)


def places(dims):
    return itertools.product(*map(range, dims))


def module(given, lines, expected):
    """Returns the text of a module. It has a function @compute of these lines, with the arguments
    %x0, %x1 and so on and the result %r, and a function that calls @compute with the arrays `given`
    and compares the result with `expected`.
    """
    names = [f"%x{i}" for i in range(len(given))]
    constants = "\n".join(f"    {name} = stablehlo.constant {x.dense}" for name, x in zip(names, given))
    body = "\n".join(f"    {line}" for line in lines)
    return f"""module {{
  func.func private @compute({', '.join(f'{n}: {x.type}' for n, x in zip(names, given))}) -> {expected.type} {{
{body}
    return %r : {expected.type}
  }}
  func.func @main() {{
{constants}
    %r = call @compute({', '.join(names)}) : ({', '.join(x.type for x in given)}) -> {expected.type}
    check.expect_eq_const %r, {expected.dense}
    return
  }}
}}"""


def listed(numbers):
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


def region(op, kind):
    return (f"({{ ^bb0(%a: tensor<{kind}>, %b: tensor<{kind}>): "
            f"%c = stablehlo.{op} %a, %b : tensor<{kind}> stablehlo.return %c : tensor<{kind}> }})")


def wrapped(kind, number):
    bits = int(kind.lstrip("ui")) if kind[0] in "ui" and kind != "i1" else 0
    if not bits:
        return number
    number &= (1 << bits) - 1
    return number - (1 << bits) if kind[0] == "i" and number >> (bits - 1) else number


COMBINE = {"add": operator.add, "multiply": operator.mul, "maximum": max, "minimum": min, "and": operator.and_}


def folded(op, kind, numbers):
    return functools.reduce(lambda a, b: wrapped(kind, COMBINE[op](a, b)), numbers)


def expect_passed(case, program, device, modules, graphs=True):
    """Checks that all modules pass. With graphs set, and a device other than cpu, none of them may
    have an operator on the CPU.
    """
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "modules.mlir", pathlib.Path(folder) / "result.json"
        path.write_text("\n// -----\n".join(modules), encoding="utf-8")
        done = subprocess.run([program, "--device", device, "--json", str(out), str(path)], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        result = json.loads(out.read_text(encoding="utf-8"))
    case.assertEqual((result["passed"], result["total"]), (len(modules), len(modules)), done.stdout)
    if graphs:
        case.assertEqual(result["no_cpu_operator"], 0 if device == "cpu" else len(modules), done.stdout)
