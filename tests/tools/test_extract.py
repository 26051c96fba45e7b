#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run extract, and the results of the extracted parts: test_extract.py WEBNN_RUN"""
import json
import resource
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper

from common import PROGRAM, USAGE, ToolTest, convolution, main, node, on_devices, perceptron, save


class Extract(ToolTest):
    def extract(self, model, *options, name="part.onnx", sound=True):
        """Extracts a part of a model and, with sound set, lets ONNX check it; returns (path, part,
        text that the program printed).
        """
        path = self.folder / name
        out, err = self.tool("extract", model, "-o", path, *options)
        part = onnx.load(path)
        if sound:
            onnx.checker.check_model(part, full_check=True)
        self.assertEqual([p.name for p in self.folder.glob("*.part")], [])
        return path, part, out + err

    def outputs(self, model, *options, device="cpu"):
        folder = self.folder / "outputs"
        self.tool("run", model, "-d", device, "--output-dir", folder, *options)
        return {path.stem: np.load(path) for path in folder.glob("*.npy")}

    @on_devices
    def test_front_and_back(self, device):
        """Tests that two parts, run one after the other, give the numbers of the whole model, but
        for differences of rounding.
        """
        model = convolution(self.folder)
        x = self.array("x.npy", np.random.default_rng(1).uniform(-1, 1, (1, 3, 16, 16)).astype("f4"))
        front, part, said = self.extract(model, "--outputs", "p", name="front.onnx")
        self.assertIn("3 of 6 nodes, 1 weights\ninputs: x\noutputs: p\n", said)
        self.assertEqual([n.op_type for n in part.graph.node], ["Conv", "Relu", "MaxPool"])
        self.assertEqual([i.name for i in part.graph.initializer], ["filter"])
        back, part, _ = self.extract(model, "--inputs", "p", name="back.onnx")
        self.assertEqual([n.op_type for n in part.graph.node], ["Flatten", "MatMul", "Softmax"])
        self.assertEqual([d.dim_value for d in part.graph.input[0].type.tensor_type.shape.dim], [1, 8, 8, 8])
        middle = self.array("p.npy", self.outputs(front, "-i", x, device=device)["p"])
        whole = self.outputs(model, "-i", x, device=device)["y"]
        np.testing.assert_allclose(self.outputs(back, "-i", f"p={middle}", device=device)["y"], whole, atol=1e-6)
        # The part's own outputs are compared, to the bit.
        self.tool("compare", front, "-d", device, "-i", x, "--expect", middle, "--tolerance", 0)

    def test_between(self):
        model = convolution(self.folder)
        _, part, _ = self.extract(model, "--inputs", "r", "--outputs", "f")
        self.assertEqual([n.op_type for n in part.graph.node], ["MaxPool", "Flatten"])
        self.assertEqual(len(part.graph.initializer), 0)
        self.assertEqual(([i.name for i in part.graph.input], [o.name for o in part.graph.output]), (["r"], ["f"]))
        self.assertEqual(part.graph.output[0].type.tensor_type.elem_type, TensorProto.FLOAT)

    def test_several(self):
        """Tests names in one option with commas, and in several options. Inputs that the part needs
        are kept when no option names them.
        """
        nodes = [node("Add", ["a", "b"], ["s"]), node("Neg", ["s"], ["n"]), node("Exp", ["c"], ["e"]),
                 node("Mul", ["n", "e"], ["m"]), node("Sub", ["m", "b"], ["y"]), node("Abs", ["d"], ["z"])]
        model = save(self.folder, "several", nodes, [(x, [3]) for x in "abcd"], [("y", [3]), ("z", [3])])
        for options in (("--inputs", "n,e", "--outputs", "m,y"),
                        ("--inputs", "n", "--inputs", "e", "--outputs", "m", "--outputs", "y")):
            path, part, said = self.extract(model, *options)
            self.assertEqual([i.name for i in part.graph.input], ["n", "e", "b"])
            self.assertIn("inputs: n, e, b\noutputs: m, y\n", said)
            got = self.outputs(path, "--fill", "n=2", "--fill", "e=3", "--fill", "b=1")
            self.assertEqual((list(got["m"]), list(got["y"])), ([6] * 3, [5] * 3))
        # Without --outputs, the part has all outputs.
        _, part, _ = self.extract(model, "--inputs", "n")
        self.assertEqual([o.name for o in part.graph.output], ["y", "z"])
        result = self.folder / "result.json"
        self.extract(model, "--outputs", "z", "--json", result)
        self.assertEqual({k: v for k, v in json.loads(result.read_text()).items() if k not in ("model", "file", "bytes")},
                         {"nodes": 1, "nodes_of_model": 6, "weights": 0, "inputs": ["d"], "outputs": ["z"]})

    def test_names_with_commas(self):
        model = save(self.folder, "commas", [node("Neg", ["x"], ["a,b"]), node("Exp", ["a,b"], ["y"])],
                     [("x", [3])], [("y", [3])])
        _, part, _ = self.extract(model, "--inputs", "a,b")
        self.assertEqual([i.name for i in part.graph.input], ["a,b"])

    def test_weight_as_input(self):
        model, _ = perceptron(self.folder)
        _, part, _ = self.extract(model, "--inputs", "second,bias")
        self.assertEqual([i.name for i in part.graph.input], ["second", "bias", "x"])
        self.assertEqual([i.name for i in part.graph.initializer], ["first"])
        self.assertEqual([d.dim_value for d in part.graph.input[0].type.tensor_type.shape.dim], [5, 4])

    def test_types(self):
        """Tests that types and shapes that the file lacks follow from the operators."""
        nodes = [node("Cast", ["x"], ["c"], to=TensorProto.FLOAT16), node("Neg", ["c"], ["h"]),
                 node("Less", ["x", "zero"], ["l"]), node("Not", ["l"], ["b"]), node("Shape", ["x"], ["s"]),
                 node("TopK", ["x", "k"], ["v", "i"]), node("Where", ["b", "x", "zero"], ["w"]),
                 node("Cast", ["h"], ["h32"], to=TensorProto.FLOAT), node("Reshape", ["w", "s"], ["r"]),
                 node("Gather", ["r", "i"], ["g"]), node("Add", ["g", "v"], ["q"]), node("Add", ["q", "h32"], ["y"])]
        model = save(self.folder, "types", nodes, [("x", [4])], [("y", [4])],
                     [("zero", np.zeros(1, "f4")), ("k", np.array([4]))])
        for name, kind in (("h", TensorProto.FLOAT16), ("b", TensorProto.BOOL), ("s", TensorProto.INT64),
                           ("i", TensorProto.INT64), ("w", TensorProto.FLOAT), ("c", TensorProto.FLOAT16)):
            _, part, _ = self.extract(model, "--inputs", name)
            self.assertEqual((name, part.graph.input[0].type.tensor_type.elem_type), (name, kind))
            self.assertTrue(part.graph.input[0].type.tensor_type.HasField("shape"))

    def shape(self, value):
        kind = value.type.tensor_type
        return [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in kind.shape.dim]

    def test_open_shapes(self):
        """Tests that a dimension that depends on open sizes stays open, under its name where that
        is certain.
        """
        model, _ = perceptron(self.folder)
        path, part, _ = self.extract(model, "--inputs", "active", "--outputs", "sum")
        self.assertEqual((self.shape(part.graph.input[0]), self.shape(part.graph.output[0])), (["N", 5], ["N", 4]))
        a = self.array("a.npy", np.ones((2, 5), "f4"))
        self.assertEqual(self.outputs(path, "-i", f"active={a}")["sum"].shape, (2, 4))
        _, part, _ = self.extract(model, "--inputs", "active", "--dim", "N=2")
        self.assertEqual(self.shape(part.graph.input[0]), [2, 5])
        nodes = [node("Transpose", ["a"], ["t"], perm=[1, 0]), node("Concat", ["t", "t"], ["c"], axis=1),
                 node("MatMul", ["c", "b"], ["m"]), node("Neg", ["m"], ["y"])]
        model = save(self.folder, "several", nodes, [("a", ["N", "L"]), ("b", [None, 7])], [("y", None)])
        _, part, _ = self.extract(model, "--inputs", "t", "--outputs", "c", "--shape", "b=4,7")
        self.assertEqual((self.shape(part.graph.input[0]), self.shape(part.graph.output[0])), (["L", "N"], ["L", None]))
        # The dimension is open: N and M fit equally.
        nodes = [node("Add", ["a", "one"], ["s"]), node("Add", ["b", "one"], ["t"]), node("Concat", ["s", "t"], ["y"], axis=0)]
        model = save(self.folder, "names", nodes, [("a", ["N", 3]), ("b", ["M", 3])], [("y", [None, 3])],
                     [("one", np.ones(1, "f4"))])
        _, part, _ = self.extract(model, "--inputs", "s")
        self.assertEqual(self.shape(part.graph.input[0]), [None, 3])

    def test_unknown_shapes(self):
        """Tests a model that can be built for some sizes only, when extract tries none of these."""
        nodes = [node("Reshape", ["x", "s"], ["r"]), node("Neg", ["r"], ["n"]), node("Exp", ["n"], ["y"])]
        model = save(self.folder, "some", nodes, [("x", ["N", 4])], [("y", [28])], [("s", np.array([28]))])
        path, part, said = self.extract(model, "--inputs", "n", sound=False)
        self.assertIn("shapes of the part stay unknown", said)
        self.assertFalse(part.graph.input[0].type.tensor_type.HasField("shape"))
        self.tool("run", path, "--shape", "n=28", "-r", 1)
        _, part, said = self.extract(model, "--inputs", "n", "--dim", "N=7")
        self.assertEqual((said.count("unknown"), self.shape(part.graph.input[0])), (0, [28]))

    def test_node_on_both_sides(self):
        """Tests a node of which one result is an input of the part, while the other one is
        computed.
        """
        nodes = [node("Split", ["x"], ["a", "b"], axis=0), node("Add", ["a", "b"], ["y"])]
        model = save(self.folder, "split", nodes, [("x", [4])], [("y", [2])])
        path, part, _ = self.extract(model, "--inputs", "a")
        self.assertEqual([i.name for i in part.graph.input], ["a", "x"])
        x = self.array("x.npy", np.array([1, 2, 3, 4], "f4"))
        np.testing.assert_array_equal(self.outputs(path, "-i", f"x={x}", "--fill", "a=10")["y"], [13, 14])

    def test_regions(self):
        """Tests branches that read values of the graph around them."""
        def branch(kind):
            out = helper.make_tensor_value_info("o", TensorProto.FLOAT, [3])
            return helper.make_graph([node(kind, ["n", "w"], ["o"])], kind, [], [out])

        nodes = [node("Neg", ["x"], ["n"]), node("Exp", ["x"], ["e"]),
                 node("If", ["c"], ["i"], then_branch=branch("Add"), else_branch=branch("Sub")),
                 node("Add", ["i", "e"], ["y"])]
        model = save(self.folder, "regions", nodes, [("x", [3]), ("c", [], TensorProto.BOOL)], [("y", [3])],
                     [("w", np.ones(3, "f4"))])
        _, part, _ = self.extract(model, "--outputs", "i")
        self.assertEqual([n.op_type for n in part.graph.node], ["Neg", "If"])
        self.assertEqual([i.name for i in part.graph.initializer], ["w"])
        _, part, _ = self.extract(model, "--inputs", "n", "--outputs", "i")
        self.assertEqual([i.name for i in part.graph.input], ["n", "c"])

    def test_what_stays(self):
        model = onnx.load(convolution(self.folder))
        model.metadata_props.add(key="author", value="somebody")
        for name, shape in (("c", [1, 8, 16, 16]), ("d", [1, 4])):
            model.graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        path = self.folder / "more.onnx"
        path.write_bytes(model.SerializeToString())
        _, part, _ = self.extract(path, "--outputs", "r")
        self.assertEqual((part.metadata_props[0].value, part.producer_name, part.opset_import[0].version),
                         ("somebody", "tests", 17))
        self.assertEqual([v.name for v in part.graph.value_info], ["c"])
        # A value whose type is in the file becomes an input of that type, and is in value_info no
        # longer.
        _, part, _ = self.extract(path, "--inputs", "c")
        self.assertEqual(([i.name for i in part.graph.input], [v.name for v in part.graph.value_info]), (["c"], ["d"]))

    def test_external_data(self):
        model, _ = perceptron(self.folder)
        loaded = onnx.load(model)
        inner = self.folder / "inner"
        inner.mkdir()
        onnx.save_model(loaded, inner / "m.onnx", save_as_external_data=True, location="data.bin", size_threshold=0)
        x = self.array("x.npy", np.ones((2, 6), "f4"))
        whole = self.outputs(inner / "m.onnx", "-i", x, "--outputs", "active")["active"]
        # A part in another folder contains the weights; a part in the model's folder refers to the
        # model's file of weights.
        path, part, _ = self.extract(inner / "m.onnx", "--outputs", "active")
        self.assertEqual(part.graph.initializer[0].data_location, TensorProto.DEFAULT)
        np.testing.assert_array_equal(self.outputs(path, "-i", x)["active"], whole)
        self.tool("extract", inner / "m.onnx", "--outputs", "active", "-o", inner / "p.onnx")
        part = onnx.load(inner / "p.onnx", load_external_data=False)
        self.assertEqual(part.graph.initializer[0].data_location, TensorProto.EXTERNAL)
        np.testing.assert_array_equal(self.outputs(inner / "p.onnx", "-i", x)["active"], whole)
        (inner / "data.bin").write_bytes(b"short")
        _, err = self.tool("extract", inner / "m.onnx", "--outputs", "active", "-o", path, status=2)
        self.assertIn("data.bin", err)

    def test_messages(self):
        model, out = convolution(self.folder), self.folder / "part.onnx"
        self.refuses(2, 'the model has no tensor "filtre"; similar are "filter"', "extract", model, "--inputs",
                     "filtre", "-o", out)
        self.refuses(2, 'the model has no tensor "nothing like it"; info lists', "extract", model, "--outputs",
                     "nothing like it", "-o", out)
        self.refuses(2, '--inputs: tensor "c" is given twice', "extract", model, "--inputs", "c,c", "-o", out)
        self.refuses(2, 'tensor "c" is input and output', "extract", model, "--inputs", "c", "--outputs", "c", "-o", out)
        self.refuses(2, 'no output of the part depends on tensor "d"', "extract", model, "--inputs", "d", "--outputs",
                     "f", "-o", out)
        self.refuses(3, "/none/p.onnx: cannot be written: No such file or directory", "extract", model, "--outputs",
                     "c", "-o", self.folder / "none" / "p.onnx")
        self.refuses(3, "/dev/full: --output names something here that is no regular file, such as a folder or a device",
                     "extract", model, "--outputs", "c", "-o", "/dev/full")
        self.refuses(USAGE, "give --output FILE", "extract", model, "--outputs", "c")
        self.refuses(USAGE, "give --inputs or --outputs", "extract", model, "-o", out)
        self.refuses(2, "only models of ONNX can be cut", "extract", self.folder / "p.mlir", "--outputs", "c", "-o", out)
        odd = save(self.folder, "odd", [helper.make_node("Odd", ["x"], ["o"], domain="odd"),
                                        node("Neg", ["o"], ["y"])], [("x", [3])], [("y", [3])])
        _, err = self.tool("extract", odd, "--inputs", "o", "-o", out, status=2)
        self.assertIn('the type of tensor "o" is not known: add it', err)
        self.assertFalse(out.exists())

    def test_no_room(self):
        """Tests that the old file stays when writing fails."""
        model, out = convolution(self.folder), self.folder / "part.onnx"
        out.write_bytes(b"before")
        done = subprocess.run([PROGRAM, "extract", model, "--inputs", "f", "-o", out], check=False,
                              stderr=subprocess.PIPE, text=True, restore_signals=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("part.onnx: cannot be written: File too large", done.stderr)
        self.assertEqual(out.read_bytes(), b"before")
        self.assertEqual(list(self.folder.glob("*.part")), [])


if __name__ == "__main__":
    main()
