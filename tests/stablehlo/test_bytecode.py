#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests portable bytecode: test_bytecode.py STABLEHLO_TEST.

It compares StableHLO's own files of bytecode with those of text, if ../shared/stablehlo is there;
bytecode_writer.py makes programs for features that these files lack.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bytecode_writer as writer

HERE = pathlib.Path(__file__).resolve().parent
SHARED = HERE.parents[2] / "shared/stablehlo/vhlo"
PROGRAM = sys.argv[1]

# Attributes of writer.attributes() as they are printed.
AXES = 'axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)4>, #stablehlo.axis_ref<name = "y">]'
ATTRIBUTES = (
    f'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @"mesh", {AXES}>, use_global_device_ids}}',
    'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = '
    f'[#stablehlo.mesh_axis<name = "x", size = 8>, #stablehlo.mesh_axis<name = "y", size = 2>]>, {AXES}>',
    'result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 1.5, ulps = 2, mode = '
    '#stablehlo<result_accuracy_mode TOLERANCE>>',
    'value = dense<[1.0, 2.0]> : tensor<2xf32>',
    'precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision DEFAULT>]',
    'exponent_bits = 5 : i32, mantissa_bits = 10 : i32',
)


def run(data, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mlir.bc"
        path.write_bytes(data)
        return subprocess.run([PROGRAM, *options, str(path)], check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)


def printed(data):
    return run(data, "--print").stdout


def text_of(text):
    """Reads a program from text and returns the text that is printed for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mlir"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([PROGRAM, "--print", str(path)], check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    return done.stdout or done.stderr


class Bytecode(unittest.TestCase):
    def test_groups(self):
        """Tests that groups along axes of a mesh are ids in a text, which does not define the mesh.
        """
        text = text_of("""
            sdy.mesh @grid = <["x"=2, "y"=2]>
            func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
              %b = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
                  replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid, axes =
                  [#stablehlo.axis_ref<name = "y">]>, use_global_device_ids}> ({
              ^bb0(%x: tensor<f32>, %y: tensor<f32>):
                %s = stablehlo.add %x, %y : tensor<f32>
                stablehlo.return %s : tensor<f32>
              }) : (tensor<4xf32>) -> tensor<4xf32>
              return %b : tensor<4xf32>
            }""")
        self.assertIn("replica_groups = dense<[[0, 1], [2, 3]]>", text)
        self.assertNotIn("grid", text)

    def test_runs(self):
        """Tests that programs in every version of the format compute the right results."""
        for version in range(writer.NEWEST + 1):
            for make in (writer.compute, writer.loop, writer.shardy):
                with self.subTest(version=version, program=make.__name__):
                    done = run(make(version))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_wrong(self):
        """Tests that a comparison that fails says so, with the source location, or with the byte if
        that is unknown.
        """
        done = run(writer.compute(expected=4.0, at=(12, 5)))
        self.assertIn("line 12, column 5: stablehlo.custom_call: element 1 is 3, expected is 4", done.stderr)
        done = run(writer.compute(expected=4.0))
        self.assertRegex(done.stderr, r"byte \d+: stablehlo.custom_call: element 1 is 3, expected is 4")

    def test_versions(self):
        """Tests that files in all versions of the format are the same program."""
        for make in (writer.compute, writer.loop, writer.shardy):
            self.assertEqual(len({printed(make(version)) for version in range(writer.NEWEST + 1)}), 1)

    def test_types(self):
        data, texts = writer.types()
        arguments = ", ".join(f"%arg{i}: {text}" for i, text in enumerate(texts))
        self.assertIn(f'"types"({arguments}) -> ()', printed(data))

    def test_attributes(self):
        text = printed(writer.attributes())
        for attribute in ATTRIBUTES:
            self.assertIn(attribute, text)

    def test_printed_again(self):
        """Tests that a printed program is read as an equal one."""
        for data in (writer.types()[0], writer.attributes(), writer.loop(), writer.shardy()):
            text = printed(data)
            self.assertEqual(text_of(text), text)

    def test_functions(self):
        """Tests that a function which uses values from outside, or has a function inside, is
        refused."""
        for make in (writer.outside, writer.nested):
            for version in range(writer.NEWEST + 1):
                self.assertIn("a function is within another, or not isolated", run(make(version), "--print").stderr)

    def test_newer_sharding(self):
        """Tests that an attribute of Shardy that is not known is named by its number."""
        self.assertIn("sdy has no attribute 18", run(writer.shardy(code=18)).stderr)

    def test_damage(self):
        """Tests that files that were cut off, or changed in one byte, can be read or are refused
        with a message.
        """
        for data in (writer.compute(), writer.shardy()):
            self.damage(data)

    def damage(self, data):
        for size in range(4, len(data), 7):
            self.assertRegex(run(data[:size]).stderr, "byte|missing", size)
        newer = data.replace(b"constant_v1\0", b"constant_v9\0")
        self.assertIn("vhlo.constant_v9", run(newer).stderr)
        self.assertIn("this is version 9 of bytecode, the newest that is read is 6", run(b"ML\xefR\x13").stderr)
        self.assertRegex(run(data[:-9] + b"\xff" * 9).stderr, "byte")

    def test_path(self):
        """Tests that --json has a name of a file that is not UTF-8, with "?" for the other bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path, result = pathlib.Path(folder) / "mod\udce8le.mlir", pathlib.Path(folder) / "result"
            path.write_text("func.func @main() {\n  return\n}\n", encoding="utf-8")
            subprocess.run([PROGRAM, "--json", result, path], check=True, stdout=subprocess.DEVNULL)
            self.assertEqual([case["name"] for case in json.loads(result.read_bytes())["cases"]],
                             [f"{folder}/mod?le.mlir"])

    @unittest.skipUnless(SHARED.is_dir(), f"there is no {SHARED.name} beside the checkout")
    def test_stablehlo(self):
        """Tests that text and bytecode of every version give the same program, also when it is
        printed and read again.
        """
        with tempfile.NamedTemporaryFile() as file:
            done = subprocess.run([PROGRAM, "--json", file.name, str(SHARED)], check=False, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            result = json.load(file)
        pairs = sorted(SHARED.glob("*.bc"))
        self.assertEqual((result["failed"], result["passed"]), (0, len(pairs)), done.stderr)
        for path in pairs:
            text = printed(path.read_bytes())
            self.assertEqual(text_of(text), text, path.name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
