#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that the public headers compile alone: test_headers.py CC [CXX], each a command line.

They compile as C99, C++17 and C++20, with -pedantic and without a warning; every initialiser fits
its structure in C and C++.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "userspace" / "include"
HEADERS = ("webnn/webnn.h", "webnn/webnn_npu.h", "webnn/webnn_compat.h", "webnn/onnx.h")
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Wshadow", "-Wcast-align", "-Wcast-qual", "-Werror"]
CXX_WARNINGS = ["-Wold-style-cast", "-Wnon-virtual-dtor", "-Woverloaded-virtual"]
LANGUAGES = []  # (name, command, suffix), filled from the command line


def initialisers():
    """Returns the number of *_INIT, and a program with an object and an assignment for each."""
    text = "".join((INCLUDE / h).read_text(encoding="utf-8") for h in HEADERS)
    names = re.findall(r"/\*\* Initialiser of (WNN\w+) with.*?\n#define (WNN_\w+)_STATIC_INIT ", text)
    out = "".join(f"#include <{h}>\n" for h in HEADERS)
    for index, (kind, macro) in enumerate(names):
        out += (f"extern const {kind} object{index};\n"
                f"const {kind} object{index} = {macro}_STATIC_INIT;\n"
                f"void assign{index}({kind} *to);\n"
                f"void assign{index}({kind} *to)\n{{\n\t*to = {macro}_INIT;\n}}\n")
    return len(names), out


def documentation_warnings(command):
    """Returns options with which clang also compares comments with declarations."""
    version = subprocess.run([*command, "--version"], text=True, stdout=subprocess.PIPE).stdout
    return ["-Wdocumentation", "-Wdocumentation-pedantic"] if "clang" in version else []


CXX_HEADER = "webnn/webnn.hpp"


class Headers(unittest.TestCase):
    def compile(self, command, path, *options):
        warnings = WARNINGS + documentation_warnings(command)
        if command[-1].startswith("-std=c++"):
            warnings += CXX_WARNINGS
        done = subprocess.run([*command, *warnings, *options, f"-I{INCLUDE}", "-fsyntax-only",
                               path], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def compile_text(self, command, suffix, text):
        with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
            file.write(text)
            file.flush()
            self.compile(command, file.name)

    def test_each_header_alone(self):
        for language, command, suffix in LANGUAGES:
            for header in HEADERS:
                with self.subTest(header + " as " + language):
                    self.compile_text(command, suffix, f"#include <{header}>\n")

    def test_cxx_header_alone(self):
        for language, command, suffix in LANGUAGES:
            if suffix == ".cc":
                with self.subTest(language):
                    self.compile_text(command, suffix, f"#include <{CXX_HEADER}>\n")

    def test_nullable(self):
        """Tests that only pointers are marked as nullable, which clang checks."""
        for language, command, _ in LANGUAGES:
            if not documentation_warnings(command):
                continue
            with self.subTest(language):
                name = "header_c99.c" if language == "C99" else "header_cxx17.cc"
                self.compile(command, HERE / name, "-DWNN_NULLABLE=_Nullable",
                             "-Wno-nullability-extension", "-Wno-nullability-completeness")

    def test_initialisers(self):
        count, text = initialisers()
        self.assertGreater(count, 60)
        for language, command, suffix in LANGUAGES:
            with self.subTest(language):
                self.compile_text(command, suffix, text)

    def test_use(self):
        for language, command, suffix in LANGUAGES:
            name = "header_c99.c" if suffix == ".c" else "header_cxx17.cc"
            with self.subTest(language):
                self.compile(command, HERE / name)


if __name__ == "__main__":
    LANGUAGES.append(("C99", shlex.split(sys.argv[1]) + ["-std=c99"], ".c"))
    if len(sys.argv) > 2 and sys.argv[2]:
        for standard in ("17", "20"):
            LANGUAGES.append(("C++" + standard,
                              shlex.split(sys.argv[2]) + ["-std=c++" + standard], ".cc"))
    else:
        print("no C++ compiler: the headers are tested as C only")
    unittest.main(argv=sys.argv[:1], verbosity=2)
