#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run info, bench and explain; usage and exit codes: test_reports.py WEBNN_RUN"""
import json
import os
import re

import numpy as np
from onnx import TensorProto

from common import USAGE, ToolTest, convolution, main, node, on_devices, perceptron, save


class Reports(ToolTest):
    def json(self, *arguments):
        """Runs a command and returns its report and text. Checks that --json FILE writes the report
        beside the text, and that --json - writes it in place of the text.
        """
        path = self.folder / "result.json"
        text, _ = self.tool(*arguments, "--json", path)
        self.assertTrue(text)
        alone, _ = self.tool(*arguments, "--json", "-")
        self.assertEqual(set(json.loads(alone)), set(json.loads(path.read_text())))
        return json.loads(path.read_text()), text


class Info(Reports):
    def test_values(self):
        model, _ = perceptron(self.folder)
        info, text = self.json("info", model)
        self.assertEqual(info["inputs"], [{"name": "x", "kind": "tensor", "type": "float",
                                           "shape": ["N", 6]}])
        self.assertEqual(info["outputs"][0]["shape"], ["N", 4])
        self.assertEqual(info["operator_sets"], {"ai.onnx": 17})
        self.assertEqual((info["ir_version"], info["producer"]), (8, "tests"))
        self.assertEqual(info["weights"], {"tensors": 3, "elements": 30 + 20 + 4, "bytes": 4 * 54})
        # The input's shape is open, so that the costs of two nodes are unknown.
        self.assertEqual((info["macs"], info["macs_unknown"]), (0, 2))
        self.assertEqual([n["macs"] for n in info["nodes"]], [None, 0, None, 0])
        self.assertEqual(info["nodes"][3]["outputs"][0]["shape"], ["N", 4])
        self.assertEqual({o["operator"]: o["nodes"] for o in info["operators"]},
                         {"MatMul": 2, "Relu": 1, "Add": 1})
        self.assertFalse(info["runs"])
        self.assertIn("set them with --dim NAME=N (those that have a name) or --shape x=N,N,...", info["problem"])
        self.assertIn('the shape of input "x" has dimensions without a size, [N, 6]', info["problem"])
        self.assertIn("float [N, 6]", text)

    @on_devices
    def test_where(self, device):
        model = convolution(self.folder)
        info, text = self.json("info", model, "--device", device)
        self.assertTrue(info["runs"])
        self.assertIn(f"it runs on {device}", text)
        conv = next(o for o in info["operators"] if o["operator"] == "Conv")
        self.assertEqual((conv["npu"], conv["cpu"]), (1, 0) if device == "sim" else (0, 1))

    def test_costs(self):
        """Tests the multiply-accumulates and bytes of weights, and the shape of every value."""
        info, text = self.json("info", perceptron(self.folder)[0], "--dim", "N=3")
        self.assertEqual([(n["name"], n["macs"], n["parameter_bytes"], n["outputs"][0]["shape"])
                          for n in info["nodes"]],
                         [("layer1", 3 * 6 * 5, 120, [3, 5]), ("relu1", 0, 0, [3, 5]),
                          ("layer2", 3 * 5 * 4, 80, [3, 4]), ("bias2", 0, 16, [3, 4])])
        self.assertEqual((info["macs"], info["macs_unknown"]), (150, 0))
        self.assertEqual({o["operator"]: o["macs"] for o in info["operators"]},
                         {"MatMul": 150, "Relu": 0, "Add": 0})
        self.assertIn("multiply-accumulates: 150\n", text)
        self.assertIn("weights: 3 tensors, 54 elements, 216 bytes\n", text)
        self.assertRegex(text, r"layer2 +MatMul +60 +80 bytes +sum: float \[3, 4\]\n")
        info, text = self.json("info", convolution(self.folder))
        self.assertEqual({n["name"]: n["macs"] for n in info["nodes"] if n["macs"]},
                         {"conv": 8 * 16 * 16 * 27, "dense": 512 * 4})
        self.assertIn("multiply-accumulates: 57344 (57.3 k)\n", text)

    def test_costs_of_operators(self):
        random = np.random.default_rng(1)

        def weights(*shape):
            return ("w", random.uniform(-1, 1, shape).astype("f4"))

        cases = [
            (node("Conv", ["x", "w"], ["y"], group=2), (1, 4, 5, 5), [weights(6, 2, 3, 3)], 6 * 9 * 2 * 9),
            (node("ConvTranspose", ["x", "w"], ["y"]), (1, 4, 5, 5), [weights(4, 2, 3, 3)], 4 * 25 * 2 * 9),
            (node("Gemm", ["x", "w"], ["y"], transA=1), (7, 3), [weights(7, 2)], 3 * 2 * 7),
            (node("MatMul", ["x", "w"], ["y"]), (5, 3, 4), [weights(5, 4, 2)], 5 * 3 * 2 * 4),
            (node("Einsum", ["x", "w"], ["y"], equation="bij, bjk->bik"), (5, 3, 4), [weights(5, 4, 2)],
             5 * 3 * 2 * 4),
            (node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2), (3, 2, 5),
             [weights(1, 8, 5), ("r", random.uniform(-1, 1, (1, 8, 2)).astype("f4"))], 3 * 2 * (40 + 16)),
            (node("Softmax", ["x"], ["y"]), (3, 4), [], 0),
        ]
        for operator, shape, tensors, macs in cases:
            model = save(self.folder, "one", [operator], [("x", shape)], [("y", None)], tensors)
            info, _ = self.json("info", model)
            self.assertEqual((info["macs"], info["macs_unknown"], info["nodes"][0]["macs"]), (macs, 0, macs),
                             operator.op_type)
            self.assertTrue(info["nodes"][0]["outputs"][0]["shape"])

    def test_refused(self):
        model = save(self.folder, "bad", [node("Relu", ["x"], ["r"]),
                                          node("NonZero", ["r"], ["y"], "nz")],
                     [("x", [1, 4, 4])], [("y", None)])
        info, text = self.json("info", model)
        refused = {o["operator"]: o["refused"] for o in info["operators"]}
        self.assertEqual(refused, {"Relu": 0, "NonZero": 1})
        self.assertFalse(info["runs"])
        self.assertRegex(text, r"NonZero +1 +1 refused +\w")
        self.assertRegex(text, r'it does not run on \w+: 1 node cannot be imported; the first is "nz" \(NonZero\): ')
        self.refuses(2, 'bad.onnx: node "nz" (NonZero): ', "run", model, "--random", 1)


