#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a firmware image of an ELF file: pack.py --registers registers.xml firmware.elf image.bin

The header is the domain ONPU_FW_HEADER of registers.xml; its values come from there and from the
segments of the ELF file. --version MAJOR.MINOR.PATCH is the firmware's own.
"""

import argparse
import os
import struct
import sys
import zlib

PT_LOAD = 1
EM_RISCV = 243


def die(text):
    sys.exit(f'pack.py: {text}')


class Elf:
    """Reads entry and loadable content of a 32-bit little-endian RISC-V executable."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            data = file.read()
        if data[:7] != b'\x7fELF\x01\x01\x01' or struct.unpack_from('<H', data, 18)[0] != EM_RISCV:
            die(f'{path}: no 32-bit little-endian RISC-V executable')
        self.entry, table = struct.unpack_from('<II', data, 24)
        size, count = struct.unpack_from('<HH', data, 42)
        parts = [struct.unpack_from('<8I', data, table + i * size) for i in range(count)]
        loads = [p for p in parts if p[0] == PT_LOAD and p[5]]
        if not loads:
            die(f'{path}: nothing to load')
        self.base = min(p[2] for p in loads)
        self.memory_size = max(p[2] + p[5] for p in loads) - self.base
        end = max(p[2] + p[4] for p in loads if p[4])
        image = bytearray((end - self.base + 3) // 4 * 4)
        for _, offset, address, _, file_size, _, _, _ in loads:
            at = address - self.base
            image[at:at + file_size] = data[offset:offset + file_size]
        self.image = bytes(image)
        self.memory_size = max((self.memory_size + 3) // 4 * 4, len(self.image))


def find(registers, domain, name):
    for item in next(d for d in registers.domains if d.name == domain).items:
        if item.name == name:
            return item
    die(f'registers.xml: no {domain}.{name}')


def constants(registers):
    return {v.name: v.value for enum in registers.enums for v in enum.values}


def header(registers, elf, version):
    """Returns the bytes of the header, which is the domain ONPU_FW_HEADER."""
    value = constants(registers)
    words = {
        'MAGIC': value['ONPU_FW_MAGIC'],
        'HEADER_SIZE': value['ONPU_FW_HEADER_SIZE'],
        'ABI': value['ONPU_ABI_MAJOR'] << 16 | value['ONPU_ABI_MINOR'],
        'VERSION': version,
        'IMAGE_SIZE': len(elf.image),
        'LOAD_ADDRESS': elf.base,
        'MEMORY_SIZE': elf.memory_size,
        'ENTRY': elf.entry,
        'CRC': zlib.crc32(elf.image),
        'HW_VERSION': find(registers, 'ONPU', 'VERSION').reset,
    }
    result = bytearray(value['ONPU_FW_HEADER_SIZE'])
    for name, word in words.items():
        struct.pack_into('<I', result, find(registers, 'ONPU_FW_HEADER', name).offset, word)
    return bytes(result)


def parse_version(registers, text):
    numbers = text.split('.')
    if len(numbers) != 3 or not all(n.isdigit() and int(n) < 256 for n in numbers):
        die(f'version {text}: not MAJOR.MINOR.PATCH with numbers below 256')
    fields = {f.name: f for f in find(registers, 'ONPU', 'FW_VERSION').fields}
    return sum(int(n) << fields[name].low
               for n, name in zip(numbers, ('MAJOR', 'MINOR', 'PATCH')))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--registers', required=True)
    parser.add_argument('--version', required=True)
    parser.add_argument('elf')
    parser.add_argument('image')
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../uapi/onpu'))
    from generator.regs_model import Registers
    registers = Registers(options.registers)
    elf = Elf(options.elf)
    with open(options.image, 'wb') as file:
        file.write(header(registers, elf, parse_version(registers, options.version)))
        file.write(elf.image)


if __name__ == '__main__':
    main()
