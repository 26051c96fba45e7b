#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares graphs of several operators, as exporters write them, with ONNX Runtime: test_graphs.py
PROGRAM DEVICE….

They have computed shapes, branches and loops with known conditions, functions of the model, and
integers and booleans as outputs. Outputs must agree within 2e-5 of their range.
"""
import pathlib
import sys
import tempfile

import numpy
from onnx_cases import onnx, run_cases, run_reference, write_case

RANDOM = numpy.random.default_rng(1)
GRAPHS = {
    # The shape for Reshape is an empty list followed by a list of one number.
    "empty": """<ir_version: 8, opset_import: ["": 17]> empty (float[2,3,4] x) => (float[] y) {
        shape = Shape(x) zero = Constant<value = int64[1] {0}>() none = Slice(shape, zero, zero)
        rest = Constant<value = int64[1] {-1}>() all = Concat<axis = 0>(none, rest) y = Reshape(x, all) }""",
    # PyTorch exports pads with the last dimension first.
    "pad": """<ir_version: 8, opset_import: ["": 13]> pad (float[1,2,4,5] x) => (float[] y) {
        given = Constant<value = int64[4] {1, 2, 0, 1}>() more = Constant<value = int64[1] {4}>()
        zeros = ConstantOfShape<value = int64[1] {0}>(more) all = Concat<axis = 0>(given, zeros)
        pairs = Constant<value = int64[2] {-1, 2}>() a = Reshape(all, pairs)
        last = Constant<value = int64[1] {-1}>() first = Constant<value = int64[1] {-9223372036854775807}>()
        zero = Constant<value = int64[1] {0}>() b = Slice(a, last, first, zero, last)
        c = Transpose<perm = [1, 0]>(b) d = Reshape(c, last) pads = Cast<to = 7>(d)
        y = Pad<mode = "constant">(x, pads) }""",
    "sizes": """<ir_version: 8, opset_import: ["": 13]> sizes (float[1,2,4,5] x) => (float[] y) {
        shape = Shape(x) a = Constant<value = int64[1] {0}>() b = Constant<value = int64[1] {2}>()
        c = Constant<value = int64[1] {4}>() n = Slice(shape, a, b, a) h = Slice(shape, b, c, a)
        real = Cast<to = 1>(h) by = Constant<value = float {2.5}>() more = Mul(real, by) whole = Floor(more)
        size = Cast<to = 7>(whole) all = Concat<axis = 0>(n, size)
        y = Resize<mode = "nearest", coordinate_transformation_mode = "asymmetric",
                   nearest_mode = "floor">(x,,,all) }""",
    "expand": """<ir_version: 8, opset_import: ["": 17]> expand (float[3,1] x) => (float[] y) {
        s = Constant<value = int64[2] {3, -1}>() any = Constant<value = int64 {-1}>() open = Equal(s, any)
        rank = Shape(s) ones = ConstantOfShape<value = int64[1] {1}>(rank) to = Where(open, ones, s)
        y = Expand(x, to) }""",
    "mask": """<ir_version: 8, opset_import: ["": 17]> mask (float[4,4] x) => (float[] y) {
        shape = Shape(x) zero = Constant<value = int64 {0}>() one = Constant<value = int64 {1}>()
        n = Gather(shape, zero) range = Range(zero, n, one) a = Constant<value = int64[1] {0}>()
        b = Constant<value = int64[1] {1}>() i = Unsqueeze(range, a) j = Unsqueeze(range, b) l = Less(j, i)
        low = Constant<value = float {-1e9}>() y = Where(l, low, x) }""",
    "branch": """<ir_version: 8, opset_import: ["": 17]> branch (float[1,4] x) => (float[] y) {
        shape = Shape(x) zero = Constant<value = int64 {0}>() n = Gather(shape, zero)
        one = Constant<value = int64 {1}>() c = Equal(n, one)
        y = If(c)<then_branch = t () => (float[] p) { p = Squeeze(x) },
                  else_branch = e () => (float[] q) { q = Identity(x) }> }""",
    "loop": """<ir_version: 8, opset_import: ["": 17]> loop (float[3] x) => (float[] y, float[] o) {
        times = Constant<value = int64 {3}>() on = Constant<value = bool {1}>()
        y, o = Loop(times, on, x)<body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] u) {
            d = Identity(c) f = Cast<to = 1>(i) w = Add(v, f) u = Mul(w, w) }> }""",
    "integers": """<ir_version: 8, opset_import: ["": 17]> integers (int64[3] x, int64[3] w)
        => (int64[] y, int64[] z, bool[] q) { m = Mul(x, w) y = Sub(m, x) d = Div(m, w) z = Max(d, w)
        q = GreaterOrEqual(m, x) }""",
    "booleans": """<ir_version: 8, opset_import: ["": 17]> booleans (bool[3] x, bool[3] w)
        => (bool[] y, float[] f, bool[] e) { a = And(x, w) n = Not(a) y = Xor(n, x) f = Cast<to = 1>(y)
        e = Equal(x, w) }""",
    "constant_output": """<ir_version: 8, opset_import: ["": 13]> constant (float[2,3] x)
        => (float[2,3] y, int64[] z) { y = Relu(x) z = Shape(x) }""",
    "output_twice": """<ir_version: 8, opset_import: ["": 13]> twice (float[2,3] x)
        => (float[2,3] y, float[2,3] z) { y = Relu(x) z = Identity(y) }""",
    "variadic": """<ir_version: 8, opset_import: ["": 13]> variadic (float[2,3] x, float[3] w, float[1] v)
        => (float[] a, float[] b, float[] c, float[] d) { a = Sum(x, w, v) b = Mean(x, w, v) c = Max(x, w, v)
        d = Min(x) }""",
    # A function gets attributes from its call, one has a default, and one is passed on to a second
    # function.
    "function": """<ir_version: 8, opset_import: ["": 17, "own": 1]> function (float[2,3] x)
        => (float[] y, float[] z) { y = own.scaled<by = 2.5>(x) z = own.outer<times = 3.0, alpha = 0.1>(x) }
        <domain: "own", opset_import: ["": 17]> scaled <by>(p) => (q) {
            c = Constant<value_float: float = @by>() q = Mul(p, c) }
        <domain: "own", opset_import: ["": 17, "own": 1]> outer <times, alpha: float = 0.5>(p) => (q) {
            r = own.scaled<by: float = @times>(p) q = LeakyRelu<alpha: float = @alpha>(r) }""",
    "default": """<ir_version: 8, opset_import: ["": 17, "own": 1]> default (float[2,3] x) => (float[] y) {
        y = own.leaky(x) }
        <domain: "own", opset_import: ["": 17]> leaky <alpha: float = 0.5>(p) => (q) {
            yes = Constant<value = bool {1}>()
            q = If(yes)<then_branch = t () => (float[] a) { a = LeakyRelu<alpha: float = @alpha>(p) },
                        else_branch = e () => (float[] b) { b = Relu(p) }> }""",
}

# Operators that are composed of simple ones, which the compiler recognises.
LINES = {
    "softmax_kept": "m = ReduceMax<axes = [1]>(x) s = Sub(x, m) e = Exp(s) u = ReduceSum(e, axis) y = Div(e, u)",
    "softmax_expanded": """m = ReduceMax<axes = [1], keepdims = 0>(x) k = Unsqueeze(m, axis) l = Expand(k, all) s = Sub(x, l)
        e = Exp(s) t = ReduceSum<keepdims = 0>(e, axis) u = Unsqueeze(t, axis) y = Div(e, u)""",
    "log_softmax_parts": "m = ReduceMax<axes = [1]>(x) s = Sub(x, m) e = Exp(s) u = ReduceSum(e, axis) l = Log(u) y = Sub(s, l)",
    "log_softmax_sum": "l = ReduceLogSumExp<axes = [1]>(x) y = Sub(x, l)",
    "log_softmax": "s = Softmax(x) y = Log(s)",
    "log_sum_exp": """m = ReduceMax<axes = [1]>(x) s = Sub(x, m) e = Exp(s) u = ReduceSum<keepdims = 0>(e, axis) l = Log(u)
        k = Squeeze(m, axis) y = Add(l, k)""",
    "log_sum_exp_guarded": """m = ReduceMax<axes = [1]>(x) i = IsInf(m) n = IsNaN(m) b = Or(i, n) f = Not(b) g = Where(f, m, zero)
        s = Sub(x, g) e = Exp(s) u = ReduceSum(e, axis) l = Log(u) y = Add(l, g)""",
    "softmax_nan": "s = Softmax(x) n = IsNaN(s) y = Where(n, zero, s)",
}
for name, text in LINES.items():
    GRAPHS[name] = f"""<ir_version: 8, opset_import: ["": 17]> {name} (float[3,10] x) => (float[] y) {{
        axis = Constant<value = int64[1] {{1}}>() all = Constant<value = int64[2] {{3, 10}}>()
        zero = Constant<value = float {{0}}>() {text} }}"""
GRAPHS |= {
    "pool_padded": """<ir_version: 8, opset_import: ["": 17]> pool (float[1,2,7,5] x) => (float[] y, float[] z, float[] w) {
        pads = Constant<value = int64[8] {0, 0, 1, 2, 0, 0, 2, 1}>() p = Pad(x, pads)
        y = AveragePool<kernel_shape = [3, 3], strides = [2, 1]>(p)
        z = AveragePool<kernel_shape = [3, 2], pads = [1, 1, 2, 0], count_include_pad = 1>(x)
        w = AveragePool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2], ceil_mode = 1>(x) }""",
    "pool_padded_line": """<ir_version: 8, opset_import: ["": 17]> line (float[1,2,7] x) => (float[] y, float[] z) {
        y = AveragePool<kernel_shape = [3], pads = [1, 1], count_include_pad = 1>(x)
        z = AveragePool<kernel_shape = [3], pads = [1, 1], strides = [2]>(x) }""",
    "group_norm": """<ir_version: 8, opset_import: ["": 17]> groups (float[2,4,3,3] x) => (float[] y) {
        flat = Constant<value = int64[3] {0, 2, -1}>() image = Constant<value = int64[4] {2, 4, 3, 3}>()
        one = Constant<value = float[2] {1, 1}>() none = Constant<value = float[2] {0, 0}>() a = Reshape(x, flat)
        n = InstanceNormalization(a, one, none) b = Reshape(n, image) column = Constant<value = int64[3] {4, 1, 1}>()
        g = Constant<value = float[4] {1, -2, 3, 0.5}>() h = Constant<value = float[4] {4, 3, -2, 1}>()
        scale = Reshape(g, column) bias = Reshape(h, column) c = Mul(b, scale) y = Add(c, bias) }""",
}


def recurrent(name, operator, gates, lengths=None, peephole=False, **attributes):
    """Returns a network with 5 steps, 3 items and 2 directions; initial states and weights are
    inputs.
    """
    shapes = {"x": [5, 3, 4], "w": [2, gates * 6, 4], "r": [2, gates * 6, 6], "b": [2, gates * 12]}
    inputs = ["x", "w", "r", "b", "lengths" if lengths else "", "h"]
    shapes["h"] = [2, 3, 6]
    if operator == "LSTM":
        inputs += ["c", "p" if peephole else ""]
        shapes |= {"c": [2, 3, 6]} | ({"p": [2, 18]} if peephole else {})
    outputs = ["y", "yh"] + (["yc"] if operator == "LSTM" else [])
    make = onnx.helper
    node = make.make_node(operator, inputs, outputs, hidden_size=6, direction="bidirectional", **attributes)
    given = [make.make_tensor_value_info(key, onnx.TensorProto.FLOAT, shape) for key, shape in shapes.items()]
    constants = []
    if lengths:
        constants = [make.make_tensor("lengths", onnx.TensorProto.INT32, [3], lengths)]
    graph = make.make_graph([node], name, given, [make.make_empty_tensor_value_info(o) for o in outputs], constants)
    return make.make_model(graph, ir_version=8, opset_imports=[make.make_opsetid("", 17)])


NETWORKS = {
    "lstm_lengths": recurrent("lstm_lengths", "LSTM", 4, lengths=[5, 2, 1]),
    "lstm_peephole": recurrent("lstm_peephole", "LSTM", 4, peephole=True, clip=3.0),
    "lstm_coupled": recurrent("lstm_coupled", "LSTM", 4, lengths=[1, 5, 4], input_forget=1),
    "gru_lengths": recurrent("gru_lengths", "GRU", 3, lengths=[3, 5, 1], clip=2.0),
    "gru_after": recurrent("gru_after", "GRU", 3, lengths=[3, 1, 4], linear_before_reset=1),
    "rnn": recurrent("rnn", "RNN", 1, lengths=[2, 5, 1], clip=4.0),
    # The networks have activations, with parameters, that WebNN's operators lack; the activations
    # of the two directions differ.
    "lstm_functions": recurrent(
        "lstm_functions", "LSTM", 4, lengths=[4, 5, 1],
        activations=["HardSigmoid", "ScaledTanh", "Softsign", "Sigmoid", "Affine", "Tanh"],
        activation_alpha=[0.3, 0.7, 0.8], activation_beta=[0.4, 1.2, 0.1]),
    "rnn_functions": recurrent("rnn_functions", "RNN", 1, activations=["ThresholdedRelu", "Elu"],
                               activation_alpha=[0.5, 0.75]),
    "gru_functions": recurrent("gru_functions", "GRU", 3, clip=5.0, activation_alpha=[0.25, 0.25],
                               activations=["Sigmoid", "LeakyRelu"] * 2),
    "gru_softplus": recurrent("gru_softplus", "GRU", 3, clip=3.0, linear_before_reset=1,
                              activations=["HardSigmoid", "Softplus"] * 2),
}


def value_of(info):
    shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
    kind = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
    values = RANDOM.uniform(-9, 9, shape)
    return values > 0 if kind == bool else values.astype(kind)


def main():
    paths = []
    with tempfile.TemporaryDirectory() as folder:
        models = {name: onnx.parser.parse_model(text) for name, text in GRAPHS.items()}
        for name, model in (models | NETWORKS).items():
            feed = {info.name: value_of(info) for info in model.graph.input}
            paths.append(pathlib.Path(folder) / name)
            write_case(paths[-1], model, feed.values(), run_reference(model, feed))
        good = [run_cases(sys.argv[1], device, paths, ["--range", "2e-5"]) for device in sys.argv[2:]]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
