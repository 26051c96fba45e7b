#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run compare: its measures, recorded values by name, and all tensors: test_recorded.py
WEBNN_RUN
"""
import numpy as np
from onnx import TensorProto

from common import CONVOLUTION_TENSORS, USAGE, CompareTest, convolution, main, node, save


class Measures(CompareTest):
    def test_figures(self):
        model = save(self.folder, "same", [node("Identity", ["x"], ["y"])], [("x", [4])], [("y", [4])])
        x, y = np.array([3, -4, 0, 1], "f4"), np.array([3, -4, 0.5, 2], "f4")
        result, text = self.compare(model, "-i", self.array("x.npy", x), "--expect", self.array("y.npy", y), status=1)
        one = result["outputs"][0]
        self.assertEqual((one["largest_error"], one["mean_error"], one["share_differing"]), (1, 0.375, 0.5))
        self.assertAlmostEqual(one["cosine"], 27 / np.sqrt(26 * (9 + 16 + 0.25 + 4)), places=9)
        self.assertIn("mean error 0.375, cosine 0.97", text)
        self.assertIn("50% of the elements differ", text)
        # A difference that the tolerance allows does not count: 0.5 of 4.
        result, _ = self.compare(model, "-i", self.array("x.npy", x), "--expect", self.array("y.npy", y),
                                 "--tolerance", 0.125, status=1)
        self.assertEqual(result["outputs"][0]["share_differing"], 0.25)
        for values, cosine in (([0, 0, 0, 0], 0), ([-3, 4, 0, -1], -1), ([np.nan, 0, 0, 0], None)):
            y = self.array("y.npy", np.array(values, "f4"))
            result, _ = self.compare(model, "-i", self.array("x.npy", x), "--expect", y, status=1)
            self.assertEqual(result["outputs"][0]["cosine"], cosine)
        zero = self.array("y.npy", np.zeros(4, "f4"))
        result, _ = self.compare(model, "-i", zero, "--expect", zero)
        self.assertEqual((result["outputs"][0]["cosine"], result["outputs"][0]["mean_error"]), (1, 0))

    def test_integers(self):
        """Tests that integers that are equal as doubles are still told apart, and counted."""
        model = save(self.folder, "same", [node("Identity", ["x"], ["y"])], [("x", [4], TensorProto.INT64)],
                     [("y", [4], TensorProto.INT64)])
        x, y = np.array([2 ** 60, 5, 7, 9]), np.array([2 ** 60 + 1, 5, 7, 10])
        result, _ = self.compare(model, "-i", self.array("x.npy", x), "--expect", self.array("y.npy", y), status=1)
        self.assertEqual(result["outputs"][0]["share_differing"], 0.5)


class Recorded(CompareTest):
    def record(self, model, *names, more=()):
        """Returns a folder with the values that webnn-run computes."""
        folder = self.folder / "recorded"
        cuts = [word for name in names for word in ("--outputs", name)]
        self.tool("run", model, "-d", "cpu", "-r", 1, *cuts, *more, "--output-dir", folder)
        return folder

    def change(self, folder, name, by=1):
        path = folder / f"{name}.npy"
        np.save(path, np.load(path) + np.float32(by))

    def test_folder_and_archive(self):
        model = convolution(self.folder)
        folder = self.record(model, *CONVOLUTION_TENSORS)
        archive = self.folder / "all.npz"
        np.savez(archive, **{name: np.load(folder / f"{name}.npy") for name in CONVOLUTION_TENSORS})
        for place in (folder, archive):
            result, _ = self.compare(model, "--expect", place)
            self.assertEqual(self.names(result), ["y"])
            result, _ = self.compare(model, "--expect", place, "--all")
            self.assertEqual(self.names(result), CONVOLUTION_TENSORS)
        self.change(folder, "p")
        result, text = self.compare(model, "--expect", folder, "--all", status=1)
        self.assertEqual([o["name"] for o in result["outputs"] if o["differs"]], ["p"])
        self.assertIn("6 tensors were compared, 1 of them differs\n", text)

    def test_names_with_slashes(self):
        model = save(self.folder, "slashes", [node("Neg", ["x"], ["/a/b"]), node("Exp", ["/a/b"], ["/y"])],
                     [("x", [3])], [("/y", [3])])
        folder = self.record(model, "/a/b", "/y")
        result, _ = self.compare(model, "--expect", folder, "--all")
        self.assertEqual(self.names(result), ["/a/b", "/y"])

    def test_what_is_not_recorded(self):
        model = convolution(self.folder)
        folder = self.record(model, "r", "y")
        result, text = self.compare(model, "--expect", folder, "--all")
        self.assertEqual((self.names(result), result["skipped"]), (["r", "y"], ["c", "p", "f", "d"]))
        self.assertIn("2 tensors were compared, 0 of them differ; 4 were not", text)

    def bisect(self, model, place, status=1):
        result, text = self.compare(model, "--expect", place, "--bisect", status=status)
        return result.get("first"), text

    def test_bisect(self):
        """Tests --bisect with recorded values of a program that is wrong from some operator on."""
        model = convolution(self.folder)
        for at, (name, label) in enumerate(zip(CONVOLUTION_TENSORS, ("conv", "relu", "pool", "flat", "dense", "softmax"))):
            folder = self.record(model, *CONVOLUTION_TENSORS)
            for later in CONVOLUTION_TENSORS[at:]:
                self.change(folder, later)
            first, text = self.bisect(model, folder)
            self.assertEqual((first["node"], first["output"], first["candidates"]), (label, name, 1))
            self.assertIn(f'first operator that differs: "{label}"', text)
        archive = self.folder / "all.npz"
        np.savez(archive, **{name: np.load(folder / f"{name}.npy") for name in CONVOLUTION_TENSORS})
        self.assertEqual(self.bisect(model, archive)[0]["node"], "softmax")

    def test_bisect_gaps(self):
        """Tests that unrecorded operators between the last good value and the first bad one count
        as candidates, too.
        """
        model = convolution(self.folder)
        folder = self.record(model, "r", "d", "y")
        self.change(folder, "d")
        self.change(folder, "y")
        first, text = self.bisect(model, folder)
        self.assertEqual((first["node"], first["output"], first["candidates"]), ("dense", "d", 3))
        self.assertIn("or one of the 2 before it", text)
        # When no inner value is recorded, each operator may be at fault.
        folder = self.record(model, "y", more=())
        for name in "rd":
            (folder / f"{name}.npy").unlink()
        self.change(folder, "y")
        self.assertEqual(self.bisect(model, folder)[0]["candidates"], 6)

    def test_bisect_branches(self):
        """Tests that a value that is not recorded, on the other branch, does not count as good."""
        nodes = [node("Neg", ["x"], ["a"], "left"), node("Exp", ["x"], ["b"], "right"),
                 node("Abs", ["a"], ["c"], "left2"), node("Add", ["b", "c"], ["y"], "join")]
        model = save(self.folder, "branches", nodes, [("x", [5])], [("y", [5])])
        folder = self.record(model, "a", "c", "y")
        self.change(folder, "y")
        first, _ = self.bisect(model, folder)
        # The cut before the last node has c, which is good, and b, which is not recorded.
        self.assertEqual((first["node"], first["candidates"]), ("join", 3))

    def test_messages(self):
        model = convolution(self.folder)
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuses(3, "empty: it has no value of an output of the model", "compare", model, "--expect", empty)
        _, err = self.tool("compare", model, "--expect", empty, "--all", status=3)
        self.assertIn("empty: it has no value of any tensor of the model", err)
        y = self.array("y.npy", np.zeros((1, 4), "f4"))
        for option in ("--all", "--bisect"):
            self.refuses(USAGE, f"{option} needs --with, or one --expect with an existing folder or a .npz file", "compare",
                         model, "--expect", y, option)
        self.refuses(USAGE, "there are npu, npu:NUMBER, sim and cpu, and onnxruntime", "compare", model, "--with", "ort")
        graph = self.folder / "saved.graph"
        self.tool("compile", model, "-o", graph)
        for options, name in ((("--with", "onnxruntime"), "onnxruntime"), (("--with", "cpu", "--all"), "--all"),
                              (("--with", "cpu", "--bisect"), "--bisect")):
            self.refuses(2, f"it is a saved graph: {name} needs the model", "compare", graph, *options)


class Devices(CompareTest):
    def test_all(self):
        model = convolution(self.folder)
        result, text = self.compare(model, "--with", "cpu", "--all", device="sim")
        self.assertEqual(self.names(result), CONVOLUTION_TENSORS)
        self.assertIn("6 tensors were compared, 0 of them differ\n", text)
        result, _ = self.compare(model, "--with", "cpu", "--all", "--outputs", "p", device="sim")
        self.assertEqual(self.names(result), ["c", "r", "p"])

    def test_what_cannot_be_computed(self):
        """Tests that the other values are compared although a node is refused."""
        nodes = [node("Neg", ["x"], ["n"]), node("Shape", ["x"], ["s"]), node("NonZero", ["n"], ["z"], "nz"),
                 node("Exp", ["n"], ["e"]), node("Abs", ["e"], ["y"])]
        model = save(self.folder, "refused", nodes, [("x", [2, 2])], [("y", [2, 2]), ("z", None, TensorProto.INT64)])
        result, text = self.compare(model, "--with", "sim", "--all")
        self.assertEqual((self.names(result), result["skipped"]), (["n", "e", "y"], ["z"]))
        self.assertIn("3 tensors were compared, 0 of them differ; 1 was not, as it cannot be computed alone", text)


if __name__ == "__main__":
    main()
