#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the program onpu-isa through its command line: test_tool.py PROGRAM."""

import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))

GOOD = '''\
dma.copy d1, d2 !s1
?s1 mma.f32.acc.ts d4, d5, d6, p0 !s2
?s2 dma.copy.st d7, d4
end 0
'''


class ToolTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, content=None):
        path = os.path.join(self.folder.name, name)
        if content is not None:
            with open(path, 'wb') as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def tool(self, *arguments, stdin=b''):
        result = subprocess.run([PROGRAM, *arguments], input=stdin, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=False)
        return result.returncode, result.stdout, result.stderr.decode()

    def test_text_words_text(self):
        words = self.path('words')
        self.assertEqual(self.tool('asm', self.path('text', GOOD), '-o', words), (0, b'', ''))
        with open(words, 'rb') as file:
            data = file.read()
        self.assertEqual(struct.unpack('<4I', data[48:]), (0, 0, 0, 0x01000000))
        self.assertEqual(self.tool('dis', words), (0, GOOD.encode(), ''))
        listing = self.tool('dis', '-a', words)[1]
        again = self.tool('asm', '-', '-o', '-', stdin=listing)
        self.assertEqual(again, (0, data, ''))

    def test_errors_of_all_lines(self):
        source = self.path('bad', 'nop\nvad d1\n\nend\n')
        status, out, errors = self.tool('asm', source, '-o', self.path('none'))
        self.assertEqual((status, out), (1, b''))
        self.assertEqual(errors, f"{source}:2:1: at 'vad': no such instruction; is it vadd?\n"
                         f"{source}:4:4: at '': CODE must be a decimal number from 0 to 65535\n")
        self.assertFalse(os.path.exists(self.path('none')))

    def test_illegal_words(self):
        data = struct.pack('<8I', 0, 0, 0, 0xff000000, 1, 0, 0, 0)
        status, out, _ = self.tool('dis', self.path('words', data))
        self.assertEqual(status, 1)
        self.assertIn(b'.word 0x00000000 0x00000000 0x00000000 0xff000000 ; no such opcode', out)
        self.assertIn(b'; a reserved bit is set', out)
        self.assertEqual(self.tool('asm', '-', '-o', '-', stdin=out), (0, data, ''))

    def test_check(self):
        good = self.path('good', GOOD)
        self.assertEqual(self.tool('check', good), (0, b'', ''))
        self.tool('asm', good, '-o', self.path('words'))
        self.assertEqual(self.tool('check', self.path('words')), (0, b'', ''))
        bad = self.path('bad', '; comment\nvadd d0, d1, d2\n')
        status, _, errors = self.tool('check', bad)
        self.assertEqual(status, 1)
        self.assertIn(f'{bad}:2: error: vadd: DST is required', errors)
        self.assertIn(f'{bad}: error: the last instruction must be: end 0', errors)
        status, _, errors = self.tool('check', self.path('words', struct.pack('<4I', 0, 0, 0, 1)))
        self.assertEqual(status, 1)
        self.assertIn('instruction 0: error: nop: a reserved bit is set', errors)

    def test_check_slots(self):
        good = self.path('good', GOOD)
        program = struct.pack('<BB', 3, 1).ljust(128, b'\0')
        status, _, errors = self.tool('check', good, '-s', self.path('slots', program))
        self.assertEqual(status, 1)
        self.assertIn(f'{good}:1: error: dma.copy: DST is slot 1, but slots count from 0 and their number is 1', errors)
        status, _, errors = self.tool('check', good, '-s', self.path('slots', program + b'x'))
        self.assertEqual(status, 1)
        self.assertIn('129 bytes are no whole number of slots, which have 128 bytes each', errors)

    def test_usage(self):
        words = self.path('words', b'\0' * 17)
        for arguments, text in (
                ([], 'needs a command'),
                (['asm'], 'needs a command'),
                (['asm', 'a', 'b'], "too many arguments: 'b'"),
                (['link', words], "there is no command 'link'; there are asm, dis and check"),
                (['dis', words], '17 bytes are no whole number of instructions'),
                (['dis', self.path('missing')], 'No such file'),
                (['asm', self.path('good', GOOD)], 'asm needs an output file'),
                (['asm', self.path('good', GOOD), '-o', '/nowhere/x'], 'cannot write /nowhere/x'),
                (['check', self.path('good', GOOD), '-s', '/nowhere'], 'cannot read /nowhere')):
            status, out, errors = self.tool(*arguments)
            self.assertNotEqual(status, 0, arguments)
            self.assertEqual(out, b'')
            self.assertIn(text, errors)
        self.assertEqual(self.tool('--version')[0], 0)
        self.assertIn(b'asm FILE', self.tool('--help')[1])

    def test_full_device(self):
        status, _, errors = self.tool('asm', self.path('good', GOOD * 100), '-o', '/dev/full')
        self.assertEqual(status, 1)
        self.assertIn('cannot write /dev/full', errors)


if __name__ == '__main__':
    unittest.main()
