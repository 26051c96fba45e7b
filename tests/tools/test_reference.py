#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run compare with ONNX Runtime: test_reference.py WEBNN_RUN"""
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto

from common import CONVOLUTION_TENSORS, PROGRAM, CompareTest, convolution, main, node, on_devices, perceptron, save


class Runtime(CompareTest):
    def test_outputs(self):
        result, text = self.compare(convolution(self.folder), "--with", "onnxruntime")
        self.assertEqual((result["with"], self.names(result), result["differs"]), ("onnxruntime", ["y"], False))
        self.assertRegex(result["onnxruntime"], r"^\d+\.\d+")
        self.assertIn(f"with ONNX Runtime {result['onnxruntime']}\ny: agrees: ", text)

    @on_devices
    def test_all(self, device):
        result, text = self.compare(convolution(self.folder), "--with", "onnxruntime", "--all", device=device)
        self.assertEqual((self.names(result), result["skipped"]), (CONVOLUTION_TENSORS, []))
        self.assertIn("6 tensors were compared, 0 of them differ\n", text)

    def test_it_is_the_other_program(self):
        """Tests that the results come from ONNX Runtime: sim rounds differently, so that with
        tolerance 0 the difference is reported, and where it begins.
        """
        model = convolution(self.folder)
        result, text = self.compare(model, "--with", "onnxruntime", "--tolerance", 0, "--bisect", device="sim", status=1)
        first = result["first"]["node"]
        self.assertIn(f'first operator that differs: "{first}"', text)
        result, _ = self.compare(model, "--with", "onnxruntime", "--tolerance", 0, "--all", device="sim", status=1)
        differing = [o["name"] for o in result["outputs"] if o["differs"]]
        outputs = {n.name: n.output[0] for n in onnx.load(model).graph.node}
        self.assertEqual(outputs[first], differing[0])

    def test_inputs(self):
        """Tests types, open shapes, inputs that become constants, and cuts."""
        model, _ = perceptron(self.folder)
        self.compare(model, "--with", "onnxruntime", "--dim", "N=3")
        result, _ = self.compare(model, "--with", "onnxruntime", "--dim", "N=3", "--outputs", "active")
        self.assertEqual(self.names(result), ["active"])
        nodes = [node("Where", ["b", "h", "g"], ["w"]), node("Reshape", ["w", "s"], ["y"]),
                 node("Cast", ["i"], ["z"], to=TensorProto.INT16), node("Less", ["h", "g"], ["l"])]
        model = save(self.folder, "types", nodes,
                     [("b", [6], TensorProto.BOOL), ("h", [6], TensorProto.FLOAT16), ("g", [6], TensorProto.FLOAT16),
                      ("s", [2], TensorProto.INT64), ("i", [3], TensorProto.INT32)],
                     [("y", [2, 3], TensorProto.FLOAT16), ("z", [3], TensorProto.INT16), ("l", [6], TensorProto.BOOL)])
        s = self.array("s.npy", np.array([2, 3]))
        result, text = self.compare(model, "--with", "onnxruntime", "-i", f"s={s}")
        self.assertEqual(set(self.names(result)), {"y", "z", "l"})
        self.assertIn('input "s" is frozen', text)

    def test_external_data(self):
        loaded = onnx.load(convolution(self.folder))
        model = self.folder / "external.onnx"
        onnx.save_model(loaded, model, save_as_external_data=True, location="data.bin", size_threshold=0)
        result, _ = self.compare(model, "--with", "onnxruntime", "--all")
        self.assertEqual(self.names(result), CONVOLUTION_TENSORS)

    def test_sequences(self):
        nodes = [node("Neg", ["x"], ["n"]), node("SequenceConstruct", ["n", "x"], ["q"]),
                 node("SequenceAt", ["q", "one"], ["y"])]
        model = save(self.folder, "sequence", nodes, [("x", [3])], [("y", [3])], [("one", np.array(1))])
        for other in ("onnxruntime", "cpu"):
            result, text = self.compare(model, "--with", other, "--all")
            self.assertLessEqual({"n", "y"}, set(self.names(result)))
            self.assertIn("0 of them differ", text)

    def test_not_installed(self):
        model = convolution(self.folder)
        temporary = self.folder / "temporary"
        temporary.mkdir()

        def fails(path, text, status):
            done = subprocess.run([PROGRAM, "compare", model, "-d", "cpu", "--with", "onnxruntime"], check=False,
                                  capture_output=True, text=True, env={**os.environ, "PATH": path, "TMPDIR": str(temporary)})
            self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
            self.assertRegex(done.stderr, text)
            self.assertEqual(list(temporary.iterdir()), [])

        fails(str(temporary),
              "python3, which runs ONNX Runtime, cannot be started: No such file or directory; install python3", 4)
        odd = self.folder / os.fsdecode(b"\xff")
        odd.mkdir()
        (odd / model.name).write_bytes(model.read_bytes())
        done = subprocess.run([PROGRAM, "compare", odd / model.name, "-d", "cpu", "--with", "onnxruntime"], check=False,
                              capture_output=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"the path of this folder is not UTF-8", done.stderr)
        done = subprocess.run([PROGRAM, "compare", model, "-d", "cpu", "--with", "onnxruntime"], check=False,
                              capture_output=True, text=True, env={**os.environ, "TMPDIR": str(self.folder / "none")})
        self.assertEqual(done.returncode, 3)
        self.assertIn(f"temporary files cannot be made in {self.folder / 'none'}: No such file or directory", done.stderr)
        wrapper = self.folder / "python3"
        for script, text, status in (
                (f'exec {sys.executable} -I -S "$@"',
                 "python3 cannot import numpy or onnxruntime, which compare needs: .*pip install onnxruntime", 4),
                ("echo hello; echo the last words; exit 1", "ended before it gave results; its last line is: the last words", 4)):
            wrapper.write_text(f"#!/bin/sh\n{script}\n")
            wrapper.chmod(0o755)
            fails(str(self.folder), text, status)
        self.compare(model, "--with", "onnxruntime")

    def test_refused(self):
        """Tests the message when ONNX Runtime does not run a model."""
        model = save(self.folder, "odd", [node("Relu", ["x"], ["y"])], [("x", [3], TensorProto.INT32)],
                     [("y", [3], TensorProto.FLOAT)])
        _, err = self.tool("compare", model, "--with", "onnxruntime", status=2)
        self.assertIn("ONNX Runtime gave no results for the model: ", err)


if __name__ == "__main__":
    main()
