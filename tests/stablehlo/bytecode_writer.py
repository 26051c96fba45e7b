# SPDX-License-Identifier: MIT
"""Writes MLIR's bytecode with operations of VHLO, in all versions of the format, for tests and for
seeds of the fuzz target. It shares no code with the reader. bytecode_writer.py NAME FILE writes one
of the samples.
"""
import struct
import sys

NEWEST = 6
# Numbers of VHLO's types and attributes, and of MLIR's own.
BOOL, F32, I8, I32, I64, FUNCTION, TENSOR, TOKEN = 0, 4, 11, 13, 14, 8, 20, 22
ARRAY, BOOLEAN, DICTIONARY, FLOAT, INTEGER, STRING, ELEMENTS, TYPE = 1, 2, 6, 8, 9, 14, 15, 17
BUILTIN_DICTIONARY, BUILTIN_STRING, BUILTIN_SYMBOL, BUILTIN_PLACE, BUILTIN_UNKNOWN, BUILTIN_RESOURCE = 1, 2, 4, 11, 15, 16
# Numbers of Shardy's attributes.
MANUAL_AXES, MESH_AXIS, MESH, SUB_AXIS, AXIS, DIMENSION, SHARDING, SHARDINGS = range(8)


def varint(value):
    for more in range(7):
        if value < 1 << 7 * (more + 1):
            return (((value << 1 | 1) << more)).to_bytes(more + 1, 'little')
    if value < 1 << 56:
        return bytes([0x80]) + value.to_bytes(7, 'little')
    return bytes([0]) + value.to_bytes(8, 'little')


def signed(value):
    return varint((value << 1 ^ value >> 63) & (1 << 64) - 1)


def listed(items):
    return varint(len(items)) + b''.join(items)


def section(number, data):
    return bytes([number]) + varint(len(data)) + data