class Bench(Reports):
    @on_devices
    def test_figures(self, device):
        model = convolution(self.folder)
        bench, text = self.json("bench", model, "--device", device, "--warm-up", 1, "--repeats",
                                7, "--threads", 1)
        ms = bench["ms"]
        order = [ms[k] for k in ("min", "median", "p90", "p95", "p99", "max")]
        self.assertEqual(order, sorted(order))
        self.assertGreater(ms["min"], 0)
        self.assertTrue(ms["min"] <= ms["mean"] <= ms["max"])
        # The CPU may have more threads than the device sim.
        self.json("bench", model, "-d", device, "-t", 65, "--repeats", 1)
        # All these percentiles of seven numbers are the largest one.
        self.assertEqual(ms["p90"], ms["max"])
        self.assertEqual((bench["warm_up"], bench["repeats"], bench["threads"]), (1, 7, 1))
        self.assertEqual(bench["device"], device)
        self.assertIn(f"median {ms['median']:.3f} ms, minimum {ms['min']:.3f} ms", text)
        self.assertEqual("npu" in bench, device == "sim")
        if device == "sim":
            # The vector unit computes the product of one row, whose weights stay in SRAM.
            self.assertGreaterEqual(bench["npu"]["macs"], 16 * 16 * 8 * 27)
            self.assertAlmostEqual(bench["npu"]["share_of_peak"],
                                   bench["npu"]["macs"] / bench["npu"]["peak_macs"])

    def test_percentiles_of_few_dispatches(self):
        model = convolution(self.folder)
        for repeats, missing in ((1, ["p90", "p95", "p99"]), (10, ["p95", "p99"]), (20, ["p99"]), (100, [])):
            bench, text = self.json("bench", model, "-d", "cpu", "--repeats", repeats)
            self.assertEqual(bench["too_few_for"], missing)
            for name in ("p90", "p95", "p99"):
                self.assertEqual(f"{name[1:]}% {bench['ms'][name]:.3f} ms" in text, name not in missing)
            self.assertEqual(f"{repeats} dispatches are too few for the 99% percentile" in text, bool(missing))

    @on_devices
    def test_streams_for_a_time(self, device):
        model = convolution(self.folder)
        bench, text = self.json("bench", model, "-d", device, "-t", 1, "--streams", 3, "--duration", .05)
        self.assertEqual((bench["streams"], bench["threads"]), (3, 1))
        self.assertGreaterEqual(bench["repeats"], 3)
        self.assertIn(f"{bench['repeats']} dispatches in 3 streams, each after 3\n", text)
        self.assertGreater(bench["per_second"], 0)
        # All streams dispatch for the time that was asked for.
        self.assertGreaterEqual(bench["repeats"] / bench["per_second"], .05)
        counted, _ = self.json("bench", model, "-d", device, "-t", 1, "--streams", 2, "--repeats", 5)
        self.assertEqual(counted["repeats"], 10)

    def test_what_comes_before(self):
        model = convolution(self.folder)
        bench, text = self.json("bench", model, "-d", "cpu", "--repeats", 1)
        for name, words in (("load_ms", "loaded in {:.3f} ms"), ("build_ms", "built in {:.3f} ms")):
            self.assertGreater(bench[name], 0)
            self.assertIn(words.format(bench[name]), text)
        self.assertGreater(bench["peak_mib"], 1)

    def test_cycles_are_those_of_the_device(self):
        model = convolution(self.folder)
        cycles = {self.json("bench", model, "-d", "sim", "--repeats", 1, *more)[0]["npu"]["cycles"]
                  for more in ((), ("--threads", 2), ("--random", 5))}
        self.assertEqual(len(cycles), 1)


