#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the committed files are those that generate.py makes from webnn.json, and that
generate.py notices when they differ.
"""
import json
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


def copy_sources(top):
    """Copies the sources of generate.py below the folder top; returns the folder with generate.py.
    """
    folder = top / "userspace"
    folder.mkdir()
    for name in ("generate.py", "webnn.json"):
        shutil.copy(USERSPACE / name, folder)
    for name in ("generator", "templates"):
        shutil.copytree(USERSPACE / name, folder / name)
    return folder


class Generated(unittest.TestCase):
    def test_committed_files_are_current(self):
        done = generate(USERSPACE, "--check")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_writes_the_same_elsewhere(self):
        names = generate(USERSPACE, "--list").stdout.split()
        self.assertIn("include/webnn/webnn.h", names)
        with tempfile.TemporaryDirectory() as name:
            folder = copy_sources(pathlib.Path(name))
            self.assertEqual(generate(folder).returncode, 0)
            for name in names:
                self.assertEqual((folder / name).read_bytes(), (USERSPACE / name).read_bytes(),
                                 name)

    def test_notices_a_change(self):
        with tempfile.TemporaryDirectory() as name:
            folder = copy_sources(pathlib.Path(name))
            generate(folder)
            header = folder / "include/webnn/webnn.h"
            header.write_text(header.read_text() + "\n")
            done = generate(folder, "--check")
            self.assertEqual(done.returncode, 1)
            self.assertIn("include/webnn/webnn.h", done.stdout)

    def test_symbols_have_the_version_that_had_them_first(self):
        with tempfile.TemporaryDirectory() as name:
            folder = copy_sources(pathlib.Path(name))
            api = json.loads((folder / "webnn.json").read_text())
            relu = next(o for o in api["operators"] if o["methods"][0]["name"] == "relu")
            relu["since"] = "0.3.0"
            build = next(f for f in api["functions"] if f["method"] == "build")
            build["since"] = "0.4.0"
            (folder / "webnn.json").write_text(json.dumps(api))
            self.assertEqual(generate(folder).returncode, 0)
            lines = (folder / "../debian/libwebnn-npu1.symbols").read_text().splitlines()
            self.assertIn(" wnnGraphBuilderRelu@WEBNN_1 0.3.0", lines)
            self.assertIn(" wnnGraphBuilderBuild@WEBNN_1 0.4.0", lines)
            self.assertIn(" wnnGraphBuilderBuildSync@WEBNN_1 0.4.0", lines)
            self.assertIn(" wnnGraphBuilderAdd@WEBNN_1 0.1.0", lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