class Writer:
    """Collects the strings, attributes and types that operations use, and writes the file."""

    def __init__(self, version=NEWEST):
        self.version = version
        self.strings, self.attrs, self.types, self.names, self.properties = [], [], [], [], []
        self.blobs = []

    @staticmethod
    def index(table, entry):
        if entry not in table:
            table.append(entry)
        return varint(table.index(entry))

    def string(self, text):
        return self.index(self.strings, text.encode() if isinstance(text, str) else text)

    def type(self, code, *parts, dialect='vhlo'):
        return self.index(self.types, (dialect, varint(code) + b''.join(parts)))

    def attr(self, code, *parts, dialect='vhlo'):
        return self.index(self.attrs, (dialect, varint(code) + b''.join(parts)))

    def tensor(self, dims, element):
        return self.type(TENSOR, listed([signed(size) for size in dims]),
                         self.type(element) if isinstance(element, int) else element)

    def elements(self, dims, element, data):
        return self.attr(ELEMENTS, self.tensor(dims, element), varint(len(data)), data)

    def ints(self, *numbers):
        return self.elements([len(numbers)], I64, b''.join(n.to_bytes(8, 'little', signed=True) for n in numbers))

    def text(self, text):
        return self.attr(STRING, self.string(text))

    def number(self, value, element=I64):
        return self.attr(INTEGER, self.type(element), bytes([value & 255]) if element == I8 else signed(value))

    def boolean(self, value):
        return self.attr(BOOLEAN, varint(value))

    def array(self, *items):
        return self.attr(ARRAY, listed(items))

    def place(self, line=0, column=0):
        if not line:
            return self.attr(BUILTIN_UNKNOWN, dialect='builtin')
        name = self.attr(BUILTIN_STRING, self.string('source.py'), dialect='builtin')
        return self.attr(BUILTIN_PLACE, name, varint(line), varint(column), dialect='builtin')

    def operation(self, name, operands=(), results=(), attrs=None, regions=(), at=(0, 0), isolated=False):
        """Returns the bytes of an operation. attrs has attributes by name; in versions from 5 on,
        those of VHLO and Shardy become properties, which are sorted by name and stored without
        names.
        """
        dialect, _, base = name.partition('.')
        attrs = attrs or {}
        as_properties = self.version >= 5 and dialect in ('vhlo', 'sdy') and attrs
        mask = (2 if results else 0) | (4 if operands else 0) | (16 if regions else 0)
        data = b''
        if as_properties:
            mask |= 64
            data += self.index(self.properties, b''.join(attrs[key] for key in sorted(attrs)))
        elif attrs:
            mask |= 1
            data += self.attr(BUILTIN_DICTIONARY, listed(
                [self.attr(BUILTIN_STRING, self.string(key), dialect='builtin') + value for key, value in attrs.items()]),
                              dialect='builtin')
        data += listed(results) if results else b''
        data += listed([varint(value) for value in operands]) if operands else b''
        if regions:
            body = b''.join(regions)
            data += varint(len(regions) << 1 | isolated)
            data += section(4, body) if isolated and self.version >= 2 else body
        return self.index(self.names, (dialect, base)) + bytes([mask]) + self.place(*at) + data

    def region(self, values, arguments, operations):
        """Returns the bytes of a region. values is the number of values that it defines, including
        its arguments; arguments has the types of these.
        """
        data = varint(1) + varint(values) + varint(len(operations) << 1 | bool(arguments))
        if arguments:
            if self.version >= 4:
                data += listed([varint(int.from_bytes(kind, 'little') >> 1 << 1) if len(kind) == 1 else kind
                                for kind in arguments])
            else:
                data += listed([kind + self.place() for kind in arguments])
            data += b'\0' if self.version >= 3 else b''
        return data + b''.join(operations)

    def function(self, name, arguments, results, values, operations, at=(0, 0), isolated=True):
        kind = self.type(FUNCTION, listed(arguments), listed(results))
        attrs = {'sym_name': self.text(name), 'function_type': self.attr(TYPE, kind), 'sym_visibility': self.text(''),
                 'arg_attrs': self.array(), 'res_attrs': self.array()}
        return self.operation('vhlo.func_v1', attrs=attrs, at=at, isolated=isolated,
                              regions=[self.region(values, arguments, operations)])

    def file(self, *functions, values=0):
        """Returns the bytes of a module with these functions. values is the number of values of the
        module itself: operations may be among the functions.
        """
        module = self.operation('builtin.module', isolated=True, regions=[self.region(values, [], functions)])
        operations = varint(2) + module
        dialects = sorted({name for name, _ in self.names} | {name for name, _ in self.attrs + self.types} | {'builtin'})
        names = [self.string(dialect) for dialect in dialects]
        groups = b''
        for dialect, base in self.names:
            base = self.string(base)
            groups += varint(dialects.index(dialect)) + varint(1) + (
                base if self.version < 5 else varint((self.strings.index(base_of(self, base)) << 1) | 1))
        sizes = varint(len(self.attrs)) + varint(len(self.types))
        for dialect, data in self.attrs + self.types:
            sizes += varint(dialects.index(dialect)) + varint(1) + varint(len(data) << 1 | 1)
        head = listed([name if self.version < 1 else varint(self.strings.index(dialect.encode()) << 1)
                       for name, dialect in zip(names, dialects)])
        head += varint(len(self.names)) if self.version >= 4 else b''
        parts = [section(1, head + groups), section(2, b''.join(data for _, data in self.attrs + self.types)),
                 section(3, sizes), section(4, operations)]
        if self.blobs:
            keys = b''.join(self.string(key) + varint(len(blob) + 2) + b'\0' for key, blob in self.blobs)
            parts.append(section(5, b''.join(varint(1) + varint(len(blob)) + blob for _, blob in self.blobs)))
            parts.append(section(6, varint(0) + varint(dialects.index('builtin')) + varint(len(self.blobs)) + keys))
        if self.properties:
            parts.append(section(8, listed([varint(len(data)) + data for data in self.properties])))
        strings = varint(len(self.strings)) + b''.join(varint(len(text) + 1) for text in reversed(self.strings)) + \
            b''.join(text + b'\0' for text in self.strings)
        return b'ML\xefR' + varint(self.version) + b'test\0' + section(0, strings) + b''.join(parts)


def base_of(writer, index):
    """Returns the string with this encoded index."""
    return writer.strings[next(i for i in range(len(writer.strings)) if varint(i) == index)]


def floats(*numbers):
    return struct.pack(f'<{len(numbers)}f', *numbers)


def floats_64(number):
    return struct.pack('<d', number)


