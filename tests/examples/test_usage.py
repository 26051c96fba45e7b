#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests what all examples have in common: help, devices, errors: test_usage.py PROGRAMS SAMPLES."""
import pathlib
import re
import shlex

from common import PROGRAMS, USAGE, ExampleTest, main

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "Documentation/examples"
# Arguments that a program takes; capital words stand for files that do not exist.
WORDS = {"camera": [], "classify": ["MODEL", "PICTURE"], "detect": ["MODEL", "PICTURE"],
         "inflight": [], "kmeans": ["POINTS", "2"], "matmul": ["A", "B"],
         "ocr": ["DETECTION", "RECOGNITION", "DICTIONARY", "PAGE"], "transformer": [],
         "upscale": ["MODEL", "SMALL", "LARGE"], "voice": ["MODEL", "RECORDING"]}


class Usage(ExampleTest):
    @classmethod
    def setUpClass(cls):
        cls.programs = [name for name in WORDS if (PROGRAMS / f"example-{name}").exists()]

    def each(self):
        for name in self.programs:
            with self.subTest(name):
                yield name

    def test_help(self):
        for name in self.each():
            text = self.run_example(name, "--help")
            self.assertRegex(text, r"^Usage: ")
            self.assertIn("--device", text)

    def test_wrong_usage(self):
        for name in self.each():
            for arguments in ["--nonsense"], [*WORDS[name], "one", "too", "many"]:
                self.refuses("usage" if name != "kmeans" else "Usage", name, *arguments, status=USAGE)

    def test_no_file(self):
        """Tests that the message about a missing file has the error of the operating system."""
        for name in self.each():
            if WORDS[name]:
                done = self.start(name, *[self.folder / word if word.isupper() else word
                                          for word in WORDS[name]])
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertRegex(done.stderr, f"{self.folder}.*(No such file|cannot be read)")

    def test_no_device(self):
        for name in "camera", "inflight", "transformer":
            self.refuses('there is no device "tpu"', name, "--device", "tpu")

    def test_libraries(self):
        """Tests that each file says how it is compiled, with public headers and pkg-config only."""
        for name in WORDS:
            text = next(SOURCES.glob(f"{name}.c*")).read_text("utf-8")
            line = shlex.split(re.search(r"^ \*\t((?:cc|c\+\+) .*)$", text, re.M)[1])
            self.assertIn("pkg-config", " ".join(line))
            self.assertEqual(re.findall(r'#include "(.*)"', text), [])
            self.assertLessEqual(set(re.findall(r"#include <webnn/(.*)>", text)),
                                 {"webnn.h", "webnn.hpp", "webnn_npu.h", "onnx.h"})


if __name__ == "__main__":
    main()
