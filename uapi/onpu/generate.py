#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generates C headers and reference pages from isa.xml, registers.xml, machines.xml and silicon.xml.

  generate.py --out DIR     DIR/onpu/{isa.h,isa.c,slots.h,registers.h,machines.h,machines.c,silicon.h}
  generate.py --rst DIR     DIR/{instructions,slots,registers,machines,silicon}.rst
  generate.py --check       reads and checks the specification only
"""

import argparse
import os
import sys

from generator import isa_c, machines_c, regs_c, rst, silicon
from generator.common import SpecError
from generator.isa_model import Isa
from generator.machines_model import Machines
from generator.regs_model import Registers


class Output:
    """Writes the files of one directory; does not touch a file whose text is unchanged."""

    def __init__(self, directory):
        self.directory = directory
        os.makedirs(directory, exist_ok=True)

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        try:
            with open(path, encoding='utf-8') as file:
                if file.read() == text:
                    return
        except FileNotFoundError:
            pass
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)


def parse_arguments(arguments):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--isa', default=os.path.join(here, 'isa.xml'))
    parser.add_argument('--registers', default=os.path.join(here, 'registers.xml'))
    parser.add_argument('--machines', default=os.path.join(here, 'machines.xml'))
    parser.add_argument('--silicon', default=os.path.join(here, 'silicon.xml'))
    parser.add_argument('--out', metavar='DIR', help='write C into DIR/onpu')
    parser.add_argument('--rst', metavar='DIR', help='write reference pages into DIR')
    parser.add_argument('--check', action='store_true', help='only read and check')
    options = parser.parse_args(arguments)
    if not (options.out or options.rst or options.check):
        parser.error('nothing to do: give --out DIR, --rst DIR or --check')
    return options


def main(arguments):
    options = parse_arguments(arguments)
    try:
        isa = Isa(options.isa)
        registers = Registers(options.registers)
        machines = Machines(options.machines, registers, isa)
        parts = silicon.Silicon(options.silicon, machines, isa)
        if options.out:
            out = Output(os.path.join(options.out, 'onpu'))
            isa_c.write_sources(isa, out)
            regs_c.write_headers(registers, out)
            machines_c.write_sources(machines, registers, isa, out)
            out.write('silicon.h', silicon.silicon_header(parts))
        if options.rst:
            pages = Output(options.rst)
            rst.write_pages(isa, registers, machines, pages)
            pages.write('silicon.rst', silicon.silicon_page(parts))
    except SpecError as error:
        print(f'generate.py: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
