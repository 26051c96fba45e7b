# SPDX-License-Identifier: MIT
"""One case for each operator of ONNX that the importer knows, of about a million elements where
that makes sense.

CASES maps the name of an operator, with its domain unless that is ONNX's own, to a function that
makes the case. ALONE maps operators that take no time when a graph runs to the reason.
"""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

F32, I64 = TensorProto.FLOAT, TensorProto.INT64
SIDE = 1000
OPSET = 21


class Constant:
    """An operand that is part of the model."""

    def __init__(self, array):
        self.array = np.asarray(array)


class Case:
    """A node with its operands: an array is an input of the model, a Constant is part of the model,
    None is an operand that is left out. outputs: their number, or their names. since: the version
    of the operator set.
    """

    def __init__(self, *operands, outputs=1, since=OPSET, **attributes):
        self.operands, self.attributes, self.since = operands, attributes, since
        self.outputs = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs

    def model(self, operator):
        """Returns the model's file, and the values of its inputs."""
        domain, _, name = operator.rpartition(".")
        names, constants, feeds, infos = [], [], {}, []
        for i, operand in enumerate(self.operands):
            names.append("" if operand is None else f"x{i}")
            if isinstance(operand, Constant):
                constants.append(numpy_helper.from_array(operand.array, names[-1]))
            elif operand is not None:
                feeds[names[-1]] = operand
                infos.append(helper.make_tensor_value_info(
                    names[-1], helper.np_dtype_to_tensor_dtype(operand.dtype), operand.shape))
        node = helper.make_node(name, names, self.outputs, domain=domain, **self.attributes)
        graph = helper.make_graph([node], "case", infos, [helper.ValueInfoProto(name=y) for y in self.outputs if y], constants)
        domains = [helper.make_opsetid("", self.since)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        return helper.make_model(graph, ir_version=10, opset_imports=domains).SerializeToString(), feeds


def random():
    return np.random.default_rng(1)


def floats(*shape):
    return random().standard_normal(shape or (SIDE, SIDE), np.float32)


def positive(*shape):
    return random().random(shape or (SIDE, SIDE), np.float32) + np.float32(.01)


def within(*shape):
    """Returns random numbers between -1 and 1."""
    return random().random(shape or (SIDE, SIDE), np.float32) * np.float32(1.98) - np.float32(.99)


def integers(dtype, low=0, high=100, shape=(SIDE, SIDE)):
    return random().integers(low, high, shape).astype(dtype)


def truths():
    return integers(bool, 0, 2)


def sparse_nonfinite():
    x = floats()
    x[::7, ::11], x[::13, ::5] = np.nan, np.inf
    return x


def ints(*values):
    return Constant(np.array(values, np.int64))


def scalar(value, dtype=np.float32):
    return Constant(np.array(value, dtype))


def unary(make=floats, **attributes):
    return lambda: Case(make(), **attributes)


def binary(make=floats, **attributes):
    return lambda: Case(make(), make()[::-1].copy(), **attributes)


def reduction(**attributes):
    return lambda: Case(floats(), ints(1), **attributes)


def steps(low=0):
    return lambda: Case(integers(np.int32, low, 1 << 20), integers(np.int32, low, 1 << 20)[::-1].copy())


PICTURE = (1, 64, 125, 125)
SEQUENCE = (8, 128, 768)


def recurrent(gates):
    return lambda: Case(floats(16, 4, 128), Constant(floats(1, gates * 128, 128) / 10), Constant(floats(1, gates * 128, 128) / 10),
                        Constant(floats(1, 2 * gates * 128) / 10), hidden_size=128)


def quantised(dtype=np.uint8, shape=(SIDE, SIDE)):
    return integers(dtype, 0 if dtype == np.uint8 else -128, 256 if dtype == np.uint8 else 128, shape)


def q_scale(value=.02):
    return scalar(value)


def q_zero(value=128):
    return scalar(value, np.uint8)


def q_unary(**attributes):
    return lambda: Case(quantised(), q_scale(), q_zero(), q_scale(.01), q_zero(), **attributes)


def q_binary():
    return Case(quantised(), q_scale(), q_zero(), quantised()[::-1].copy(), q_scale(), q_zero(), q_scale(.04), q_zero())


def subgraph(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, [helper.ValueInfoProto(name=y) for y in outputs], list(constants))


def info(name, shape, kind=F32):
    return helper.make_tensor_value_info(name, kind, shape)


class Closure(Case):
    """A case whose node takes only the first operands; the others are inputs of the model that the
    node's subgraphs use.
    """

    def __init__(self, *operands, taken, **more):
        super().__init__(*operands, **more)
        self.taken = taken

    def model(self, operator):
        data, feeds = super().model(operator)
        model = onnx.load_from_string(data)
        del model.graph.node[0].input[self.taken:]
        return model.SerializeToString(), feeds


def branches():
    a = subgraph([helper.make_node("Neg", ["x1"], ["a"])], [], ["a"])
    b = subgraph([helper.make_node("Abs", ["x1"], ["b"])], [], ["b"])
    return Closure(np.array(True), floats(), taken=1, then_branch=a, else_branch=b)


def loop():
    body = subgraph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Sin", ["v"], ["w"])],
                    [info("i", [], I64), info("go", [], TensorProto.BOOL), info("v", [SIDE, SIDE])], ["on", "w"])
    return Case(scalar(3, np.int64), scalar(True, bool), floats(), body=body)


