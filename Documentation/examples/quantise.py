# SPDX-License-Identifier: MIT
"""Quantises quarter.onnx to 8 bits with ONNX Runtime's tool, as quarter8.onnx."""
import numpy
import onnx.reference.op_run  # noqa: F401 - Debian's onnx has to be complete before onnxruntime is loaded
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Pictures(CalibrationDataReader):
    """Yields pictures like those that the model will see; the scales come from them. Here they are
    pictures of noise.
    """
    def __init__(self):
        random = numpy.random.default_rng(1)
        self.left = [random.random((1, 1, 16, 16), numpy.float32) for _ in range(100)]

    def get_next(self):
        return {"picture": self.left.pop()} if self.left else None


quantize_static("quarter.onnx", "quarter8.onnx", Pictures(), quant_format=QuantFormat.QDQ,
                per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
