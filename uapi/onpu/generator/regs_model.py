# SPDX-License-Identifier: MIT
"""Reads registers.xml into plain objects and checks that it is consistent."""

import xml.etree.ElementTree as ElementTree

from .common import SpecError, bit_range, doc_of, local, number


class Value:
    def __init__(self, element, where):
        self.name = element.get('name')
        self.text = element.get('value')
        self.value = number(self.text, f'{where} value {self.name}')
        self.doc = doc_of(element)


class Enum:
    def __init__(self, element):
        self.name = element.get('name')
        self.header = element.get('header', 'registers')
        self.constants = element.get('constants') == 'yes'
        self.doc = doc_of(element)
        self.values = [Value(e, self.name) for e in element if local(e.tag) == 'value']
        seen = {}
        for value in self.values:
            if value.value in seen and not self.constants:
                raise SpecError(f'enum {self.name}: {value.name} and {seen[value.value]} '
                                f'are both {value.value}')
            seen[value.value] = value.name


class Field:
    def __init__(self, element, where):
        self.name = element.get('name')
        self.where = f'{where} field {self.name}'
        self.low, self.high = bit_range(element, self.where)
        self.type = element.get('type', 'boolean' if self.low == self.high else 'uint')
        self.member = element.get('member', self.name.lower())
        self.doc = doc_of(element)
        if self.high > 31:
            raise SpecError(f'{self.where}: bit {self.high} is outside the 32-bit word')

    @property
    def mask(self):
        return ((1 << (self.high - self.low + 1)) - 1) << self.low


class Register:
    """One 32-bit word of a domain, or of an element of an array."""

    def __init__(self, element, where):
        self.name = element.get('name')
        self.where = f'{where} register {self.name}'
        self.offset = number(element.get('offset'), self.where)
        self.type = element.get('type', 'uint')
        self.access = element.get('access', 'rw')
        self.reset = number(element.get('reset', '0'), self.where)
        self.member = element.get('member')
        self.doc = doc_of(element)
        self.fields = [Field(e, self.where) for e in element if local(e.tag) == 'bitfield']
        self.check()

    def check(self):
        if self.offset % 4:
            raise SpecError(f'{self.where}: offset {self.offset:#x} is not a multiple of 4')
        if self.access not in ('rw', 'ro', 'wo', 'w1c'):
            raise SpecError(f'{self.where}: access {self.access!r} is none of rw, ro, wo, w1c')
        owner = {}
        names = set()
        for field in self.fields:
            if field.name in names:
                raise SpecError(f'{field.where}: the name is used twice')
            names.add(field.name)
            for bit in range(field.low, field.high + 1):
                if bit in owner:
                    raise SpecError(f'{field.where}: bit {bit} belongs to {owner[bit]} already')
                owner[bit] = field.name


class Array:
    def __init__(self, element, where):
        self.name = element.get('name')
        self.where = f'{where} array {self.name}'
        self.offset = number(element.get('offset'), self.where)
        self.stride = number(element.get('stride'), self.where)
        self.length = number(element.get('length'), self.where)
        self.member = element.get('member', self.name.lower())
        self.doc = doc_of(element)
        self.registers = [Register(e, self.where) for e in element if local(e.tag) == 'reg32']
        if not self.registers:
            raise SpecError(f'{self.where}: it holds no register')
        for reg in self.registers:
            if reg.offset + 4 > self.stride:
                raise SpecError(f'{reg.where}: offset {reg.offset:#x} is beyond the stride '
                                f'{self.stride}')


class Domain:
    def __init__(self, element):
        self.name = element.get('name')
        self.header = element.get('header', 'registers')
        self.struct = element.get('struct')
        self.doc = doc_of(element)
        self.items = []
        for child in element:
            tag = local(child.tag)
            if tag == 'reg32':
                self.items.append(Register(child, self.name))
            elif tag == 'array':
                self.items.append(Array(child, self.name))
            elif tag != 'doc':
                raise SpecError(f'domain {self.name}: unknown element <{tag}>')
        size = element.get('size')
        self.size = number(size, self.name) if size else None
        if self.struct and self.size is None:
            raise SpecError(f'domain {self.name}: a structure needs a size')
        self.check()

    def words(self):
        """Yields (offset, name) of every 32-bit word."""
        for item in self.items:
            if isinstance(item, Register):
                yield item.offset, item.name
                continue
            for index in range(item.length):
                for reg in item.registers:
                    yield (item.offset + index * item.stride + reg.offset,
                           f'{item.name}[{index}].{reg.name}')

    def check(self):
        names = set()
        for item in self.items:
            if item.name in names:
                raise SpecError(f'{item.where}: the name is used twice')
            names.add(item.name)
        owner = {}
        for offset, name in self.words():
            if offset in owner:
                raise SpecError(f'domain {self.name}: {name} and {owner[offset]} are both at '
                                f'{offset:#x}')
            owner[offset] = name
            if self.size is not None and offset + 4 > self.size:
                raise SpecError(f'domain {self.name}: {name} at {offset:#x} is beyond the size '
                                f'{self.size:#x}')


class Registers:
    def __init__(self, path):
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            raise SpecError(f'{path}: {error}') from None
        self.enums = [Enum(e) for e in root if local(e.tag) == 'enum']
        self.domains = [Domain(e) for e in root if local(e.tag) == 'domain']
        self.check()

    def check(self):
        seen = {}
        for thing in self.enums + self.domains:
            if thing.name in seen:
                raise SpecError(f'{thing.name} is defined twice')
            seen[thing.name] = thing
        constants = {}
        for enum in self.enums:
            for value in enum.values:
                if value.name in constants:
                    raise SpecError(f'{value.name} is in enum {enum.name} and in enum '
                                    f'{constants[value.name]}')
                constants[value.name] = enum.name

    def enum(self, name):
        for enum in self.enums:
            if enum.name == name:
                return enum
        raise SpecError(f'registers.xml has no enum {name}')
