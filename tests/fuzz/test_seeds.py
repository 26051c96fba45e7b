#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that every fuzz target has seeds, which are the same each time, and that every folder of
regressions belongs to a target.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import make_corpus

HERE = os.path.dirname(os.path.abspath(__file__))


def targets():
    """Returns the names of the targets, from the files fuzz_NAME.c."""
    found = (re.fullmatch(r'fuzz_(\w+)\.c', name) for name in os.listdir(HERE))
    return {match[1].replace('_', '-') for match in found if match}


def content(folder):
    """Returns the bytes of each file by its path."""
    result = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), 'rb') as file:
                result[os.path.relpath(os.path.join(path, name), folder)] = file.read()
    return result


class Seeds(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, os.path.join(HERE, 'make_corpus.py'), *arguments],
                              text=True, capture_output=True, check=False)

    def make(self, *names):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_script(folder, *names)
            self.assertEqual(done.returncode, 0, done.stderr)
            return content(folder)

    def test_every_target_has_seeds(self):
        self.assertEqual({name.split('/')[0] for name in self.make()}, targets())

    def test_no_seed_is_empty(self):
        self.assertEqual([name for name, data in self.make().items() if not data], [])

    def test_same_each_time(self):
        self.assertEqual(self.make(), self.make())

    def test_one_target(self):
        whole = self.make()
        self.assertEqual(self.make('stream'),
                         {name: data for name, data in whole.items() if name.startswith('stream/')})

    def test_unknown_target(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_script(folder, 'nonsense')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('no seeds are known for nonsense', done.stderr)

    def test_script_that_makes_nothing(self):
        seeds = make_corpus.TARGETS['asm']
        self.addCleanup(make_corpus.TARGETS.__setitem__, 'asm', seeds)
        make_corpus.TARGETS['asm'] = lambda isa, rng: iter(())
        with self.assertRaisesRegex(SystemExit, 'no seeds for asm'):
            make_corpus.make(None, 'asm')

    def test_regressions_belong_to_targets(self):
        kept = os.path.join(HERE, 'regressions')
        folders = {name for name in os.listdir(kept) if os.path.isdir(os.path.join(kept, name))}
        self.assertLessEqual(folders, targets())


if __name__ == '__main__':
    unittest.main()