def scale_of(number):
    return signed(int.from_bytes(floats_64(number), 'little', signed=True))


def compute(version=NEWEST, expected=3.0, at=(0, 0)):
    """Returns a program that adds [0.5, 1.5] to itself and expects [1, @expected]."""
    w = Writer(version)
    kind = w.tensor([2], F32)
    check = {'call_target_name': w.text('check.expect_eq'), 'has_side_effect': w.boolean(1),
             'backend_config': w.text(''), 'api_version': w.attr(5, varint(1)), 'called_computations': w.array(),
             'operand_layouts': w.array(), 'result_layouts': w.array(), 'output_operand_aliases': w.array()}
    return w.file(w.function('main', [], [], 3, [
        w.operation('vhlo.constant_v1', results=[kind], attrs={'value': w.elements([2], F32, floats(0.5, 1.5))}),
        w.operation('vhlo.add_v1', [0, 0], [kind]),
        w.operation('vhlo.constant_v1', results=[kind], attrs={'value': w.elements([2], F32, floats(1.0, expected))}),
        w.operation('vhlo.custom_call_v1', [1, 2], attrs=check, at=at),
        w.operation('vhlo.return_v1')]))


def outside(version=NEWEST):
    """Returns an invalid program: its function returns a value that the module defines outside of
    the function."""
    w = Writer(version)
    kind = w.tensor([], F32)
    one = w.operation('vhlo.constant_v1', results=[kind], attrs={'value': w.elements([], F32, floats(1.0))})
    return w.file(*[one] * 9000, w.function('main', [], [kind], 0, [w.operation('vhlo.return_v1', [8999])], isolated=False),
                  values=9000)


def nested(version=NEWEST):
    """Returns a program with a function within a function."""
    w = Writer(version)
    kind = w.tensor([], F32)
    one = w.operation('vhlo.constant_v1', results=[kind], attrs={'value': w.elements([], F32, floats(1.0))})
    inner = w.function('inner', [], [], 0, [w.operation('vhlo.return_v1')])
    return w.file(w.function('main', [], [kind], 9000, [one] * 9000 + [inner, w.operation('vhlo.return_v1', [8999])]))


def loop(version=NEWEST):
    """Returns a program with a loop to 3. Its regions are no sections of their own, as they use a
    value from outside.
    """
    w = Writer(version)
    kind, yes = w.tensor([], I32), w.tensor([], BOOL)
    check = {'call_target_name': w.text('check.expect_eq'), 'has_side_effect': w.boolean(1),
             'backend_config': w.text(''), 'api_version': w.attr(5, varint(1)), 'called_computations': w.array(),
             'operand_layouts': w.array(), 'result_layouts': w.array(), 'output_operand_aliases': w.array(),
             'result_tilings': w.array()}
    compare = {'comparison_direction': w.attr(3, varint(5)), 'compare_type': w.attr(4, varint(3))}

    def number(value):
        return w.operation('vhlo.constant_v1', results=[kind],
                           attrs={'value': w.elements([], I32, value.to_bytes(4, 'little'))})
    condition = w.region(2, [kind], [w.operation('vhlo.compare_v1', [4, 1], [yes], compare),
                                     w.operation('vhlo.return_v1', [5])])
    body = w.region(2, [kind], [w.operation('vhlo.add_v1', [4, 2], [kind]), w.operation('vhlo.return_v1', [5])])
    return w.file(w.function('main', [], [], 4, [
        number(0), number(3), number(1), w.operation('vhlo.while_v1', [0], [kind], regions=[condition, body]),
        w.operation('vhlo.custom_call_v2', [3, 1], attrs=check), w.operation('vhlo.return_v1')]))


