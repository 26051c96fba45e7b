#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the build configures without the programs that its optional parts need, and says which
parts it leaves out.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# (option, name of the part in the summary, program without which the part is left out)
PARTS = (("firmware", "firmware", "riscv64-unknown-elf-gcc"), ("onnx", "libwebnn-onnx", "protoc-c"),
         ("node", "Node binding", "node"))


class Configure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def hide(self, *programs):
        """Returns a folder with every program of PATH but these."""
        bin_folder = os.path.join(self.folder, "bin")
        os.mkdir(bin_folder)
        for folder in os.environ["PATH"].split(":"):
            for name in os.listdir(folder) if os.path.isdir(folder) else ():
                link = os.path.join(bin_folder, name)
                if name not in programs and not os.path.lexists(link):
                    os.symlink(os.path.join(folder, name), link)
        return bin_folder

    def configure(self, path, *options):
        """Returns (exit status, output of meson)."""
        done = subprocess.run(["meson", "setup", "--werror", *options, os.path.join(self.folder, "build"), TOP],
                              env=dict(os.environ, PATH=path), text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def assert_parts(self, out, expected):
        for _, part, _ in PARTS:
            self.assertRegex(out, rf"\n +{re.escape(part)} *: {expected}\n")

    def test_big_endian(self):
        cross = os.path.join(self.folder, "cross.ini")
        with open(cross, "w", encoding="utf-8") as file:
            file.write("[binaries]\nc = 'cc'\n[host_machine]\nsystem = 'linux'\ncpu_family = 's390x'\n"
                       "cpu = 's390x'\nendian = 'big'\n")
        status, out = self.configure(os.environ["PATH"], "--cross-file", cross)
        self.assertNotEqual(status, 0)
        self.assertIn("Open NPU needs a little-endian machine: s390x is big-endian", out)

    def test_nothing_missing(self):
        status, out = self.configure(os.environ["PATH"])
        self.assertEqual(status, 0, out)
        self.assert_parts(out, "YES")

    def test_missing(self):
        status, out = self.configure(self.hide(*(program for _, _, program in PARTS)))
        self.assertEqual(status, 0, out)
        self.assert_parts(out, "NO")

    def test_disabled(self):
        status, out = self.configure(os.environ["PATH"], *(f"-D{option}=disabled" for option, _, _ in PARTS))
        self.assertEqual(status, 0, out)
        self.assert_parts(out, "NO")

    def test_enabled_and_missing(self):
        path = self.hide(*(program for _, _, program in PARTS))
        for option, _, program in PARTS:
            with self.subTest(option):
                status, out = self.configure(path, f"-D{option}=enabled")
                self.assertNotEqual(status, 0)
                self.assertRegex(out, rf"ERROR: .*\b{program}\b.* not found")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
