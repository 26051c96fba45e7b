# SPDX-License-Identifier: MIT
"""Computes a network of convolutions in double from the weights of its file, with numpy alone;
errors of float32 results are measured against it. It knows the operators of PP-OCR's detection
network, as far as that network uses them."""
import numpy
from onnx import helper, numpy_helper


def windows(x, taps, strides, dilations):
    """Yields for each tap (row, column) the elements of x that it sees, [channels, rows, columns],
    as a view of x.
    """
    rows, columns = ((x.shape[1 + i] - (taps[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in (0, 1))
    for i, j in numpy.ndindex(*taps):
        top, left = i * dilations[0], j * dilations[1]
        yield i, j, x[:, top:, left:][:, ::strides[0], ::strides[1]][:, :rows, :columns]


def conv(x, weights, bias=0.0, strides=(1, 1), pads=(0, 0, 0, 0), dilations=(1, 1), group=1, **_):
    out, depth, *taps = weights.shape
    x = numpy.pad(x[0], ((0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    result = 0
    for i, j, seen in windows(x, taps, strides, dilations):
        part = seen.reshape(group, depth, -1)
        factors = weights[:, :, i, j].reshape(group, out // group, depth)
        product = factors * part if depth == 1 else factors @ part
        result = result + product.reshape(out, *seen.shape[1:])
    return result[None] + numpy.reshape(bias, (-1, 1, 1))


def conv_transpose(x, weights, bias=0.0, strides=(1, 1), **attributes):
    """Returns a transposed convolution of one image without overlaps or padding: each pixel becomes
    a block.
    """
    assert tuple(weights.shape[2:]) == tuple(strides) and attributes.get("group", 1) == 1
    blocks = numpy.einsum("iyx,iohw->oyhxw", x[0], weights, optimize=True)
    channels, rows, height, columns, width = blocks.shape
    return blocks.reshape(1, channels, rows * height, columns * width) + numpy.reshape(bias, (-1, 1, 1))


def batch_normalization(x, scale, bias, mean, variance, epsilon=1e-5, **_):
    shape = (-1, 1, 1)
    factor = scale / numpy.sqrt(variance + epsilon)
    return (x - mean.reshape(shape)) * factor.reshape(shape) + bias.reshape(shape)


def resize(x, _, scales, **attributes):
    assert attributes["mode"] == b"nearest"
    for axis, scale in enumerate(scales):
        assert scale == int(scale)
        x = numpy.repeat(x, int(scale), axis)
    return x


OPERATORS = {
    "Add": lambda x, y: x + y,
    "BatchNormalization": batch_normalization,
    "Clip": lambda x, low, high: numpy.clip(x, low, high),
    "Concat": lambda *x, axis: numpy.concatenate(x, axis),
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Div": lambda x, y: x / y,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
    "HardSigmoid": lambda x, alpha, beta: numpy.clip(alpha * x + beta, 0, 1),
    "Mul": lambda x, y: x * y,
    "Relu": lambda x: numpy.maximum(x, 0),
    "Resize": resize,
    "Sigmoid": lambda x: 1 / (1 + numpy.exp(-x)),
}


def run(model, value):
    """Returns the output of a model with one input and one output."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values[model.graph.input[0].name] = value
    values = {name: array.astype(float) for name, array in values.items()}
    for node in model.graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            result = numpy_helper.to_array(attributes["value"]).astype(float)
        else:
            result = OPERATORS[node.op_type](*(values.get(name) for name in node.input), **attributes)
        values[node.output[0]] = result
    return values[model.graph.output[0].name]