def types(version=NEWEST):
    """Returns a program whose function takes every type of VHLO, and the text of each type."""
    w = Writer(version)
    texts = {0: 'i1', 2: 'bf16', 3: 'f16', 4: 'f32', 5: 'f64', 6: 'f8E4M3FN', 7: 'f8E5M2', 9: 'i64', 10: 'i4', 11: 'i8',
             12: 'i16', 13: 'i32', 14: 'i64', 15: 'ui4', 16: 'ui8', 17: 'ui16', 18: 'ui32', 19: 'ui64', 27: 'f8E4M3FNUZ',
             28: 'f8E5M2FNUZ', 29: 'f8E4M3B11FNUZ', 31: 'i2', 32: 'ui2', 35: 'f8E4M3', 36: 'f8E3M4', 37: 'f4E2M1FN',
             38: 'f6E2M3FN', 39: 'f6E3M2FN', 40: 'f8E8M0FNU'}
    kinds = [(w.tensor([2, -(1 << 63)], code), f'tensor<2x?x{text}>') for code, text in texts.items()]
    for part, text in ((4, 'f32'), (5, 'f64')):
        kinds.append((w.tensor([], w.type(1, w.type(part))), f'tensor<complex<{text}>>'))
    scale = scale_of(0.25)
    quantised = w.type(24, varint(1), w.type(I8), w.type(F32), scale, signed(-3), signed(-127), signed(127))
    kinds.append((w.tensor([4], quantised), 'tensor<4x!quant.uniform<i8<-127:127>:f32, 0.25:-3>>'))
    quantised = w.type(30, varint(0), w.type(16), w.type(F32), varint(0), signed(0), signed(255), listed([scale, scale]),
                       listed([signed(0), signed(9)]))
    kinds.append((w.tensor([2], quantised), 'tensor<2x!quant.uniform<u8:f32:0, {0.25, 0.25:9}>>'))
    # MLIR writes unsigned storage as a signed type and a flag of 0.
    quantised = w.type(24, varint(0), w.type(I8), w.type(F32), scale, signed(3), signed(0), signed(255))
    kinds.append((w.tensor([4], quantised), 'tensor<4x!quant.uniform<u8:f32, 0.25:3>>'))
    bounds = w.attr(18, listed([signed(5), signed(-(1 << 63))]))
    kinds.append((w.type(21, bounds, listed([signed(-(1 << 63)), signed(3)]), w.type(F32)),
                  'tensor<?x3xf32, #stablehlo.bounds<5, ?>>'))
    kinds += [(w.type(TOKEN), '!stablehlo.token'), (w.type(25, w.type(F32)), 'tensor<*xf32>'),
              (w.type(23, listed([w.tensor([], F32), w.type(TOKEN)])), 'tuple<tensor<f32>, !stablehlo.token>'),
              (w.type(42, listed([w.tensor([], F32)])), '!stablehlo.future<tensor<f32>>'), (w.type(33), 'none'),
              (w.type(34), 'tf32'), (w.type(26), '!shape.witness'),
              (w.type(41, listed([signed(4)]), w.type(F32)), 'memref<4xf32>')]
    body = w.operation('vhlo.return_v1')
    return w.file(w.function('types', [kind for kind, _ in kinds], [], len(kinds), [body])), [text for _, text in kinds]


def attributes(version=NEWEST):
    """Returns a program with attributes that the programs of StableHLO's tests lack."""
    w = Writer(version)
    kind = w.tensor([2], F32)
    axes = w.array(w.attr(22, w.text('x'), varint(1), w.attr(21, signed(2), signed(4))), w.attr(22, w.text('y'), varint(0)))
    mesh = w.attr(25, w.array(w.attr(24, w.text('x'), signed(8)), w.attr(24, w.text('y'), signed(2))), varint(0))
    groups = [w.attr(23, w.text('mesh'), axes), w.attr(23, mesh, axes)]
    shared = {'channel_id': w.number(0), 'use_global_device_ids': w.boolean(1)}
    scalar = w.tensor([], F32)
    # Values 0 to 6 are those of the function; values of regions follow.
    add = w.region(3, [scalar, scalar], [w.operation('vhlo.add_v1', [7, 8], [scalar]), w.operation('vhlo.return_v1', [9])])
    accuracy = w.attr(20, signed(0), scale_of(1.5), signed(2), w.attr(19, varint(2)))
    precise = w.array(w.attr(11, varint(2)), w.attr(11, varint(0)))
    w.blobs.append(('weights', floats(1.0, 2.0)))
    blob = w.attr(BUILTIN_RESOURCE, w.type(13, listed([signed(2)]), w.type(5, dialect='builtin'), dialect='builtin'), varint(0),
                  dialect='builtin')
    return w.file(w.function('main', [kind], [], 7, [
        w.operation('vhlo.all_reduce_v2', [0], [kind], {**shared, 'replica_groups': groups[0]}, [add]),
        w.operation('vhlo.all_reduce_v2', [1], [kind], {**shared, 'replica_groups': groups[1]}, [add]),
        w.operation('vhlo.exponential_v2', [0], [kind], {'result_accuracy': accuracy}),
        w.operation('vhlo.constant_v1', results=[kind], attrs={'value': blob}),
        w.operation('vhlo.dot_v1', [0, 0], [w.tensor([], F32)], {'precision_config': precise}),
        w.operation('vhlo.reduce_precision_v1', [0], [kind],
                    {'exponent_bits': w.number(5, I32), 'mantissa_bits': w.number(10, I32)}),
        w.operation('vhlo.return_v1')]))


