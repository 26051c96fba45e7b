# SPDX-License-Identifier: MIT
"""The networks of bench_npu.py: those of cpu/models.py, MobileNetV1, BERT-base, and the tables of the shared models.

A table here only counts its weights; bench-npu-graph seeds them. bound() says what the machine could do at best with a table.
"""
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cpu"))
import models  # noqa: E402


class Table(models.Net):
    def __init__(self, name, seed=0, input=(3, 224, 224)):
        super().__init__(name, seed)
        self.shapes = [tuple(input)]

    def weight(self, shape, scale):
        self.offset += math.prod(shape)
        return self.offset - math.prod(shape)

    # --- layers over rows: [rows, columns]

    def gemm(self, x, out, act=None):
        rows, depth = self.shapes[x]
        y = self.add("linear", [x], (rows, out), matrix=[out, depth],
                     weight=self.weight([out, depth], 1), bias=self.weight([out], 1))
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
        return self.add("layernorm", [x], self.shapes[x], weight=self.weight([n], 1), bias=self.weight([n], 1))


def squeezenet_shared():
    """The network of the shared model: like the other, but the first convolution pads and there are 1001 classes."""
    net = Table("squeezenet")
    x = net.pool(net.conv(0, 96, 7, 2, 3), "maxpool", 3, 2)
    for n, (squeeze, expand) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192),
                                           (64, 256), (64, 256))):
        x = net.conv(x, squeeze, 1)
        parts = [net.conv(x, expand, 1), net.conv(x, expand, 3, 1, 1)]
        x = net.add("concat", parts, (2 * expand, *net.shapes[x][1:]))
        if n in (2, 6):
            x = net.pool(x, "maxpool", 3, 2)
    x = net.pool(net.conv(x, 1001, 1), "averagepool", 13)
    net.softmax(net.add("flatten", [x], (1001,)))
    return net


def mobilenetv2_shared():
    """Without the classifier, whose weights the shared model lacks."""
    net = models.mobilenetv2()
    while net.layers[-1]["op"] != "averagepool":
        net.layers.pop()
        net.shapes.pop()
    return net


def lenet_shared():
    net = Table("lenet", input=(1, 28, 28))
    x = net.pool(net.conv(0, 20, 5, act=None), "maxpool", 2, 2)
    x = net.pool(net.conv(x, 50, 5, act=None), "maxpool", 2, 2)
    net.softmax(net.linear(net.linear(x, 500, "relu"), 10))
    return net


def mobilenetv1():
    net = Table("mobilenetv1")
    x = net.conv(0, 32, 3, 2, 1)
    for out, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2),
                        (1024, 1)):
        c = net.shapes[x][0]
        x = net.conv(net.conv(x, c, 3, stride, 1, c), out, 1)
    net.softmax(net.linear(net.pool(x, "averagepool", 7), 1000))
    return net


def bert_attention(net, x):
    q, k, v = (net.gemm(x, 768) for _ in range(3))
    scores = net.softmax(net.matmul(net.heads(q, 12), net.heads(k, 12, True)))
    return net.gemm(net.join(net.matmul(scores, net.heads(v, 12))), 768)


def bert_layer(rows=128):
    """One encoder of BERT-base; the scale of the scores is part of the weights."""
    net = Table("bert_encoder", input=(rows, 768))
    x = net.layernorm(net.add("add", [0, bert_attention(net, 0)], net.shapes[0]))
    y = net.gemm(net.gemm(x, 3072, "gelu"), 768)
    net.layernorm(net.add("add", [x, y], net.shapes[x]))
    return net


def one(name, input, make):
    net = Table(name, input=input)
    make(net)
    return net


def conv_layer(name, c, size, *args, **options):
    return one(name, (c, size, size), lambda net: net.conv(0, *args, **options))


LAYERS = {
    "resnet50_conv1": lambda: conv_layer("resnet50_conv1", 3, 224, 64, 7, 2, 3),
    "resnet50_2_1x1a": lambda: conv_layer("resnet50_2_1x1a", 256, 56, 64, 1),
    "resnet50_2_3x3": lambda: conv_layer("resnet50_2_3x3", 64, 56, 64, 3, 1, 1),
    "resnet50_2_1x1b": lambda: conv_layer("resnet50_2_1x1b", 64, 56, 256, 1),
    "resnet50_3_1x1s2": lambda: conv_layer("resnet50_3_1x1s2", 256, 56, 512, 1, 2),
    "resnet50_3_3x3": lambda: conv_layer("resnet50_3_3x3", 128, 28, 128, 3, 1, 1),
    "resnet50_4_3x3": lambda: conv_layer("resnet50_4_3x3", 256, 14, 256, 3, 1, 1),
    "resnet50_5_3x3": lambda: conv_layer("resnet50_5_3x3", 512, 7, 512, 3, 1, 1),
    "resnet50_5_1x1": lambda: conv_layer("resnet50_5_1x1", 512, 7, 2048, 1),
    "mobilenet_dw_112": lambda: conv_layer("mobilenet_dw_112", 32, 112, 32, 3, 1, 1, 32, act="relu6"),
    "mobilenet_dw_56_s2": lambda: conv_layer("mobilenet_dw_56_s2", 144, 56, 144, 3, 2, 1, 144, act="relu6"),
    "mobilenet_dw_14": lambda: conv_layer("mobilenet_dw_14", 384, 14, 384, 3, 1, 1, 384, act="relu6"),
    "mobilenet_pw_56": lambda: conv_layer("mobilenet_pw_56", 24, 56, 144, 1, act="relu6"),
    "mobilenet_pw_14": lambda: conv_layer("mobilenet_pw_14", 384, 14, 64, 1, act=None),
    "bert_projection": lambda: one("bert_projection", (128, 768), lambda net: net.gemm(0, 768)),
    "bert_ffn1_gelu": lambda: one("bert_ffn1_gelu", (128, 768), lambda net: net.gemm(0, 3072, "gelu")),
    "bert_ffn2": lambda: one("bert_ffn2", (128, 3072), lambda net: net.gemm(0, 768)),
    "bert_attention": lambda: one("bert_attention", (128, 768), lambda net: bert_attention(net, 0)),
    "bert_layernorm": lambda: one("bert_layernorm", (128, 768), lambda net: net.layernorm(0)),
    "bert_softmax": lambda: one("bert_softmax", (12, 128, 128), lambda net: net.softmax(0)),
}

