#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests quantised models against ONNX Runtime: test_quantised.py WEBNN_RUN [--whole].

ONNX Runtime's own tool quantises networks that the test makes, and those of ../shared/models: to
signed and unsigned integers, with one scale for a tensor or one for each channel. ResNet-50,
MobileNetV2 and SqueezeNet have seeded weights, and a quarter of their channels; with --whole they
have all channels, which takes some minutes.

At least 99.9 % of the elements of each output must be within one quantum of what ONNX Runtime
computes from the same file, and the largest element must be the same. ONNX Runtime has two results:
it computes node by node, or it fuses nodes, and then rounds differently, for example in a softmax
of integers. In deep networks one value that is halfway between two integers decides about many
others: for MobileNetV2 with its real weights, 44 % of the elements of the two results are within
one quantum. Our result must be near one of the two. Weights have 7 bits, because without VNNI ONNX
Runtime's sums of 8-bit weights saturate. With dynamic quantisation, results are floats, and close.
"""
import contextlib
import os
import pathlib
import sys
import unittest

import numpy as np
from common import ToolTest, convolution
import onnx
# This module must be loaded before ONNX Runtime; after it, it finds each operator twice and fails.
import onnx.reference.op_run  # noqa: F401
import onnx.version_converter
from onnx import numpy_helper


@contextlib.contextmanager
def quiet():
    """Discards what the libraries print about each other, old files and files without shapes."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


with quiet():
    import onnxruntime
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_dynamic, quantize_static)

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(TOP / "tests" / folder) for folder in ("bench", "onnx")]
import bench_cpu  # noqa: E402
import shared_models  # noqa: E402

MODELS = TOP.parent / "shared/models/onnx"
NETWORKS = ("resnet50", "mobilenetv2", "squeezenet")
SIZE = {} if "--whole" in sys.argv else {"size": 64, "part": 4}
SHARED = ("mnist.onnx", "super_resolution_core_op18.onnx", "ultraface_version-RFB-320.onnx")
KINDS = (("signed", False, QuantType.QInt8), ("unsigned by channel", True, QuantType.QUInt8))


def session(path, fused=False):
    options = onnxruntime.SessionOptions()
    if not fused:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def prepared(path, folder):
    """Returns the path of a copy that has an operator set with scales of channels, and a name for
    each node.
    """
    model = onnx.load(path)
    if model.opset_import[0].version < 13:
        model = onnx.version_converter.convert_version(model, 13)
    for index, node in enumerate(model.graph.node):
        node.name = f"node{index}"
    onnx.save(model, folder / "prepared.onnx")
    return folder / "prepared.onnx"


class Pictures(CalibrationDataReader):
    """Yields calibration data: noise, with another seed each time."""

    def __init__(self, path):
        self.inputs = [(i.name, i.shape) for i in session(path).get_inputs()]
        self.seed = 0

    def get_next(self):
        self.seed += 1
        return self.make(self.seed) if self.seed < 4 else None

    def make(self, seed):
        random = np.random.default_rng(seed)
        return {name: random.random(shape, dtype=np.float32) for name, shape in self.inputs}


def quanta(model):
    """Returns the scale of each output: that of the DequantizeLinear before it. Nodes in between
    only move elements.
    """
    constants = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    scales = {}
    for output in model.graph.output:
        node = makers[output.name]
        while node.op_type != "DequantizeLinear":
            node = makers[node.input[0]]
        scales[output.name] = float(constants[node.input[1]])
    return scales


