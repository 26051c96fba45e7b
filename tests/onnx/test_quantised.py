#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Quantised networks against ONNX Runtime: test_quantised.py WEBNN-RUN DEVICE….

ONNX Runtime's tool makes models in the form QDQ of networks of ../shared/models. Outputs of the same model agree within
one quantum for 99.9 % of the elements, and the largest element is the same. Weights have 7 bits: without VNNI,
ONNX Runtime's sums of 8-bit weights saturate. Without ../shared/models nothing is tested, and it says so.
"""
import logging
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx.reference.op_run  # noqa: F401 - Debian's onnx has to be complete before onnxruntime is loaded
import shared_models
from onnx_cases import onnxruntime, quiet
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

MODELS = shared_models.SHARED
SHARE = 0.999
# The function or file that gives the model, and a picture.
NETWORKS = {
    "squeezenet": (shared_models.squeezenet, "squeezenet/input_test.npy"),
    "mobilenetv2": (shared_models.mobilenetv2, "mobilenetv2/input_test.npy"),
    "super_resolution": ("onnx/super_resolution_core_op18.onnx", "onnx/data/super_resolution_input.npy"),
}


class Pictures(CalibrationDataReader):
    """The picture, and darker and brighter ones."""
    def __init__(self, name, picture):
        self.left = [{name: picture * numpy.float32(factor)} for factor in (0.9, 1, 1.1)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantum(model, output):
    """The step between two values of an output, or None when it is no integer that was dequantised."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.output[0] == output and node.op_type == "DequantizeLinear":
            return float(onnx.numpy_helper.to_array(constants[node.input[1]]))
    return None


def compare(program, device, folder, name, picture, expected):
    """Whether a device agrees with what ONNX Runtime gave for each output."""
    numpy.save(folder / "picture.npy", picture)
    model = onnx.load(folder / "quantised.onnx")
    subprocess.run([program, "run", "--device=" + device, f"--input={folder / 'picture.npy'}", f"--output-dir={folder}",
                    folder / "quantised.onnx"], check=True, stdout=subprocess.DEVNULL)
    good = True
    for output, wanted in expected.items():
        got = numpy.load(folder / f"{output}.npy").reshape(wanted.shape)
        step = quantum(model, output) or numpy.ptp(wanted) / 255
        steps = numpy.abs(got - wanted) / step
        share = (steps <= 1.001).mean()
        same = got.argmax() == wanted.argmax()
        good &= bool(share >= SHARE and same)
        print(f"{name} on {device}: {share:.2%} of {output} within one quantum, at most {steps.max():.1f}, "
              f"{(steps < 0.001).mean():.2%} equal, {'the same' if same else 'another'} largest element", flush=True)
    return good


def main(program, *devices):
    if not MODELS.exists():
        print(f"nothing is tested: there are no models in {MODELS}")
        return 77
    logging.disable(logging.WARNING)
    good = True
    for name, (make, picture) in NETWORKS.items():
        with tempfile.TemporaryDirectory() as folder, quiet():
            folder = pathlib.Path(folder)
            source = folder / "float32.onnx"
            source.write_bytes(make() if callable(make) else (MODELS / make).read_bytes())
            info = onnxruntime.InferenceSession(str(source)).get_inputs()[0]
            picture = numpy.load(MODELS / picture)
            if picture.ndim < len(info.shape):
                picture = picture[None]
            quantize_static(str(source), str(folder / "quantised.onnx"), Pictures(info.name, picture),
                            quant_format=QuantFormat.QDQ, per_channel=True, reduce_range=True,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
            session = onnxruntime.InferenceSession(str(folder / "quantised.onnx"))
            names = [output.name for output in session.get_outputs()]
            expected = dict(zip(names, session.run(names, {info.name: picture})))
            results = [compare(program, device, folder, name, picture, expected) for device in devices]
            good &= all(results)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