class Explain(Reports):
    @on_devices
    def test_placement(self, device):
        model = convolution(self.folder)
        plan, text = self.json("explain", model, "--device", device)
        nodes = {n["label"]: n for n in plan["nodes"]}
        self.assertLessEqual({"conv", "relu", "pool", "flat", "dense", "softmax"}, set(nodes))
        for kind in ("npu", "cpu", "folded"):
            self.assertEqual(sum(n["device"] == kind for n in plan["nodes"]), plan[kind])
        if device == "sim":
            self.assertEqual(plan["cpu"], 0)
            self.assertEqual(nodes["conv"]["reason"], "supported")
            self.assertEqual(nodes["relu"]["reason"], "fused")
            self.assertGreater(nodes["conv"]["estimated_cycles"], 0)
        else:
            self.assertEqual(plan["npu"], 0)
            self.assertEqual(nodes["conv"]["reason"], "cpu-device")
            self.assertEqual(nodes["dense"]["kernel"], "cpu/matmul-line")
            self.assertIn("; not cpu/matmul-tiles, because its second matrix is constant; ", nodes["dense"]["reason_text"])
        for label, of in nodes.items():
            self.assertRegex(text, rf"{of['operator']} +{label} .*{re.escape(of['reason_text'])}")

    @on_devices
    def test_rules(self, device):
        """Tests that the report names the rule or pass by which an operator became part of another.
        """
        model = save(self.folder, "gated", [node("Neg", ["x"], ["n"], "negate"), node("Sigmoid", ["n"], ["s"], "sigmoid"),
                                            node("Mul", ["n", "s"], ["g"], "gate"), node("Add", ["g", "x"], ["t"], "add"),
                                            node("Relu", ["t"], ["y"], "relu")],
                     [("x", [1, 8])], [("y", None)])
        plan, text = self.json("explain", model, "--device", device)
        rules = {n["label"]: n.get("rule") for n in plan["nodes"] if n["label"]}
        self.assertEqual(rules, {"negate": None, "sigmoid": "gate", "gate": "gate", "add": None, "relu": "fuse_activation"})
        self.assertRegex(text, r"(?m)^sigmoid .*; by gate$")
        self.assertRegex(text, r"(?m)^relu .*; by fuse_activation$")

    @on_devices
    def test_gelu_between_products(self, device):
        """Tests that gelu of parts is found although its last factor could be part of the weights of the
        product behind it.
        """
        weights = np.random.default_rng(9).uniform(-1, 1, (8, 8)).astype(np.float32)
        numbers = [(name, np.array(number, np.float32)) for name, number in (("root", 2 ** .5), ("one", 1), ("half", .5))]
        model = save(self.folder, "gelu", [node("MatMul", ["x", "w"], ["h"], "before"), node("Div", ["h", "root"], ["d"], "div"),
                                           node("Erf", ["d"], ["e"], "erf"), node("Add", ["e", "one"], ["a"], "add"),
                                           node("Mul", ["h", "a"], ["m"], "mul"), node("Mul", ["m", "half"], ["g"], "half_of"),
                                           node("MatMul", ["g", "w"], ["y"], "behind")],
                     [("x", [4, 8])], [("y", None)], [("w", weights), *numbers])
        plan, _ = self.json("explain", model, "--device", device)
        rules = {n["label"]: n.get("rule") for n in plan["nodes"] if n["label"] in ("div", "add", "mul")}
        self.assertEqual(set(rules.values()), {"recognise"}, rules)

    def test_limit_of_the_compiler(self):
        """Tests how a limit of the compiler is reported: here a row takes more tiles than a job has
        slots, but any other limit would do.
        """
        model = save(self.folder, "long", [node("Neg", ["x"], ["negative"], "negate"),
                                           node("Softmax", ["negative"], ["y"], "row", axis=1)],
                     [("x", [1, 1 << 24])], [("y", None)])
        plan, text = self.json("explain", model, "--device", "sim", "--sram", "16384")
        reasons = {n["label"]: n["reason"] for n in plan["nodes"]}
        self.assertEqual((reasons["negate"], reasons["row"]), ("supported", "compiler-limit"))
        self.assertEqual((plan["npu"], plan["cpu"], plan["compiler_limit"]), (1, 1, 1))
        self.assertIn("1 of those on the CPU met a limit of the compiler\n", text)
        _, text = self.json("info", model, "--device", "sim", "--sram", "16384")
        self.assertIn("it runs on sim, and 1 operator on the CPU: webnn-run explain says why\n", text)
        plan, text = self.json("explain", convolution(self.folder), "--device", "sim")
        self.assertEqual(plan["compiler_limit"], 0)
        self.assertNotIn("limit of the compiler", text)


