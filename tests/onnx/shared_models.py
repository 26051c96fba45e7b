# SPDX-License-Identifier: MIT
"""Makes ONNX files of the networks whose weights are beside the checkout as plain numbers
(../shared/models), and of the demo's network for digits. Each function returns the bytes of a file.
"""
import json
import pathlib

import numpy
from onnx import TensorProto, helper, numpy_helper

TOP = pathlib.Path(__file__).resolve().parents[2]
SHARED = TOP.parent / "shared/models"
DIGITS = TOP / "userspace/demo/digits"


class Network:
    """A chain of nodes: each takes the result of the one before."""

    def __init__(self, shape):
        self.shape, self.nodes, self.weights, self.last, self.names = shape, [], [], "input", 0

    def constant(self, array):
        self.names += 1
        self.weights.append(numpy_helper.from_array(numpy.ascontiguousarray(array),
                                                    f"constant{self.names}"))
        return self.weights[-1].name

    def add(self, kind, *constants, given=None, **attributes):
        self.names += 1
        name = f"{kind}{self.names}"
        inputs = [*(given or [self.last]), *(self.constant(c) for c in constants)]
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        self.last = name
        return name

    def conv(self, weights, bias, relu=False, **attributes):
        self.add("Conv", weights, bias, **attributes)
        return self.add("Relu") if relu else self.last

    def reshape(self, *shape):
        self.add("Reshape", numpy.array(shape, numpy.int64))

    def finish(self):
        self.nodes[-1].output[0] = "output"
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "network", [value("input", TensorProto.FLOAT, self.shape)],
                                  [value("output", TensorProto.FLOAT, None)], self.weights)
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        return model.SerializeToString()


def squeezenet():
    """Returns SqueezeNet, from images [1, 224, 224, 3] to the probabilities of 1001 classes."""
    net = Network([1, 224, 224, 3])

    def conv(name, **attributes):
        weights = numpy.load(SHARED / f"squeezenet/weights/{name}_kernel.npy").transpose(0, 3, 1, 2)
        bias = numpy.load(SHARED / f"squeezenet/weights/{name}_Conv2D_bias.npy")
        return net.conv(weights, bias, relu=True, **attributes)

    def fire(number):
        conv(f"fire{number}_squeeze")
        squeezed = net.last
        one = conv(f"fire{number}_e1x1")
        net.last = squeezed
        three = conv(f"fire{number}_e3x3", pads=[1] * 4)
        net.add("Concat", given=[one, three], axis=1)

    net.add("Transpose", perm=[0, 3, 1, 2])
    conv("conv1", strides=[2, 2], pads=[2, 2, 3, 3])
    for numbers in (2, 3, 4), (5, 6, 7, 8), (9,):
        net.add("MaxPool", kernel_shape=[3, 3], strides=[2, 2])
        for number in numbers:
            fire(number)
    conv("conv10")
    net.add("GlobalAveragePool")
    net.reshape(1, 1001)
    net.add("Softmax", axis=1)
    return net.finish()


def mobilenetv2():
    """Returns MobileNetV2, from images [1, 3, 224, 224] to the 1280 features, as the last layer's
    weights are missing.
    """
    folder = SHARED / "mobilenetv2"
    net = Network([1, 3, 224, 224])
    block = None
    for layer in json.loads((folder / "graph.json").read_text())["layers"]:
        weights, bias = (numpy.load(folder / "weights" / f"{layer['layer']}_{part}.npy")
                         for part in ("weight", "bias"))
        net.conv(weights, bias, strides=[layer["stride"]] * 2, pads=[layer["padding"]] * 4,
                 group=layer["groups"])
        if "clamp" in layer:
            net.add("Clip", *(numpy.float32(bound) for bound in layer["clamp"]))
        if layer.get("addBlockInput"):
            net.add("Add", given=[block, net.last])
        if "addBlockInput" in layer:
            block = net.last
    net.add("GlobalAveragePool")
    net.reshape(1, 1280)
    return net.finish()


def lenet():
    """Returns LeNet, from digits [1, 1, 28, 28] of 0 to 255 to ten probabilities."""
    numbers = numpy.fromfile(SHARED / "lenet/lenet.bin", numpy.float32)
    net, at = Network([1, 1, 28, 28]), 0

    def take(*shape):
        nonlocal at
        at += int(numpy.prod(shape))
        return numbers[at - int(numpy.prod(shape)):at].reshape(shape)

    for channels, before in (20, 1), (50, 20):
        net.conv(take(channels, before, 5, 5), take(channels))
        net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    at += 4
    net.reshape(1, 800)
    net.add("Gemm", take(500, 800), take(500), transB=1)
    net.add("Relu")
    net.add("Gemm", take(10, 500), take(10), transB=1)
    net.add("Softmax", axis=1)
    return net.finish()


def digits():
    """Returns the demo's network: from digits [batch, 1, 8, 8] of 0 to 1 to ten scores. The softmax
    that would make them probabilities is not part of it.
    """
    def load(name):
        return [numpy.load(DIGITS / f"{name}_{part}.npy") for part in "wb"]

    net = Network(["batch", 1, 8, 8])
    net.conv(*load("conv1"), relu=True, pads=[1] * 4)
    net.conv(*load("conv2"), relu=True, pads=[1] * 4)
    net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.conv(*load("conv3"), relu=True, pads=[1] * 4)
    net.add("AveragePool", kernel_shape=[2, 2], strides=[2, 2])
    net.reshape(-1, 96)
    net.add("Gemm", *load("dense"))
    return net.finish()
