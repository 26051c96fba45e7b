#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The committed files are what generate.py makes of webnn.json; it notices when they are not."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

USERSPACE = pathlib.Path(__file__).resolve().parents[2] / "userspace"


def generate(folder, *options):
    return subprocess.run([sys.executable, "-B", folder / "generate.py", *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def copy_sources(folder):
    for name in ("generate.py", "webnn.json"):
        shutil.copy(USERSPACE / name, folder)
    for name in ("generator", "templates"):
        shutil.copytree(USERSPACE / name, folder / name)


class Generated(unittest.TestCase):
    def test_committed_files_are_current(self):
        done = generate(USERSPACE, "--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_writes_the_same_elsewhere(self):
        names = generate(USERSPACE, "--list").stdout.split()
        self.assertIn("include/webnn/webnn.h", names)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            copy_sources(folder)
            self.assertEqual(generate(folder).returncode, 0)
            for name in names:
                self.assertEqual((folder / name).read_bytes(), (USERSPACE / name).read_bytes(),
                                 name)

    def test_notices_a_change(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            copy_sources(folder)
            generate(folder)
            header = folder / "include/webnn/webnn.h"
            header.write_text(header.read_text() + "\n")
            done = generate(folder, "--check")
            self.assertEqual(done.returncode, 1)
            self.assertIn("include/webnn/webnn.h", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