class Usage(ToolTest):
    def test_commands(self):
        out, _ = self.tool("--help")
        for name in ("info", "run", "bench", "explain", "profile", "compare"):
            self.assertRegex(out, rf"\n  {name} +\w")
            self.assertIn("--device=NAME", self.tool(name, "--help")[0])
        self.refuses(USAGE, "there is no command 'walk'", "walk")
        model, _ = perceptron(self.folder)
        self.refuses(USAGE, f"to run a model of that name: webnn-run run {model}", model, "--input", "x")
        self.refuses(USAGE, "the command comes first, before --input", "--input", "x", model)
        self.refuses(USAGE, "Usage: webnn-run COMMAND")
        self.assertRegex(self.tool("--version")[0], r"^webnn-run \d+\.\d+")

    def test_wrong_options(self):
        model, _ = perceptron(self.folder)
        for text, *options in (("a model is needed", "run"),
                               ("'b' is a second", "run", "a", "b"),
                               ("there is no device 'gpu'", "run", model, "-d", "gpu"),
                               ("--dim takes NAME=VALUE, not '3'", "run", model, "--dim", 3),
                               ("--dim NAME= takes a number from 1", "run", model, "--dim", "N=0"),
                               ("--repeats takes a number from 1 to 1000000, not '0'", "bench", model,
                                "--repeats", 0),
                               ("--duration takes a number of seconds above 0", "bench", model,
                                "--duration", 0),
                               ("exclude each other", "bench", model, "--duration", 1, "--repeats", 1),
                               ("--streams takes a number from 1 to 1024, not '0'", "bench", model,
                                "--streams", 0),
                               ("--mean takes one number or three", "run", model, "--mean", "1,2"),
                               ("--mean takes one number or three", "run", model, "--mean", "1,2,3,"),
                               ("--mean takes one number or three", "run", model, "--mean", "1;2;3"),
                               ("--mean takes one number or three", "run", model, "--mean", "1,"),
                               ("--mean takes one number or three", "run", model, "--mean", "nan"),
                               ("--deviation must not be 0", "run", model, "--deviation", 0),
                               ("--layout must be nchw or nhwc", "run", model, "--layout", "chw"),
                               ("--resize takes N or WxH, numbers from 1 to 99999, not '3y4'", "run", model,
                                "--resize", "3y4"),
                               ("--resize takes N or WxH", "run", model, "--resize", "123456"),
                               ("--crop takes N or WxH", "run", model, "--crop=-5x5"),
                               ("--sram takes a multiple of 64 bytes up to 1G", "run", model, "--sram", 100)):
            self.refuses(USAGE, text, *options)

    def test_files_and_devices(self):
        model = convolution(self.folder)
        for command in ("info", "run", "bench", "explain", "profile"):
            self.refuses(2, "none.onnx: ", command, self.folder / "none.onnx")
        (self.folder / "text.onnx").write_text("This is no model.")
        self.refuses(2, "text.onnx: ", "run", self.folder / "text.onnx")
        # The command info describes files of GGUF itself.
        for content, kind in ((b'{"model": [1, 2]}', "JSON"), (b"<!DOCTYPE html><html></html>", "a web page"),
                              (b"\x1f\x8b\x08\0\0\0\0\0", "compressed with gzip"),
                              (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
                              (b"\x1c\0\0\0TFL3\0\0", "TensorFlow Lite"), (b"GGUF\3\0\0\0", "webnn-run generate runs it"),
                              (b"PK\3\4" + bytes(26) + b"archive/data.pkl", "torch.onnx.export"),
                              (b"\x10\0\0\0\0\0\0\0{\"w\": [1, 2, 3]}", "safetensors"),
                              (bytes(5000), "of zeros only: fetch it anew"), (b"\xef\xbb\xbf{\"a\": 1}", "JSON"),
                              ("{\"a\": 1}".encode("utf-16"), "text in UTF-16"), (b"RIFF\0\0\0\0WAVEfmt ", "a sound"),
                              (b"\n\x10\n\1x\x12\x0bPlaceholder\n\x08\n\1y\x12\3Neg", "TensorFlow"),
                              # version 1; a graph, with a list of its operators
                              (b"\x08\1\x12\x0c\x0a\x06\x12\4\x0a\2\x0a\0\x12\2\x0a\0",
                               "TensorFlow: convert its folder with tf2onnx --saved-model"),
                              # version 4; input x; a neural network in field 500
                              (b"\x08\4\x12\x07\x0a\5\x0a\1x\x1a\0\xa2\x1f\0", "Core ML"),
                              (b"\x08\1\x12\x07\x0a\5\x0a\1x\x1a\0\x50\1\x92\x19\0", "Core ML"),
                              (b"ftrt" + bytes(40), "TensorRT"), (b"ptrt" + bytes(40), "TensorRT"),
                              (b"\x0a\0\0\0{\"a\": 123}ftrt" + bytes(40), "TensorRT"),
                              ("ein Modell, größer".encode(), "text: an .onnx file"),
                              (b"ir_version: 8\ngraph {}\n", "in text form"), (b"\x80\2}q\0.", "pickled")):
            (self.folder / "other.onnx").write_bytes(content)
            self.refuses(2, "it is no model of ONNX; it is ", "explain", self.folder / "other.onnx")
            self.refuses(2, kind, "explain", self.folder / "other.onnx")
        for holds, kind in (("saved_model.pb", "tf2onnx --saved-model"), ("Manifest.json", "Core ML"),
                            ("coremldata.bin", "Core ML"), ("x.onnx", "it is a folder: give the .onnx file in it")):
            folder = self.folder / f"{holds}.folder"
            folder.mkdir()
            (folder / holds).write_bytes(b"x")
            self.refuses(2, kind, "info", folder)
        self.refuses(4, "none.bin", "run", model, "--random", 1, "-d", "sim", "--full", "--firmware",
                     self.folder / "none.bin")
        if not os.path.exists("/dev/accel"):
            self.refuses(4, "device npu: no node of the driver", "run", model, "--random", 1, "-d", "npu")
            self.refuses(4, "without an NPU, give --device sim", "run", model, "--random", 1, "-d", "npu")
        _, err = self.tool("bench", model, "--repeats", 1, "--json", self.folder / "no" / "x",
                           status=3)
        self.assertIn("the result cannot be written", err)

    def test_npu_only(self):
        model = convolution(self.folder)
        out = self.folder / "y.npy"
        self.tool("run", model, "-d", "sim", "--npu-only", "--random", 1, "-o", out)
        self.assertAlmostEqual(float(np.load(out).sum()), 1, places=4)
        self.refuses(4, "cpu", "run", model, "-d", "cpu", "--npu-only", "--random", 1)

    def test_paths(self):
        """Tests that --json has names of files that are not UTF-8, with "?" for the other bytes."""
        model = convolution(self.folder).rename(self.folder / "mod\udce8le.onnx")
        graph, part = self.folder / "gr\udce8.graph", self.folder / "p\udce8.onnx"
        for arguments, keys in ((("info", model), "model"), (("explain", model), "model"),
                                (("bench", model, "--repeats", 1), "model"),
                                (("profile", model, "-d", "sim"), "model"),
                                (("compare", model, "-d", "sim", "--with", "cpu"), "model"),
                                (("extract", model, "--outputs", "r", "-o", part), "model file"),
                                (("compile", model, "-d", "cpu", "-o", graph), "model file"),
                                (("info", graph, "-d", "cpu"), "model")):
            with self.subTest(arguments[0]):
                report = json.loads(self.tool(*arguments, "--json", "-")[0])
                paths = [arguments[1], arguments[-1]]
                self.assertEqual([report[key] for key in keys.split()],
                                 [str(path).replace("\udce8", "?") for path in paths[:len(keys.split())]])


if __name__ == "__main__":
    main()
