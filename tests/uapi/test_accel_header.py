#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that uapi/drm/onpu_accel.h compiles alone in all languages, and that its layout is frozen
for all targets.

Native compilations use the installed headers. The other targets need no headers of their own: stub/
has what libdrm's drm.h asks for.
"""

import pathlib
import platform
import re
import subprocess
import tempfile
import unittest

import accel_header

HERE = pathlib.Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "uapi/drm/onpu_accel.h"
LAYOUT = HERE / "test_accel_layout.c"
TEXT = HEADER.read_text(encoding="utf-8")

GCC = ["gcc"]
CLANG = ["clang"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Werror", "-fsyntax-only"]

# Together, the targets have all layouts: 64-bit integers aligned to 4 bytes, and to 8 bytes in a
# 32-bit program; big-endian; long of 64 bits.
TARGETS = {
    "i686-linux-gnu": 32,
    "armv7-linux-gnueabihf": 32,
    "powerpc-linux-gnu": 32,
    "riscv32-linux-gnu": 32,
    "x86_64-linux-gnu": 64,
    "aarch64-linux-gnu": 64,
    "riscv64-linux-gnu": 64,
    "s390x-linux-gnu": 64,
}

USE_MACRO = """
static struct drm_onpu_job jobs[3];
struct drm_onpu_obj_array array_of(unsigned int count);
struct drm_onpu_obj_array array_of(unsigned int count)
{
	struct drm_onpu_obj_array array = DRM_ONPU_OBJ_ARRAY(count, jobs);

	return array;
}
"""


def drm_folder():
    """Returns the folder of libdrm's drm.h."""
    found = subprocess.run(["pkg-config", "--variable=includedir", "libdrm"], text=True,
                           capture_output=True, check=False)
    folder = pathlib.Path(found.stdout.strip() or "/usr/include", "libdrm")
    if not (folder / "drm.h").exists():
        raise FileNotFoundError(f"{folder}/drm.h: install pkgconf and libdrm-dev")
    return str(folder)


def compile_text(command, text, header=HEADER.parent, stub=False):
    """Compiles text from standard input; the result has returncode and stderr."""
    system = ([str(HERE / "stub")] if stub else []) + [drm_folder()]
    flags = ["-I", str(header)] + [flag for folder in system for flag in ("-isystem", folder)]
    return subprocess.run(command + WARNINGS + flags + ["-"], input=text, text=True,
                          capture_output=True, check=False)


class Alone(unittest.TestCase):
    """Tests that the header compiles without another one in front of it, in all languages of user
    space.
    """

    def test_installed_headers(self):
        languages = ["-xc -std=c99", "-xc -std=c11", "-xc -std=gnu11", "-xc++ -std=c++17"]
        text = '#include "onpu_accel.h"\n#include "onpu_accel.h"\n' + USE_MACRO
        for compiler in (GCC, CLANG):
            for language in languages:
                with self.subTest(compiler=compiler, language=language):
                    result = compile_text(compiler + language.split(), text)
                    self.assertEqual(result.returncode, 0, result.stderr)

    def test_macro_fills_the_array(self):
        program = '#include "onpu_accel.h"\n' + USE_MACRO + """
int main(void)
{
	struct drm_onpu_obj_array array = array_of(3);

	return !(array.stride == sizeof(jobs[0]) && array.count == 3 &&
		 (struct drm_onpu_job *)(unsigned long)array.array == jobs);
}
"""
        with tempfile.TemporaryDirectory() as folder:
            binary = f"{folder}/program"
            subprocess.run(CLANG + ["-xc", "-", "-o", binary, "-I", str(HEADER.parent),
                                    "-isystem", drm_folder()],
                           input=program, text=True, check=True)
            self.assertEqual(subprocess.run([binary], check=False).returncode, 0)


class Layout(unittest.TestCase):
    """Tests that test_accel_layout.c compiles for each target: sizes, offsets and numbers are those
    that it states."""

    @classmethod
    def setUpClass(cls):
        cls.layout = LAYOUT.read_text(encoding="utf-8")

    def check(self, command, stub, bits=None):
        text = self.layout
        if bits:
            text += f'_Static_assert(sizeof(void *) * 8 == {bits}, "width of the target");\n'
        with self.subTest(command=command):
            result = compile_text(command, text, stub=stub)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_native(self):
        for compiler in (GCC, CLANG):
            self.check(compiler + ["-xc", "-std=c11"], False)

    def test_targets(self):
        for target, bits in TARGETS.items():
            self.check(CLANG + [f"--target={target}", "-ffreestanding", "-xc", "-std=c11"],
                       True, bits)

    @unittest.skipUnless(platform.machine() == "x86_64", "gcc has -m32 on x86 only")
    def test_gcc_32(self):
        self.check(GCC + ["-m32", "-ffreestanding", "-xc", "-std=c11"], True, 32)


