#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run with StableHLO programs: test_run.py WEBNN_RUN."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import bytecode_writer

WEBNN_RUN = sys.argv[1]
PROGRAM = """func.func @main(%x: tensor<2x32xf32>, %w: tensor<32x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x32xf32>, tensor<32x3xf32>) -> tensor<2x3xf32>
  %p = stablehlo.compare GT, %y, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  return %y, %p : tensor<2x3xf32>, tensor<2x3xi1>
}
"""
OTHER = """func.func @main(%x: tensor<2xbf16>) -> tensor<2xbf16> {
  %y = stablehlo.frobnicate %x : tensor<2xbf16>
  return %y : tensor<2xbf16>
}
"""


# The gradient of a small layer, as JAX writes it.
LAYER = """func.func @main(%x: tensor<64x10xf32>, %g: tensor<64x32xf32>, %w: tensor<32x10xf32>) -> (tensor<10x32xf32>, tensor<64x10xf32>, tensor<64xf32>) {
  %0 = stablehlo.dot_general %g, %x, contracting_dims = [0] x [0] : (tensor<64x32xf32>, tensor<64x10xf32>) -> tensor<32x10xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<32x10xf32>) -> tensor<10x32xf32>
  %2 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x10xf32>, tensor<32x10xf32>) -> tensor<64x32xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x10xf32>) -> tensor<64x10xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x10xf32>, tensor<f32>) -> tensor<64xf32>
  return %1, %3, %4 : tensor<10x32xf32>, tensor<64x10xf32>, tensor<64xf32>
}
"""


