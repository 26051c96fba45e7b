#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run compile, and its graphs in place of models: test_compile.py WEBNN_RUN"""
import json

import numpy as np
from onnx import TensorProto

from common import USAGE, ToolTest, convolution, main, node, on_devices, perceptron, save


class Compile(ToolTest):
    def compile(self, model, device, *options):
        graph = self.folder / "saved.graph"
        out, err = self.tool("compile", model, "-d", device, "-o", graph, *options)
        return graph, out + err

    def output(self, model, device, *options):
        self.tool("run", model, "-d", device, "-o", self.folder / "out.npy", *options)
        return np.load(self.folder / "out.npy")

    @on_devices
    def test_same_bits(self, device):
        model, _ = perceptron(self.folder)
        graph, said = self.compile(model, device, "--dim", "N=3")
        self.assertIn(f"{graph.stat().st_size} bytes, for {device}: ", said)
        x = self.array("x.npy", np.random.default_rng(3).uniform(-1, 1, (3, 6)).astype("f4"))
        for given in (("-i", x), ("-i", f"x={x}"), ("--fill", "x=0.5"), ("--random", 4)):
            more = () if given[0] == "-i" else ("--dim", "N=3")
            np.testing.assert_array_equal(self.output(graph, device, *given),
                                          self.output(model, device, *given, *more))
        # The graph needs neither the model's file nor a name of its own.
        model.unlink()
        np.testing.assert_array_equal(self.output(graph, device, "-i", x),
                                      self.output(graph.rename(self.folder / "g"), device, "-i", x))

    @on_devices
    def test_all_commands(self, device):
        model = convolution(self.folder)
        graph, _ = self.compile(model, device)
        saved = json.loads(self.tool("explain", graph, "-d", device, "--json", "-")[0])
        built = json.loads(self.tool("explain", model, "-d", device, "--json", "-")[0])
        self.assertEqual(saved["nodes"], built["nodes"])
        bench = json.loads(self.tool("bench", graph, "-d", device, "--repeats", 3, "--streams", 2, "--json",
                                     "-")[0])
        self.assertEqual((bench["repeats"], bench["frozen_inputs"]), (6, []))
        y = self.array("y.npy", self.output(model, device, "-r", 1))
        self.tool("compare", graph, "-d", device, "--expect", y, "--tolerance", 0)
        self.tool("compare", graph, "-d", device, "--with", device, "--tolerance", 0)
        wrong = self.array("wrong.npy", np.load(y) + 1)
        self.tool("compare", graph, "-d", device, "--expect", wrong, status=1)

    @on_devices
    def test_info(self, device):
        graph, _ = self.compile(convolution(self.folder), device)
        info = json.loads(self.tool("info", graph, "-d", device, "--json", "-")[0])
        self.assertEqual((info["saved"], info["runs"], info["profile"], info["device"]),
                         (True, True, False, device))
        self.assertEqual(info["inputs"], [{"name": "x", "kind": "tensor", "type": "float32",
                                           "shape": [1, 3, 16, 16]}])
        self.assertEqual(info["outputs"][0]["shape"], [1, 4])
        conv = next(o for o in info["operators"] if o["operator"] == "conv2d")
        self.assertEqual((conv["nodes"], conv["npu"], conv["cpu"]), (1, 1, 0) if device == "sim" else (1, 0, 1))
        out, _ = self.tool("info", graph, "-d", device)
        self.assertIn(f"{graph}: a saved graph\n", out)
        self.assertRegex(out, r"\n  x +float32 \[1, 3, 16, 16\]\n")
        self.assertRegex(out, r"\n  conv2d +1 +[01] +[01] +0\n")

    def test_profile(self):
        model = convolution(self.folder)
        graph, _ = self.compile(model, "sim")
        self.refuses(2, "compile the model again, with webnn-run compile --profile", "profile", graph, "-d", "sim")
        graph, _ = self.compile(model, "sim", "--profile")
        saved, built = (json.loads(self.tool("profile", m, "-d", "sim", "--json", "-")[0])
                        for m in (graph, model))
        # The graph does not have the names of ONNX operators.
        self.assertEqual([each.pop("onnx_operator") for each in saved["nodes"]],
                         [each["operator"] for each in saved["nodes"]])
        self.assertIn("Conv", [each.pop("onnx_operator") for each in built["nodes"]])
        self.assertEqual(saved["nodes"], built["nodes"])
        # Other commands take the compiled graph, too.
        np.testing.assert_array_equal(self.output(graph, "sim", "-r", 1), self.output(model, "sim", "-r", 1))
        self.assertIn("with time stamps", self.tool("info", graph, "-d", "sim")[0])

    def test_profile_of_cpu(self):
        """Tests that the CPU measures times of a graph that was compiled with or without --profile.
        """
        model = convolution(self.folder)
        for options in (), ("--profile",):
            graph, _ = self.compile(model, "cpu", *options)
            saved = json.loads(self.tool("profile", graph, "-d", "cpu", "--json", "-")[0])
            self.assertIn("conv2d", {each["operator"].split("+")[0] for each in saved["nodes"]})
            self.assertTrue(any(each["cpu_ns"] > 0 for each in saved["nodes"]))
            self.output(graph, "cpu", "-r", 1)

    def test_frozen_input(self):
        model = save(self.folder, "reshape", [node("Reshape", ["x", "s"], ["y"], "r")],
                     [("x", [6]), ("s", [2], TensorProto.INT64)], [("y", None)])
        s = self.array("s.npy", np.array([3, 2]))
        graph, said = self.compile(model, "cpu", "-i", f"s={s}")
        self.assertIn('input "s" is frozen', said)
        x = self.array("x.npy", np.arange(6, dtype="f4"))
        np.testing.assert_array_equal(self.output(graph, "cpu", "-i", x), [[0, 1], [2, 3], [4, 5]])

    def test_what_is_lost(self):
        model = save(self.folder, "drawn", [node("RandomUniformLike", ["x"], ["u"]),
                                            node("Add", ["u", "x"], ["y"]),
                                            node("Slice", ["x", "z", "z"], ["e"])],
                     [("x", [3])], [("y", [3]), ("e", [0])], [("z", np.array([0]))])
        graph, said = self.compile(model, "cpu")
        self.assertIn('output "e" has no elements: the graph is without it', said)
        self.assertIn('the model draws random numbers: they are the input "random/0" of the graph', said)
        self.refuses(3, 'input "random/0"', "run", graph, "-d", "cpu", "--fill", "x=1")
        self.tool("run", graph, "-d", "cpu", "--fill", "x=1", "--fill", "random/0=0.25")

    def test_nothing_is_drawn(self):
        """Tests that the graph has no input for random numbers when the random tensor has no
        elements.
        """
        for operator in "Bernoulli", "Multinomial":
            model = save(self.folder, "nothing", [node("Slice", ["x", "z", "z"], ["e"]), node(operator, ["e"], ["b"]),
                                                  node("Neg", ["x"], ["y"])],
                         [("x", [3, 2])], [("y", [3, 2]), ("b", [0, 2 if operator == "Bernoulli" else 1])], [("z", np.array([0]))])
            _, said = self.compile(model, "cpu")
            self.assertIn('output "b" has no elements', said)
            self.assertNotIn("random", said)

    def test_result(self):
        graph, _ = self.compile(convolution(self.folder), "sim", "--json", self.folder / "result.json")
        result = json.loads((self.folder / "result.json").read_text())
        self.assertEqual((result["file"], result["bytes"], result["device"], result["npu"], result["cpu"]),
                         (str(graph), graph.stat().st_size, "sim", 5, 0))

    def test_damaged(self):
        graph, _ = self.compile(convolution(self.folder), "cpu")
        whole = graph.read_bytes()
        for content, text in ((whole[:-1], "it is damaged: it has "), (whole[:100], "it is too short"),
                              (b"", "it is too short"), (b"X" + whole[1:], "it begins with other bytes"),
                              (whole[:8] + b"\xff" + whole[9:], "this library reads format "),
                              (whole[:20] + b"9" + whole[21:], "the checksum of its header is wrong"),
                              (whole[:-5000] + bytes([whole[-5000] ^ 1]) + whole[-4999:],
                               "the checksum of its content is wrong")):
            graph.write_bytes(content)
            for command in ("run", "info", "bench", "explain", "compare", "profile") if not content else ("run",):
                more = ("--with", "cpu") if command == "compare" else ()
                out, err = self.tool(command, graph, "-d", "cpu", *more, status=2)
                self.assertEqual(out, "")
                self.assertRegex(err, rf"^webnn-run: {graph}: it ")
                self.assertIn(text, err)
        # A damaged graph is recognised by its first bytes, whatever its name is.
        other = self.folder / "other"
        other.write_bytes(whole[:-1])
        self.refuses(2, "it is damaged", "run", other, "-d", "cpu")
        self.refuses(2, "none.graph: it cannot be opened", "run", self.folder / "none.graph", "-d", "cpu")

    def test_messages(self):
        model = convolution(self.folder)
        graph, _ = self.compile(model, "sim")
        self.refuses(2, "choose the --device that it was saved for", "run", graph, "-d", "cpu", "-r", 1)
        self.refuses(2, "this is onpu-custom with 1000000", "run", graph, "-d", "sim", "--sram", 1000000, "-r", 1)
        for options, name in ((("--dim", "N=1"), "--dim"), (("--dim", "N=1..4"), "--dim"), (("--shape", "x=1"), "--shape"),
                              (("--outputs", "c"), "--outputs")):
            self.refuses(2, f"compile the model again with {name}, and give the new graph", "run", graph, "-d", "sim", *options)
        self.refuses(2, "it is a saved graph already", "compile", graph, "-o", self.folder / "x")
        self.refuses(3, 'input "x", float32 [1, 3, 16, 16], has no value', "run", graph, "-d", "sim")
        self.refuses(3, "the model has no input of this name; its inputs are: x", "run", graph, "-d", "sim", "--fill", "q=1")
        self.refuses(USAGE, "give --output FILE", "compile", model)
        self.refuses(3, "/x.graph: it cannot be made: No such file or directory", "compile", model, "-o",
                     self.folder / "no" / "x.graph")
        self.refuses(3, "/dev/full: it cannot be replaced: it is not a regular file", "compile", model, "-o",
                     "/dev/full")
        before = graph.read_bytes()
        self.refuses(2, "it is no model of ONNX", "compile", self.array("x.npy", np.zeros(3)), "-o", graph)
        self.assertEqual(graph.read_bytes(), before)
        program = self.folder / "p.mlir"
        program.write_text("module {}")
        self.refuses(2, "a program of StableHLO is built while it runs", "compile", program, "-o", graph)


if __name__ == "__main__":
    main()
