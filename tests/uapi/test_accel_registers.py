#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the structures and enums of uapi/drm/onpu_accel.h that mirror the device have the
names, offsets and numbers of uapi/onpu/registers.xml, and leave nothing out.

The offsets are those of test_accel_layout.c, which the compiler compares with the header.
"""

import pathlib
import re
import sys
import unittest

import accel_header

HERE = pathlib.Path(__file__).resolve().parent
UAPI = HERE.parents[1] / 'uapi'
sys.path.insert(0, str(UAPI / 'onpu'))

from generator import regs_c, regs_model  # noqa: E402 (the path comes first)

REGISTERS = regs_model.Registers(UAPI / 'onpu/registers.xml')
HEADER = accel_header.Header((UAPI / 'drm/onpu_accel.h').read_text(encoding='utf-8'))
LAYOUT = (HERE / 'test_accel_layout.c').read_text(encoding='utf-8')
# Enums of the header, those of the device, the beginnings of their values, and values that only
# tables of the compiler need.
ENUMS = (
    ('drm_onpu_fault_code', 'onpu_fault', 'DRM_ONPU_FAULT_', 'ONPU_FAULT_', ()),
    ('drm_onpu_engine', 'onpu_engine', 'DRM_ONPU_ENGINE_', 'ONPU_ENG_', ('DMA', 'ANY')),
    ('drm_onpu_operand', 'onpu_operand', 'DRM_ONPU_OPERAND_', 'ONPU_OPERAND_', ()),
)


def frozen_members(struct):
    """Returns [(name, offset, size)] of a structure of the header."""
    found = re.findall(rf'^MEMBER\({struct}, (\w+), (\d+), (\d+)\);$', LAYOUT, flags=re.M)
    return [(name, int(offset), int(size)) for name, offset, size in found]


def frozen_values(enum, prefix):
    """Returns {name without prefix: number} of an enum of the header."""
    numbers = dict(re.findall(r'^VALUE\((\w+), (\d+)\);$', LAYOUT, flags=re.M))
    return {entry.name.removeprefix(prefix): int(numbers[entry.name])
            for entry in HEADER.items[enum].entries}


def domain(name):
    return next(item for item in REGISTERS.domains if item.name == name)


def capabilities():
    """Returns [(name, offset, size)] of the capability registers, from the first one on."""
    registers = [item for item in domain('ONPU').items
                 if isinstance(item, regs_model.Register) and item.name.startswith('CAP_')]
    return [(item.name.removeprefix('CAP_').lower(), item.offset - registers[0].offset, 4)
            for item in registers]


def fault_members():
    """Returns [(name, offset, size)] of the fault record as the device writes it."""
    record = domain('ONPU_FAULT_RECORD')
    arrays = [item for item in record.items if isinstance(item, regs_model.Array)]
    members = [regs_c.array_member(array, record.struct)[0] for array in arrays]
    members += regs_c.register_members([item for item in record.items if item not in arrays])
    return sorted(((re.search(r'(\w+)(?:\[\d+\])?$', member.declaration)[1], member.offset,
                    member.size) for member in members), key=lambda member: member[1])


class SameAsTheDevice(unittest.TestCase):
    def test_capabilities(self):
        members = frozen_members('drm_onpu_caps')
        if members[-1][0] == 'pad':
            members.pop()
        self.assertEqual(members, capabilities())

    def test_fault_record(self):
        self.assertEqual(frozen_members('drm_onpu_fault'), fault_members())
        self.assertIn(f'SIZE(drm_onpu_fault, {domain("ONPU_FAULT_RECORD").size});', LAYOUT)

    def test_enums(self):
        for ours, theirs, prefix, their_prefix, tables in ENUMS:
            wanted = {value.name.removeprefix(their_prefix): value.value
                      for value in REGISTERS.enum(theirs).values}
            for name in ('COUNT', *tables):
                del wanted[name]
            self.assertEqual(frozen_values(ours, prefix), wanted, ours)


if __name__ == '__main__':
    unittest.main()
