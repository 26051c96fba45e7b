#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that tests/driver/syzkaller.txt describes the interface that uapi/drm/onpu_accel.h
declares.
"""

import pathlib
import re
import unittest

import accel_header

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = accel_header.Header((ROOT / 'uapi/drm/onpu_accel.h').read_text(encoding='utf-8'))
TEXT = (ROOT / 'tests/driver/syzkaller.txt').read_text(encoding='utf-8')
# ARRAYS has the types of the text that stand for drm_onpu_obj_array, with their elements;
# NOT_ARGUMENTS has structures that the text does not describe.
ARRAYS = {'drm_onpu_jobs': 'drm_onpu_job', 'drm_onpu_syncs': 'drm_onpu_sync'}
NOT_ARGUMENTS = {'drm_onpu_obj_array', 'drm_onpu_completion', 'drm_onpu_dev_info', 'drm_onpu_firmware_info',
                 'drm_onpu_time_info', 'drm_onpu_counters', 'drm_onpu_caps'}
BYTES = {'__u16': 2, '__u32': 4, '__u64': 8, 'struct drm_onpu_obj_array': 16, 'struct drm_onpu_fault': 64}
RESOURCES = {'onpu_bo': 4, 'onpu_ctx': 4, 'onpu_va': 8, 'drm_syncobj_handle': 4}


def described():
    """Yields the name of each structure in the text, and its members with their types."""
    for match in re.finditer(r'^(\w+) \{\n(.*?)^\}$', TEXT, flags=re.M | re.S):
        members = [line.split('\t')[1:3] for line in match[2].splitlines()]
        yield match[1], members


def size(ctype):
    """Returns the size in bytes of a type of the text."""
    if ctype in ARRAYS:
        return 16
    if ctype in RESOURCES:
        return RESOURCES[ctype]
    if ctype.startswith(('ptr64', 'vma64')):
        return 8
    if ctype == 'drm_onpu_fault':
        return 64
    return int(re.search(r'\bint(\d+)', ctype)[1]) // 8


class Syzkaller(unittest.TestCase):
    def test_structures(self):
        structures = dict(described())
        wanted = {name for name, item in HEADER.items.items() if item.kind == 'struct'} - NOT_ARGUMENTS
        self.assertEqual(set(structures) - set(ARRAYS), wanted)
        for name in wanted:
            self.assertEqual([[e.name, BYTES[e.ctype]] for e in HEADER.items[name].entries],
                             [[member, size(ctype)] for member, ctype in structures[name]], name)

    def test_arrays(self):
        structures = dict(described())
        for name, element in ARRAYS.items():
            stride = sum(BYTES[entry.ctype] for entry in HEADER.items[element].entries)
            self.assertEqual(structures[name][0], ['stride', f'const[{stride}, int32]'])
            self.assertIn(f'array[{element}, ', structures[name][2][1])

    def test_flags(self):
        for name, values in re.findall(r'^(drm_onpu_\w+) = (.*)$', TEXT, flags=re.M):
            self.assertEqual(values.split(', '), [entry.name for entry in HEADER.items[name].entries])
        for name in re.findall(r'flags\[(drm_onpu_\w+),', TEXT):
            self.assertRegex(TEXT, rf'(?m)^{name} = ')

    def test_ioctls(self):
        ids = [entry.name.replace('DRM_ONPU_', '', 1) for entry in HEADER.items['drm_onpu_ioctl_id'].entries]
        calls = re.findall(r'^ioctl\$ONPU_(\w+)\(fd fd_onpu, cmd const\[DRM_IOCTL_ONPU_(\w+)\], '
                           r'arg ptr\[inout, drm_onpu_(\w+)\]\)$', TEXT, flags=re.M)
        self.assertEqual(calls, [(name, name, name.lower()) for name in ids])


if __name__ == '__main__':
    unittest.main()
