#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests files of graphs: what save() writes can be loaded with the same bits, and files of other
bindings can be read.
"""
import base64
import json
import os
import struct
import tempfile
import unittest
from pathlib import Path

import numpy as np

from webnn_npu import ML, MLFileError, MLGraph, pack
from webnn_npu._file import load as load_recording

CONTEXT = ML().create_context(device="cpu")

TEXT = """# A perceptron.
webnn_graph "net" v1 @quantized {
  inputs { x: f32[1, 4]; }
  consts {
    W: f32[4, 3] @weights("layer.weight");
    b: f32[3];                      # its weight has the name of the constant
    two: f32[] @scalar(2.0);
    one: i8[2] @bytes([1, 255]);
  }
  nodes {
    h = matmul(x, W);
    s = add(h, b);
    m = mul(s, two);
    [p, q, r] = split(m, splits=3, axis=1);
    j = concat([p, q, r], axis=1);
    y = clamp(j, minValue=-1e1, maxValue=6);
    z = y;
    c = cast(one, to="int32");
  }
  outputs { z, y; c }
}
"""
W = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
B = np.array([1, -2, 3], np.float32)


def expected(x):
    return np.clip((x @ W + B) * 2, -10, 6)


def safetensors(tensors):
    head, data = {"__metadata__": {"made": "here"}}, b""
    for name, (kind, array) in tensors.items():
        head[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data


class Files(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.x = np.array([[1, -2, 3, 0.5]], np.float32)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def damaged(self, text, path, *arguments):
        with self.assertRaises(OSError) as caught:
            MLGraph.load(path, *arguments)
        self.assertIsInstance(caught.exception, (MLFileError, FileNotFoundError))
        self.assertIn(text, str(caught.exception))

    def check_text(self, *arguments):
        graph = MLGraph.load(self.folder / "net.webnn", *arguments)
        result = CONTEXT.compute(graph, {"x": self.x})
        np.testing.assert_allclose(result["z"], expected(self.x), rtol=1e-6)
        np.testing.assert_array_equal(result["c"], np.array([1, -1], np.int32))

    def test_text_with_safetensors(self):
        self.write("net.webnn", TEXT)
        self.write("net.safetensors", safetensors({"layer.weight": ("F32", W), "b": ("F32", B)}))
        self.check_text()
        half = (B.view(np.uint32) >> 16).astype(np.uint16)
        self.write("net.safetensors", safetensors({"layer_weight": ("F32", W), "b": ("BF16", half)}))
        self.check_text()
        self.write("net.safetensors", safetensors({"layer.weight": ("F32", W.T), "b": ("F32", B)}))
        self.damaged("shape [3, 4]", self.folder / "net.webnn")
        self.write("net.safetensors", safetensors({"layer.weight": ("F16", W.astype(np.float16)), "b": ("F32", B)}))
        self.damaged("float16", self.folder / "net.webnn")
        self.write("net.safetensors", safetensors({"layer.weight": ("F32", W)}))
        self.damaged("'b' is not in", self.folder / "net.webnn")
        self.write("net.safetensors", b"\xff" * 20)
        self.damaged("damaged", self.folder / "net.webnn")
        self.write("net.safetensors", b"")
        self.damaged("empty", self.folder / "net.webnn")

    def manifest(self, **changes):
        tensors = {"layer.weight": {"dataType": "float32", "shape": [4, 3], "byteOffset": 8, "byteLength": 48},
                   "b": {"dataType": "float32", "shape": [3], "byteOffset": 56, "byteLength": 12}}
        tensors["b"].update(changes)
        return json.dumps({"format": "wg-weights-manifest", "version": 1, "endianness": "little", "tensors": tensors})

    def test_text_with_manifest(self):
        self.write("net.webnn", TEXT)
        self.damaged("no file of weights", self.folder / "net.webnn")
        self.write("other.bin", b"WGWT\1\0\0\0" + W.tobytes() + B.tobytes())
        self.damaged("no manifest", self.folder / "net.webnn", None, "other.bin")
        self.write("listing.json", self.manifest())
        self.check_text("listing.json", "other.bin")
        self.check_text(str(self.folder / "listing.json"), str(self.folder / "other.bin"))
        self.damaged("does not exist", self.folder / "net.webnn", "none.json", "other.bin")
        for changes, text in (({"byteOffset": 60}, "lies outside"), ({"byteOffset": -4}, "lies outside"),
                              ({"byteLength": 8}, "8 bytes"), ({"byteOffset": "x"}, "no graph")):
            self.write("listing.json", self.manifest(**changes))
            self.damaged(text, self.folder / "net.webnn", "listing.json", "other.bin")
        self.write("listing.json", self.manifest().replace('"little"', '"big"'))
        self.damaged("endianness is 'big', and only", self.folder / "net.webnn", "listing.json", "other.bin")

    def test_damaged_text(self):
        for old, new, text in (("v1", "1", "line 2: 1 stands where a version"), ("f32[1, 4]", "f23[1, 4]", "a type such as"),
                               ("axis=1);\n    j", "axis=1)\n    j", "line 15"), ("matmul(x, W)", "matmul(x, V)", "'V'"),
                               ("matmul(x", "matmuul(x", "no such operator"), ("to=\"int32\"", "to=\"int33\"", "int33"),
                               ("splits=3", "splits=3, wrong=1", "'wrong'"), ("(p, q", "(5, q", "expected"),
                               ("add(h, b)", "add(h, b, m)", "'m'"), ("mul(s, two)", "mul(s, 2)", "the name of its argument"),
                               ("[p, q, r]", "[p, q, r, v]", "not 4"), ("outputs", "results", "inputs, consts"),
                               ("matmul(x, W)", "matmul(x, b)", "matmul"), ("};", "}", "")):
            self.write("net.safetensors", safetensors({"layer.weight": ("F32", W), "b": ("F32", B)}))
            if old in TEXT:
                self.damaged(text, self.write("net.webnn", TEXT.replace(old, new)))
        self.damaged("File not found", self.folder / "none.webnn")
        self.damaged("not text", self.write("net.webnn", b"\xff\xfe\0"))

    def test_json_of_others(self):
        graph = {"format": "webnn-graph-json", "version": 2, "name": None, "quantized": False,
                 "inputs": {"x": {"dataType": "float32", "shape": [{"name": "batch", "maxSize": 1}, 4]}},
                 "consts": {"W": {"dataType": "float32", "shape": [4, 3],
                                  "init": {"kind": "inlineBytes", "bytes": base64.b64encode(W.tobytes()).decode()}},
                            "b": {"dataType": "float32", "shape": [3], "init": {"kind": "inlineBytes",
                                                                              "bytes": list(B.tobytes())}},
                            "q": {"dataType": "int4", "shape": [3], "init": {"kind": "inlineBytes", "bytes": [255, 1, 2]}}},
                 "nodes": [{"id": "op_0", "op": "gemm", "inputs": ["x", "W", "b"], "outputs": ["s"],
                            "options": {"c": 2, "alpha": 1.0, "beta": 1.0, "aTranspose": False, "bTranspose": False,
                                        "label": "head"}},
                           {"id": "y", "op": "unsqueeze", "inputs": ["s"], "options": {"axes": [0]}, "outputs": None}],
                 "outputs": {"y": "y"}}
        path = self.write("g.webnn", json.dumps(graph))
        result = CONTEXT.compute(MLGraph.load(path), {"x": self.x})["y"]
        np.testing.assert_allclose(result, (self.x @ W + B)[None], rtol=1e-6)
        self.assertEqual(bytes(load_recording(path, None, None).values[3].data), bytes(pack([-1, 1, 2])))
        for change, text in (({"version": 3}, "webnn-graph-json' 3"), ({"format": "onnx"}, "'onnx'"), ({"outputs": {}}, "no outputs"),
                             ({"nodes": 5}, "no graph"), ({"inputs": {}}, "'x'"), ({"outputs": {"y": "w"}}, "output 'y' is 'w'")):
            self.damaged(text, self.write("g.webnn", json.dumps({**graph, **change})))
        self.damaged("Expecting", self.write("g.webnn", "{"))
        graph["consts"]["b"]["init"]["bytes"] = [0] * 11
        self.damaged("11 bytes", self.write("g.webnn", json.dumps(graph)))

    def test_what_is_saved_comes_back(self):
        builder = CONTEXT.create_graph_builder()
        x = builder.input("operand_2", [1, 2, 4, 4])
        w, bias = builder.constant(np.ones((3, 2, 2, 2), np.float32)), builder.constant(np.ones(3, np.float32))
        y = builder.conv2d(x, w, pads=[1, 0, 0, 1], bias=bias, label="stem")
        n = builder.instance_normalization(y, bias=bias)
        n = builder.clamp(n, min_value=float("-inf"), max_value=0.5)
        parts = builder.split(builder.reshape(n, [3, 16]), 2, axis=1)
        state = builder.lstm(builder.reshape(parts[0], [3, 1, 8]), builder.constant(np.ones((1, 8, 8), np.float32)),
                             builder.constant(np.ones((1, 8, 2), np.float32)), 3, 2, return_sequence=True,
                             peephole_weight=builder.constant(np.ones((1, 6), np.float32)))
        outputs = {"cast": builder.cast(parts[1], "float16"), "pad": builder.pad(parts[1], [0, 1, 0, 1], "edge"),
                   "arg": builder.arg_min(parts[1], 1), "resample": builder.resample2d(y, sizes=[8, 8], mode="linear"),
                   "q": builder.dequantize_linear(builder.constant([[1, -8, 3]], data_type="int4"), builder.constant([[0.5]]),
                                                  builder.constant([[0]], data_type="int4"))}
        outputs |= {f"s{i}": item for i, item in enumerate(state)}
        graph = builder.build(outputs)
        data = {"operand_2": np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 2, 4, 4)}
        before = CONTEXT.compute(graph, data)
        graph.save(self.folder / "a.webnn", quantized=True)
        again = MLGraph.load(self.folder / "a.webnn")
        after = CONTEXT.compute(again, data)
        self.assertEqual((again.operation_count, sorted(again.get_output_names())),
                         (graph.operation_count, sorted(outputs)))
        for name, value in before.items():
            np.testing.assert_array_equal(value, after[name])
        self.assertTrue(json.loads((self.folder / "a.webnn").read_text())["quantized"])
        again.save(os.fspath(self.folder / "b.webnn"))
        self.assertEqual(CONTEXT.compute(MLGraph.load(self.folder / "b.webnn"), data)["arg"].tolist(), before["arg"].tolist())


if __name__ == "__main__":
    unittest.main()
