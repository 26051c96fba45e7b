# SPDX-License-Identifier: MIT
"""The models of test_situations.py."""
import numpy
from onnx_cases import onnx

ALL, REFUSED = {}, {}
FLOAT8 = onnx.TensorProto.FLOAT8E4M3FN
RANDOM = numpy.random.default_rng(41)


def parse(text, version=18, ir_version=8):
    return onnx.parser.parse_model(
        f'<ir_version: {ir_version}, opset_import: ["": {version}, "com.microsoft": 1]> {text}')


def add(name, model, feed, results):
    """Adds a model (or its text) with lists of its input values and of its expected outputs."""
    assert name not in ALL
    ALL[name] = (parse(model) if isinstance(model, str) else model,
                 [numpy.asarray(value) for value in feed], [numpy.asarray(value) for value in results])


def halves(*values):
    return numpy.array(values, numpy.float16)


def floats(*values):
    return numpy.array(values, numpy.float32)


def refused_weights():
    """Tests that a weight of an unknown type is refused with the node that needs it."""
    text = """g (float[3] x) => (float[] z, float[] y) {
        y = Relu(x) w = Cast<to = 1>(e) z = Add(x, w) }"""
    string = onnx.helper.make_tensor("e", onnx.TensorProto.STRING, [3], [b"a", b"b", b"c"])
    for name, change in {
            "cast": "", "identity": "Identity(e)", "output": None, "branch": "If", "sequence": "Seq"}.items():
        model = parse(text)
        del model.graph.node[1:]
        operator = {"cast": "Cast", "identity": "Identity", "output": "", "branch": "Identity",
                    "sequence": "SequenceConstruct"}[name]
        if name == "cast":
            model = parse(text)
        elif name == "identity":
            model.graph.node.append(onnx.helper.make_node("Identity", ["e"], ["z"]))
        elif name == "output":
            model.graph.output[0].name = "e"
        elif name == "branch":
            branch = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["e"], ["b"])], "b", [], [
                onnx.helper.make_empty_tensor_value_info("b")])
            model.graph.node.extend([onnx.helper.make_node("Constant", [], ["c"], value_ints=[1]),
                                     onnx.helper.make_node("If", ["c"], ["z"], then_branch=branch,
                                                           else_branch=branch)])
        else:
            model.graph.node.extend([onnx.helper.make_node("SequenceConstruct", ["x", "e"], ["s"]),
                                     onnx.helper.make_node("SequenceConstruct", ["x"], ["r"]),
                                     onnx.helper.make_node("ConcatFromSequence", ["s"], ["z"], axis=0)])
        model.graph.initializer.append(string)
        REFUSED[f"string_{name}"] = (model, operator, "of type string")
        assert change is not False


