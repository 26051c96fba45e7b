#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a file's bytes as a C array: embed.py NAME INPUT OUTPUT"""

import sys


def main(name, source, target):
    with open(source, 'rb') as file:
        data = file.read()
    lines = [', '.join(f'0x{byte:02x}' for byte in data[at:at + 12])
             for at in range(0, len(data), 12)]
    with open(target, 'w', encoding='utf-8') as file:
        file.write(f'static const unsigned char {name}[] = {{\n\t')
        file.write(',\n\t'.join(lines) + '\n};\n')


if __name__ == '__main__':
    main(*sys.argv[1:])
