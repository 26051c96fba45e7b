# SPDX-License-Identifier: MIT
"""Reads machines.xml into plain objects, checks it against registers.xml, and gives the registers
their reset values."""

import re
import xml.etree.ElementTree as ElementTree

from .common import SpecError, doc_of, number


class Machine:
    def __init__(self, element):
        self.name = element.get('name') or ''
        self.id = element.get('id')
        self.where = f'machine {self.name}'
        self.default = element.get('default') == 'yes'
        self.doc = doc_of(element)
        if not re.fullmatch(r'[a-z0-9-]{1,31}', self.name):
            raise SpecError(f'{self.where}: a name is up to 31 of a-z, 0-9 and -')
        self.caps = {}
        for cap in element.findall('cap'):
            if cap.get('name') in self.caps:
                raise SpecError(f'{self.where}: it has {cap.get("name")} twice')
            self.caps[cap.get('name')] = {key: number(text, f'{self.where} {cap.get("name")}')
                                          for key, text in cap.attrib.items() if key != 'name'}
        self.factors = {}
        for factor in element.findall('factor'):
            name = factor.get('name')
            if name in self.factors:
                raise SpecError(f'{self.where}: it has the factor of {name} twice')
            self.factors[name] = number(factor.get('value'), f'{self.where}: factor of {name}')

    def resolve(self, name, register):
        """Replaces the attributes of a <cap>, a value or one for each bit field, by one number."""
        where, values = f'{self.where} {name}', self.caps[name]
        wanted = [f.name for f in register.fields] or ['value']
        if sorted(values) != sorted(wanted):
            raise SpecError(f'{where}: it has {", ".join(sorted(values)) or "no value"}, but '
                            f'CAP_{name} takes {", ".join(wanted)}')
        word = values.get('value', 0)
        for field in register.fields:
            if values[field.name] > field.mask >> field.low:
                raise SpecError(f'{where}: {values[field.name]} does not fit in {field.name}')
            word |= values[field.name] << field.low
        if not 0 <= word < 1 << 32:
            raise SpecError(f'{where}: {word} is no number of 32 bits')
        self.caps[name] = word


# The cost classes whose factors a machine may change.
FACTORS = ('mma', 'vector', 'reduce', 'scan')


class Machines:
    """The machines in the order of the file; `default` is one of them."""

    def __init__(self, path, registers, isa):
        try:
            root = ElementTree.parse(path).getroot()
        except ElementTree.ParseError as error:
            raise SpecError(f'{path}: {error}') from None
        self.all = [Machine(e) for e in root.findall('machine')]
        defaults = [machine for machine in self.all if machine.default]
        if len(defaults) != 1:
            raise SpecError(f'{path}: {len(defaults)} machines have default="yes", one must')
        self.default = defaults[0]
        self.caps = list(self.all[0].caps)
        if len({machine.name for machine in self.all}) != len(self.all):
            raise SpecError(f'{path}: two machines have the same name')
        self.check_ids(registers)
        by_name = {item.name: item for domain in registers.domains if domain.name == 'ONPU'
                   for item in domain.items}
        for machine in self.all:
            self.check_caps(machine, by_name)
            self.check_factors(machine, by_name['CAP_FEATURES'], isa)
        self.features = {field.name: field for field in by_name['CAP_FEATURES'].fields}
        for leaf in isa.leaves:
            if leaf.feature and leaf.feature not in self.features:
                raise SpecError(f'{leaf.where}: feature {leaf.feature} is none of CAP_FEATURES: '
                                f'{", ".join(sorted(self.features))}')
        by_name['CAP_MACHINE'].reset = self.ids[self.default.id]
        for name in self.caps:
            by_name[f'CAP_{name}'].reset = self.default.caps[name]
        # A save area has a header and the SRAM.
        header = next(value.value for enum in registers.enums for value in enum.values
                      if value.name == 'ONPU_SAVE_HEADER_SIZE')
        by_name['CAP_SAVE_BYTES'].reset = self.default.caps['SRAM_BYTES'] + header

    def feature(self, machine, name):
        """Returns the value that a field of CAP_FEATURES has on a machine."""
        field = self.features[name]
        return (machine.caps['FEATURES'] & field.mask) >> field.low

    def check_ids(self, registers):
        self.ids = {value.name: value.value for value in registers.enum('onpu_machine_id').values
                    if value.value}
        if sorted(self.ids) != sorted(str(machine.id) for machine in self.all):
            raise SpecError('machines.xml and enum onpu_machine_id differ: '
                            f'{[m.id for m in self.all]} and {list(self.ids)}')

    def check_factors(self, machine, register, isa):
        """Checks the factors of a machine, and that a machine that has any of its own says so."""
        field = next(f for f in register.fields if f.name == 'FACTORS')
        table = (machine.caps['FEATURES'] & field.mask) >> field.low
        if table not in (0, *self.ids.values()):
            raise SpecError(f'{machine.where}: FACTORS {table} names no machine; allowed are 0, '
                            f'{", ".join(map(str, self.ids.values()))}')
        if machine.factors and table != self.ids[machine.id]:
            raise SpecError(f'{machine.where}: it has factors, so FACTORS must be its own number, '
                            f'{self.ids[machine.id]}, and not {table}')
        leaves = {leaf.name: leaf for leaf in isa.leaves}
        for name, value in machine.factors.items():
            if name not in leaves or leaves[name].cost not in FACTORS:
                raise SpecError(f'{machine.where}: {name} is no instruction of a class with factors: '
                                f'{", ".join(FACTORS)}')
            if not 1 <= value <= 255:
                raise SpecError(f'{machine.where}: factor of {name}: {value} is not in 1..255')

    def check_caps(self, machine, registers):
        if list(machine.caps) != self.caps:
            raise SpecError(f'{machine.where}: it has {", ".join(machine.caps)}, but '
                            f'{self.all[0].name} has {", ".join(self.caps)}')
        for name in self.caps:
            register = registers.get(f'CAP_{name}')
            if not register:
                raise SpecError(f'{machine.where}: there is no register CAP_{name}')
            if register.reset:
                raise SpecError(f'register CAP_{name}: its value is that of a machine, so it has '
                                'no reset in registers.xml')
            machine.resolve(name, register)