def scan():
    body = subgraph([helper.make_node("Add", ["s", "v"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
                    [info("s", [SIDE * 10]), info("v", [SIDE * 10])], ["t", "o"])
    return Case(floats(SIDE * 10), floats(100, SIDE * 10), outputs=2, body=body, num_scan_inputs=1)


def unique_rows(count, rows):
    return random().permutation(count)[:rows].astype(np.int64)


def nms():
    corner = positive(1, 100, 2)
    return Case(np.concatenate([corner, corner + np.float32(.2)], -1), positive(1, 1, 100), scalar(10, np.int64), scalar(.5), scalar(.1))


def attention_weights():
    return Constant(floats(256, 768) / 16), Constant(floats(768) / 16)


def packed_nibbles(rows=256, columns=1024):
    return Constant(quantised(np.uint8, (rows, columns // 32, 16))), Constant(positive(rows * columns // 32))


def boxes():
    corner = positive(32, 2) * 50
    return np.concatenate([corner, corner + 40], 1).astype(np.float32)


def region():
    return Case(floats(1, 64, 125, 125), boxes(), np.zeros(32, np.int64), output_height=7, output_width=7, sampling_ratio=2)


def grid():
    return within(1, 125, 125, 2)


CASES = {
    # Elementwise
    **{name: unary() for name in ("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "Neg", "Reciprocal", "Relu",
                                  "Round", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Tan", "Tanh", "Identity",
                                  "Mish", "Elu", "Celu", "Selu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Gelu", "Asinh",
                                  "Atan", "Cosh", "Sinh")},
    "Shrink": unary(lambd=.5, bias=.1),
    "Swish": unary(since=24),
    "SwiGLU": binary(since=28),
    **{name: unary(positive) for name in ("Log", "Sqrt")},
    **{name: unary(within) for name in ("Acos", "Asin", "Atanh")},
    "Acosh": lambda: Case(positive() + 1),
    "IsNaN": unary(sparse_nonfinite),
    "IsInf": unary(sparse_nonfinite),
    "Not": unary(truths),
    **{name: binary() for name in ("Add", "Sub", "Mul", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                                   "Max", "Min", "Sum", "Mean")},
    **{name: binary(truths) for name in ("And", "Or", "Xor")},
    "Pow": lambda: Case(positive(), floats()),
    "Mod": steps(low=1),
    "BitShift": lambda: Case(integers(np.uint32, 0, 1 << 20), integers(np.uint32, 0, 8), direction="RIGHT"),
    "BitCast": lambda: Case(floats(), since=26, to=int(TensorProto.INT32)),
    **{name: steps(low=-(1 << 20)) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")},
    "BitwiseNot": lambda: Case(integers(np.int32, -(1 << 20), 1 << 20)),
    "Where": lambda: Case(truths(), integers(np.int64), integers(np.int64)[::-1].copy()),
    "Cast": lambda: Case(floats() * 100, to=int(TensorProto.INT32)),
    "CastLike": lambda: Case(integers(np.int64), scalar(0)),
    "Clip": lambda: Case(floats(), scalar(-1), scalar(1)),
    "PRelu": lambda: Case(floats(), Constant(floats(SIDE))),
    # Reductions
    **{name: reduction() for name in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceL1", "ReduceL2",
                                      "ReduceLogSumExp", "ReduceSumSquare")},
    "ReduceProd": lambda: Case(positive() + np.float32(.5), ints(1)),
    "ReduceLogSum": lambda: Case(positive(), ints(1)),
    # The axis is not the last dimension, so that its elements have a stride; a case of the networks
    # has the last dimension.
    "Softmax": lambda: Case(floats(10, 100, SIDE), axis=1),
    "LogSoftmax": unary(),
    "Hardmax": unary(),
    "ArgMax": unary(axis=1),
    "ArgMin": unary(axis=1),
    "CumProd": lambda: Case(positive() + np.float32(.5), scalar(1, np.int64), since=26),
    "CumSum": lambda: Case(floats(), scalar(1, np.int64)),
    # Products
    "MatMul": lambda: Case(floats(256, 256), Constant(floats(256, 256))),
    "Gemm": lambda: Case(floats(256, 256), Constant(floats(256, 256)), Constant(floats(256))),
    "Einsum": lambda: Case(floats(8, 64, 128), floats(8, 128, 64), equation="bij,bjk->bik"),
    "com.microsoft.FusedMatMul": lambda: Case(floats(256, 256), Constant(floats(256, 256)), transA=1, alpha=.5),
    "com.microsoft.TransposeMatMul": lambda: Case(floats(256, 256), Constant(floats(256, 256)), transA=1),
    "com.microsoft.FusedGemm": lambda: Case(floats(256, 256), Constant(floats(256, 256)), Constant(floats(256)), activation="Relu"),
    "Conv": lambda: Case(floats(1, 32, 56, 56), Constant(floats(32, 32, 3, 3)), Constant(floats(32)), pads=[1] * 4),
    "ConvTranspose": lambda: Case(floats(1, 32, 56, 56), Constant(floats(32, 16, 3, 3)), strides=[2, 2]),
    "DeformConv": lambda: Case(floats(1, 16, 56, 56), Constant(floats(16, 16, 3, 3)), floats(1, 18, 56, 56), pads=[1] * 4),
    "Det": lambda: Case(floats(SIDE, 4, 4)),
    "com.microsoft.FusedConv": lambda: Case(floats(1, 32, 56, 56), Constant(floats(32, 32, 3, 3)), Constant(floats(32)),
                                            pads=[1] * 4, activation="Relu"),
    "com.microsoft.NhwcConv": lambda: Case(floats(1, 56, 56, 32), Constant(floats(32, 3, 3, 32)), Constant(floats(32)), pads=[1] * 4),
    "com.microsoft.NhwcFusedConv": lambda: Case(floats(1, 56, 56, 32), Constant(floats(32, 32, 3, 3)), Constant(floats(32)),
                                                pads=[1] * 4, activation="Relu"),
    # Pooling
    **{name: (lambda: Case(floats(*PICTURE), kernel_shape=[3, 3], strides=[2, 2])) for name in ("MaxPool", "AveragePool", "LpPool")},
    **{name: (lambda: Case(floats(*PICTURE))) for name in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool")},
    # Normalisation
    "BatchNormalization": lambda: Case(floats(*PICTURE), *(Constant(positive(64)) for _ in range(4))),
    "InstanceNormalization": lambda: Case(floats(*PICTURE), Constant(positive(64)), Constant(positive(64))),
    "LayerNormalization": lambda: Case(floats(*SEQUENCE), Constant(floats(768)), Constant(floats(768))),
    "SimplifiedLayerNormalization": lambda: Case(floats(*SEQUENCE), Constant(floats(768))),
    "RMSNormalization": lambda: Case(floats(*SEQUENCE), Constant(floats(768)), since=23),
    "GroupNormalization": lambda: Case(floats(*PICTURE), Constant(positive(64)), Constant(positive(64)), num_groups=8),
    "MeanVarianceNormalization": lambda: Case(floats(*PICTURE)),
    "LRN": lambda: Case(floats(*PICTURE), size=5),
    "LpNormalization": unary(),
    "com.microsoft.LayerNormalization": lambda: Case(floats(*SEQUENCE), Constant(floats(768)), Constant(floats(768))),
    "com.microsoft.SimplifiedLayerNormalization": lambda: Case(floats(*SEQUENCE), Constant(floats(768))),
    "com.microsoft.SkipLayerNormalization": lambda: Case(floats(*SEQUENCE), floats(*SEQUENCE)[::-1].copy(), Constant(floats(768)),
                                                         Constant(floats(768))),
    "com.microsoft.SkipSimplifiedLayerNormalization": lambda: Case(floats(*SEQUENCE), floats(*SEQUENCE)[::-1].copy(),
                                                                   Constant(floats(768))),
    "com.microsoft.Gelu": unary(),
    "com.microsoft.BiasGelu": lambda: Case(floats(), Constant(floats(SIDE))),
    "com.microsoft.FastGelu": lambda: Case(floats(), Constant(floats(SIDE))),
    "com.microsoft.QuickGelu": unary(),
    "com.microsoft.GroupNorm": lambda: Case(floats(1, 125, 125, 64), Constant(positive(64)), Constant(positive(64)), groups=8,
                                            activation=1),
    "com.microsoft.SkipGroupNorm": lambda: Case(floats(1, 125, 125, 64), Constant(positive(64)), Constant(positive(64)),
                                                floats(1, 125, 125, 64), groups=8, activation=1),
    "com.microsoft.BiasAdd": lambda: Case(floats(1, 3136, 320), Constant(floats(320)), floats(1, 3136, 320)),
    "com.microsoft.BiasSplitGelu": lambda: Case(floats(1, 390, 2560), Constant(floats(2560))),
    "com.microsoft.GemmFastGelu": lambda: Case(floats(256, 256), Constant(floats(256, 256)), Constant(floats(256))),
    # Attention
    "Attention": lambda: Case(*(floats(1, 8, 128, 64) for _ in range(3)), since=23),
    "ai.onnx.preview.FlexAttention": lambda: Case(*(floats(1, 8, 128, 64) for _ in range(3))),
    "LinearAttention": lambda: Case(*(floats(1, 32, 128) for _ in range(3)), outputs=2, since=27, q_num_heads=4,
                                    kv_num_heads=4, update_rule="linear"),
    "CausalConvWithState": lambda: Case(floats(1, 64, 1000), Constant(floats(64, 1, 4)), outputs=2, since=27),
    "RotaryEmbedding": lambda: Case(floats(1, 16, 976, 64), Constant(within(976, 32)), Constant(within(976, 32)),
                                    Constant(np.arange(976)[None]), since=23),
    "TensorScatter": lambda: Case(floats(4, 4, 1000, 64), floats(4, 4, 100, 64), np.arange(4), since=24),
    "com.microsoft.Attention": lambda: Case(floats(1, 128, 256), *attention_weights(), num_heads=8),
    "com.microsoft.QAttention": lambda: Case(quantised(np.uint8, (1, 128, 256)), Constant(quantised(np.int8, (256, 768))),
                                             Constant(floats(768)), q_scale(), q_scale(.01), None, q_zero(), scalar(0, np.int8),
                                             num_heads=8),
    "com.microsoft.MultiHeadAttention": lambda: Case(*(floats(1, 128, 512) for _ in range(3)), num_heads=8),
    "com.microsoft.EmbedLayerNormalization": lambda: Case(
        integers(np.int32, 0, 1000, (8, 128)), integers(np.int32, 0, 2, (8, 128)), Constant(floats(1000, 768)), Constant(floats(128, 768)),
        Constant(floats(2, 768)), Constant(floats(768)), Constant(floats(768)), outputs=["y0", ""]),
    "com.microsoft.GroupQueryAttention": lambda: Case(
        floats(1, 64, 512), floats(1, 64, 128), floats(1, 64, 128), np.zeros((1, 2, 0, 64), np.float32), np.zeros((1, 2, 0, 64), np.float32),
        np.array([63], np.int32), scalar(64, np.int32), outputs=3, num_heads=8, kv_num_heads=2),
    "com.microsoft.RotaryEmbedding": lambda: Case(floats(1, 16, 976, 64), Constant(np.arange(976)[None]), Constant(within(976, 32)),
                                                  Constant(within(976, 32))),
    # Shapes and slices
    "Reshape": lambda: Case(floats(), ints(-1, 100)),
    "Flatten": lambda: Case(floats(10, 100, SIDE)),
    "Squeeze": lambda: Case(floats(1, SIDE, SIDE), ints(0)),
    "Unsqueeze": lambda: Case(floats(), ints(0)),
    "Transpose": unary(perm=[1, 0]),
    "Concat": binary(axis=1),
    "Split": lambda: Case(floats(), outputs=2, axis=1, num_outputs=2),
    "Slice": lambda: Case(floats(), ints(1, 1), ints(-1, -1), ints(0, 1)),
    "Expand": lambda: Case(floats(SIDE, 1), ints(SIDE, SIDE)),
    "Tile": lambda: Case(floats(SIDE // 2, SIDE // 2), ints(2, 2)),
    "Gather": lambda: Case(floats(), integers(np.int64, 0, SIDE, (SIDE,))),
    "GatherElements": lambda: Case(floats(), integers(np.int64, 0, SIDE), axis=1),
    "GatherND": lambda: Case(floats(SIDE, SIDE), integers(np.int64, 0, SIDE, (SIDE, 1))),
    "Trilu": unary(),
    "Pad": lambda: Case(floats(), ints(8, 8, 8, 8), scalar(1)),
    "DepthToSpace": lambda: Case(floats(*PICTURE), blocksize=2),
    "SpaceToDepth": lambda: Case(floats(1, 16, 250, 250), blocksize=2),
    "Scatter": lambda: Case(floats(), integers(np.int64, 0, SIDE, (100, SIDE)), floats(100, SIDE), since=9, axis=0),
    "ScatterElements": lambda: Case(floats(), integers(np.int64, 0, SIDE, (100, SIDE)), floats(100, SIDE), axis=0),
    "ScatterND": lambda: Case(floats(), unique_rows(SIDE, 100)[:, None], floats(100, SIDE)),
    "TopK": lambda: Case(floats(1, 8400), ints(300), outputs=2),
    "ReverseSequence": lambda: Case(floats(100, 10, SIDE), integers(np.int64, 1, 100, (10,)), time_axis=0, batch_axis=1),
    "GridSample": lambda: Case(floats(*PICTURE), grid()),
    "com.microsoft.Trilu": unary(),
    "com.microsoft.Pad": lambda: Case(floats(), ints(8, 8, 8, 8), scalar(1)),
    "com.microsoft.GridSample": lambda: Case(floats(*PICTURE), grid()),
    "com.microsoft.GatherND": lambda: Case(floats(SIDE, SIDE), integers(np.int64, 0, SIDE, (SIDE, 1))),
    "AffineGrid": lambda: Case(floats(1, 2, 3), ints(1, 1, 500, 500)),
    "CenterCropPad": lambda: Case(floats(), ints(900, 1100)),
    "Col2Im": lambda: Case(floats(1, 144, 3136), ints(56, 56), ints(3, 3), pads=[1] * 4),
    "MaxUnpool": lambda: Case(floats(1, 64, 60, 60), np.tile((np.arange(60) * 2)[:, None] * 120 + np.arange(60) * 2, (1, 64, 1, 1)) +
                              np.arange(64)[None, :, None, None] * 14400, kernel_shape=[2, 2], strides=[2, 2]),
    "RoiAlign": region,
    "TfIdfVectorizer": lambda: Case(integers(np.int32, 0, 100, (SIDE,)), max_gram_length=1, max_skip_count=0, min_gram_length=1,
                                    mode="TF", ngram_counts=[0], ngram_indexes=list(range(100)), pool_int64s=list(range(100))),
    "NonMaxSuppression": nms,
    "Resize": lambda: Case(floats(1, 16, 125, 125), None, Constant(np.array([1, 1, 2, 2], np.float32)), mode="linear"),
    "Upsample": lambda: Case(floats(1, 16, 125, 125), Constant(np.array([1, 1, 2, 2], np.float32)), since=9),
    "OneHot": lambda: Case(integers(np.int64, 0, 100, (10000,)), scalar(100, np.int64), Constant(np.array([0, 1], np.float32))),
    "Compress": lambda: Case(floats(), Constant(np.arange(SIDE) % 3 == 0), axis=0),
    # Signals
    "DFT": lambda: Case(floats(100, 512, 1), axis=1, since=19),
    "STFT": lambda: Case(floats(1, 16000), scalar(128, np.int64), Constant(positive(256))),
    # Losses
    "NegativeLogLikelihoodLoss": lambda: Case(-positive(10000, 100), integers(np.int64, 0, 100, (10000,))),
    "SoftmaxCrossEntropyLoss": lambda: Case(floats(10000, 100), integers(np.int64, 0, 100, (10000,))),
    # Quantisation
    "QuantizeLinear": lambda: Case(floats(), q_scale(), q_zero()),
    "DequantizeLinear": lambda: Case(quantised(), q_scale(), q_zero()),
    "DynamicQuantizeLinear": lambda: Case(floats(), outputs=3),
    "QLinearMatMul": lambda: Case(quantised(np.uint8, (256, 256)), q_scale(), q_zero(), Constant(quantised(np.uint8, (256, 256))), q_scale(),
                                  q_zero(), q_scale(.5), q_zero()),
    "QLinearConv": lambda: Case(quantised(np.uint8, (1, 32, 56, 56)), q_scale(), q_zero(), Constant(quantised(np.uint8, (32, 32, 3, 3))),
                                q_scale(), q_zero(), q_scale(.5), q_zero(), pads=[1] * 4),
    "MatMulInteger": lambda: Case(quantised(np.uint8, (256, 256)), Constant(quantised(np.uint8, (256, 256))), q_zero(), q_zero()),
    "ConvInteger": lambda: Case(quantised(np.uint8, (1, 32, 56, 56)), Constant(quantised(np.uint8, (32, 32, 3, 3))), q_zero(), q_zero(),
                                pads=[1] * 4),
    "com.microsoft.QuantizeLinear": lambda: Case(floats(), q_scale(), q_zero()),
    "com.microsoft.DequantizeLinear": lambda: Case(quantised(), q_scale(), q_zero()),
    "com.microsoft.QLinearConv": lambda: Case(quantised(np.uint8, (1, 32, 56, 56)), q_scale(), q_zero(),
                                              Constant(quantised(np.uint8, (32, 32, 3, 3))), q_scale(), q_zero(), q_scale(.5), q_zero(),
                                              pads=[1] * 4),
    "com.microsoft.QLinearAdd": q_binary,
    "com.microsoft.QLinearMul": q_binary,
    "com.microsoft.QLinearSigmoid": q_unary(),
    "com.microsoft.QLinearLeakyRelu": q_unary(),
    "com.microsoft.QLinearSoftmax": q_unary(axis=-1, opset=13),
    "com.microsoft.QLinearConcat": lambda: Case(q_scale(), q_zero(), quantised(), q_scale(.01), q_zero(), quantised(), q_scale(.03), q_zero(),
                                                axis=1),
    "com.microsoft.QLinearAveragePool": lambda: Case(quantised(np.uint8, PICTURE), q_scale(), q_zero(), q_scale(), q_zero(),
                                                     kernel_shape=[3, 3], strides=[2, 2]),
    "com.microsoft.QLinearGlobalAveragePool": lambda: Case(quantised(np.uint8, PICTURE), q_scale(), q_zero(), q_scale(), q_zero()),
    "com.microsoft.NhwcMaxPool": lambda: Case(quantised(np.uint8, (1, 112, 112, 64)), kernel_shape=[3, 3], strides=[2, 2]),
    "com.microsoft.QLinearReduceMean": lambda: Case(quantised(), q_scale(), q_zero(), q_scale(), q_zero(), axes=[1],
                                                    keepdims=1),
    "com.microsoft.QLinearWhere": lambda: Case(truths(), quantised(), q_scale(), q_zero(), quantised(), q_scale(.01), q_zero(), q_scale(),
                                               q_zero()),
    "com.microsoft.QGemm": lambda: Case(quantised(np.uint8, (256, 256)), q_scale(), q_zero(), Constant(quantised(np.int8, (256, 256))),
                                        q_scale(), scalar(0, np.int8), None, q_scale(.5), q_zero()),
    "com.microsoft.MatMulIntegerToFloat": lambda: Case(quantised(np.uint8, (256, 256)), Constant(quantised(np.uint8, (256, 256))), q_scale(),
                                                       q_scale(), q_zero(), q_zero()),
    "com.microsoft.DynamicQuantizeMatMul": lambda: Case(floats(256, 256), Constant(quantised(np.uint8, (256, 256))), q_scale(), q_zero()),
    "com.microsoft.DynamicQuantizeLSTM": lambda: Case(
        floats(16, 4, 128), Constant(quantised(np.uint8, (1, 128, 512))), Constant(quantised(np.uint8, (1, 128, 512))),
        Constant(floats(1, 1024)), None, None, None, None, Constant(np.array([.005], np.float32)), Constant(np.array([128], np.uint8)),
        Constant(np.array([.005], np.float32)), Constant(np.array([128], np.uint8)), hidden_size=128),
    "com.microsoft.MatMulNBits": lambda: Case(floats(16, 1024), *packed_nibbles(), K=1024, N=256, bits=4, block_size=32),
    "com.microsoft.GatherBlockQuantized": lambda: Case(Constant(quantised(np.uint8, (1000, 1024))), integers(np.int64, 0, 1000, (1000,)),
                                                       Constant(positive(1000, 32)), bits=8, block_size=32, quantize_axis=1),
    # Recurrent networks
    "RNN": recurrent(1),
    "LSTM": recurrent(4),
    "GRU": recurrent(3),
    # Branches
    "If": branches,
    "Loop": loop,
    "Scan": scan,
}

IMPORT = "computed at import"
SEQUENCES = "takes its value apart from a sequence, at import"
ALONE = {
    **dict.fromkeys(("Shape", "Size", "Range", "com.microsoft.Range", "EyeLike", "BlackmanWindow", "HammingWindow", "HannWindow",
                     "MelWeightMatrix", "Constant", "ConstantOfShape", "OptionalHasElement", "SequenceLength"), IMPORT),
    **dict.fromkeys(("NonZero", "Unique"), "of constants only"),
    **dict.fromkeys(("SequenceMap", "SequenceEmpty", "SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase",
                     "ConcatFromSequence", "SplitToSequence", "Optional", "OptionalGetElement"), SEQUENCES),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"),
                    "an input that is drawn on the host in front of each run"),
    "Dropout": "nothing, outside of training",
}