# Tables of weights that are real, by the name of the shared model.
SHARED = {"squeezenet": squeezenet_shared, "mobilenetv2": mobilenetv2_shared, "lenet": lenet_shared}
SEEDED = {"resnet50": models.resnet50, "mobilenetv1": mobilenetv1, "bert_encoder": bert_layer}

models.Net = Table


# --- the bound

# onpu-ref1, float32: side of the array, cycles per step of k and least depth, lanes, bytes of LD in a cycle.
SIDE, K_CYCLES, LEAST_DEPTH, LANES, LD_BYTES = 64, 4, 64, 128, 32
# Passes of the vector unit over the elements of a result, by the factors of its instructions.
PASSES = {"relu": 1, "relu6": 1, "gelu": 4, "add": 1, "softmax": 1 + 1 + 4 + 1 + 2, "layernorm": 6}


def blocks(n):
    return -(-n // SIDE)


def mxu_cycles(batch, rows, columns, depth):
    return batch * blocks(rows) * blocks(columns) * max(depth * K_CYCLES, LEAST_DEPTH)


def lane_cycles(elements):
    return -(-elements // LANES)


def layer_cost(layer, shapes, shape):
    """Cycles of the matrix unit, of the vector unit, bytes of weights, and MACs."""
    op, n = layer["op"], math.prod(shape)
    x = shapes[layer["inputs"][0]]
    if op == "conv":
        out, depth, kh, kw = layer["filter"]
        places, taps = math.prod(shape[1:]), kh * kw
        weights = 4 * (out * depth * taps + out)
        macs = n * depth * taps
        if depth == 1 and layer["groups"] > 1:
            return 0, lane_cycles(n) * (taps + 1), weights, macs
        return mxu_cycles(layer["groups"], places, out // layer["groups"], depth * taps), lane_cycles(n), weights, macs
    if op == "linear":
        out, depth = layer["matrix"]
        rows = x[0] if len(x) > 1 else 1
        return mxu_cycles(1, rows, out, depth), lane_cycles(n), 4 * (out * depth + out), n * depth
    if op == "matmul":
        batch, rows, columns = shape
        return mxu_cycles(batch, rows, columns, x[-1]), 0, 0, n * x[-1]
    if op in ("maxpool", "averagepool"):
        return 0, lane_cycles(n) * (layer["kernel"] ** 2 + 2 * (op == "averagepool")), 0, 0
    return 0, lane_cycles(n) * PASSES.get(op, 0), 0, 0


def layer_costs(net):
    """[layer, cycles of the matrix unit, of the vector unit, bytes of weights, MACs] for each layer; an activation belongs to
    the layer whose result only it uses."""
    uses = [0] * len(net.shapes)
    for layer in net.layers:
        for x in layer["inputs"]:
            uses[x] += 1
    costs = []
    for i, layer in enumerate(net.layers):
        mxu, vpu, weights, macs = layer_cost(layer, net.shapes, net.shapes[i + 1])
        before = layer["inputs"][0] - 1
        if layer["op"] in ("relu", "relu6", "gelu") and before >= 0 and uses[before + 1] == 1:
            costs[before][2] += vpu
            vpu = 0
        costs.append([layer, mxu, vpu, weights, macs if mxu else 0])
    return costs


def layer_bound(mxu, vpu, weights):
    return max(mxu, vpu, -(-weights // LD_BYTES))


def bound(net):
    """(cycles, macs of the matrix unit): the sum over layers of the longest of the three."""
    costs = layer_costs(net)
    return sum(layer_bound(*cost[1:4]) for cost in costs), sum(cost[4] for cost in costs)


# Operators of WebNN that the layers of a table become, where they take time.
OPERATORS = {"conv": ("conv2d",), "linear": ("gemm", "matmul"), "matmul": ("matmul",), "maxpool": ("maxPool2d",),
             "averagepool": ("averagePool2d",), "add": ("add",), "softmax": ("softmax",), "layernorm": ("layerNormalization",)}


def bounds_of_nodes(net, nodes):
    """For each node of a profile its layer's bound, 0 for those that are no layer's; None when they do not fit together."""
    costs = [cost for cost in layer_costs(net) if cost[0]["op"] in OPERATORS]
    result = []
    for node in nodes:
        if costs and node["op"].split("+")[0] in OPERATORS[costs[0][0]["op"]]:
            result.append(layer_bound(*costs.pop(0)[1:4]))
        else:
            result.append(0)
    return None if costs else result