def shardy(version=NEWEST, axes=(), code=SHARDING):
    """Returns a program with a sharding constraint and x + x in a manual computation: operations of
    Shardy beside those of VHLO, as JAX sends them. @axes are the mesh axes of the constraint, @code
    is the number of its attribute.
    """
    w = Writer(version)
    kind = w.tensor([2], F32)
    text = lambda name: w.attr(BUILTIN_STRING, w.string(name), dialect='builtin')
    part = lambda number, *parts: w.attr(number, *parts, dialect='sdy')
    mesh = w.attr(BUILTIN_SYMBOL, text('mesh'), dialect='builtin')
    grid = part(MESH, listed([part(MESH_AXIS, w.string('x'), signed(1)), part(MESH_AXIS, w.string('y"'), signed(4))]),
                listed([signed(number) for number in (3, 2, 1, 0)]))
    cut = part(DIMENSION, listed([part(AXIS, w.string(axis), varint(0)) for axis in axes]), b'\1', varint(5))
    half = part(AXIS, w.string('y"'), varint(int.from_bytes(part(SUB_AXIS, signed(1), signed(2)), 'little') >> 1 << 1 | 1))
    sharding = part(code, mesh, listed([cut]), listed([half]))
    whole = part(SHARDING, mesh, listed([part(DIMENSION, listed([]), b'\0', varint(0))]), listed([]))
    manual = {'in_shardings': part(SHARDINGS, listed([whole])), 'manual_axes': part(MANUAL_AXES, listed([text('x')])),
              'out_shardings': part(SHARDINGS, listed([whole]))}
    check = {'call_target_name': w.text('check.expect_eq'), 'has_side_effect': w.boolean(1),
             'backend_config': w.text(''), 'api_version': w.attr(5, varint(1)), 'called_computations': w.array(),
             'operand_layouts': w.array(), 'result_layouts': w.array(), 'output_operand_aliases': w.array()}
    # Values of the function come first: 0 to 5.
    body = w.region(2, [kind], [w.operation('vhlo.add_v1', [6, 6], [kind]), w.operation('sdy.return', [7])])
    return w.file(w.operation('sdy.mesh', attrs={'mesh': grid, 'sym_name': text('mesh')}), w.function('main', [], [], 6, [
        w.operation('vhlo.constant_v1', results=[kind], attrs={'value': w.elements([2], F32, floats(0.5, 1.5))}),
        w.operation('builtin.unrealized_conversion_cast', [0], [kind]),
        w.operation('sdy.sharding_constraint', [1], [kind], {'sharding': sharding}),
        w.operation('sdy.manual_computation', [2], [kind], manual, [body]),
        w.operation('vhlo.constant_v1', results=[kind], attrs={'value': w.elements([2], F32, floats(1.0, 3.0))}),
        w.operation('vhlo.custom_call_v1', [3, 4], attrs=check),
        w.operation('vhlo.return_v1')]))


def samples():
    """Returns files by name, for the fuzz target."""
    result = {}
    for version in range(NEWEST + 1):
        result[f'compute-{version}'] = compute(version, at=(12, 5))
        result[f'loop-{version}'] = loop(version)
        result[f'shardy-{version}'] = shardy(version)
    result['types'] = types()[0]
    result['attributes'] = attributes()
    return result


if __name__ == '__main__':
    with open(sys.argv[2], 'wb') as output:
        output.write(samples()[sys.argv[1]])
