# SPDX-License-Identifier: MIT
"""Tensors of types that numpy lacks, and models of one operator with such tensors, for onnx-cases.
"""
import numpy
from onnx_cases import onnx

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = (
    1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)
BFLOAT16, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, UINT4, INT4, E2M1, E8M0, UINT2, INT2 = (
    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26)
PLAIN = {FLOAT: "<f4", UINT8: "u1", INT8: "i1", UINT16: "<u2", INT16: "<i2", INT32: "<i4",
         INT64: "<i8", BOOL: "?", FLOAT16: "<f2", DOUBLE: "<f8", UINT32: "<u4", UINT64: "<u8"}
FEW_BITS = {UINT4: (4, 0), INT4: (4, 1), UINT2: (2, 0), INT2: (2, 1)}
NAMES = {BFLOAT16: "bfloat16", E4M3FN: "e4m3fn", E4M3FNUZ: "e4m3fnuz", E5M2: "e5m2",
         E5M2FNUZ: "e5m2fnuz", E2M1: "e2m1", E8M0: "e8m0", UINT4: "uint4", INT4: "int4",
         UINT2: "uint2", INT2: "int2", INT16: "int16", UINT16: "uint16", DOUBLE: "double"}


def decode(kind, code):
    """Returns the number that a code of a float type of few bits stands for, by the type's
    definition.
    """
    if kind == E8M0:
        return float("nan") if code == 255 else 2.0 ** (code - 127)
    exponents, mantissa, bias = {E4M3FN: (4, 3, 7), E4M3FNUZ: (4, 3, 8), E5M2: (5, 2, 15),
                                 E5M2FNUZ: (5, 2, 16), E2M1: (2, 1, 1)}[kind]
    bits = 1 + exponents + mantissa
    sign, exponent = code >> (bits - 1), code >> mantissa & (1 << exponents) - 1
    fraction = code & (1 << mantissa) - 1
    if kind in (E4M3FNUZ, E5M2FNUZ) and code == 128:
        return float("nan")
    if kind == E4M3FN and code & 127 == 127:
        return float("nan")
    if kind == E5M2 and exponent == 31:
        return float("nan") if fraction else (-1) ** sign * float("inf")
    size = fraction * 2.0 ** (1 - bias - mantissa) if not exponent else \
        (1 + fraction / 2 ** mantissa) * 2.0 ** (exponent - bias)
    return -size if sign else size


def encode(kind, number, saturate=True):
    """Returns the code of the nearest number of the type; when two are equally near, the even code.
    A number that is too large becomes the largest one if saturate is set or the type is E2M1, else
    infinity or NaN."""
    if kind == BFLOAT16:
        bits = int(numpy.float32(number).view(numpy.uint32))
        if numpy.isnan(number):
            return bits >> 16 | 64
        return bits + 0x7fff + (bits >> 16 & 1) >> 16
    bits = 4 if kind == E2M1 else 8
    codes = [(decode(kind, code), code) for code in range(1 << (bits - 1))]
    numbers = [pair for pair in codes if numpy.isfinite(pair[0])]
    sign = 1 << (bits - 1) if numpy.signbit(number) else 0
    nan = {E4M3FN: 127 | sign, E4M3FNUZ: 128, E5M2: 126 | sign, E5M2FNUZ: 128, E2M1: sign}[kind]
    if numpy.isnan(number):
        return nan
    size, (largest, most) = abs(float(number)), numbers[-1]
    # Numbers beyond the largest one round as if there were one more number after it.
    beyond = largest + (largest - numbers[-2][0])
    if size > largest and (numpy.isinf(size) or size - largest > beyond - size or
                           (size - largest == beyond - size and most % 2)):
        if saturate or kind == E2M1:
            return most | sign
        return 124 | sign if kind == E5M2 else nan
    if size > largest:
        return most | sign
    code = min(numbers, key=lambda pair: (abs(pair[0] - size), pair[1] % 2))[1]
    return 0 if kind in (E4M3FNUZ, E5M2FNUZ) and not code else code | sign


def pack(codes, bits):
    """Returns the bytes of numbers of less than 8 bits; the first number is in the low bits of its
    byte.
    """
    total = sum((int(code) & (1 << bits) - 1) << (bits * i) for i, code in enumerate(codes))
    return total.to_bytes((len(codes) * bits + 7) // 8, "little")


class Typed:
    """A tensor of any type: its elements are codes for floats of few bits, else numbers."""

    def __init__(self, kind, elements):
        self.kind, self.elements = kind, numpy.asarray(elements)

    def proto(self, name=""):
        flat = self.elements.reshape(-1)
        if self.kind in PLAIN:
            with numpy.errstate(over="ignore"):
                raw = flat.astype(PLAIN[self.kind]).tobytes()
        elif self.kind == BFLOAT16:
            raw = flat.astype("<u2").tobytes()
        elif self.kind in FEW_BITS or self.kind == E2M1:
            raw = pack(flat, FEW_BITS.get(self.kind, (4,))[0])
        else:
            raw = flat.astype("u1").tobytes()
        return onnx.TensorProto(name=name, data_type=self.kind, dims=self.elements.shape,
                                raw_data=raw)


def floats(elements):
    return Typed(FLOAT, numpy.asarray(elements, numpy.float32))


def coded(kind, elements, saturate=True):
    """Returns a tensor of a float type of few bits, with the elements that are nearest to the
    numbers.
    """
    elements = numpy.asarray(elements)
    codes = [encode(kind, number, saturate) for number in elements.reshape(-1)]
    return Typed(kind, numpy.array(codes).reshape(elements.shape))


def numbers_of(tensor):
    """Returns the numbers that the codes of a tensor stand for."""
    if tensor.kind in PLAIN or tensor.kind in FEW_BITS:
        return tensor.elements.astype(numpy.float64)
    if tensor.kind == BFLOAT16:
        return (tensor.elements.astype(numpy.uint32) << 16).view(numpy.float32).astype(float)
    return numpy.vectorize(lambda code: decode(tensor.kind, int(code)), otypes=[float])(
        tensor.elements)


def describe(name, tensor):
    return onnx.helper.make_tensor_value_info(name, tensor.kind, tensor.elements.shape)


def write_typed(folder, nodes, inputs, outputs, constants=(), domain=""):
    """Writes a case of nodes for onnx-cases. inputs and outputs map names to tensors of any type;
    inputs in constants are part of the model."""
    graph = onnx.helper.make_graph(
        nodes, "typed", [describe(*item) for item in inputs.items() if item[0] not in constants],
        [describe(*item) for item in outputs.items()],
        [inputs[name].proto(name) for name in constants])
    sets = [onnx.helper.make_opsetid("", 28)]
    if domain:
        sets.append(onnx.helper.make_opsetid(domain, 1))
    model = onnx.helper.make_model(graph, opset_imports=sets)
    model.ir_version = 14
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    given = [tensor for name, tensor in inputs.items() if name not in constants]
    for kind, tensors in (("input", given), ("output", outputs.values())):
        for index, tensor in enumerate(tensors):
            (data / f"{kind}_{index}.pb").write_bytes(tensor.proto().SerializeToString())