class Frozen(unittest.TestCase):
    """Tests that test_accel_layout.c has an assertion for everything in the header, and that the
    fixed numbers obey the header's rules.
    """

    @classmethod
    def setUpClass(cls):
        text = LAYOUT.read_text(encoding="utf-8")
        cls.header = accel_header.Header(TEXT)
        cls.sizes = {name: int(size) for name, size in
                     re.findall(r"^SIZE\((\w+), (\d+)\);$", text, flags=re.M)}
        cls.members = {(owner, name): (int(offset), int(size)) for owner, name, offset, size in
                       re.findall(r"^MEMBER\((\w+), (\w+), (\d+), (\d+)\);$", text, flags=re.M)}
        cls.values = re.findall(r"^VALUE\((\w+), (?:\d+|0x[0-9a-f]+)\);$", text, flags=re.M)

    def items(self, kind):
        return [item for item in self.header.items.values() if item.kind == kind]

    def test_structures(self):
        self.assertEqual(sorted(self.sizes), sorted(item.name for item in self.items("struct")))
        self.assertEqual(sorted(self.members), sorted(
            (item.name, entry.name) for item in self.items("struct") for entry in item.entries))

    def test_values(self):
        wanted = [entry.name for item in self.items("enum") for entry in item.entries]
        wanted += self.header.defines
        for name in ("_ONPU_ACCEL_H_", "DRM_ONPU_OBJ_ARRAY", "DRM_IOCTL_ONPU",
                     "DRM_ONPU_DRIVER_MINOR"):
            wanted.remove(name)
        self.assertEqual(sorted(self.values), sorted(wanted))

    def test_alignment(self):
        for name, size in self.sizes.items():
            self.assertEqual(size % 8, 0, name)
        for (owner, name), (offset, size) in self.members.items():
            self.assertEqual(offset % min(size, 8), 0, f"{owner}.{name}")

    def test_no_gaps(self):
        for item in self.items("struct"):
            end = 0
            for entry in item.entries:
                offset, size = self.members[item.name, entry.name]
                self.assertEqual(offset, end, f"{item.name}.{entry.name}")
                end = offset + size
            self.assertEqual(self.sizes[item.name], end, item.name)


class LayoutNotices(unittest.TestCase):
    """Tests that a change of the header that moves, resizes or renumbers something does not
    compile.
    """

    FIELD = re.compile(r"^\t(?:__u\d+|struct \w+) \w+(?:\[\w+\])?;$", re.M)

    def refused(self, text, why):
        command = CLANG + ["--target=i686-linux-gnu", "-ffreestanding", "-xc", "-std=c11"]
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, HEADER.name).write_text(text, encoding="utf-8")
            result = compile_text(command, LAYOUT.read_text(encoding="utf-8"), folder, True)
        self.assertNotEqual(result.returncode, 0, f"not noticed: {why}")
        return result.stderr

    def test_width_of_each_member(self):
        other = {"__u16": "__u32", "__u32": "__u64", "__u64": "__u32"}
        fields = [m for m in self.FIELD.finditer(TEXT) if not m[0].startswith("\tstruct")]
        self.assertGreater(len(fields), 60)
        for match in fields:
            ctype = match[0].split()[0]
            line = match[0].replace(ctype, other[ctype], 1)
            self.refused(TEXT[:match.start()] + line + TEXT[match.end():], line)

    def test_order_of_members(self):
        for item in re.finditer(r"^struct \w+ \{\n.*?^\};$", TEXT, flags=re.M | re.S):
            fields = list(self.FIELD.finditer(TEXT, item.start(), item.end()))
            for first, second in zip(fields, fields[1:]):
                text = (TEXT[:first.start()] + second[0] + TEXT[first.end():second.start()] +
                        first[0] + TEXT[second.end():])
                self.refused(text, f"{item[0].splitlines()[0]} {first[0]} {second[0]}")

    def test_new_member(self):
        for item in re.finditer(r"^struct \w+ \{\n.*?^(?=\};$)", TEXT, flags=re.M | re.S):
            text = TEXT[:item.end()] + "\t__u64 more;\n" + TEXT[item.end():]
            self.refused(text, f"{item[0].splitlines()[0]} with a new member")

    def test_values(self):
        values = list(re.finditer(r"^(\t\w+ = )(.*),$", TEXT, flags=re.M))
        self.assertGreater(len(values), 30)
        for match in values:
            text = f"{TEXT[:match.start()]}{match[1]}{match[2]} + 32,{TEXT[match.end():]}"
            self.refused(text, match[0])

    def test_ioctl_direction(self):
        self.assertEqual(TEXT.count("DRM_IOWR("), 1)
        for other in ("DRM_IOR(", "DRM_IOW("):
            self.refused(TEXT.replace("DRM_IOWR(", other), other)

    def test_hidden_padding(self):
        """Tests that -Wpadded refuses a structure with a hole, without any assertion of its layout.
        """
        text = ('#include "onpu_accel.h"\nstruct hole { __u32 a; %s b; };\n'
                '_Static_assert(sizeof(struct hole) > 0, "laid out");\n')
        for command in (GCC, CLANG):
            flags = command + ["-xc", "-std=c11"]
            self.assertEqual(compile_text(flags, text % "__u32").returncode, 0)
            self.assertIn("padd", compile_text(flags, text % "__u64").stderr)


if __name__ == "__main__":
    unittest.main()
