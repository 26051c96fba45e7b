# SPDX-License-Identifier: MIT
"""The networks of bench_npu.py: the tables of cpu/models.py and architectures.py, of MobileNetV1,
of BERT-base and of the shared models.

A table here only counts its weights; bench-npu-graph makes them from a seed. bound() returns the
fewest cycles in which the machine can run a table. It uses the shapes in the table and the
machine's numbers in isa.xml and machines.xml, and nothing of the compiler.
"""
import functools
import math
import pathlib
import sys
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cpu"))
import models  # noqa: E402
import architectures  # noqa: E402

UAPI = pathlib.Path(__file__).resolve().parents[3] / "uapi" / "onpu"


class Table(models.Net):
    def input(self, *shape):
        """Adds a further input, besides value 0, and returns its value."""
        return self.add("input", [0], shape, dims=list(shape))

    def reshape(self, x, *shape):
        return self.add("reshape", [x], shape, dims=list(shape))

    def weight(self, shape, scale, mean=0):
        self.offset += math.prod(shape)
        return self.offset - math.prod(shape)


def squeezenet_shared():
    """Returns the network of the shared model: it differs from models.squeezenet() in that the
    first convolution pads and that there are 1001 classes.
    """
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
    """Returns the network without its classifier, whose weights the shared model lacks."""
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
    """Returns one encoder of BERT-base; the scale of the scores is folded into the weights."""
    net = Table("bert_encoder", input=(rows, 768))
    x = net.layernorm(net.add("add", [0, bert_attention(net, 0)], net.shapes[0]))
    y = net.gemm(net.gemm(x, 3072, "gelu"), 768)
    net.layernorm(net.add("add", [x, y], net.shapes[x]))
    return net


def attend(net, q, k, v):
    """Returns softmax(q * k / sqrt(n)) * v. q and v are [heads, rows, n], k is [heads, n, rows]."""
    n = net.shapes[q][-1]
    scores = net.matmul(q, k)
    scores = net.add("scale", [scores], net.shapes[scores], factor=n ** -.5)
    return net.matmul(net.softmax(scores), v)


def attention_1024(heads=12, rows=1024, n=64):
    net = Table("attention_1024", input=(heads, rows, n))
    k, v = net.input(heads, rows, n), net.input(heads, rows, n)
    attend(net, 0, net.add("transpose", [k], (heads, n, rows)), v)
    return net


def cached(net, new, past, kept):
    """Returns a cache of keys or values, [heads, rows, n], with one row appended; with `kept` this
    value is an output of the network, too.
    """
    heads, rows, n = net.shapes[past]
    return net.add("concat", [past, new], (heads, rows + 1, n), axis=1, output=kept)


def decode_attention(net, q, k, v, context, kept=False):
    """Returns the attention of one token as one row. The token's keys and values, [heads, 1, n],
    are appended to the caches; several heads of q may share one head of keys and values.
    """
    heads, _, n = net.shapes[k]
    keys = cached(net, k, net.input(heads, context - 1, n), kept)
    values = cached(net, v, net.input(heads, context - 1, n), kept)
    y = attend(net, q, net.add("transpose", [keys], (heads, n, context)), values)
    return net.reshape(y, 1, math.prod(net.shapes[y]))