def any_order():
    """Tests that nodes may come before those that make their inputs."""
    x = RANDOM.uniform(-2, 2, 3).astype(numpy.float32)
    positive = numpy.maximum(x, 0)
    add("order_pair", "g (float[3] x) => (float[] y) { y = Add(t, t) t = Relu(x) }", [x], [2 * positive])
    add("order_backwards", """g (float[3] x) => (float[] y) {
        y = Sub(d, a) d = Mul(c, b) c = Abs(b) b = Neg(a) a = Relu(x) }""", [x],
        [-positive * positive - positive])
    add("order_branch", """g (float[3] x) => (float[] y) {
        y = If(yes)<then_branch = t () => (float[] p) { p = Add(r, q) r = Neg(q) q = Abs(late) },
                    else_branch = e () => (float[] s) { s = Identity(late) }>
        late = Relu(x) yes = Constant<value = bool {1}>() }""", [x], [0 * x])
    add("order_loop", """g (float[3] x) => (float[] y) {
        y = Loop(times, on, v)<body = b (int64 i, bool c, float[3] p) => (bool d, float[3] w) {
            w = Add(u, by) u = Abs(p) d = Identity(c) }>
        v = Neg(x) times = Constant<value = int64 {2}>() on = Constant<value = bool {1}>()
        by = Constant<value = float {1.5}>() }""", [x], [numpy.abs(x) + 3])
    add("order_function", onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[3] x) => (float[] y) {
        y = own.f(t) t = Relu(x) }
        <domain: "own", opset_import: ["": 17]> f (p) => (q) { q = Add(r, p) r = Exp(p) }"""), [x],
        [numpy.exp(positive) + positive])
    # The inner t hides the outer one, which depends on the branch.
    add("order_hidden", """g (float[3] x) => (float[] y) {
        y = Relu(t) t = Neg(s)
        s = If(yes)<then_branch = b () => (float[] t) { t = Neg(x) },
                    else_branch = e () => (float[] t) { t = Abs(x) }>
        yes = Constant<value = bool {1}>() }""", [x], [positive])


def newer_files():
    """Tests that a model is not refused only because its file format is new."""
    for version in (12, 13, 14, 15, 99):
        add(f"ir_version_{version}", parse("g (float[2] x) => (float[] y) { y = Neg(x) }",
                                           ir_version=version), [floats(1, -2)], [floats(-1, 2)])


def large_sums():
    """Tests that integer products beyond 2^24 are those of numpy when they are used as int32."""
    for name, rows, depth, columns, zeros in (
            ("edge", 1, 258, 1, (0, 0)), ("long", 2, 1024, 3, (0, 0)), ("most", 3, 2000, 4, (255, 255)),
            ("points", 2, 777, 5, (3, 250)), ("part", 4, 259, 2, (0, 7))):
        a = RANDOM.integers(200, 256, (rows, depth)).astype(numpy.uint8)
        b = RANDOM.integers(200, 256, (depth, columns)).astype(numpy.uint8)
        if name == "most":
            a, b = a * 0, b * 0
        want = (a.astype(numpy.int32) - zeros[0]) @ (b.astype(numpy.int32) - zeros[1])
        add(f"sum_{name}", f"""g (uint8[{rows},{depth}] a, uint8[{depth},{columns}] b, uint8 p, uint8 q)
            => (int32[] y) {{ y = MatMulInteger(a, b, p, q) }}""",
            [a, b, numpy.uint8(zeros[0]), numpy.uint8(zeros[1])], [want])
    for name, channels, kernel in (("conv", 30, 3), ("conv_point", 600, 1), ("conv_odd", 17, 4)):
        x = RANDOM.integers(200, 256, (1, channels, 5, 5)).astype(numpy.uint8)
        w = RANDOM.integers(200, 256, (2, channels, kernel, kernel)).astype(numpy.uint8)
        seen = numpy.lib.stride_tricks.sliding_window_view(x.astype(numpy.int32), (kernel, kernel), (2, 3))
        add(f"sum_{name}", f"""g (uint8[1,{channels},5,5] x, uint8[2,{channels},{kernel},{kernel}] w)
            => (int32[] y) {{ y = ConvInteger(x, w) }}""", [x, w],
            [numpy.einsum("bchwij,ocij->bohw", seen, w.astype(numpy.int32))])


def damaged_users():
    """Tests nodes without outputs or operator, which nobody uses, beside a product of integers."""
    a, b = (RANDOM.integers(0, 256, shape).astype(numpy.uint8) for shape in ((2, 3), (3, 2)))
    for name, node in (("outputs", onnx.helper.make_node("MatMulInteger", ["a", "b"], [])),
                       ("operator", onnx.NodeProto(input=["a"], output=["unused"]))):
        model = parse("g (uint8[2,3] a, uint8[3,2] b) => (int32[] y, float[] z) {"
                      "y = MatMulInteger(a, b) s = MatMulInteger(a, b) z = Cast<to = 1>(s) }")
        model.graph.node.append(node)
        want = a.astype(numpy.int32) @ b.astype(numpy.int32)
        add(f"product_beside_no_{name}", model, [a, b], [want, want.astype(numpy.float32)])


def unused():
    """Tests nodes without used outputs, or with some, and BatchNormalization in training with all used."""
    x = RANDOM.uniform(-2, 2, (1, 2, 2, 2)).astype(numpy.float32)
    two = "s = Constant<value = float[2] {1, 2}>() o = Constant<value = float[2] {0, 1}>()"
    wide = numpy.array([1, 2], numpy.float32).reshape(1, 2, 1, 1)
    shift = numpy.array([0, 1], numpy.float32).reshape(1, 2, 1, 1)
    add("unused_training", parse(f"""g (float[1,2,2,2] x) => (float[] y) {{ {two}
        y, a, b, c, d = BatchNormalization<epsilon = 0.0>(x, s, o, o, s) }}""", 7), [x],
        [(x - shift) / numpy.sqrt(wide) * wide + shift])
    # BatchNormalization takes the statistics of the batch when an output after y is used.
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    norm = (x - mean.reshape(wide.shape)) / numpy.sqrt(variance + 0.5).reshape(wide.shape) * wide + shift
    made = {"y": norm, "a": 0.75 * floats(0, 1) + 0.25 * mean, "b": 0.75 * floats(1, 2) + 0.25 * variance,
            "c": mean, "d": 1 / numpy.sqrt(variance + 0.5)}
    for version, names in ((7, "ya"), (7, "yabcd"), (9, "yb"), (9, "yc"), (9, "d"), (8, "yd")):
        used = ", ".join(f"float[] {name}" for name in names)
        add(f"used_training_{version}_{names}", parse(f"""g (float[1,2,2,2] x) => ({used}) {{ {two}
            y, a, b, c, d = BatchNormalization<epsilon = 0.5, momentum = 0.75>(x, s, o, o, s) }}""", version),
            [x], [made[name] for name in names])
    add("unused_scan", """g (float[3] x) => (float[] y) {
        times = Constant<value = int64 {0}>() on = Constant<value = bool {1}>()
        y, o = Loop(times, on, x)<body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] u) {
            d = Identity(c) w = Neg(v) u = Abs(v) }> }""", [floats(1, 2, 3)], [floats(1, 2, 3)])
    add("unused_node", """g (float[2] x) => (float[] y) {
        t = StringNormalizer(x) u = Unknown(t) y = Neg(x) }""", [floats(1, -2)], [floats(-1, 2)])
    add("unused_mask", """g (float[2] x) => (float[] y) { y, m = Dropout(x) }""", [floats(1, -2)],
        [floats(1, -2)])
    add("unused_norm", """g (float[1,2] x, float[1,2] w, float[2] s) => (float[] y) {
        y, m, d = com.microsoft.SkipLayerNormalization<epsilon = 0.0>(x, w, s) }""",
        [floats([1, 3]), floats([1, 1]), floats(1, 2)], [floats([-1, 2])])


def sparse():
    """Tests that sparse weights and constants become dense."""
    def tensor(name, values, indices, shape, kind=onnx.TensorProto.FLOAT):
        made = onnx.SparseTensorProto()
        made.values.CopyFrom(onnx.helper.make_tensor(name, kind, [len(values)], values))
        made.indices.CopyFrom(onnx.helper.make_tensor(
            "i", onnx.TensorProto.INT64, numpy.shape(indices), numpy.ravel(indices)))
        made.dims.extend(shape)
        return made

    x = RANDOM.uniform(-2, 2, (2, 3)).astype(numpy.float32)
    dense = numpy.zeros((2, 3), numpy.float32)
    dense[0, 1], dense[1, 2] = 5, -7
    add_text = "g (float[2,3] x) => (float[] y) { y = Add(x, w) }"
    for name, indices in {"linear": [1, 5], "coordinates": [[0, 1], [1, 2]]}.items():
        model = parse(add_text)
        model.graph.sparse_initializer.append(tensor("w", [5, -7], indices, [2, 3]))
        add(f"sparse_{name}", model, [x], [x + dense])
    model = parse(add_text)
    model.graph.sparse_initializer.append(tensor("w", [], [], [2, 3]))
    add("sparse_empty", model, [x], [x])
    model = parse("g (float[2,3] x) => (float[] y) { z = Neg(x) y = Add(x, w) }")
    model.graph.node[0].CopyFrom(onnx.helper.make_node("Constant", [], ["w"], sparse_value=tensor(
        "", [5, -7], [1, 5], [2, 3])))
    add("sparse_value", model, [x], [x + dense])
    model = parse("g (float[2,3] x) => (float[] y) { y = Reshape(x, w) }")
    model.graph.sparse_initializer.append(tensor("w", [6], [1], [2], onnx.TensorProto.INT64))
    model.graph.node.insert(0, onnx.helper.make_node("Neg", ["x"], ["unused"]))
    model.graph.node.insert(1, onnx.helper.make_node("Constant", [], ["one"], value_ints=[1, 0]))
    model.graph.node.insert(2, onnx.helper.make_node("Add", ["w", "one"], ["shape"]))
    model.graph.node[3].input[1] = "shape"
    add("sparse_shape", model, [x], [x.reshape(1, 6)])


def operator(kind, feed, result, constants=(), version=18, **attributes):
    """Returns a model of one node with its inputs and results; inputs whose indices are in
    constants are part of the model.
    """
    names = [f"i{index}" for index in range(len(feed))]
    feed = [numpy.asarray(value) for value in feed]
    domain, _, plain = kind.rpartition(".")
    node = onnx.helper.make_node(plain, names, ["y"], domain=domain, **attributes)
    values = [onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for index, (name, value) in enumerate(zip(names, feed)) if index not in constants]
    graph = onnx.helper.make_graph([node], "g", values, [onnx.helper.make_empty_tensor_value_info("y")], [
        onnx.numpy_helper.from_array(feed[index], names[index]) for index in constants])
    model = onnx.helper.make_model(graph, ir_version=8, opset_imports=[
        onnx.helper.make_opsetid("", version), onnx.helper.make_opsetid("com.microsoft", 1)])
    return model, [value for index, value in enumerate(feed) if index not in constants], [result]


def half_steps():
    """Tests that intermediate values of composed operators may exceed float16."""
    row = halves(300, -300).reshape(1, 2, 1)
    add("half_lrn", *operator("LRN", [halves(300).reshape(1, 1, 1, 1)],
                              halves(300 / (1 + 1e-4 * 300 ** 2) ** 0.75).reshape(1, 1, 1, 1), size=1))
    add("half_global_lp", *operator("GlobalLpPool", [halves(200, 200).reshape(1, 1, 2)],
                                    halves(282.8427).reshape(1, 1, 1), p=2))
    add("half_lp", *operator("LpPool", [halves(60).reshape(1, 1, 1)], halves(60).reshape(1, 1, 1), p=3,
                             kernel_shape=[1]))
    add("half_mean_variance", *operator("MeanVarianceNormalization", [row[:, :, None]],
                                        halves(1, -1).reshape(1, 2, 1, 1), axes=[0, 1, 2, 3]))
    add("half_det", *operator("Det", [halves([400, 400], [400, 400])], halves(0)[0]))
    add("half_mean", *operator("Mean", [halves(60000), halves(60000)], halves(60000)))
    add("half_sum", *operator("Sum", [halves(60000), halves(60000), halves(-60000)], halves(60000)))
    add("half_lp_norm", *operator("LpNormalization", [halves(400, 300)], halves(0.8, 0.6)))
    add("half_gelu", *operator("Gelu", [halves(60, -60, 1)], halves(60, 0, 0.8411919), version=20,
                               approximate="tanh"))
    add("half_rms", *operator("RMSNormalization", [halves(300, -300), halves(1, 1)], halves(1, -1),
                              version=23))
    add("half_groups", *operator("GroupNormalization", [row, halves(1, 1), halves(0, 0)], halves(1, -1).reshape(
        1, 2, 1), version=21, num_groups=1))
    add("half_log_softmax", *operator("LogSoftmax", [halves(0, 0)], halves(-0.693147, -0.693147)))
    add("half_einsum", *operator("Einsum", [halves(300), halves(300), halves(0.5)], halves(45000),
                                 equation="i,i,i->i"))
    add("half_products", *operator("Einsum", [halves(300, 300), halves(300, -300)], halves(0)[0],
                                   equation="i,i->"))
    add("half_factor", *operator("com.microsoft.FusedMatMul", [halves([300]), halves([300])], halves([11250]),
                                 alpha=0.125))
    for kind, result in {"L2": 282.8427, "LogSumExp": 200.69315, "LogSum": 5.9914646}.items():
        add(f"half_reduce_{kind}", *operator(f"Reduce{kind}", [halves(200, 200)], halves(result)))


def far_functions():
    """Tests that functions are exact for numbers whose squares or exponentials exceed float32."""
    inf = numpy.inf
    add("far_asinh", *operator("Asinh", [floats(2e19, -2e19, 0, 1e-5, 3e38, -1, inf)], floats(
        45.1354, -45.1354, 0, 1e-5, numpy.arcsinh(3e38), -0.8813736, inf)))
    add("far_acosh", *operator("Acosh", [floats(2e19, 1, 1.5, 3e38)], floats(
        45.1354, 0, 0.9624237, numpy.arccosh(3e38))))
    add("far_atanh", *operator("Atanh", [floats(1, -1, 0.5, 0, 1e-4)], floats(inf, -inf, 0.5493062, 0, 1e-4)))
    far = floats(89, -89, 89.4, 1, 0, 1e-3)
    exact = far.astype(numpy.float64)
    # These are separate models, since the tolerance is relative to the range of a result.
    for name, at in {"far": slice(0, 3), "near": slice(3, 6)}.items():
        add(f"{name}_sinh", *operator("Sinh", [far[at]], numpy.sinh(exact[at]).astype(numpy.float32)))
        add(f"{name}_cosh", *operator("Cosh", [far[at]], numpy.cosh(exact[at]).astype(numpy.float32)))
    add("far_softplus", *operator("Softplus", [floats(1000, -1000, 0)], floats(1000, 0, 0.6931472)))
    add("far_log_sum", *operator("ReduceLogSumExp", [floats(1000, 1000)], floats(1000.6931)))
    add("far_log_softmax", *operator("LogSoftmax", [floats(1000, 0)], floats(0, -1000)))
    add("far_mish", *operator("Mish", [floats(1000, -1000, 1)], floats(1000, 0, 0.8650984)))


def rests():
    """Tests that remainders are exact, and that a row of zeros can be normalised."""
    def fmod(name, a, b):
        add(f"fmod_{name}", *operator("Mod", [a, b], numpy.fmod(a.astype(numpy.float64), b.astype(
            numpy.float64)).astype(a.dtype), fmod=1))

    fmod("infinite", floats(3, -3), floats(numpy.inf, numpy.inf))
    fmod("large", floats(1e20, -1e20, 1e15, 7), floats(3, 7, 3, 1e20))
    fmod("circle", floats(999.5, -999.5, 12345.678), floats(6.2831855, 6.2831855, 0.1))
    fmod("tiny", floats(5e-30, 1e-10, 1, 3e38), floats(3e-30, 3e-17, 3e-10, 7e37))
    fmod("far", floats(3e38, 1e30), floats(7, 1e-3))
    fmod("farthest", floats(2.0 ** 64, 3e38, 3.4028235e38, 3.4028235e38, -3.4028235e38, 1e38, 2.0 ** 100),
         floats(1.5 * 2.0 ** -61, 1e-3, 3.4028235e38 * 2.0 ** -88, 1.4e-45, 1.1754944e-38, 2.3e-41, 3e-30))
    random = numpy.random.default_rng(5)
    a, b = ((random.uniform(1, 2, 2000) * 2.0 ** random.integers(-126, 128, 2000)).astype(numpy.float32) for _ in range(2))
    fmod("random", a, b)
    fmod("halves", halves(60000, -999.5, 1), halves(7, 6.28, 1e-3))
    fmod("integers", numpy.array([7, -7, 7, -7]), numpy.array([3, 3, -3, -3]))
    add("norm_zero", *operator("LpNormalization", [floats([0, 0], [3, 4])], floats([0, 0], [0.6, 0.8])))
    add("norm_zero_1", *operator("LpNormalization", [floats([0, 1], [0, 3])], floats([0, 0.25], [0, 0.75]), p=1,
                                 axis=0))


def far_norms():
    """Tests that norms of float32 stay in its range when their squares do not."""
    add("norm_far_rows", *operator("LpNormalization", [floats([3e30, 4e30], [3e-30, -4e-30], [3, 0], [3e38, 3e38])],
                                   floats([0.6, 0.8], [0.6, -0.8], [1, 0], [0.5 ** 0.5] * 2)))
    add("norm_far_1", *operator("LpNormalization", [floats([3e38, 3e38], [1e-38, 3e-38])],
                                floats([0.5, 0.5], [0.25, 0.75]), p=1))
    for size in (1e30, 1e-30, 3e38, 2e-38):
        for p in (1, 2, 3, 5):
            # With p = 1, the sum of large magnitudes would exceed float32.
            part = 0.25 if p == 1 and size > 1e38 else 1
            x = (size * part * floats([[1, 0.5, 0.75, -0.25], [0, 0, 0.125, 0]]) * floats(0.4)).reshape(1, 2, 2, 2)
            want = (numpy.abs(x.astype(float)) ** p).sum((2, 3), keepdims=True) ** (1 / p) if p < 5 else \
                size * (numpy.abs(x / numpy.float64(size)) ** p).sum((2, 3), keepdims=True) ** (1 / p)
            want = want.astype(numpy.float32)
            add(f"global_lp_{p}_{size}", *operator("GlobalLpPool", [x], want, p=p))
            add(f"lp_{p}_{size}", *operator("LpPool", [x], want, p=p, kernel_shape=[2, 2]))
    x = floats([1e30, 1e30, 1e-30, 1e-30, 3, 4, 0, 1e-20, numpy.inf, 1, 1e20, 1e-38]).reshape(1, 1, 12)
    pairs = x.reshape(1, 1, 6, 2).astype(float)
    for p in (1, 2, 3, 4):
        model = parse(f"""g (float[1,1,12] x) => (float[] y) {{
            l = LpPool<kernel_shape = [2], strides = [2], p = {p}>(x) y = Log(l) }}""")
        add(f"lp_windows_{p}", model, [x], [numpy.log((pairs ** p).sum(3) ** (1 / p)).astype(numpy.float32)])


def grouped():
    """Tests GroupQueryAttention with positions, a bias of scores, and a further score per head."""
    table = RANDOM.uniform(-1, 1, (2, 12, 8)).astype(numpy.float32)

    def turn(x, positions):
        cosine, sine = table[:, positions]
        return numpy.concatenate([x[..., :8] * cosine - x[..., 8:] * sine,
                                  x[..., 8:] * cosine + x[..., :8] * sine], -1)

    for name, length, past, room, given, positions, bias_shape, sink in (
            ("prompt", 3, 0, 0, [[3, 0, 9]], [3, 4, 5], (1, 2, 3, 3), floats(0.5, -2)),
            ("step", 1, 4, 4, [[9]], [9], (1, 1, 1, 5), floats(3, 1)),
            ("steps", 2, 2, 2, [[7, 1]], [7, 1], (1, 2, 2, 4), None),
            ("room", 1, 4, 8, [[2]], [2], (1, 2, 1, 5), floats(0, 0.25))):
        total = past + length
        q, k, v = (RANDOM.uniform(-1, 1, (1, length, 32)).astype(numpy.float32) for _ in range(3))
        old = [RANDOM.uniform(-1, 1, (1, 2, room, 16)).astype(numpy.float32) for _ in range(2)]
        bias = RANDOM.uniform(-1, 1, bias_shape).astype(numpy.float32)
        split = [numpy.moveaxis(x.reshape(length, 2, 16), 0, 1) for x in (q, k, v)]
        keys = numpy.concatenate([old[0][0, :, :past], turn(split[1], positions)], 1)
        values = numpy.concatenate([old[1][0, :, :past], split[2]], 1)
        scores = numpy.exp(turn(split[0], positions) @ keys.swapaxes(1, 2) / 4 + bias[0])
        scores = scores * numpy.tri(length, total, past)
        more = 0 if sink is None else numpy.exp(sink)[:, None, None]
        result = numpy.moveaxis(scores / (scores.sum(2, keepdims=True) + more) @ values, 0, 1)
        feed = dict(q=q, k=k, v=v, pk=old[0], pv=old[1], ids=numpy.array(given), bias=bias, s=sink)
        feed = {key: value for key, value in feed.items() if value is not None and value.size}
        model = parse(f"""g ({", ".join(f"{'int64' if key == 'ids' else 'float'}{list(value.shape)} {key}"
                                         for key, value in feed.items())}) => (float[] y) {{
            l = Constant<value = int32[1] {{{total - 1}}}>() t = Constant<value = int32 {{{total}}}>()
            y, nk, nv = com.microsoft.GroupQueryAttention<num_heads = 2, kv_num_heads = 2, do_rotary = 1>(q, k, v,
                {"pk, pv" if room else ","}, l, t, c, n, ids, bias{", s" if sink is not None else ""}) }}""")
        model.graph.initializer.extend(onnx.numpy_helper.from_array(part, key) for key, part in zip("cn", table))
        add(f"group_{name}", model, list(feed.values()), [result.reshape(1, length, 32).astype(numpy.float32)])


def products():
    """Tests equations of Einsum, products of integers, and operands that a factor of 0 makes
    irrelevant.
    """
    a, b = (RANDOM.uniform(-1, 1, shape).astype(numpy.float32) for shape in ((2, 3, 4), (2, 4, 5)))
    for name, equation in {"upper": "BIJ,BJK->BIK", "mixed": "bIj , bjK -> KIb", "implicit": "aBj,ajC",
                           "dots": "...Zy,...yX->...XZ"}.items():
        add(f"einsum_{name}", *operator("Einsum", [a, b], numpy.einsum(equation, a, b), equation=equation))
    square = RANDOM.uniform(-1, 1, (3, 3)).astype(numpy.float32)
    add("einsum_diagonal", *operator("Einsum", [square], numpy.einsum("II->I", square), equation="II->I"))
    for kind in numpy.int32, numpy.int64, numpy.uint32, numpy.uint64:
        low = -9 if numpy.dtype(kind).kind == "i" else 0
        left, right = (RANDOM.integers(low, 1 << 20, shape).astype(kind) for shape in ((2, 3, 4), (4, 5)))
        add(f"matmul_{kind.__name__}", *operator("MatMul", [left, right], left @ right))
    left, right = RANDOM.integers(-9, 9, (3, 4)), RANDOM.integers(-9, 9, (5, 4))
    add("matmul_rows", *operator("MatMul", [left[0], right.T], left[0] @ right.T))
    add("matmul_columns", *operator("MatMul", [left, right[0]], left @ right[0]))
    add("matmul_vectors", *operator("MatMul", [left[0], right[0]], left[0] @ right[0]))
    big = RANDOM.integers(-99, 99, (2, 200, 300)).astype(numpy.int32)
    add("matmul_parts", *operator("MatMul", [big[0], big[1].T], big[0] @ big[1].T))
    add("gemm_integers", *operator("Gemm", [left.T, right.T, left[:1, :1]], 3 * (left @ right.T) - 2 * left[
        :1, :1], transA=1, alpha=3.0, beta=-2.0))
    nothing = numpy.full((3, 5), numpy.nan, numpy.float32)
    left, right = left.astype(numpy.float32), right.astype(numpy.float32)
    for name, c in {"nan": nothing, "infinite": nothing[0] * 0 + numpy.inf, "scalar": nothing[:1, :1]}.items():
        add(f"gemm_{name}", *operator("Gemm", [left, right, c], left @ right.T, transB=1, beta=0.0))
    add("gemm_fused", *operator("com.microsoft.FusedGemm", [left, right, nothing], numpy.maximum(
        left @ right.T, 0), transB=1, beta=0.0, activation="Relu"))
    add("gemm_weights", *operator("Gemm", [left, right, nothing], left @ right.T, [1, 2], transB=1, beta=0.0))
    rows = RANDOM.uniform(-1, 1, (3, 2, 4)).astype(numpy.float32)  # rows, batch, depth
    for name, feed, result, flags in (
            ("a", [rows, b], numpy.einsum("mbk,bkn->bmn", rows, b), {"transBatchA": 1}),
            ("b", [a, b.transpose(1, 0, 2)], a @ b, {"transBatchB": 1}),
            ("both", [rows, b.transpose(1, 0, 2)], numpy.einsum("mbk,bkn->bmn", rows, b),
             {"transBatchA": 1, "transBatchB": 1}),
            ("a_turned", [a.transpose(2, 0, 1), b], a @ b, {"transBatchA": 1, "transA": 1}),
            ("b_turned", [a, b.transpose(2, 0, 1)], 0.5 * a @ b, {"transBatchB": 1, "transB": 1, "alpha": 0.5})):
        add(f"batches_{name}", *operator("com.microsoft.FusedMatMul", feed, result, **flags))


def windows():
    """Tests windows that reach beyond the padding, and padding that is longer than the input."""
    x = numpy.arange(1, 11, dtype=numpy.float32).reshape(1, 1, 10)
    flags = {"version": 19, "ceil_mode": 1, "count_include_pad": 1}
    add("average_dilated", *operator("AveragePool", [x], floats([[2, 6, 9]]), kernel_shape=[3], strides=[4],
                                     dilations=[2], pads=[1, 1], **flags))
    add("average_plain", *operator("AveragePool", [x], floats([[1, 4, 7, 19 / 3]]), kernel_shape=[3], strides=[3],
                                   pads=[1, 1], **flags))
    add("average_excluded", *operator("AveragePool", [x], floats([[3, 6, 9]]), kernel_shape=[3], strides=[4],
                                      dilations=[2], pads=[1, 1], version=19, ceil_mode=1))
    image = x.reshape(1, 1, 2, 5)
    add("average_image", *operator("AveragePool", [image], floats([[[(2 + 7) / 4, (2 + 4 + 7 + 9) / 4, 13 / 4]]]),
                                   kernel_shape=[2, 2], strides=[2, 2], dilations=[1, 2], pads=[0, 1, 0, 1],
                                   **flags))
    add("average_halves", *operator("AveragePool", [halves([[60000, 60000, 60000]])], halves([[60000]]),
                                    kernel_shape=[3], strides=[4], pads=[0, 0], **flags))
    for name, data, pads, mode in (("wrap", floats(0, 1, 2), [4, 5], "wrap"), ("wrap_one", floats(7), [3, 1], "wrap"),
                                   ("wrap_both", floats([1, 2], [3, 4]), [5, 0, 1, 3], "wrap"),
                                   ("reflect", floats(0, 1, 2), [4, 5], "reflect"),
                                   ("reflect_one", floats(7), [2, 2], "reflect"),
                                   ("wrap_integers", numpy.arange(4), [9, 0], "wrap"),
                                   ("edge", floats(1, 2), [5, 4], "edge")):
        pairs = numpy.array(pads).reshape(2, -1).T
        add(f"pad_{name}", *operator("Pad", [data, numpy.array(pads)], numpy.pad(data, pairs, mode=mode), [1],
                                     version=19, mode=mode))

def branches():
    """Tests computed conditions: both branches run, and one result is selected."""
    x = floats(1, -2, 3)
    text = """g (float[3] x) => (float[] y) {{
        none = Constant<value = float {{{0}}}>() sum = ReduceSum<keepdims = 0>(x) c = Greater(sum, none)
        y = If(c)<then_branch = t () => (float[] p) {{ {1} }}, else_branch = e () => (float[] q) {{ {2} }}> }}"""
    for at, taken in ((0, True), (5, False)):
        for name, then, other, results in (
                ("pure", "p = Neg(x)", "q = Identity(x)", (-x, x)),
                ("constant", "p = Abs(x)", "q = Constant<value = float[3] {7, 8, 9}>()", (abs(x), floats(7, 8, 9))),
                ("same", "p = Identity(x)", "q = Identity(x)", (x, x)),
                ("nested", "d = Less(sum, none) p = If(d)<then_branch = a () => (float[] r) { r = Neg(x) }, "
                 "else_branch = b () => (float[] s) { s = Add(x, x) }>", "q = Mul(x, x)", (x + x, x * x))):
            add(f"if_{name}_{taken}", text.format(at, then, other), [x], [results[not taken]])
    add("if_two", """g (float[3] x, bool[1] c) => (float[] y, bool[] z) {
        y, z = If(c)<then_branch = t () => (float[] p, bool[] o) { p = Neg(x) n = Constant<value = float {0}>()
                                                                   o = Greater(x, n) },
                     else_branch = e () => (float[] q, bool[] r) { q = Exp(x) m = Constant<value = float {0}>()
                                                                   r = Less(x, m) }> }""",
        [x, numpy.array([False])], [numpy.exp(x), x < 0])
    for name, then, reason in (
            ("shapes", "p = ReduceMax<keepdims = 0>(x)",
             'its branches make float [] and float [3], and which branch runs depends on data that is computed from '
             'input "x"'),
            ("types", "p = Cast<to = 7>(x)", "its branches make int64 [3] and float [3]"),
            ("part", "p = Unknown(x)", "its then_branch is refused, and which branch runs depends on data that is")):
        REFUSED[f"if_{name}"] = (parse(text.format(0, then, "q = Identity(x)")), "If", reason)
    # Each node has a reason of its own, even after the builder has failed.
    REFUSED["second_reason"] = (parse("""g (int64[2] x) => (int64[] y, int64[] z) { y = Exp(x) z = Celu(x) }"""),
                                "Celu", "elu \"z\": ")
    REFUSED["if_inside"] = (parse(text.format(0, "p = Unknown(x)", "q = Identity(x)")), "Unknown", "no such operator")

def nothing():
    """Tests empty tensors inside a model, as inputs and as outputs."""
    x = floats([1, 2, 3], [4, 5, 6])
    none = numpy.zeros((0, 3), numpy.float32)
    add("nothing_in_rows", """g (float[0,3] p, float[2,3] x) => (float[] y) {
        a = Neg(p) b = Mul(a, a) y = Concat<axis = 0>(b, x) }""", [none, x], [x])
    add("nothing_out", "g (float[0,3] p) => (float[] y) { y = Relu(p) }", [none], [none])
    add("nothing_out_beside", """g (float[0,3] p, float[2,3] x) => (float[] y, float[] z, int64[] s) {
        one = Constant<value = float {1}>() y = Add(p, one) z = Exp(x) s = Shape(y) }""", [none, x],
        [none, numpy.exp(x), numpy.array([0, 3])])
    # In the first step of a decoder there are no keys yet.
    q = RANDOM.uniform(-1, 1, (1, 2, 1, 4)).astype(numpy.float32)
    past = numpy.zeros((1, 2, 0, 4), numpy.float32)
    add("nothing_past", """g (float[1,2,1,4] q, float[1,2,0,4] past) => (float[] y, float[] k) {
        k = Concat<axis = 2>(past, q) t = Transpose<perm = [0, 1, 3, 2]>(k) s = MatMul(q, t)
        p = Softmax(s) y = MatMul(p, k) }""", [q, past], [q, q])
    add("nothing_summed", "g (float[2,0] p, float[0,3] q) => (float[] y) { y = MatMul(p, q) }",
        [none[:, :0].reshape(2, 0), none], [numpy.zeros((2, 3), numpy.float32)])
    add("nothing_left", """g (float[2,3] x) => (float[] y, float[] z) {
        a = Constant<value = int64[1] {5}>() b = Constant<value = int64[1] {9}>() c = Constant<value = int64[1] {1}>()
        y = Slice(x, a, b, c) e = Sigmoid(y) z = Concat<axis = 1>(e, x) }""", [x], [x[:, :0], x])
    add("nothing_looked_up", """g (float[2,3] x) => (float[] y, float[] z) {
        i = ConstantOfShape<value = int64[1] {0}>(n) n = Constant<value = int64[1] {0}>() g = Gather(x, i)
        y = ReduceSum(g) z = Concat<axis = 0>(g, x) }""", [x], [floats([0]), x])
    add("nothing_kept", """g (float[2,3] x) => (float[] y, int64[] i) {
        c = Constant<value = bool[2] {0, 0}>() y = Compress<axis = 0>(x, c)
        k = Constant<value = int64[1] {0}>() v, i = TopK(x, k) }""", [x],
        [none, numpy.zeros((2, 0), numpy.int64)])
    add("nothing_padded", parse("""g (float[0,3] p) => (float[] y) {
        pads = Constant<value = int64[4] {1, 0, 1, 0}>() v = Constant<value = float {7}>() y = Pad(p, pads, v) }"""),
        [none], [numpy.full((2, 3), 7, numpy.float32)])
    add("nothing_stacked", """g (float[3] x) => (float[] y, float[] o) {
        times = Constant<value = int64 {0}>() on = Constant<value = bool {1}>()
        y, o = Loop(times, on, x)<body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] u) {
            d = Identity(c) w = Neg(v) u = Abs(v) }> }""", [x[0]], [x[0], none])
    add("nothing_chosen", """g (float[0,3] p, bool[0,1] c, float[1] x) => (float[] y, bool[] z) {
        y = Where(c, p, x) z = Greater(p, x) }""", [none, none[:, :1] > 0, floats(1)], [none, none > 0])
    add("nothing_cast", """g (float[0,3] p, float[2,3] x) => (int64[] y) {
        i = Cast<to = 7>(p) j = Cast<to = 7>(x) y = Concat<axis = 0>(i, j) }""", [none, x], [x.astype(int)])


def doubles():
    """Tests that values of type double are computed in float32."""
    x = RANDOM.uniform(-2, 2, (2, 5))
    add("double_inside", """g (float[2,5] x) => (float[] y) {
        d = Cast<to = 11>(x) m = ReduceMean<axes = [1]>(d) s = Sub(d, m) y = Cast<to = 1>(s) }""".replace(
            "ReduceMean<axes = [1]>(d)", "ReduceMean(d, a) a = Constant<value = int64[1] {1}>()"),
        [x.astype(numpy.float32)], [(x - x.mean(1, keepdims=True)).astype(numpy.float32)])
    add("double_inputs", "g (double[2,5] x) => (double[] y) { y = Exp(x) }", [x], [numpy.exp(x)])
    add("double_weights", *operator("Mul", [x, RANDOM.uniform(-2, 2, 5)], x * 0, [1]))
    ALL["double_weights"][2][0] = x * onnx.numpy_helper.to_array(ALL["double_weights"][0].graph.initializer[0])
    add("double_constant", """g (double[2,5] x) => (double[] y) {
        c = Constant<value = double {2.5}>() z = Add(x, c) one = Constant<value = double {1}>()
        three = Add(one, c) y = Div(z, three) }""", [x], [(x + 2.5) / 3.5])
    add("double_product", *operator("MatMul", [x, x.T.copy()], x @ x.T))
    add("double_norm", *operator("LayerNormalization", [x, numpy.ones(5)], (
        x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)))
    add("double_output", "g (float[2] x) => (double[] y, double[] z) { y = Cast<to = 11>(x) "
        "z = Constant<value = double[2] {0.5, 0.25}>() }", [floats(1, 2)], [numpy.array([1., 2]),
                                                                            numpy.array([0.5, 0.25])])

def quantised():
    """Tests float zero points, incomplete last blocks, 16-bit weights, and a quantised LSTM."""
    kind = numpy.float32
    for bits, block, depth in (4, 16, 40), (8, 16, 32), (4, 32, 64), (4, 16, 32), (8, 32, 48):
        blocks, columns = -(-depth // block), 6
        whole = RANDOM.integers(0, 1 << bits, (columns, blocks, block)).astype(numpy.uint8)
        packed = whole if bits == 8 else whole[:, :, ::2] | whole[:, :, 1::2] << 4
        scales = RANDOM.uniform(0.01, 0.05, (columns, blocks)).astype(kind)
        zeros = RANDOM.uniform(0, 15, (columns, blocks)).astype(kind)
        x = RANDOM.uniform(-1, 1, (3, depth)).astype(numpy.float32)
        weights = (whole - zeros[:, :, None].astype(float)) * scales[:, :, None].astype(float)
        result = x @ weights.reshape(columns, -1).T[:depth]
        add(f"bits_{bits}_{block}_{depth}", *operator(
            "com.microsoft.MatMulNBits", [x, packed, scales.ravel(), zeros.ravel()], result.astype(numpy.float32),
            [1, 2, 3], K=depth, N=columns, bits=bits, block_size=block))
    for name, shape, axis, block, kind in (("rows", (8, 6), 0, 3, numpy.int8), ("columns", (2, 7), 1, 4, numpy.uint8),
                                           ("vector", (10,), 0, 4, numpy.int8), ("middle", (2, 5, 3), 1, 2, numpy.int8),
                                           ("last", (3, 2, 5), -1, 3, numpy.int8)):
        whole = RANDOM.integers(0, 99, shape).astype(kind)
        parts = list(shape)
        parts[axis] = -(-parts[axis] // block)
        scale = RANDOM.uniform(0.5, 1, parts).astype(numpy.float32)
        zero = RANDOM.integers(0, 9, parts).astype(kind)
        place = numpy.arange(shape[axis]) // block
        wide, from_zero = scale.take(place, axis), zero.take(place, axis)
        result = (whole.astype(numpy.float32) - from_zero) * wide
        for way, constants in (("weights", [0, 1, 2]), ("computed", [])):
            add(f"blocks_{name}_{way}", *operator("DequantizeLinear", [whole, scale, zero], result, constants,
                                                  version=21, axis=axis, block_size=block))
            if constants:
                model = ALL[f"blocks_{name}_{way}"][0]
                model.graph.input.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1]))
                model.graph.node.append(onnx.helper.make_node("Mul", ["x", "y"], ["z"]))
                model.graph.output[0].name = "z"
                ALL[f"blocks_{name}_{way}"][1].append(floats(1))
        add(f"blocks_{name}_to", *operator("QuantizeLinear", [result, scale, zero], whole, version=21, axis=axis,
                                           block_size=block))
    x = RANDOM.uniform(-1, 1, (4, 3)).astype(numpy.float32)
    for kind in numpy.int16, numpy.uint16:
        whole = RANDOM.integers(0, 30000, (3, 5)).astype(kind)
        for name, shape, axis in (("one", (), 1), ("rows", (3,), 0), ("columns", (5,), 1)):
            scale, zero = RANDOM.uniform(0.001, 0.01, shape).astype(numpy.float32), numpy.full(shape, 100, kind)
            spread = (lambda value, axis=axis, shape=shape:
                      value.reshape((-1, 1) if shape and axis == 0 else (-1,)) if shape else value)
            weights = (whole.astype(float) - spread(zero)) * spread(scale).astype(float)
            model, feed, _ = operator("DequantizeLinear", [whole, scale, zero], x, [0, 1, 2], version=21, axis=axis)
            model.graph.input.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 3]))
            model.graph.node.append(onnx.helper.make_node("MatMul", ["x", "y"], ["z"]))
            model.graph.output[0].name = "z"
            add(f"weights_{kind.__name__}_{name}", model, [*feed, x], [(x @ weights).astype(numpy.float32)])


def lstm(x, w, r, bias, h, c):
    """Returns an LSTM's results for one direction; w and r are [inputs, 4 * hidden] in the order i,
    o, f, c.
    """
    def sigmoid(v):
        return 1 / (1 + numpy.exp(-v))

    steps = []
    for part in x:
        i, o, f, g = numpy.split(part @ w + h @ r + bias, 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * numpy.tanh(g)
        h = sigmoid(o) * numpy.tanh(c)
        steps.append(h)
    return numpy.stack(steps), h, c


def integer_lstm():
    """Tests weights of 8 bits with one scale for all or one for each column, as ONNX Runtime's
    quantiser writes them.
    """
    for name, kind, each, directions in (("one", numpy.int8, False, 1), ("gates", numpy.int8, True, 1),
                                         ("unsigned", numpy.uint8, False, 1), ("both", numpy.int8, False, 2),
                                         ("both_gates", numpy.uint8, True, 2)):
        steps, batch, size, hidden = 3, 2, 4, 5
        x = RANDOM.uniform(-1, 1, (steps, batch, size)).astype(numpy.float32)
        shape = (directions, 4 * hidden) if each else (directions,)
        feed, real = [x], []
        for inner in size, hidden:
            whole = RANDOM.integers(-90 if kind == numpy.int8 else 30, 90, (directions, inner, 4 * hidden)).astype(kind)
            scale = RANDOM.uniform(0.003, 0.006, shape).astype(numpy.float32)
            zero = numpy.full(shape, 0 if kind == numpy.int8 else 60, kind)
            real.append((whole.astype(float) - zero.reshape(directions, 1, -1)) * scale.reshape(directions, 1, -1))
            feed += [whole, scale, zero]
        bias = RANDOM.uniform(-1, 1, (directions, 8 * hidden)).astype(numpy.float32)
        both = bias[:, :4 * hidden].astype(float) + bias[:, 4 * hidden:]
        none = numpy.zeros((batch, hidden))
        results = [lstm(x[::-1] if d else x, real[0][d], real[1][d], both[d], none, none) for d in range(directions)]
        y = numpy.stack([part[0][::-1] if d else part[0] for d, part in enumerate(results)], 1)
        names = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"]
        values = dict(zip(["x", "w", "ws", "wz", "r", "rs", "rz", "b"], [*feed, bias]))
        node = onnx.helper.make_node("DynamicQuantizeLSTM", names, ["y", "h", "c"], domain="com.microsoft",
                                     hidden_size=hidden, direction="bidirectional" if directions > 1 else "forward")
        model = parse(f"g (float[{steps},{batch},{size}] x) => (float[] y, float[] h, float[] c) {{ y = Neg(x) }}")
        model.graph.node[0].CopyFrom(node)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(value, key) for key, value in values.items()
                                       if key != "x")
        add(f"lstm_{name}", model, [x], [y.astype(numpy.float32), *(
            numpy.stack([part[at] for part in results]).astype(numpy.float32) for at in (1, 2))])
    model = parse("g (float[2] x) => (float[] y) { y = com.microsoft.nchwc.Conv(x, x) }")
    REFUSED["nchwc"] = (model, "com.microsoft.nchwc.Conv", "saved this file for one kind of processor")

def random():
    """Tests that random numbers become inputs of the graph; the results here do not depend on their
    values.
    """
    three = numpy.full((2, 3), 3, numpy.float32)
    x = floats([1, 0, 1], [0, 1, 0])
    add("random_uniform", """g (float[2,3] x) => (float[] y) {
        r = RandomUniform<shape = [2, 3], low = 3.0, high = 3.5>() f = Floor(r) z = Mul(x, f) y = Sub(z, z) }""", [x],
        [0 * x])
    add("random_range", """g (float[2,3] x) => (float[] y) {
        r = RandomUniformLike<low = 3.0, high = 4.0, seed = 5.0>(x) y = Floor(r) }""", [x], [three])
    # Every number of bfloat16 from 256 to 258 is 256.
    add("random_rounded", """g (float[64] x) => (float[] y) {
        r = RandomUniform<shape = [64], dtype = 16, low = 256.0, high = 258.0>() y = Cast<to = 1>(r) }""",
        [numpy.zeros(64, numpy.float32)], [numpy.full(64, 256, numpy.float32)])
    # Rounding may not give the upper bound: a quarter of the numbers lie within half a step of it, half in bfloat16.
    for name, code, low, high in (("single", 1, 16777214.0, 16777216.0), ("half", 10, 1000.0, 1001.0),
                                  ("negative", 10, -1001.0, -1000.0), ("bfloat", 16, 256.0, 258.0)):
        add(f"random_below_{name}", f"""g (float[64] x) => (bool[] y) {{
            r = RandomUniform<shape = [64], dtype = {code}, low = {low}, high = {high}>()
            wide = Cast<to = 1>(r) top = Constant<value = float {{{high}}}>() y = Less(wide, top) }}""", [numpy.zeros(64, numpy.float32)],
            [numpy.ones(64, bool)])
    add("random_nothing", """g (float[2,3] x) => (float[] y) {
        r = RandomNormalLike(x) none = Constant<value = float {0}>() n = Mul(r, none) y = Add(n, x) }""", [x], [x])
    add("random_no_spread", """g (float[2,3] x) => (float[] y) {
        r = RandomNormal<shape = [3], mean = 2.0, scale = 0.0>() y = Mul(r, x) }""", [x], [2 * x])
    add("random_certain", "g (float[2,3] x) => (float[] y, bool[] z) { y = Bernoulli(x) z = Bernoulli<dtype = 9>(x) }",
        [x], [x, x > 0])
    add("random_sample", "g (float[2,3] x) => (int32[] y) { y = Multinomial<sample_size = 4>(x) }",
        [1e4 * floats([0, 1, 0], [0, 0, 1])], [numpy.array([[1] * 4, [2] * 4], numpy.int32)])
    add("random_halves", """g (float16[2,3] x) => (float16[] y) {
        r = RandomNormalLike<mean = 1000.0, scale = 0.01>(x) a = Sign(r) y = Mul(a, x) }""",
        [x.astype(numpy.float16)], [x.astype(numpy.float16)])

def suppress(boxes, scores, most, overlap, least):
    """Returns rows of batch, class and box, followed by rows of -1. Boxes are given by their
    corners.
    """
    rows = []
    for batch, classes in enumerate(scores):
        for kind, numbers in enumerate(classes):
            taken = []
            for at in numpy.argsort(-numbers, kind="stable"):
                y, x = (numpy.sort(boxes[batch][:, [d, d + 2]], 1) for d in (0, 1))
                common = numpy.ones(len(numbers))
                for side in y, x:
                    common *= numpy.maximum(numpy.minimum(side[:, 1], side[at, 1]) - numpy.maximum(
                        side[:, 0], side[at, 0]), 0)
                area = (y[:, 1] - y[:, 0]) * (x[:, 1] - x[:, 0])
                share = common / (area + area[at] - common)
                if len(taken) < most and numbers[at] > least and not any(share[k] > overlap for k in taken):
                    taken.append(at)
            rows += [[batch, kind, at] for at in taken]
    missing = scores.shape[0] * scores.shape[1] * min(most, scores.shape[2]) - len(rows)
    return numpy.array(rows + [[-1] * 3] * missing, numpy.int64)


def computed_boxes():
    """Tests NonMaxSuppression of computed boxes; its result ends with rows of -1."""
    for name, batches, classes, count, most, overlap, least, centred in (
            ("plain", 1, 1, 8, 8, 0.3, None, 0), ("few", 1, 2, 10, 2, 0.5, 0.4, 0), ("batches", 2, 3, 6, 4, 0.2, 0.6, 0),
            ("centres", 1, 2, 9, 5, 0.3, 0.2, 1), ("all", 2, 1, 5, 9, 1.0, None, 0), ("none", 1, 1, 5, 3, 0.5, 2.0, 0)):
        boxes = RANDOM.uniform(0, 1, (batches, count, 4)).astype(numpy.float32)
        scores = RANDOM.permutation(batches * classes * count).reshape(batches, classes, count).astype(numpy.float32)
        scores = (scores + 1) / (scores.size + 1)
        corners = boxes
        if centred:
            half = boxes[:, :, 2:] / 2
            corners = numpy.concatenate([(boxes[:, :, :2] - half)[:, :, ::-1], (boxes[:, :, :2] + half)[:, :, ::-1]], 2)
        feed = [boxes, scores, numpy.array([most]), floats(overlap)] + ([] if least is None else [floats(least)])
        add(f"boxes_{name}", *operator("NonMaxSuppression", feed, suppress(
            corners, scores, most, overlap, -1 if least is None else least), list(range(2, len(feed))),
            center_point_box=centred))

def padded_integers():
    """Tests integer convolutions that are padded with a computed zero point; sums exceed 2^24."""
    for name, channels, groups, pads, strides in (
            ("wide", 160, 1, (1, 1, 1, 1), (1, 1)), ("uneven", 5, 1, (1, 0, 0, 2), (1, 1)), ("strided", 8, 1, (2, 1, 1, 2), (2, 2)),
            ("columns", 3, 1, (0, 1, 0, 1), (1, 1)), ("groups", 4, 4, (1, 1, 1, 1), (1, 1)), ("plain", 4, 1, (0, 0, 0, 0), (1, 1))):
        x = RANDOM.integers(200, 256, (1, channels, 6, 5)).astype(numpy.uint8)
        weights = RANDOM.integers(90, 128, (4, channels // groups, 3, 3)).astype(numpy.int8)
        zero = numpy.uint8(7)
        model = parse(f"""g (uint8[1,{channels},6,5] x, uint8 z) => (float[] y) {{
            s = ConvInteger<pads = [{", ".join(map(str, pads))}], strides = [{strides[0]}, {strides[1]}], group = {groups}>(x, w, z)
            f = Cast<to = 1>(s) k = Constant<value = float {{0.125}}>() y = Mul(f, k) }}""")
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
        data = numpy.pad(x.astype(numpy.int64) - 7, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
        windows = numpy.lib.stride_tricks.sliding_window_view(data, (3, 3), (2, 3))[:, :, ::strides[0], ::strides[1]]
        each = windows.reshape(1, groups, channels // groups, *windows.shape[2:])
        sums = numpy.einsum("ngchwij,gocij->ngohw", each, weights.reshape(
            groups, 4 // groups, channels // groups, 3, 3).astype(numpy.int64))
        add(f"integers_{name}", model, [x, zero], [sums.reshape(1, 4, *sums.shape[3:]).astype(numpy.float32) / 8])


def exact_integers():
    """Tests integer convolutions with groups or large kernels, whose sums exceed 2^24."""
    numbers = numpy.random.default_rng(3)  # makes odd sums, which float32 would round
    for name, channels, groups, kernel in (("groups", 400, 2, (1, 2)), ("kernel", 2, 1, (17, 18)),
                                           ("depthwise", 2, 2, (19, 17))):
        x = numbers.integers(240, 256, (1, channels, kernel[0] + 1, kernel[1])).astype(numpy.uint8)
        weights = numbers.integers(240, 256, (2, channels // groups, *kernel)).astype(numpy.uint8)
        parts = x.astype(numpy.int64).reshape(groups, channels // groups, *x.shape[2:])
        sums = [(parts[min(k, groups - 1), :, at:at + kernel[0]] * weights[k]).sum() for k in (0, 1) for at in (0, 1)]
        result = numpy.array(sums, numpy.int32).reshape(1, 2, 2, 1)
        assert result.min() > 1 << 24 and (result & 1).any()
        add(f"exact_{name}", *operator("ConvInteger", [x, weights], result, [1], group=groups))


def long_rows():
    """Tests TopK of long rows, in which many elements are equal: the first of them wins."""
    for name, shape, axis, k, largest, kind in (
            ("plain", (1, 8400), 1, 300, 1, numpy.float32), ("rest", (2, 3, 701), 2, 10, 1, numpy.float32),
            ("smallest", (2, 1111), -1, 500, 0, numpy.float32), ("axis", (600, 3), 0, 40, 1, numpy.float32),
            ("integers", (2, 1025), 1, 300, 1, numpy.int32), ("halves", (1030,), 0, 7, 0, numpy.float16),
            ("all", (1, 530), 1, 530, 1, numpy.float32), ("long", (3, 1000), 1, 5, 0, numpy.int64)):
        # There are few values, so that many are equal.
        x = RANDOM.integers(-99, 99, shape).astype(kind)
        order = numpy.argsort(-x if largest else x, axis, kind="stable")
        at = numpy.take(order, numpy.arange(k), axis)
        model, feed, _ = operator("TopK", [x, numpy.array([k])], None, [1], axis=axis, largest=largest)
        model.graph.node[0].output.append("i")
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info("i"))
        add(f"top_{name}", model, feed, [numpy.take_along_axis(x, at, axis), at])


def top_ends():
    """Tests TopK of NaN, which is larger than all numbers, of infinities, of both zeros, and of the
    ends of integer types; the first of equal elements wins.
    """
    def top(name, x, k, largest, axis=-1):
        rows = numpy.moveaxis(x, axis, -1)

        def order(row):
            numbers = [(False, 0 + item) if item == item else (True, 0) for item in row.tolist()]
            by = [(not nan, -item) if largest else (nan, item) for nan, item in numbers]
            return sorted(range(len(by)), key=by.__getitem__)[:k]

        at = numpy.array([order(row) for row in rows.reshape(-1, rows.shape[-1])])
        at = numpy.moveaxis(at.reshape(rows.shape[:-1] + (k,)), -1, axis)
        model, feed, _ = operator("TopK", [x, numpy.array([k])], None, [1], axis=axis, largest=largest)
        model.graph.node[0].output.append("i")
        model.graph.output.append(onnx.helper.make_empty_tensor_value_info("i"))
        add(f"top_{name}_{x.dtype}_{largest}", model, feed, [numpy.take_along_axis(x, at, axis), at])

    nans = {numpy.float32: numpy.array([0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff], numpy.uint32),
            numpy.float16: numpy.array([0x7e00, 0xfe00, 0x7c01, 0xffff], numpy.uint16)}
    for largest in 0, 1:
        for kind, bits in nans.items():
            least = numpy.finfo(kind).smallest_subnormal
            ends = numpy.array([1, -1, numpy.inf, -numpy.inf, 0, -0.0, least, -least], kind)
            both = numpy.concatenate([bits.view(kind), ends])
            top("ends", kind([1, numpy.nan, 3, -numpy.inf, numpy.inf, 0, -0.0]), 7, largest)
            top("nans", RANDOM.permuted(numpy.tile(both, (9, 1)), axis=1), 5, largest)
            top("nans_down", RANDOM.permuted(numpy.tile(both, (9, 1)), axis=0), 9, largest, 0)
            top("nans_long", RANDOM.choice(both, (2, 1500)), 70, largest)
        for kind in "bBhHiIqQ":
            numbers = numpy.iinfo(kind)
            ends = numpy.array([numbers.min, numbers.max, 0, 1, numbers.max - 1, numbers.min + 1], kind)
            top("ties", RANDOM.choice(ends, (3, 300)), 33, largest)


refused_weights()
any_order()
large_sums()
damaged_users()
newer_files()
unused()
sparse()
branches()
long_rows()
top_ends()
padded_integers()
exact_integers()
computed_boxes()
random()
quantised()
integer_lstm()
nothing()
doubles()
half_steps()
far_functions()
rests()
far_norms()
grouped()
products()
windows()
