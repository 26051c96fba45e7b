#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that programs find the installed libraries: test_install.py BUILD_FOLDER CC [onnx]
[stablehlo] [static].

Meson installs into a temporary folder instead of the prefix. The test checks the files there, and
compiles, links and runs programs against them with pkg-config and CMake. One test does so with the
build folder, as the guide says.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "Documentation" / "examples"
PROGRAM = EXAMPLES / "first.c"
BUILD = pathlib.Path(sys.argv[1])
CC = shlex.split(sys.argv[2])
WITH = sys.argv[3:]

# This program uses both libraries, on an empty model.
ONNX = """\
#include <stdio.h>
#include <webnn/onnx.h>

int main(void)
{
	WNNError error = WNN_ERROR_INIT;
	WNNOnnxModel model;

	wnnInstanceRelease(wnnCreateInstance(NULL));
	if (wnnOnnxLoadMemory("", 0, NULL, &model) == WNNStatus_Success)
		return 1;
	wnnOnnxGetLastError(&error);
	return !error.message.length;
}
"""
STABLEHLO = ONNX.replace("onnx.h", "stablehlo.h").replace("WNNOnnxModel", "WNNStablehloProgram") \
    .replace('wnnOnnxLoadMemory("", 0,', 'wnnStablehloLoadMemory("{", 1,').replace("wnnOnnx", "wnnStablehlo")
LIBRARIES = {"onnx": ONNX, "stablehlo": STABLEHLO}
# This program runs no job; its configuration is that of the reference machine.
SIM = """\
#include <drm/onpu_accel.h>
#include <onpu/onpu_device.h>
#include <stdio.h>

int main(void)
{
	struct onpu_device_config config = onpu_device_config_default();
	const char *error = "";
	struct onpu_machine *machine = onpu_machine_create(&config.sim, &error);

	printf("%u %d\\n", config.sim.sram_bytes, onpu_machine_sram(machine) != NULL);
	onpu_machine_destroy(machine);
	return 0;
}
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(test C)
find_package(webnn-npu @VERSION@ @WORDS@)
if(NOT webnn-npu_FOUND)
	message(FATAL_ERROR "not found")
endif()
function(program name file)
	add_executable(${name} ${file})
	target_link_libraries(${name} PRIVATE ${ARGN})
endfunction()
"""


def run(command, **variables):
    return subprocess.run([str(c) for c in command], text=True, check=True,
                          env={**os.environ, **variables}, stdout=subprocess.PIPE).stdout


def compiles(folder, name, text, flags):
    source = folder / f"{name}.c"
    source.write_text(text, encoding="utf-8")
    run([*CC, "-Wall", "-Werror", source, "-o", folder / name, *flags])
    return folder / name