def gpt2_decode(d=768, heads=12, context=1024, kept=False):
    """Returns one layer of GPT-2 for one token. The keys and values of the tokens before are
    inputs; with `kept`, the caches with the new ones are outputs."""
    net = Table("gpt2_decode", input=(1, d))
    x = net.layernorm(0)
    q, k, v = (net.reshape(net.gemm(x, d), heads, 1, d // heads) for _ in range(3))
    y = net.gemm(decode_attention(net, q, k, v, context, kept), d)
    x = net.add("add", [0, y], (1, d))
    net.add("add", [x, net.gemm(net.gemm(net.layernorm(x), 4 * d, "gelu"), d)], (1, d))
    return net


def llama_decode(d=2048, heads=32, groups=4, hidden=5632, context=1024):
    """Returns one layer of a Llama of the size of TinyLlama for one token."""
    def normed(x):
        return net.add("rmsnorm", [x], (1, d), weight=net.weight([d], 1))

    def rotated(x):
        n = net.shapes[x][-1]
        return net.add("rotary", [x], net.shapes[x], weight=net.weight([n], 1), bias=net.weight([n], 1))

    net = Table("llama_decode", input=(1, d))
    n = d // heads
    x = normed(0)
    q, k, v = (net.gemm(x, out, bias=False) for out in (d, groups * n, groups * n))
    q, k = rotated(net.reshape(q, groups, heads // groups, n)), rotated(net.reshape(k, groups, 1, n))
    y = decode_attention(net, q, k, net.reshape(v, groups, 1, n), context)
    x = net.add("add", [0, net.gemm(y, d, bias=False)], (1, d))
    y = normed(x)
    gate, up = (net.gemm(y, hidden, bias=False) for _ in range(2))
    gate = net.add("mul", [gate, net.add("sigmoid", [gate], (1, hidden))], (1, hidden))
    y = net.gemm(net.add("mul", [gate, up], (1, hidden)), d, bias=False)
    net.add("add", [x, y], (1, d))
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

# Tables that have real weights, by the name of the shared model.
SHARED = {"squeezenet": squeezenet_shared, "mobilenetv2": mobilenetv2_shared, "lenet": lenet_shared}
SEEDED = {"resnet50": models.resnet50, "mobilenetv1": mobilenetv1, "bert_encoder": bert_layer}

models.Net = Table


# Networks of the section "networks": {name: (table, types, dispatches, images at a time)}. A type's
# value says what bench-npu-graph makes of the table: int8 is quantised as a whole, w8 and w4 are
# float16 with weights of 8 and 4 bits, f8 and mx with weights of E4M3 and MXFP4.
NETWORKS = {
    "resnet50": (models.resnet50, {"f32": "f32", "f16": "f16", "int8": "int8"}, 1, 1),
    "squeezenet": (squeezenet_shared, {"f32": "f32", "int8": "int8"}, 1, 1),
    "mobilenetv2": (models.mobilenetv2, {"f32": "f32", "int8": "int8"}, 1, 1),
    "bert_layer": (bert_layer, {"f32": "f32", "int8": "w8"}, 1, 1),
    "attention_1024": (attention_1024, {"f32": "f32", "f16": "f16"}, 1, 1),
    "gpt2_decode": (gpt2_decode, {"f16": "f16", "int4": "w4"}, 1, 1),
    "gpt2_step": (lambda: gpt2_decode(kept=True), {"f16": "f16"}, 1, 1),
    "llama_decode": (llama_decode, {"f16": "f16", "int4": "w4", "fp8": "f8", "mxfp4": "mx"}, 1, 1),
    "mobilenetv2_batch8": (models.mobilenetv2, {"f32": "f32"}, 1, 8),
    **{make.__name__: (functools.partial(make, Table), {"f16": "f16"}, 1, 1) for make in (
        architectures.efficientnet_b0, architectures.mobilenetv3_large, architectures.convnext_tiny,
        architectures.whisper_tiny_encoder, architectures.diffusion_block, architectures.lstm_two_layers,
        architectures.gru)},
    "lenet_warm": (lenet_shared, {"f32": "f32"}, 2, 1),
}


# --- the bound


FACTORS = {bitset.get("name"): int(bitset.find("meta").get("factor"))
           for bitset in xml.etree.ElementTree.parse(UAPI / "isa.xml").getroot().findall("bitset") if bitset.get("extends")}


class Machine:
    """The numbers of a machine in machines.xml, and the cycles of instructions by isa.xml."""

    def __init__(self, element):
        self.name = element.get("name")
        caps = {cap.get("name"): cap.attrib for cap in element.findall("cap")}
        self.rows, self.columns, self.lanes, dma_bytes, self.sram_bytes = (
            int(caps[name]["value"], 0) for name in ("MXU_ROWS", "MXU_COLS", "LANES", "DMA_BYTES", "SRAM_BYTES"))
        self.packing = int(caps["FEATURES"]["PACKING"])
        self.weights = int(caps["FEATURES"]["WEIGHTS"])
        self.factors = {**FACTORS, **{f.get("name"): int(f.get("value"), 0) for f in element.findall("factor")}}
        # Bytes in a cycle: both DMA engines load and store.
        self.bytes = 2 * dma_bytes
        self.forms = [(self.rows, self.columns)]
        for i in range(1, int(caps["FEATURES"]["MXU_FORMS"]) + 1):
            if self.columns % 2 ** i == 0:
                self.forms.append((self.rows << i, self.columns >> i))
            if self.rows % 2 ** i == 0:
                self.forms.append((self.rows >> i, self.columns << i))

    def mxu_cycles(self, instruction, batch, rows, columns, depth):
        """Returns the cycles of `batch` products on the matrix unit, in the form of its array that
        is best for their shape."""
        blocks = min(-(-rows // form[0]) * -(-columns // form[1]) for form in self.forms)
        return batch * blocks * max(depth * self.factors[instruction], self.rows)

    def lane_cycles(self, elements, bytes=4):
        """Returns the cycles of one pass of the vector unit over elements; each element takes
        `bytes` bytes of a lane.
        """
        return -(-elements * (bytes if self.packing else max(bytes, 4)) // (4 * self.lanes))


ELEMENTS = xml.etree.ElementTree.parse(UAPI / "machines.xml").getroot().findall("machine")
MACHINES = {element.get("name"): Machine(element) for element in ELEMENTS}
DEFAULT_MACHINE = next(element.get("name") for element in ELEMENTS if element.get("default") == "yes")
REF1 = MACHINES["onpu-ref1"]
# By type: the instruction of products, bytes of an element of an input or output, bytes of a
# weight, whether the values between layers are integers.
TYPES = {
    "f32": ("mma.f32", 4, 4, False),
    "f16": ("mma.f16", 2, 2, False),
    "int8": ("mma.i8", 4, 1, True),
    "w8": ("mma.f16", 2, 1, False),
    "w4": ("mma.f16", 2, .5 + 2 / 32, False),
    "f8": ("mma.f16", 2, 1, False),
    "mx": ("mma.f16", 2, .5 + 1 / 32, False),
}
# Instructions of the vector unit over the elements of a result, for layers that only it can compute.
PASSES = {
    "relu": ("vrelu",), "relu6": ("vclamp",), "gelu": ("vgelu",), "sigmoid": ("vsigmoid",), "mul": ("vmul",),
    "softmax": ("rmax", "vsub", "vexp", "rsum", "vdiv"),
    "layernorm": ("rsum", "vsub", "rsumsq", "vmul", "vmul", "vadd"),
    "rmsnorm": ("rsumsq", "vmul", "vmul"),
    "rotary": ("vmul", "vmul", "vadd"), "hardsigmoid": ("vhardsigmoid",), "hardswish": ("vhardswish",),
    "instancenorm": ("rsum", "rsumsq"), "affine": ("vfma",),
    # For each state, the gates and: f * c, i * g + f * c, o * tanh(c); r * h, h - n, z * (h - n) + n.
    "lstm": ("vsigmoid",) * 3 + ("vtanh",) * 2 + ("vmul", "vfma", "vmul"),
    "gru": ("vsigmoid",) * 2 + ("vtanh",) + ("vmul", "vsub", "vfma"),
}
RECURRENT = ("lstm", "gru")


class Costs:
    """The least cost of each layer of a table, in one of TYPES."""

    def __init__(self, net, type="f32", machine=REF1):
        self.net, self.machine = net, machine
        self.instruction, self.value_bytes, self.weight_bytes, self.integers = TYPES[type]
        # A machine without mma.w widens packed weights on the vector unit.
        self.packed = type in ("w8", "w4", "mx") and not machine.weights

    def lane_cycles(self, elements, bytes=4):
        return self.machine.lane_cycles(elements, bytes)

    def passes(self, instructions, elements):
        """Returns the cycles of instructions of the vector unit that each read `elements`. The
        factor of a reduction applies to its results, which are few, and is left out. Instructions
        with a factor above 1, and reductions, take whole lanes."""
        factors = self.machine.factors
        return sum(self.lane_cycles(elements) if name.startswith("r") else
                   self.lane_cycles(elements, 4 if factors[name] > 1 else self.value_bytes) * factors[name]
                   for name in instructions)

    def product(self, batch, rows, columns, depth):
        return self.machine.mxu_cycles(self.instruction, batch, rows, columns, depth), batch * rows * columns * depth

    def row_products(self, layer, shape):
        """Returns (columns, depth) of each product of a single row that the layer computes. The
        vector unit can compute these products, too, with columns in its lanes."""
        op, x = layer["op"], self.net.shapes[layer["inputs"][0]]
        if self.integers:
            return []
        if op in RECURRENT and shape[1] == 1:
            return [(layer["gates"] * layer["hidden"], layer["hidden"])] * shape[0]
        if op == "conv" and layer["groups"] == 1 and math.prod(shape) == shape[0]:
            return [(shape[0], math.prod(layer["filter"][1:]))]
        if op not in ("linear", "matmul") or math.prod(shape) != shape[-1]:
            return []
        return [(shape[-1], layer["matrix"][1] if op == "linear" else x[-1])]

    def weights(self, matrix, bias):
        """Returns the cycles of the vector unit to widen packed weights, and the bytes of weights
        and bias; `matrix` and `bias` are numbers of elements."""
        return self.lane_cycles(matrix, 2) if self.packed else 0, matrix * self.weight_bytes + bias * self.value_bytes

    def of(self, layer, shape):
        """Returns [cycles of the matrix unit, of the vector unit, bytes of weights, MACs of the
        matrix unit].
        """
        op, n = layer["op"], math.prod(shape)
        x = self.net.shapes[layer["inputs"][0]]
        # The vector unit makes a quantised result from int32 sums, and computes the activation in
        # the same pass.
        store = self.lane_cycles(n) if self.integers else 0
        if op == "conv":
            out, depth, kh, kw = layer["filter"]
            widen, weights = self.weights(out * depth * kh * kw, out)
            if depth == 1 and layer["groups"] > 1:
                return [0, self.lane_cycles(n) * kh * kw + store, weights, 0]
            cycles, macs = self.product(layer["groups"], math.prod(shape[1:]), out // layer["groups"], depth * kh * kw)
            return [cycles, store + widen, weights, macs]
        if op == "linear":
            out, depth = layer["matrix"]
            widen, weights = self.weights(out * depth, out if "bias" in layer else 0)
            cycles, macs = self.product(1, x[0] if len(x) > 1 else 1, out, depth)
            return [cycles, store + widen, weights, macs]
        if op in RECURRENT:
            # One product has the inputs of all steps; each step has a product with the state before it.
            steps, batch, hidden = shape
            columns = layer["gates"] * hidden
            widen, weights = self.weights(columns * (x[-1] + hidden), columns)
            cycles, macs = self.product(1, steps * batch, columns, x[-1])
            step_cycles, step_macs = self.product(1, batch, columns, hidden)
            return [cycles + steps * step_cycles, self.passes(PASSES[op], n) + widen, weights, macs + steps * step_macs]
        if op == "matmul":
            cycles, macs = self.product(*shape, x[-1])
            return [cycles, store, 0, macs]
        if op in ("maxpool", "averagepool"):
            # Pooling goes along rows and then along columns, when that takes less than the whole
            # window at once.
            kernel, stride = layer["kernel"], layer["stride"]
            # Integers accumulate in their own type.
            element = 1 if self.integers else 4
            return [0, self.lane_cycles(n * min(kernel ** 2, kernel * stride + kernel), element) + store, 0, 0]
        if op == "add":
            # The accumulators of a product may start from the other operand, so that the sum costs
            # nothing.
            made = {self.net.layers[i - 1]["op"] for i in layer["inputs"] if i}
            return [0, store or self.lane_cycles(n, self.value_bytes) * (not made & {"conv", "linear", "matmul"}), 0, 0]
        passes = () if self.integers and op in ("relu", "relu6") else PASSES.get(op, ())
        return [0, self.passes(passes, n), 0, 0]

    def layers(self):
        return [[layer, *self.of(layer, self.net.shapes[i + 1])] for i, layer in enumerate(self.net.layers)]

    def lanes_of_row(self, batch, columns, depth):
        """Returns the cycles that a product of one row would take on the vector unit alone, at the
        rate of the share of columns that saves the matrix unit most. A share can be better than all
        columns, as it ends where a block of the matrix unit does.
        """
        def mxu_cycles(columns):
            return self.product(1, batch, max(columns, 0), depth)[0]

        cycles = mxu_cycles(columns)
        saved = {n: cycles - mxu_cycles(columns - n * self.machine.lanes) for n in range(1, self.lane_cycles(columns) + 1)}
        return min(batch * n * depth * cycles / saved[n] for n in saved if saved[n])

    def rows(self, batch=1):
        """Returns [cycles on the matrix unit, cycles if the vector unit computes it, MACs] for each
        product of one row. In a batch the product has a row for each image.
        """
        return [[self.product(1, batch, columns, depth)[0], self.lanes_of_row(batch, columns, depth), columns * depth]
                for i, layer in enumerate(self.net.layers)
                for columns, depth in self.row_products(layer, self.net.shapes[i + 1])]

    def border_bytes(self):
        """Returns the bytes of the network's inputs and outputs."""
        used = {x for layer in self.net.layers if layer["op"] != "input" for x in layer["inputs"]}
        values = [0] + [i + 1 for i, layer in enumerate(self.net.layers)
                        if layer["op"] == "input" or layer.get("output") or i + 1 not in used]
        return sum(math.prod(self.net.shapes[i]) for i in values) * self.value_bytes


def share_out(mxu, vpu, rows):
    """Moves products of one row from the matrix unit to the vector unit, beginning with those that
    cost the vector unit least, until both have as much to do. Returns the cycles of the busier
    unit."""
    for on_mxu, on_vpu, _ in sorted(rows, key=lambda row: row[1] / row[0]):
        part = min(1, max(0, (mxu - vpu) / (on_mxu + on_vpu)))
        mxu, vpu = mxu - part * on_mxu, vpu + part * on_vpu
    return math.floor(max(mxu, vpu))


def bound(net, type="f32", batch=1, warm=False, machine=REF1):
    """Returns (cycles, MACs) of a batch: the cycles are those of the busiest engine when each does
    only what must be done. In a warm dispatch, weights up to the size of SRAM need not be moved."""
    costs = Costs(net, type, machine)
    layers = costs.layers()
    mxu, vpu, weights, macs = (sum(layer[i] for layer in layers) for i in range(1, 5))
    if warm:
        weights = max(0, weights - machine.sram_bytes)
    moved = math.ceil((weights + batch * costs.border_bytes()) / machine.bytes)
    # In a batch, products of one row become products of as many rows, which the matrix unit
    # computes at once.
    rows = costs.rows(batch)
    mxu = batch * (mxu - sum(row[0] for row in costs.rows())) + sum(row[0] for row in rows)
    return max(share_out(mxu, batch * vpu, rows), moved), batch * macs


def least_macs(net):
    """Returns the MACs of products that the vector unit cannot compute."""
    costs = Costs(net)
    return sum(layer[4] for layer in costs.layers()) - sum(row[2] for row in costs.rows())


def share_of_peak(macs, cycles, type, machine=REF1):
    """Returns the MACs as a share of those that the matrix unit can do in `cycles` in that type."""
    return macs * machine.factors[TYPES[type][0]] / (machine.rows * machine.columns * cycles)


# Operators of WebNN that the layers of a table become, for the layers that take time.
OPERATORS = {"conv": ("conv2d",), "linear": ("gemm", "matmul"), "matmul": ("matmul",), "maxpool": ("maxPool2d",),
             "averagepool": ("averagePool2d",), "add": ("add",), "softmax": ("softmax",), "layernorm": ("layerNormalization",)}


def bounds_of_nodes(net, nodes, machine=REF1):
    """Returns for each node of a float32 profile the bound of its layer as if only that layer ran,
    0 for nodes that belong to no layer; None when nodes and layers do not match. An activation
    belongs to the layer before it when nothing else uses that layer's result."""
    layers = Costs(net, machine=machine).layers()
    uses = [0] * len(net.shapes)
    for layer in net.layers:
        for x in layer["inputs"]:
            uses[x] += 1
    for layer, _, vpu, *_ in layers:
        before = layer["inputs"][0]
        if layer["op"] in ("relu", "relu6", "gelu") and before and uses[before] == 1:
            layers[before - 1][2] += vpu
    layers = [layer for layer in layers if layer[0]["op"] in OPERATORS]
    result = []
    for node in nodes:
        if layers and node["op"].split("+")[0] in OPERATORS[layers[0][0]["op"]]:
            _, mxu, vpu, weights, _ = layers.pop(0)
            result.append(max(mxu, vpu, math.ceil(weights / machine.bytes)))
        else:
            result.append(0)
    return None if layers else result
