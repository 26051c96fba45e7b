#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the kernel-doc of uapi/drm/onpu_accel.h is complete and names nothing that does not
exist.
"""

import pathlib
import re
import unittest

import accel_header

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / 'uapi/drm/onpu_accel.h').read_text(encoding='utf-8')


class Documentation(unittest.TestCase):
    def test_complete(self):
        self.assertEqual(accel_header.problems(TEXT), [])

    def test_everything_is_read(self):
        """Tests that the parser finds as many declarations as a simpler count."""
        header = accel_header.Header(TEXT)
        entries = sum(len(item.entries) for item in header.items.values())
        lines = re.findall(r'^\t[\w ]+(?:\[\w+\]|)(?:;| = .*,)$', header.code, flags=re.M)
        self.assertEqual(entries, len(lines))
        for ioctl in ('DEV_QUERY', 'BO_CREATE', 'BO_INFO', 'BO_SYNC', 'CTX_CREATE',
                      'CTX_DESTROY', 'CTX_GET_STATE', 'SUBMIT', 'BO_WRAP'):
            self.assertIn(f'DRM_IOCTL_ONPU_{ioctl}', header.defines)

    def test_sections(self):
        header = accel_header.Header(TEXT)
        self.assertEqual(header.sections[0], 'Introduction')
        self.assertEqual(len(header.sections), len(set(header.sections)))

    def test_style(self):
        for number, line in enumerate(TEXT.expandtabs(8).splitlines(), 1):
            self.assertLessEqual(len(line), 100, f'line {number} is too long')
            self.assertEqual(line, line.rstrip(), f'line {number} ends in white space')
        self.assertTrue(TEXT.startswith('/* SPDX-License-Identifier: MIT */\n'))


class CheckerNotices(unittest.TestCase):
    """Tests that each kind of damage to the header's documentation is found."""

    def damaged(self, old, new, message):
        self.assertEqual(TEXT.count(old), 1, f'"{old}" must be in the header once')
        found = accel_header.problems(TEXT.replace(old, new))
        self.assertTrue(any(message in text for text in found), f'{message}: {found}')

    def test_member_without_doc(self):
        self.damaged('\t/** @ctx_id: in: Number of the context. */\n\t__u32 ctx_id;\n\n'
                     '\t/** @flags: in: Must be zero. */\n',
                     '', 'drm_onpu_submit.flags: no kernel-doc')

    def test_every_entry_without_doc(self):
        inline = list(re.finditer(r'\t/\*\*.*?\*/\n', TEXT, flags=re.S))
        self.assertGreater(len(inline), 80)
        for match in inline:
            found = accel_header.problems(TEXT[:match.start()] + TEXT[match.end():])
            self.assertTrue(any('no kernel-doc' in text for text in found), match[0])

    def test_every_title_missing(self):
        for name in accel_header.Header(TEXT).items:
            text = re.sub(rf'^ \* (struct|enum) {name} - .*\n', ' * Nothing.\n', TEXT, flags=re.M)
            self.assertNotEqual(text, TEXT)
            self.assertTrue(any(f'{name}: the title' in line
                                for line in accel_header.problems(text)), name)

    def test_doc_for_another_member(self):
        self.damaged('@max_jobs: Number', '@max_job: Number', 'kernel-doc is for @max_job')

    def test_doc_for_absent_member(self):
        self.damaged('\t__u32 crc;\n', '', '@crc is followed by no member')

    def test_absent_reference(self):
        self.damaged('&drm_onpu_obj_array.stride', '&drm_onpu_obj_array.step',
                     'drm_onpu_obj_array.step, which is not declared')
        self.damaged('Answer to %DRM_ONPU_DEV_QUERY_TIME.', 'Answer to %DRM_ONPU_DEV_QUERY_CLOCK.',
                     'DRM_ONPU_DEV_QUERY_CLOCK, which is not declared')

    def test_absent_member_at_sign(self):
        self.damaged('Bytes available at @pointer.', 'Bytes available at @address.',
                     '@address is no member')

    def test_macro_without_doc(self):
        self.damaged('.. c:macro:: DRM_ONPU_COMPLETION_BY_DRIVER\n', 'A bit.\n',
                     'DRM_ONPU_COMPLETION_BY_DRIVER: no kernel-doc')

    def test_forbidden_declarations(self):
        for line in ('__u32 *crc;', '__u32 crc : 3;', 'union { __u32 crc; };'):
            self.damaged('\t__u32 crc;\n', f'\t{line}\n', 'not understood')
        self.damaged('\t__u32 crc;\n', '\tlong crc;\n', 'type long is not allowed')


if __name__ == '__main__':
    unittest.main()
