#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run run: inputs of every kind, outputs of every kind: test_run.py WEBNN_RUN"""
import re
import struct
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from common import ToolTest, main, on_devices, perceptron, same, save, node

X = np.linspace(-1, 1, 18, dtype=np.float32).reshape(3, 6)


class Inputs(ToolTest):
    def run_model(self, model, *options, device="cpu", status=0):
        result = self.folder / "result.npy"
        self.tool("run", model, "--device", device, "--output", result, *options, status=status)
        return np.load(result)

    @on_devices
    def test_npy(self, device):
        model, expected = perceptron(self.folder)
        got = self.run_model(model, "--input", self.array("x.npy", X), device=device)
        self.assertEqual((got.dtype, got.shape), (np.float32, (3, 4)))
        np.testing.assert_allclose(got, expected(X), atol=1e-5)

    def test_kinds_of_npy(self):
        """Tests that each version of the format, byte order and order of the elements gives the
        same numbers.
        """
        model = same(self.folder, "same", [2, 3, 4], TensorProto.FLOAT)
        values = np.arange(24).reshape(2, 3, 4) - 7.5
        for version in (1, 0), (2, 0), (3, 0):
            for kind in "<f4", ">f4", "<f8", ">f8":
                for order in "C", "F":
                    path = self.folder / "x.npy"
                    with path.open("wb") as file:
                        np.lib.format.write_array(file, np.asarray(values, kind, order), version)
                    np.testing.assert_array_equal(self.run_model(model, "-i", path), values)
        for kind, types in ((TensorProto.INT64, (">i8", "<i8")), (TensorProto.FLOAT16, (">f2",)),
                            (TensorProto.INT32, (">i4", ">i2", "<i2")), (TensorProto.UINT32, (">u4", ">u2"))):
            model = same(self.folder, "same", [3], kind)
            for name in types:
                given = np.array([1, 2, 300], name)
                np.testing.assert_array_equal(self.run_model(model, "-i", self.array("x.npy", given)), given)

    def test_tensor_of_onnx(self):
        model, expected = perceptron(self.folder)
        for raw in (True, False):
            tensor = numpy_helper.from_array(X)
            if not raw:
                tensor.ClearField("raw_data")
                tensor.float_data.extend(X.reshape(-1).tolist())
            (self.folder / "x.pb").write_bytes(tensor.SerializeToString())
            got = self.run_model(model, "-i", f"x={self.folder / 'x.pb'}")
            np.testing.assert_allclose(got, expected(X), atol=1e-5)

    def test_bytes(self):
        model, expected = perceptron(self.folder)
        (self.folder / "x.bin").write_bytes(X.tobytes())
        got = self.run_model(model, "-i", self.folder / "x.bin", "--dim", "N=3")
        np.testing.assert_allclose(got, expected(X), atol=1e-5)
        self.refuses(3, 'the file has 72 bytes, but input "x" takes 48', "run", model, "-i",
                     self.folder / "x.bin", "--dim", "N=2")
        self.refuses(3, 'the file has 72 bytes, but input "x" takes 24', "run", model, "-i", self.folder / "x.bin",
                     "--shape", "x=1,6")

    def test_fill(self):
        model, expected = perceptron(self.folder)
        got = self.run_model(model, "--fill", "x=0.25", "--shape", "x=2,6")
        np.testing.assert_allclose(got, expected(np.full((2, 6), 0.25)), atol=1e-5)

    def test_types(self):
        for kind, values in ((TensorProto.FLOAT16, np.array([1.5, -2, 65504, 2 ** -24], "f2")),
                             (TensorProto.INT64, np.array([2 ** 62 + 1, -5, 0, 7], "i8")),
                             (TensorProto.INT32, np.array([-2 ** 31, -5, 0, 7], "i4")),
                             (TensorProto.UINT32, np.array([2 ** 32 - 1, 5, 0, 7], "u4")),
                             (TensorProto.INT8, np.array([-128, -5, 0, 127], "i1")),
                             (TensorProto.UINT8, np.array([255, 5, 0, 127], "u1"))):
            model = same(self.folder, "same", [4], kind)
            given = self.array("x.npy", values)
            np.testing.assert_array_equal(self.run_model(model, "-i", given), values)
            tensor = numpy_helper.from_array(values)
            (self.folder / "x.pb").write_bytes(tensor.SerializeToString())
            got = self.run_model(model, "-i", self.folder / "x.pb")
            np.testing.assert_array_equal(got, values)
            self.assertEqual(got.dtype, values.dtype)

    def test_random(self):
        model = same(self.folder, "same", [1000])
        one, again, other = (self.run_model(model, "--random", seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, again)
        self.assertLess(np.mean(one == other), 0.01)
        self.assertLess(abs(one.mean()), 0.1)
        self.assertTrue(-1 <= one.min() < -0.9 and 0.9 < one.max() <= 1)
        indices = self.run_model(same(self.folder, "whole", [1000], TensorProto.INT64), "-r", 1)
        self.assertEqual(set(indices), {0, 1})

    def test_two_inputs(self):
        model = save(self.folder, "sub", [node("Sub", ["a", "b"], ["y"])],
                     [("a", [2]), ("b", [2])], [("y", [2])])
        a, b = (self.array(f"{n}.npy", np.array(v, "f4")) for n, v in (("a", [5, 7]), ("b", [1, 2])))
        got = self.run_model(model, "-i", f"b={b}", "-i", f"a={a}")
        np.testing.assert_array_equal(got, [4, 5])
        drawn = self.run_model(model, "-i", f"a={a}", "--random", "1")
        self.assertTrue(np.all(np.abs(drawn - [5, 7]) <= 1))
        # Equal inputs would hide which is which.
        self.assertTrue(np.all(self.run_model(model, "--random", "1") != 0))
        self.refuses(3, "the model has 2 inputs, so say which one takes this file: INPUT=", "run", model, "-i", a)
        model = save(self.folder, "none", [node("Neg", ["w"], ["y"])], [], [("y", [2])], [("w", np.ones(2, np.float32))])
        for option, value in (("--input", a), ("--fill", "a=1")):
            self.refuses(3, f"{option}: the model has no inputs: leave out this option", "run", model, option, value)

    def test_shape_depends_on_input(self):
        model = save(self.folder, "reshape", [node("Reshape", ["x", "s"], ["y"], "r")],
                     [("x", [6]), ("s", [2], TensorProto.INT64)], [("y", None)])
        x, s = self.array("x.npy", np.arange(6, dtype="f4")), self.array("s.npy", np.array([3, 2]))
        result = self.folder / "y.npy"
        _, err = self.tool("run", model, "-i", f"x={x}", "-i", f"s={s}", "-o", result)
        self.assertIn('input "s" is frozen', err)
        np.testing.assert_array_equal(np.load(result), [[0, 1], [2, 3], [4, 5]])
        self.refuses(2, 'node "r" (Reshape)', "run", model, "--random", 1)


class Ranges(ToolTest):
    def model(self):
        """Saves a model that multiplies x by a matrix and adds to each row its index, for any
        number of rows. Returns its path and a function that computes the expected result.
        """
        weights = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
        numbers = [("w", weights), ("zero", np.array(0)), ("one", np.array(1)), ("axis", np.array([1]))]
        nodes = [node("MatMul", ["x", "w"], ["product"], "product"), node("Shape", ["x"], ["shape"], "shape"),
                 node("Gather", ["shape", "zero"], ["rows"], "rows"),
                 node("Range", ["zero", "rows", "one"], ["range"], "range"),
                 node("Cast", ["range"], ["floats"], "cast", to=TensorProto.FLOAT),
                 node("Unsqueeze", ["floats", "axis"], ["column"], "column"),
                 node("Add", ["product", "column"], ["y"], "sum")]
        path = save(self.folder, "rows", nodes, [("x", ["rows", 4])], [("y", ["rows", 3])], numbers)
        return path, lambda x: x @ weights + np.arange(len(x))[:, None]

    @on_devices
    def test_one_graph_for_a_range(self, device):
        """Tests that a graph for 1 to 64 rows gives what the model says for some numbers of rows.
        """
        model, expected = self.model()
        for rows in 1, 5, 64:
            x = np.linspace(-2, 2, rows * 4, dtype=np.float32).reshape(rows, 4)
            self.tool("run", model, "--device", device, "--output", self.folder / "y.npy", "-i", self.array("x.npy", x),
                      "--dim", "rows=1..64", "--dim", f"rows={rows}")
            np.testing.assert_allclose(np.load(self.folder / "y.npy"), expected(x), atol=1e-5)

    def test_what_is_said(self):
        model, _ = self.model()
        said = self.tool("explain", model, "--device", "cpu", "--dim", "rows=1..64")
        self.assertIn('"rows" is from 1 to 64, by value', str(said))
        self.assertIn('output "y": float32[rows,3]', str(said))
        self.refuses(2, 'dimension "rows" is 5, which is not in the range from 1 to 4', "run", model, "--random", 1,
                     "--dim", "rows=1..4", "--dim", "rows=5")
        # A number with a leading 0 is decimal.
        self.refuses(2, 'dimension "rows" is 12, which is not in the range from 9 to 10', "run", model, "--random", 1,
                     "--dim", "rows=09..010", "--dim", "rows=012")
        self.refuses(2, 'no input has a dimension that is called "c?ls"', "run", model, "--random", 1, "--dim",
                     "c\nls=1..4")
        self.refuses(2, "no input has a dimension that is called", "run", model, "--random", 1, "--dim", "cols=1..4")
        self.refuses(64, "the range ends below its start", "run", model, "--random", 1, "--dim", "rows=4..1")
        self.refuses(64, "a range is NAME=MIN..MAX", "run", model, "--random", 1, "--dim", "a..b=4")
        self.refuses(2, 'dimension "rows" ranges from 1 to 4 already', "run", model, "--random", 1,
                     "--dim", "rows=1..4", "--dim", "rows=2..4")

    def test_a_model_that_differs(self):
        """Tests that a model whose nodes are not valid for all sizes is refused with the size."""
        numbers = [("shape", np.array([2, -1]))]
        model = save(self.folder, "halves", [node("Reshape", ["x", "shape"], ["y"], "halves")], [("x", ["N"])],
                     [("y", [2, "M"])], numbers)
        self.refuses(2, 'with "N" = 1, of 1 to 8: ', "run", model, "--random", 1, "--dim", "N=1..8")
        model = save(self.folder, "two", [node("Reshape", ["x", "shape"], ["y"], "halves"), node("Abs", ["z"], ["w"])],
                     [("x", ["N"]), ("z", ["K"])], [("y", [2, "M"]), ("w", ["K"])], numbers)
        self.refuses(2, 'with "N" = 1, of 1 to 8: ', "run", model, "--random", 1, "--dim", "K=1..4", "--dim", "N=1..8")


class Messages(ToolTest):
    def test_what_is_missing(self):
        model, _ = perceptron(self.folder)
        self.refuses(2, 'the shape of input "x" has dimensions without a size, [N, 6]: set them with --dim', "run", model,
                     "--random", 1)
        self.refuses(2, 'input "x" may have any number of dimensions: set its shape with --shape x=N,N,...', "run",
                     same(self.folder, "any", None), "--random", 1)
        self.refuses(3, 'input "x", float32 [2, 6], has no value', "run", model, "--dim", "N=2")
        self.refuses(2, "(there are: N)", "run", model, "--dim", "M=2")
        self.refuses(3, "the model has no input of this name; its inputs are: x", "run", model, "--fill", "z=1")

    def test_what_does_not_fit(self):
        model, _ = perceptron(self.folder)
        wrong = self.array("wrong.npy", np.zeros((2, 5), "f4"))
        self.refuses(3, "wrong.npy: ", "run", model, "-i", wrong)
        self.refuses(3, 'the file has float32 [2, 5], but input "x" takes float32 [2, 6]', "run", model, "-i",
                     wrong, "--dim", "N=2")
        short = self.array("short.npy", np.zeros((2, 6), "c8"))
        self.refuses(3, "its elements are '<c8'; allowed are float32,", "run", model, "-i", short)
        for elements, text in (("M8[ns]", "'<M8[ns]'"), ([("a", "f4")], "structures")):
            self.refuses(3, f"its elements are {text}; allowed are float32,", "run", model, "-i",
                         self.array("other.npy", np.zeros((2, 6), elements)))
        whole = self.array("whole.npy", np.zeros((2, 6), "i4"))
        self.refuses(3, "the file has int32 [2, 6]", "run", model, "-i", whole)
        (self.folder / "bad.pb").write_bytes(b"\xff\xff\xff")
        self.refuses(3, "not an ONNX tensor (TensorProto) or is damaged, or too little memory is free to read it", "run",
                     model, "-i", self.folder / "bad.pb")
        for name in "none.bin", "none.pb":
            self.refuses(3, f"{name}: cannot be read: No such file or directory", "run", model, "--dim", "N=1", "-i",
                         self.folder / name)
        self.refuses(3, "cannot be read: Is a directory", "run", model, "--dim", "N=1", "-i", self.folder)
        self.refuses(3, "/dev/zero: this is a pipe or a device: save its bytes to a file", "run", model, "--dim", "N=1",
                     "-i", "/dev/zero")

    def test_damaged_npy(self):
        model = same(self.folder, "same", [6])
        whole = self.array("x.npy", X[0]).read_bytes()
        for damaged, text in ((whole[:5], "not a .npy file"), (whole[:40], "truncated or oversized header"),
                              (whole[:-1], "it has fewer elements"), (b"x" + whole[1:], "not a .npy file"),
                              (whole[:6] + b"\4" + whole[7:], "it has version 4 of the format; allowed are 1 to 3"),
                              (whole.replace(b"<f4", b">f3"), "its elements are '>f3'; allowed are float32,"),
                              (whole.replace(b"(6,)", b"(x,)"), "its shape must be a list of up to 8 sizes below 2^31"),
                              (whole.replace(b"descr", b"DESCR"), "not a .npy header")):
            path = self.folder / "damaged.npy"
            path.write_bytes(damaged)
            self.refuses(3, f"damaged.npy: {text}", "run", model, "-i", path)

    def test_damaged_tensor(self):
        model = same(self.folder, "same", [6])
        for change, text in ((lambda t: t.dims.append(2),
                              "the tensor in this file is damaged: it has 6 elements, but its shape has 12"),
                             (lambda t: setattr(t, "raw_data", t.raw_data + b"x"),
                              "the tensor in this file is damaged: it has 6 elements and a part of one, but its shape has 6"),
                             (lambda t: setattr(t, "data_type", TensorProto.BFLOAT16),
                              "the file's elements have the ONNX type BFLOAT16, which webnn-run does not read; save the "
                              "tensor as .npy"),
                             (lambda t: setattr(t, "data_type", 0),
                              "this file is not an ONNX tensor (TensorProto) or is damaged, or too little memory"),
                             (lambda t: setattr(t, "data_type", 99),
                              "this file is not an ONNX tensor (TensorProto) or is damaged, or too little memory"),
                             (lambda t: t.dims.extend([1] * 8),
                              "the tensor has 9 dimensions; at most 8 are allowed"),
                             (lambda t: t.dims.__setitem__(0, -1), "dimension 0 of the tensor, counted from 0, has size -1; allowed is 0 to"),
                             (lambda t: t.external_data.add(), "the tensor's elements are in another file")):
            tensor = numpy_helper.from_array(X[0])
            change(tensor)
            (self.folder / "x.pb").write_bytes(tensor.SerializeToString())
            self.refuses(3, f"x.pb: {text}" if "shape" in text else text, "run", model, "-i",
                         self.folder / "x.pb")

    def test_too_big(self):
        """Tests that messages name the program, the size and the limit."""
        model = same(self.folder, "same", ["A", "B"])
        for options in (["--shape", "x=65536,32768"], ["--dim", "A=65536", "--dim", "B=32768"]):
            _, err = self.tool("run", model, *options, "-r", 1, status=4)
            self.assertEqual(err, f'webnn-run: {model}: input "x": an array of float32 [65536, 32768] has more than '
                                  "the 2147483647 elements that are allowed: set smaller dimensions\n")
        path = self.folder / "x.npz"
        for method, most in (zipfile.ZIP_STORED, 1 << 34), (zipfile.ZIP_DEFLATED, (1 << 32) - 1):
            with zipfile.ZipFile(path, "w", method) as archive:
                archive.writestr("x.npy", self.array("x.npy", X).read_bytes())
                archive.filelist[0].file_size = 1 << 35
            _, err = self.tool("run", model, "-i", path, status=3)
            self.assertIn(f'webnn-run: {path}: "x" has 34359738368 bytes, at most {most} are read', err)
        for name, data in ("x.npy", b"none"), ("x.npz", b"none"):
            (self.folder / name).write_bytes(data)
            _, err = self.tool("run", model, "-i", self.folder / name, status=3)
            self.assertTrue(err.startswith(f"webnn-run: {self.folder / name}: "), err)

    def test_dimensions_of_one(self):
        model = same(self.folder, "same", [1, 1, 6])
        given = self.array("x.npy", X[0])
        result = self.folder / "y.npy"
        self.tool("run", model, "-i", given, "-o", result)
        np.testing.assert_array_equal(np.load(result), X[0].reshape(1, 1, 6))


class Outputs(ToolTest):
    def setUp(self):
        super().setUp()
        self.model = save(self.folder, "two", [node("Neg", ["x"], ["/a/b"]),
                                               node("Exp", ["x"], ["e"])],
                          [("x", [4])], [("/a/b", [4]), ("e", [4])])
        self.x = self.array("x.npy", np.array([1, 4, -2, 3], "f4"))

    def test_folder(self):
        folder = self.folder / "out"
        self.tool("run", self.model, "-i", self.x, "--output-dir", folder)
        np.testing.assert_array_equal(np.load(folder / "_a_b.npy"), [-1, -4, 2, -3])
        np.testing.assert_allclose(np.load(folder / "e.npy"), np.exp([1, 4, -2, 3]), rtol=1e-5)

    def test_named(self):
        out = self.folder / "n.npy"
        self.tool("run", self.model, "-i", self.x, "-o", f"/a/b={out}")
        np.testing.assert_array_equal(np.load(out), [-1, -4, 2, -3])
        self.refuses(3, "the model has 2 outputs", "run", self.model, "-i", self.x, "-o", out)
        self.refuses(3, 'there is no such output; there are "/a/b", "e"', "run", self.model, "-i", self.x, "-o", f"q={out}")
        self.refuses(3, "none/n.npy", "run", self.model, "-i", self.x, "-o",
                     f"e={self.folder / 'none' / 'n.npy'}")

    def test_summary_and_elements(self):
        out, _ = self.tool("run", self.model, "-i", self.x, "--print")
        lines = out.splitlines()
        self.assertEqual(lines[0], "/a/b: float32 [4], from -4 to 2, mean -1.5")
        self.assertEqual(lines[1], "-1 -4 2 -3")

    @on_devices
    def test_device_and_times(self, device):
        out, _ = self.tool("run", self.model, "-d", device, "-i", self.x)
        said = re.fullmatch(rf"on {device}: loaded in ([\d.]+) ms, built in ([\d.]+) ms, computed in ([\d.]+) ms",
                            out.splitlines()[-1])
        self.assertTrue(said, out)
        self.assertTrue(all(float(time) > 0 for time in said.groups()), out)

    def test_top_of_equals(self):
        """Tests that equal elements keep their order, and NaN comes last."""
        model = same(self.folder, "same", [5])
        x = self.array("x.npy", np.array([np.nan, 1, 2, -np.inf, 2], "f4"))
        out, _ = self.tool("run", model, "-i", x, "--top", 5)
        self.assertEqual([line.split()[-1] for line in out.splitlines()[1:-1]],
                         ["#2", "#4", "#1", "#3", "#0"])

    @on_devices
    def test_top(self, device):
        labels = self.folder / "labels.txt"
        labels.write_text("cat\ndog\nfish\n")
        out, _ = self.tool("run", self.model, "-d", device, "-i", self.x, "--top", 3, "--labels",
                           labels)
        rows = [line.split() for line in out.splitlines()[1:4]]
        self.assertEqual(rows, [["1", "2", "fish", "#2"], ["2", "-1", "cat", "#0"],
                                ["3", "-3", "#3"]])
        out, _ = self.tool("run", self.model, "-i", self.x, "--top", 9)
        self.assertEqual(len(out.splitlines()), 2 * (1 + 4) + 1)
        self.refuses(64, "--labels needs --top", "run", self.model, "--labels", labels)
        self.refuses(3, "none.txt", "run", self.model, "-i", self.x, "--top", 1, "--labels",
                     self.folder / "none.txt")
        self.refuses(3, "Is a directory", "run", self.model, "-i", self.x, "--top", 1, "--labels", self.folder)


class Habits(ToolTest):
    """Tests files as numpy writes them, and models whose results are not simply those of one
    dispatch on the inputs.
    """

    def run_model(self, model, *options, device="cpu"):
        result = self.folder / "result.npy"
        _, said = self.tool("run", model, "--device", device, "--output", result, *options)
        return np.load(result), said

    @on_devices
    def test_float64(self, device):
        x = np.linspace(-1, 1, 12).reshape(3, 4)
        for kind in TensorProto.FLOAT, TensorProto.FLOAT16:
            model = same(self.folder, "same", [3, 4], kind)
            got, said = self.run_model(model, "-i", self.array("x.npy", x), device=device)
            np.testing.assert_allclose(got, x, atol=1e-3)
            self.assertIn("the elements of this file are float64 and are converted (rounded) to the type of input", said)
        whole = same(self.folder, "whole", [3, 4], TensorProto.INT32)
        self.refuses(3, "x.astype(numpy.int32)", "run", whole, "-i", self.array("x.npy", x))
        self.refuses(3, "the file has float64 [2, 6], but input \"x\" takes float32 [3, 4]", "run",
                     same(self.folder, "same", [3, 4], TensorProto.FLOAT), "-i",
                     self.array("x.npy", x.reshape(2, 6)))

    def test_widened(self):
        """Tests that integers are widened when the input's type has all numbers of their type, and
        refused otherwise.
        """
        least, most = -(1 << 15), (1 << 16) - 1
        for number, (kind, takes, numbers) in enumerate((
                (TensorProto.INT16, "int16", [least, 5]), (TensorProto.UINT16, "uint16", [0, most]),
                (TensorProto.INT32, "int16", [least, -1]), (TensorProto.INT32, "uint16", [7, most]),
                (TensorProto.INT64, "int16", [least, 3]), (TensorProto.INT64, "int32", [-(1 << 31), 9]),
                (TensorProto.INT32, "int8", [-128, 127]), (TensorProto.UINT32, "uint8", [0, 255]),
                (TensorProto.INT64, "uint32", [0, (1 << 32) - 1]), (TensorProto.UINT64, "uint16", [0, most]))):
            model = same(self.folder, f"same{number}", [2, 2], kind)
            x = np.array([numbers, numbers], takes)
            got, said = self.run_model(model, "-i", self.array("x.npy", np.asfortranarray(x)))
            self.assertEqual(got.tolist(), x.tolist())
            self.assertIn(f"the elements of this file are {takes} and are converted (widened) to the type of input", said)
        for kind, given in ((TensorProto.UINT32, "int16"), (TensorProto.INT32, "uint32"),
                            (TensorProto.INT32, "int64"), (TensorProto.UINT16, "int8"),
                            (TensorProto.FLOAT, "int16")):
            model = same(self.folder, "narrow", [2], kind)
            self.refuses(3, f"the file has {given} [2], but input", "run", model, "-i",
                         self.array("x.npy", np.zeros(2, given)))

    def test_order(self):
        for shape in (3, 4), (2, 3, 4), (4, 1, 3), (5,), (2, 2, 3, 2):
            for kind, number in ((np.float32, TensorProto.FLOAT), (np.int64, TensorProto.INT64)):
                x = np.arange(np.prod(shape)).reshape(shape).astype(kind)
                model = same(self.folder, "same", list(shape), number)
                got, _ = self.run_model(model, "-i", self.array("x.npy", np.asfortranarray(x)))
                np.testing.assert_array_equal(got, x)

    def test_archive(self):
        model = save(self.folder, "sub", [node("Sub", ["a", "b"], ["y"])], [("a", [3]), ("b", [3])], [("y", [3])])
        a, b = np.array([5, 7, 9], np.float32), np.array([1, 2, 4])
        for write in np.savez, np.savez_compressed:
            path = self.folder / "both.npz"
            write(path, b=b.astype(np.float32), a=a, other=np.zeros(100))
            for options in (("-i", path), ("-i", f"a={path}", "-i", f"b={path}")):
                got, _ = self.run_model(model, *options)
                np.testing.assert_array_equal(got, a - b)
        self.refuses(3, 'none of its 3 arrays is called "x"', "run", same(self.folder, "same", [3]), "-i", path)
        one = self.folder / "one.npz"
        np.savez(one, a)
        got, _ = self.run_model(same(self.folder, "same", [3]), "-i", one)
        np.testing.assert_array_equal(got, a)
        # The numbers of a record of Zip64 count when those of the record at the end are the largest.
        whole = one.read_bytes()
        end = len(whole) - 22
        count, _, size, at = struct.unpack("<HHII", whole[end + 8:end + 20])
        wide = struct.pack("<IQHHIIQQQQ", 0x06064b50, 44, 45, 45, 0, 0, count, count, size, at)
        one.write_bytes(whole[:end] + wide + struct.pack("<IIQI", 0x07064b50, 0, end, 1) +
                        struct.pack("<IHHHHIIH", 0x06054b50, 0, 0, 0xffff, 0xffff, 0xffffffff, 0xffffffff, 0))
        got, _ = self.run_model(same(self.folder, "same", [3]), "-i", one)
        np.testing.assert_array_equal(got, a)
        one.write_bytes(whole[:-40])
        self.refuses(3, "one.npz: ", "run", same(self.folder, "same", [3]), "-i", one)

    @on_devices
    def test_nothing(self, device):
        for shape in (1, 2, 0, 4), (0, 3), (0,):
            model = same(self.folder, "same", list(shape))
            got, _ = self.run_model(model, "-i", self.array("x.npy", np.zeros(shape, np.float32)), device=device)
            self.assertEqual(got.shape, shape)
        model = save(self.folder, "past", [node("Concat", ["past", "x"], ["y"], axis=1)],
                     [("past", [1, "n", 2]), ("x", [1, 1, 2])], [("y", [1, "m", 2])])
        x = np.ones((1, 1, 2), np.float32)
        got, _ = self.run_model(model, "-i", f"past={self.array('past.npy', x[:, :0])}", "--fill", "x=1",
                                device=device)
        np.testing.assert_array_equal(got, x)

    @on_devices
    def test_double(self, device):
        model = save(self.folder, "double", [node("Exp", ["x"], ["y"])], [("x", [3], TensorProto.DOUBLE)],
                     [("y", [3], TensorProto.DOUBLE)])
        got, said = self.run_model(model, "-i", self.array("x.npy", np.arange(3.)), device=device)
        np.testing.assert_allclose(got, np.exp(np.arange(3)), rtol=1e-5)
        self.assertIn("computed in float32", said)
        out, said = self.tool("info", model)
        self.assertIn("computed in float32", said + out)

    @on_devices
    def test_random(self, device):
        model = save(self.folder, "noise", [node("RandomNormalLike", ["x"], ["r"]), node("Add", ["x", "r"], ["y"]),
                                            node("RandomUniform", [], ["u"], shape=[2000], low=2.0, high=4.0),
                                            node("Add", ["y", "u"], ["z"])],
                     [("x", [2000])], [("y", [2000]), ("z", [2000])])
        def run(seed):
            self.tool("run", model, "--device", device, "--fill", "x=5", "--output-dir", self.folder / "out", "--seed",
                      seed)
            return [np.load(self.folder / f"out/{name}.npy") for name in "yz"]
        (first, uniform), (again, _), (other, _) = run(1), run(1), run(2)
        np.testing.assert_array_equal(first, again)
        self.assertLess(np.mean(first == other), 0.01)
        self.assertLess(abs(first.mean() - 5), 0.1)
        self.assertLess(abs(first.std() - 1), 0.1)
        uniform -= first
        self.assertTrue(1.99 < uniform.min() < 2.1 and 3.9 < uniform.max() < 4.01)
        self.tool("bench", model, "--repeats", 2)
        self.tool("compare", model, "--with", "cpu", "--device", device)

    @on_devices
    def test_cut(self, device):
        model = save(self.folder, "parts", [node("Neg", ["x"], ["a"]), node("Exp", ["a"], ["b"]),
                                            node("Unknown", ["b", "w"], ["y"])],
                     [("x", [3]), ("w", ["open"])], [("y", [3])])
        x = np.array([0, 1, 2], np.float32)
        for name, expected in ("a", -x), ("b", np.exp(-x)), ("x", x):
            got, _ = self.run_model(model, "--outputs", name, "-i", f"x={self.array('x.npy', x)}", device=device)
            np.testing.assert_allclose(got, expected, rtol=1e-5)
        self.tool("run", model, "--outputs", "a", "--outputs", "b", "-i", f"x={self.array('x.npy', x)}",
                  "--output-dir", self.folder / "out")
        self.assertEqual({path.name for path in (self.folder / "out").iterdir()}, {"a.npy", "b.npy"})
        self.tool("run", model, "--outputs", "b,x", "-i", f"x={self.array('x.npy', x)}", "--output-dir",
                  self.folder / "two")
        self.assertEqual({path.name for path in (self.folder / "two").iterdir()}, {"b.npy", "x.npy"})
        self.refuses(2, 'the model has no tensor "aa", which --outputs names; similar are "a"', "run", model,
                     "--outputs", "b,aa",
                     "--fill", "x=1")
        self.refuses(2, 'output "a" is given twice', "run", model, "--outputs", "a,a")
        self.refuses(2, 'the model has no tensor "aa", which --outputs names; similar are "a"', "run", model, "--outputs", "aa",
                     "--fill", "x=1")
        self.refuses(2, 'output "a" is given twice', "run", model, "--outputs", "a", "--outputs", "a")
        self.refuses(3, 'input "x" has no value', "run", model, "--outputs", "a")

    @on_devices
    def test_cut_at_weights(self, device):
        """Tests weights as outputs, also sparse ones, and a name that contains commas."""
        model = onnx.load(save(self.folder, "weights", [node("Mul", ["x", "w"], ["y,z"])], [("x", [3])], [("y,z", [3])],
                               [("w", np.array([1, 2, 4], np.float32))]))
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(
            helper.make_tensor("s", TensorProto.FLOAT, [1], [7.0]),
            helper.make_tensor("places", TensorProto.INT64, [1], [2]), [4]))
        path = self.folder / "weights.onnx"
        onnx.save(model, path)
        for name, expected in ("w", [1, 2, 4]), ("s", [0, 0, 7, 0]), ("y,z", [3, 6, 12]):
            got, _ = self.run_model(path, "--outputs", name, "--fill", "x=3", device=device)
            np.testing.assert_array_equal(got, expected)
        self.tool("run", path, "--outputs", "x,w", "--fill", "x=3", "--output-dir", self.folder / "two")
        np.testing.assert_array_equal(np.load(self.folder / "two" / "w.npy"), [1, 2, 4])

    def test_frozen(self):
        model = save(self.folder, "frozen", [node("Add", ["n", "one"], ["m"]), node("Reshape", ["x", "m"], ["y"])],
                     [("x", [6]), ("n", [2], TensorProto.INT64)], [("y", ["a", "b"])],
                     [("one", np.array([1, 1]))])
        got, said = self.run_model(model, "--fill", "x=1", "-i", f"n={self.array('n.npy', np.array([1, 2]))}")
        self.assertEqual(got.shape, (2, 3))
        self.assertIn('input "n" is frozen', said)
        self.assertIn('node "y" (Reshape) says: shape must be a constant', said)
        self.assertIn("1 node is computed once because of that: m (Add)", said)
        # The choice of a branch is no reason to freeze data.
        bodies = [helper.make_graph([node(kind, ["x"], [kind])], kind, [], [
            helper.make_tensor_value_info(kind, TensorProto.FLOAT, [2])]) for kind in ("Neg", "Abs")]
        model = save(self.folder, "branch", [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Less", ["s", "z"], ["c"]),
                                             node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])],
                     [("x", [2])], [("y", [2])], [("z", np.float32(0))])
        for x in ([-3, 1], [3, -1]):
            got, said = self.run_model(model, "-i", self.array("x.npy", np.array(x, np.float32)))
            np.testing.assert_array_equal(got, [3, -1] if x[0] < 0 else [3, 1])
            self.assertNotIn("frozen", said)


if __name__ == "__main__":
    main()
