# SPDX-License-Identifier: MIT
"""The networks of bench_cpu.py as tables of layers, with seeded weights.

Both the WebNN graph (graph.c) and the ONNX file are made from one table. Values are numbered: 0 is
the input, layer i makes value i + 1, the last value is the output.
"""
import numpy as np


class Net:
    """A table under construction; its methods add layers and return the number of the value that
    the last one makes.
    """

    def __init__(self, name, seed=0, input=(3, 224, 224)):
        self.name, self.layers, self.shapes = name, [], [tuple(input)]
        self.random, self.weights, self.offset = np.random.default_rng(seed), [], 0

    def add(self, op, inputs, shape, **options):
        self.layers.append({"op": op, "inputs": inputs, **options})
        self.shapes.append(shape)
        return len(self.layers)

    def weight(self, shape, scale, mean=0):
        """Adds seeded numbers to the file of weights and returns their offset there, in floats."""
        data = self.random.standard_normal(shape, np.float32) * np.float32(scale) + np.float32(mean)
        self.weights.append(data)
        self.offset += data.size
        return self.offset - data.size

    def conv(self, x, out, kernel, stride=1, pad=0, groups=1, act="relu"):
        c, h, w = self.shapes[x]
        filter_shape = [out, c // groups, kernel, kernel]
        # This scale keeps the variance through the network, or lets it grow slowly where branches
        # are added.
        scale = ((2 if act else .5) / (c // groups * kernel * kernel)) ** .5
        y = self.add("conv", [x], (out, *((n + 2 * pad - kernel) // stride + 1 for n in (h, w))),
                     filter=filter_shape, weight=self.weight(filter_shape, scale),
                     bias=self.weight([out], .1), stride=stride, pad=pad, groups=groups)
        return self.add(act, [y], self.shapes[y]) if act else y

    def pool(self, x, op, kernel, stride=1, pad=0):
        c, h, w = self.shapes[x]
        return self.add(op, [x], (c, *((n + 2 * pad - kernel) // stride + 1 for n in (h, w))),
                        kernel=kernel, stride=stride, pad=pad)

    def linear(self, x, out, act=None):
        depth = int(np.prod(self.shapes[x]))
        if len(self.shapes[x]) > 1:
            x = self.add("flatten", [x], (depth,))
        y = self.add("linear", [x], (out,), matrix=[out, depth],
                     weight=self.weight([out, depth], (1 / depth) ** .5), bias=self.weight([out], .1))
        return self.add(act, [y], (out,)) if act else y

    def softmax(self, x):
        return self.add("softmax", [x], self.shapes[x])

    # --- layers over rows: [rows, columns]

    def gemm(self, x, out, act=None, bias=True):
        rows, depth = self.shapes[x]
        options = {"weight": self.weight([out, depth], (1 / depth) ** .5)}
        if bias:
            options["bias"] = self.weight([out], .1)
        y = self.add("linear", [x], (rows, out), matrix=[out, depth], **options)
        return self.add(act, [y], self.shapes[y]) if act else y

    def heads(self, x, count, transposed=False):
        rows, n = self.shapes[x]
        shape = (count, n // count, rows) if transposed else (count, rows, n // count)
        return self.add("heads", [x], shape, heads=count, transposed=int(transposed))

    def join(self, x):
        heads, rows, n = self.shapes[x]
        return self.add("heads", [x], (rows, heads * n), heads=heads, transposed=0)

    def matmul(self, a, b):
        return self.add("matmul", [a, b], (*self.shapes[a][:-1], self.shapes[b][-1]))

    def layernorm(self, x):
        n = self.shapes[x][-1]
        return self.add("layernorm", [x], self.shapes[x], vectors=[n], weight=self.weight([n], .1, 1), bias=self.weight([n], .1))


# Networks for images of `size` x `size`, with the number of channels of the original divided by
# `part`.

def resnet50(size=224, part=1):
    net = Net("resnet50", 50, (3, size, size))
    x = net.pool(net.conv(0, 64 // part, 7, 2, 3), "maxpool", 3, 2, 1)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        width //= part
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = net.conv(net.conv(x, width, 1), width, 3, stride, 1)
            y = net.conv(y, 4 * width, 1, act=None)
            if not block:
                x = net.conv(x, 4 * width, 1, stride, act=None)
            x = net.add("relu", [net.add("add", [x, y], net.shapes[y])], net.shapes[y])
    net.softmax(net.linear(net.pool(x, "averagepool", net.shapes[x][1]), 1000))
    return net


def mobilenetv2(size=224, part=1):
    net = Net("mobilenetv2", 2, (3, size, size))
    x = net.conv(0, 32 // part, 3, 2, 1, act="relu6")
    for expand, out, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                       (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        out //= part
        for block in range(blocks):
            stride, c = (first if not block else 1), net.shapes[x][0]
            y = net.conv(x, c * expand, 1, act="relu6") if expand > 1 else x
            y = net.conv(y, c * expand, 3, stride, 1, c * expand, act="relu6")
            y = net.conv(y, out, 1, act=None)
            x = net.add("add", [x, y], net.shapes[y]) if stride == 1 and c == out else y
    x = net.conv(x, 1280 // part, 1, act="relu6")
    net.softmax(net.linear(net.pool(x, "averagepool", net.shapes[x][1]), 1000))
    return net


def squeezenet(size=224, part=1):
    net = Net("squeezenet", 10, (3, size, size))
    x = net.pool(net.conv(0, 96 // part, 7, 2), "maxpool", 3, 2)
    for n, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192),
                                           (64, 256), (64, 256))):
        x, expand = net.conv(x, squeeze // part, 1), expand // part
        parts = [net.conv(x, expand, 1), net.conv(x, expand, 3, 1, 1)]
        x = net.add("concat", parts, (2 * expand, *net.shapes[x][1:]))
        if n in (2, 6):
            x = net.pool(x, "maxpool", 3, 2)
    x = net.conv(x, 1000, 1)
    x = net.pool(x, "averagepool", net.shapes[x][1])
    net.softmax(net.add("flatten", [x], (1000,)))
    return net


def vgg19():
    net = Net("vgg19", 19)
    x = 0
    for convs, width in ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512)):
        for _ in range(convs):
            x = net.conv(x, width, 3, 1, 1)
        x = net.pool(x, "maxpool", 2, 2)
    x = net.linear(net.linear(x, 4096, "relu"), 4096, "relu")
    net.softmax(net.linear(x, 1000))
    return net


def encoder(net, x):
    """Adds one encoder of BERT-base; returns its result."""
    q, k, v = (net.heads(net.gemm(x, 768), 12, transposed) for transposed in (False, True, False))
    scores = net.matmul(q, k)
    scores = net.softmax(net.add("scale", [scores], net.shapes[scores], factor=64 ** -.5))
    y = net.gemm(net.join(net.matmul(scores, v)), 768)
    x = net.layernorm(net.add("add", [x, y], net.shapes[x]))
    y = net.gemm(net.gemm(x, 3072, "gelu"), 768)
    return net.layernorm(net.add("add", [x, y], net.shapes[x]))


def bert():
    """Returns four of the twelve encoders of BERT-base, for 128 tokens."""
    net, x = Net("bert", 4, (128, 768)), 0
    for _ in range(4):
        x = encoder(net, x)
    return net


def quantized(net):
    """Marks the layers whose results are integers in a quantised model, and returns the network. A
    layer in front of an activation is not marked; the activation is.
    """
    followed = {layer["inputs"][0] for layer in net.layers if layer["op"] in ("relu", "relu6")}
    for i, layer in enumerate(net.layers):
        layer["quantize"] = layer["op"] not in ("softmax", "input") and i + 1 not in followed
    return net


MODELS = {"resnet50": resnet50, "mobilenetv2": mobilenetv2, "squeezenet": squeezenet, "vgg19": vgg19, "bert": bert}
