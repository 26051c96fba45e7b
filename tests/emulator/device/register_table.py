#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a C initialiser for every register of BAR0 and of the management core: register_table.py
REGISTERS.XML OUTPUT

An initialiser is { name, offset, access, reset, mask }, where mask has the bits of the register's
named fields, or all bits. test_registers.c includes the output.
"""

import os
import sys


def rows(domain):
    for item in domain.items:
        single = not hasattr(item, 'registers')
        for index in range(1 if single else item.length):
            for reg in [item] if single else item.registers:
                base = 0 if single else item.offset + index * item.stride
                name = reg.name if single else f'{item.name}[{index}].{reg.name}'
                mask = 0
                for field in reg.fields:
                    mask |= field.mask
                yield (f'\t{{ "{name}", {base + reg.offset:#x}, ACCESS_{reg.access.upper()}, '
                       f'{reg.reset:#x}u, {mask if reg.fields else 0xffffffff:#x}u }},\n')


def main():
    source, output = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(source)))
    from generator.isa_model import Isa
    from generator.machines_model import Machines
    from generator.regs_model import Registers
    registers = Registers(source)
    # The reset values of the default machine.
    folder = os.path.dirname(os.path.abspath(source))
    Machines(os.path.join(folder, 'machines.xml'), registers, Isa(os.path.join(folder, 'isa.xml')))
    domains = {d.name: d for d in registers.domains}
    with open(output, 'w', encoding='utf-8') as file:
        for domain, table in (('ONPU', 'bar0_table'), ('ONPU_CORE', 'core_table')):
            file.write(f'static const struct reg {table}[] = {{\n')
            file.writelines(rows(domains[domain]))
            file.write('};\n')


if __name__ == '__main__':
    main()
