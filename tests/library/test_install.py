#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program finds the library with pkg-config: test_install.py BUILD_FOLDER CC.

Once the installed one, once that of the build folder, as the guide says.
"""
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "Documentation" / "examples" / "first.c"
BUILD = None
CC = None


def run(command, **variables):
    return subprocess.run([str(c) for c in command], text=True, check=True,
                          env={**os.environ, **variables}, stdout=subprocess.PIPE).stdout


class Install(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build_and_run(self, libraries, **variables):
        program = pathlib.Path(self.folder.name) / "first"
        flags = run(["pkg-config", "--cflags", "--libs", "webnn-npu"], **variables)
        run([*CC, "-Wall", "-Werror", PROGRAM, "-o", program, *shlex.split(flags),
             *(f"-Wl,-rpath-link,{path}" for path in libraries)])
        output = run([program], LD_LIBRARY_PATH=":".join(map(str, libraries)), WEBNN_DEVICE="cpu")
        self.assertEqual(output, "15 0\n")

    def test_installed(self):
        root = pathlib.Path(self.folder.name) / "root"
        run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", root])
        config = list(root.rglob("webnn-npu.pc"))
        self.assertEqual(len(config), 1)
        headers = sorted(path.name for path in root.rglob("include/webnn/*"))
        self.assertEqual(headers, ["onnx.h", "webnn.h", "webnn.hpp", "webnn_compat.h", "webnn_npu.h"])
        self.build_and_run([config[0].parents[1]], PKG_CONFIG_SYSROOT_DIR=str(root),
                           PKG_CONFIG_LIBDIR=str(config[0].parent))

    def test_in_the_build_folder(self):
        self.build_and_run([BUILD / "userspace", BUILD / "emulator"],
                           PKG_CONFIG_PATH=str(BUILD / "meson-uninstalled"))


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1])
    CC = shlex.split(sys.argv[2])
    unittest.main(argv=sys.argv[:1])