def dynamic(path, tag):
    """Returns the values of a tag in an ELF file's dynamic section."""
    lines = run(["readelf", "--dynamic", "--wide", path], LC_ALL="C").splitlines()
    return [re.search(r"\[(.*)\]", line)[1] for line in lines if f"({tag})" in line]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        cls.root = pathlib.Path(cls.place.name) / "root"
        run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", cls.root])
        config = list(cls.root.rglob("webnn-npu.pc"))
        assert len(config) == 1, config
        cls.libdir = config[0].parents[1]
        cls.prefix = next(cls.root.rglob("include")).parent
        cls.variables = {"PKG_CONFIG_SYSROOT_DIR": str(cls.root),
                         "PKG_CONFIG_PATH": str(config[0].parent)}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def flags(self, *words):
        return shlex.split(run(["pkg-config", "--cflags", "--libs", *words], **self.variables))

    def installed(self, pattern):
        return sorted(path.name for path in self.prefix.glob(pattern))

    def run_here(self, program):
        return run([program], LD_LIBRARY_PATH=str(self.libdir), WEBNN_DEVICE="cpu")

    def test_files(self):
        parts = [f"{name}.h" for name in ("onnx", "stablehlo") if name in WITH]
        self.assertEqual(self.installed("include/webnn/*"),
                         [*parts, "webnn.h", "webnn.hpp", "webnn_compat.h", "webnn_npu.h"])
        self.assertEqual(self.installed("include/onpu/*"), ["onpu_device.h", "onpu_sim.h", "registers.h"])
        self.assertEqual(self.installed("include/drm/*"), ["onpu_accel.h"])
        self.assertEqual(self.installed("share/licenses/onpu/*"), ["GPL-2.0-only.txt", "MIT.txt"])
        names = ["npu", *(name for name in LIBRARIES if name in WITH)]
        archives = [f"libwebnn-{name}.a" for name in names if "static" in WITH]
        self.assertEqual(sorted(path.name for path in self.libdir.glob("*.a")), archives)

    def test_programs(self):
        """Tests that each program has a man page, runs from its folder, and contains no path of the
        build.
        """
        programs = self.installed("bin/*")
        self.assertLessEqual({"onpu-emu", "onpu-isa", "onpu-smi", "wnn-conformance"}, set(programs))
        self.assertEqual(self.installed("share/man/man1/*"), [f"{name}.1" for name in programs])
        for name in programs:
            path = self.prefix / "bin" / name
            self.assertIn(name, run([path, "--help"], LD_LIBRARY_PATH=str(self.libdir)))
            self.assertEqual(dynamic(path, "RUNPATH") + dynamic(path, "RPATH"), [])
        for path in self.libdir.glob("*.so"):
            self.assertEqual(dynamic(path, "RUNPATH") + dynamic(path, "RPATH"), [])
            self.assertEqual(dynamic(path, "SONAME"), [path.name + ".1"])

    def test_conformance_cases(self):
        """Tests that the program's help names the folder of the installed cases, and that these
        cases pass.
        """
        program, cases = self.prefix / "bin/wnn-conformance", self.prefix / "share/webnn-npu/conformance"
        told = run([program, "--help"], LD_LIBRARY_PATH=str(self.libdir)).split()
        self.assertTrue([word for word in told if word.rstrip(".").endswith("/share/webnn-npu/conformance")], told)
        lines = run([program, "--device", "cpu", cases], LD_LIBRARY_PATH=str(self.libdir)).splitlines()
        self.assertEqual(len(lines), 1 + len(list(cases.rglob("*.json"))))
        self.assertRegex(lines[-1], "^[1-9][0-9]* passed, 0 failed")

    def test_man_pages_have_all_options(self):
        """Tests the man pages of programs other than webnn-run and onpu-smi, whose commands have
        options of their own: tests/tools and tests/smi test these.
        """
        for name in set(self.installed("bin/*")) - {"webnn-run", "onpu-smi"}:
            told = run([self.prefix / "bin" / name, "--help"], LD_LIBRARY_PATH=str(self.libdir))
            known = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", told, re.M))
            page = (self.prefix / f"share/man/man1/{name}.1").read_text("utf-8").replace("\\-", "-")
            listed = set(re.findall(r"^\.BR? (?:-\w \", \" )?(--[a-z-]+)", page, re.M))
            self.assertEqual(listed, known - {"--help", "--usage", "--version"}, name)
            self.assertTrue(listed, name)

    @unittest.skipUnless(shutil.which("bash") and "onnx" in WITH, "webnn-run was not built")
    def test_completion(self):
        file = self.prefix / "share/bash-completion/completions/webnn-run"
        self.assertIn("webnn-run", run(["bash", "-c", '. "$0" && complete -p webnn-run', file]))

    def test_pkg_config(self):
        flags = self.flags("webnn-npu")
        self.assertFalse([word for word in flags if "rpath" in word or "onpu" in word], flags)
        program = compiles(self.folder, "first", PROGRAM.read_text("utf-8"), flags)
        self.assertEqual(self.run_here(program), "15 0\n")
        self.assertEqual([name for name in dynamic(program, "NEEDED") if "libc." not in name],
                         ["libwebnn-npu.so.1"])

    def example_commands(self):
        """Yields (path, compiler, words) of the examples that say at their beginning how they are
        compiled.
        """
        for path in sorted(EXAMPLES.glob("*.c*")):
            line = re.search(r"^ \*\t((?:cc|c\+\+) .*)$", path.read_text("utf-8"), re.M)
            if not line or ("webnn-onnx" in line[1] and "onnx" not in WITH) or \
               (path.suffix == ".cc" and not shutil.which("c++")):
                continue
            compiler = CC if path.suffix == ".c" else ["c++"]
            yield path, compiler, line[1].split(maxsplit=1)[1]

    def test_examples(self):
        """Tests that examples compile as they say, from a copy and with only the installed files.
        """
        commands = list(self.example_commands())
        self.assertGreater(len(commands), 3)
        for path, compiler, words in commands:
            with self.subTest(path.name):
                shutil.copy(path, self.folder)
                run(["sh", "-c", 'cd -- "$0" && exec "$@" ' + words, self.folder, *compiler, "-Wall",
                     "-Wextra", "-Werror"], **self.variables)
                text = run([self.folder / path.stem, "--help"], LD_LIBRARY_PATH=str(self.libdir))
                self.assertIn("--device", text)

    def test_pkg_config_of_the_model(self):
        drm = shlex.split(run(["pkg-config", "--cflags", "libdrm"]))
        program = compiles(self.folder, "sim", SIM, [*self.flags("onpu-sim"), *drm])
        self.assertEqual(self.run_here(program), "4194304 1\n")

    @unittest.skipUnless(set(LIBRARIES) & set(WITH), "neither libwebnn-onnx nor libwebnn-stablehlo was built")
    def test_pkg_config_of_the_importers(self):
        for name, text in LIBRARIES.items():
            if name in WITH:
                self.run_here(compiles(self.folder, name, text, self.flags(f"webnn-{name}")))

    @unittest.skipUnless("static" in WITH, "there are no archives")
    def test_static(self):
        texts = {"npu": PROGRAM.read_text("utf-8"), **{name: text for name, text in LIBRARIES.items() if name in WITH}}
        for name, text in texts.items():
            # Debian's static OpenBLAS needs its libraries, too; the shared one names them itself.
            flags = [re.sub(r"^-l(webnn-.*)", r"-l:lib\1.a", word)
                     for word in self.flags("--static", f"webnn-{name}") if word != "-lgfortran"]
            program = compiles(self.folder, "static", text, flags)
            run([program], WEBNN_DEVICE="cpu")
            self.assertNotIn("webnn", " ".join(dynamic(program, "NEEDED")))

    def exposed(self, archive):
        lines = run(["nm", "--defined-only", self.libdir / archive]).splitlines()
        return {line.split()[-1] for line in lines if re.match(r"\w+ [A-Z] ", line)}

    @unittest.skipUnless("static" in WITH, "there are no archives")
    def test_archives_show_what_libraries_do(self):
        for archive in self.libdir.glob("*.a"):
            lines = run(["nm", "--dynamic", "--defined-only", archive.with_suffix(".so")]).splitlines()
            shared = {line.split()[-1].split("@")[0] for line in lines if " A " not in line}
            self.assertEqual(self.exposed(archive.name), shared)

    def cmake(self, version, words, text=""):
        (self.folder / "CMakeLists.txt").write_text(
            CMAKE.replace("@VERSION@", version).replace("@WORDS@", words) + text, encoding="utf-8")
        for name, program in LIBRARIES.items():
            (self.folder / f"{name}.c").write_text(program, encoding="utf-8")
        return subprocess.run(["cmake", "-S", self.folder, "-B", self.folder / "build", "-G", "Ninja",
                               f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_C_COMPILER={CC[-1]}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)

    @unittest.skipUnless(shutil.which("cmake"), "there is no CMake")
    def test_cmake(self):
        components = " ".join(WITH)
        text = f'program(first "{PROGRAM}" webnn-npu::webnn-npu)\n'
        programs = {"first": "15 0\n"}
        if "static" in WITH:
            text += f'program(alone "{PROGRAM}" webnn-npu::webnn-npu-static)\n'
            programs["alone"] = "15 0\n"
        for name in set(LIBRARIES) & set(WITH):
            text += f"program({name} {name}.c webnn-npu::webnn-{name})\n"
            programs[name] = ""
            if "static" in WITH:
                text += f"program({name}_alone {name}.c webnn-npu::webnn-{name}-static)\n"
                programs[f"{name}_alone"] = ""
        done = self.cmake("1.0", f"REQUIRED COMPONENTS {components}" if components else "", text)
        self.assertEqual(done.returncode, 0, done.stdout)
        run(["cmake", "--build", self.folder / "build"])
        for name, output in programs.items():
            path = self.folder / "build" / name
            self.assertEqual(run([path], WEBNN_DEVICE="cpu"), output)
            self.assertEqual("libwebnn-npu.so.1" in dynamic(path, "NEEDED"), "alone" not in name)

    @unittest.skipUnless(shutil.which("cmake"), "there is no CMake")
    def test_cmake_refuses(self):
        done = self.cmake("2.0", "REQUIRED")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"\b1\.\d+\.\d+\b")
        done = self.cmake("1.0", "REQUIRED COMPONENTS nonsense")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("webnn-npu was installed without 'nonsense'", " ".join(done.stdout.split()))


class InTheBuildFolder(unittest.TestCase):
    def test_pkg_config(self):
        with tempfile.TemporaryDirectory() as folder:
            flags = shlex.split(run(["pkg-config", "--cflags", "--libs", "webnn-npu"],
                                    PKG_CONFIG_PATH=str(BUILD / "meson-uninstalled")))
            program = compiles(pathlib.Path(folder), "first", PROGRAM.read_text("utf-8"), flags)
            self.assertEqual(run([program], LD_LIBRARY_PATH=str(BUILD / "userspace"),
                                 WEBNN_DEVICE="cpu"), "15 0\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