class Quantised(ToolTest):
    def check(self, source, seed=99):
        path = prepared(source, self.folder)
        pictures = Pictures(path)
        for name, channels, activations in KINDS:
            quantised = self.folder / "quantised.onnx"
            with quiet():
                quantize_static(path, quantised, Pictures(path), quant_format=QuantFormat.QDQ,
                                per_channel=channels, activation_type=activations,
                                weight_type=QuantType.QInt8, reduce_range=True)
                right = [session(quantised, fused) for fused in (False, True)]
            picture = pictures.make(seed)
            arguments = []
            for key, value in picture.items():
                np.save(self.folder / "input.npy", value)
                arguments += ["--input", f"{key}={self.folder / 'input.npy'}"]
            names = [output.name for output in right[0].get_outputs()]
            expected = [dict(zip(names, r.run(None, picture))) for r in right]
            for device in ("cpu", "sim"):
                with self.subTest(model=source.stem, integers=name, device=device):
                    self.tool("run", "--device", device, *arguments, "--output-dir", self.folder,
                              quantised)
                    self.compare(onnx.load(quantised), expected)

    def compare(self, model, expected):
        for name, quantum in quanta(model).items():
            got = np.load(self.folder / f"{name}.npy")
            apart = [np.round(np.abs(got - one[name]) / quantum) for one in expected]
            share, nearest = max(((quanta <= 1).mean(), index) for index, quanta in enumerate(apart))
            self.assertGreaterEqual(share, 0.999, f"{name}: {apart[nearest].max()} quanta")
            if got.size <= 1000:
                # Several elements may be the largest integer.
                right = expected[nearest][name]
                self.assertEqual(right.flat[got.argmax()], right.max())

    def test_dynamic(self):
        """Tests that products of integers become nodes on integers, which include the scales and
        additions.
        """
        random = np.random.default_rng(5)
        source, quantised = self.folder / "source.onnx", self.folder / "quantised.onnx"
        weights = {"w": (300, 200), "b": (200,), "v": (200, 50)}
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["p"], "first"),
             onnx.helper.make_node("Add", ["p", "b"], ["q"], "bias"),
             onnx.helper.make_node("Relu", ["q"], ["r"], "relu"),
             onnx.helper.make_node("MatMul", ["r", "v"], ["y"], "second")], "dynamic",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (7, 300))],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (7, 50))],
            [numpy_helper.from_array(random.normal(size=shape).astype(np.float32), name)
             for name, shape in weights.items()]),
            opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), source)
        for channels in (False, True):
            with quiet():
                quantize_dynamic(source, quantised, per_channel=channels, weight_type=QuantType.QInt8,
                                 reduce_range=True)
                right = session(quantised)
            x = random.normal(size=(7, 300)).astype(np.float32)
            np.save(self.folder / "input.npy", x)
            expected = right.run(None, {"x": x})[0]
            for device in ("cpu", "sim"):
                with self.subTest(channels=channels, device=device):
                    self.tool("run", "--device", device, "--input", self.folder / "input.npy",
                              "--output-dir", self.folder, quantised)
                    got = np.load(self.folder / "y.npy")
                    self.assertLess(np.abs(got - expected).max(), 1e-5 * np.abs(expected).max())
            lines = self.tool("explain", "--device", "sim", quantised)[0].splitlines()
            kernels = [line for line in lines if "mma.i8: the NPU runs it" in line]
            self.assertEqual(len(kernels), 2, lines)
            self.assertFalse([line for line in lines if "mma.f32" in line], lines)

    def test_made(self):
        self.check(convolution(self.folder))

    def test_networks(self):
        for name in NETWORKS:
            net = bench_cpu.MODELS[name](**SIZE)
            # The softmax is left out: nearly all of its thousand probabilities would be the integer
            # 0.
            net.layers.pop()
            net.shapes.pop()
            bench_cpu.write_files(net, self.folder, "float32")
            (self.folder / "model.onnx").rename(self.folder / f"{name}.onnx")
            # The largest element for this picture is some quanta above the next.
            self.check(self.folder / f"{name}.onnx", 103)

    def test_shared(self):
        if not MODELS.is_dir():
            self.skipTest(f"{MODELS} is not there")
        for name in SHARED:
            self.check(MODELS / name)
        for make in shared_models.squeezenet, shared_models.mobilenetv2:
            path = self.folder / f"{make.__name__}_shared.onnx"
            path.write_bytes(make())
            self.check(path)


if __name__ == "__main__":
    unittest.main(argv=["test_quantised.py"], verbosity=2)