LOOP = """func.func @main(%n: tensor<i32>) -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next : tensor<i32>
    }
  return %r : tensor<i32>
}
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "program.mlir"
        self.path.write_text(PROGRAM, encoding="utf-8")

    def says(self, status, command, *options):
        done = subprocess.run([WEBNN_RUN, command, str(self.path), *options], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_run(self):
        for device in ("cpu", "sim"):
            said = self.says(0, "run", "-d", device, "--fill", "x=0.5", "--fill", "w=2", "--print",
                             "--output-dir", str(self.path.parent / device))
            self.assertIn("result0: float32 [2, 3], from 32 to 32, mean 32\n32 32 32\n32 32 32\n", said)
            self.assertIn("result1: uint8 [2, 3], from 0 to 0", said)
            self.assertRegex(said, rf"\non {device}: loaded in [\d.]+ ms, built and computed in [\d.]+ ms\n$")
        # The saved file can be read as an input, but has another shape.
        wrong = str(self.path.parent / "sim/result0.npy")
        self.assertIn("the file has float32 [2, 3], but input \"x\" takes float32 [2, 32]",
                      self.says(3, "run", "-d", "cpu", "--input", f"x={wrong}", "--fill", "w=1"))

    def test_fixed(self):
        """Tests that options that change shapes or outputs are refused."""
        for option, argument in (("--dim", "batch=4"), ("--dim", "batch=1..4"), ("--shape", "x=4,32"), ("--outputs", "result1")):
            for command in ("run", "info", "explain"):
                self.assertIn("this is a StableHLO program, whose shapes and outputs are fixed; "
                              f"leave out {option}, or export the program anew", self.says(2, command, option, argument))

    def test_no_value(self):
        self.assertIn('input "w" has no value: give --input w=FILE, --fill w=NUMBER or --random SEED', self.says(3, "run", "-d", "cpu", "--fill", "x=1"))

    def test_loop_limit(self):
        self.path.write_text(LOOP, encoding="utf-8")
        for device in ("cpu", "sim"):
            options = ("-d", device, "--fill", "n=7", "--print", "--loop-limit")
            self.assertIn("mean 7\n7\n", self.says(0, "run", *options, "7"))
            self.assertIn("line 4, column 3: stablehlo.while: it has not ended after 6 iterations, the limit: --loop-limit of webnn-run and stablehlo-test sets another",
                          self.says(2, "run", *options, "6"))
            # The limit also applies to a loop whose number of iterations is known.
            self.path.write_text(LOOP.replace("%i, %n", "%i, %c").replace(
                "  %zero =", "  %c = stablehlo.constant dense<7> : tensor<i32>\n  %zero ="), encoding="utf-8")
            self.assertIn("line 5, column 3: stablehlo.while: it has not ended after 6 iterations, the limit: --loop-limit of webnn-run and stablehlo-test sets another",
                          self.says(2, "run", *options, "6"))
            self.assertIn("mean 7\n7\n", self.says(0, "run", *options, "7"))
            self.path.write_text(LOOP, encoding="utf-8")
        self.assertIn("--loop-limit takes a number from 1 to 18446744073709551615, not '0'",
                      self.says(64, "run", *options, "0"))

    def test_products(self):
        """Tests that large products and sums over few elements are one operator each, and that
        transposes are part of products: the one of a result has the reason of the product.
        """
        self.path.write_text(LAYER, encoding="utf-8")
        nodes = [n for n in json.loads(self.says(0, "explain", "-d", "cpu", "--json", "-"))["nodes"] if n["device"] == "cpu"]
        self.assertEqual([n["operator"] for n in nodes], ["matmul", "transpose", "matmul", "matmul", "reduceSum", "add"])
        self.assertEqual(nodes[0]["reason_text"], nodes[1]["reason_text"])

    def test_explain(self):
        """Tests that explain prints operation and location of each node on the NPU, also in an
        unrolled loop, and of operations that did not run there.
        """
        self.assertRegex(self.says(0, "explain", "-d", "sim"), r"(?m)^stablehlo.dot_general at 2:3 +npu +matmul ")
        self.path.write_text(LOOP, encoding="utf-8")
        self.assertRegex(self.says(0, "explain", "-d", "sim", "--fill", "n=3"), r"(?m)^stablehlo.while at 4:3 +reference .*regions$")
        self.path.write_text(LOOP.replace("%i, %n", "%i, %c").replace("(%i = %zero) : tensor<i32>", "(%i = %zero, %a = %n) : tensor<i32>, tensor<i32>")
                             .replace("%r = st", "%r:2 = st").replace("return %r", "return %r#1")
                             .replace("stablehlo.return %next : tensor<i32>", "%b = stablehlo.add %a, %n : tensor<i32>\n      "
                                      "stablehlo.return %next, %b : tensor<i32>, tensor<i32>")
                             .replace("  %zero =", "  %c = stablehlo.constant dense<3> : tensor<i32>\n  %zero ="), encoding="utf-8")
        nodes = json.loads(self.says(0, "explain", "-d", "sim", "--json", "-"))["nodes"]
        self.assertEqual([(node["label"], node["device"], node["operator"]) for node in nodes],
                         [("stablehlo.add at 11:7", "npu", "add")] * 3)

    def test_path(self):
        """Tests that --json tells a file's name that is not UTF-8, with "?" for each wrong byte."""
        self.path = self.path.rename(self.path.parent / "mod\udce8le.mlir")
        self.assertEqual(json.loads(self.says(0, "explain", "-d", "sim", "--json", "-"))["model"],
                         f"{self.path.parent}/mod?le.mlir")

    def test_info(self):
        self.assertEqual(self.says(0, "info"), "module 0\n  input x: tensor<2x32xf32>\n  input w: tensor<32x3xf32>\n"
                         "  output : tensor<2x3xf32>\n  output : tensor<2x3xi1>\n")
        module, = json.loads(self.says(0, "info", "--json", "-"))["modules"]
        self.assertEqual(module["inputs"], [{"name": "x", "type": "tensor<2x32xf32>"},
                                            {"name": "w", "type": "tensor<32x3xf32>"}])
        self.assertEqual([output["type"] for output in module["outputs"]], ["tensor<2x3xf32>", "tensor<2x3xi1>"])
        self.assertIn("none.raw: cannot be read: No such file or directory",
                      self.says(3, "run", "-d", "cpu", "-i", "x=none.raw", "--fill", "w=1"))
        self.path.write_text(OTHER, encoding="utf-8")
        refusal, = json.loads(self.says(0, "info", "--json", "-"))["refusals"]
        self.assertEqual((refusal["line"], refusal["column"], refusal["operator"]), (2, 3, "stablehlo.frobnicate"))
        self.assertIn("refused: line 2, column 3: stablehlo.frobnicate: this operation is not known",
                      self.says(0, "info"))
        self.assertIn('"x" is tensor<2xbf16>, but webnn-run takes only tensors of f32,',
                      self.says(2, "run", "-d", "cpu", "--fill", "x=1"))

    def test_bytecode(self):
        """Tests that bytecode is recognised by its first bytes, whatever the file's name is. Its
        inputs are called arg0 and so on.
        """
        writer = bytecode_writer.Writer()
        kind = writer.tensor([2], bytecode_writer.F32)
        self.path = self.path.with_suffix(".bin")
        self.path.write_bytes(writer.file(writer.function("main", [kind], [kind], 2, [
            writer.operation("vhlo.add_v1", [0, 0], [kind]), writer.operation("vhlo.return_v1", [1])])))
        self.assertEqual(self.says(0, "info"), "module 0\n  input arg0: tensor<2xf32>\n  output : tensor<2xf32>\n")
        self.assertIn("3 3\n", self.says(0, "run", "-d", "sim", "--fill", "arg0=1.5", "--print"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
