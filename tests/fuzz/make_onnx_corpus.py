# SPDX-License-Identifier: MIT
"""Makes seeds of the fuzz target onnx, for make_corpus.py: small models with many operators."""
import numpy
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, MICROSOFT = TensorProto.FLOAT, TensorProto.INT64, "com.microsoft"


def value(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(name, nodes, inputs, outputs, constants=None):
    tensors = [numpy_helper.from_array(array, key) for key, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, tensors)
    made = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)])
    return name, made.SerializeToString()


def onnx_seeds(*_):
    node, floats, ints = helper.make_node, numpy.ones, lambda *n: numpy.array(n, numpy.int64)
    image, y = value("x", FLOAT, 1, 2, 5, 5), value("y", FLOAT, None)
    yield model("conv", [node("Conv", ["x", "w"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
                         node("Relu", ["a"], ["b"]),
                         node("MaxPool", ["b"], ["y", "i"], kernel_shape=[2, 2], ceil_mode=1)],
                [image], [y, value("i", INT64, None)], {"w": floats((3, 2, 3, 3), numpy.float32)})
    yield model("shapes", [node("Shape", ["x"], ["s"]), node("Gather", ["s", "one"], ["n"]),
                           node("Concat", ["n", "rest"], ["t"], axis=0),
                           node("Reshape", ["x", "t"], ["r"]), node("Transpose", ["r"], ["y"])],
                [image], [y], {"one": ints(1), "rest": ints(-1)})
    branch = helper.make_graph([node("Neg", ["x"], ["n"])], "then", [], [value("n", FLOAT, None)])
    other = helper.make_graph([node("Abs", ["x"], ["p"])], "else", [], [value("p", FLOAT, None)])
    yield model("branch", [node("If", ["c"], ["y"], then_branch=branch, else_branch=other)],
                [value("x", FLOAT, "n", 4)], [y], {"c": numpy.array(True)})
    yield model("sequence", [node("SplitToSequence", ["x"], ["s"], axis=1),
                             node("SequenceAt", ["s", "one"], ["a"]),
                             node("Einsum", ["a", "a"], ["y"], equation="...i,...j->...ij")],
                [value("x", FLOAT, 2, 4)], [y], {"one": numpy.array(1)})
    yield model("recurrent", [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=2)],
                [value("x", FLOAT, 2, 1, 3)], [y],
                {"w": floats((1, 8, 3), numpy.float32), "r": floats((1, 8, 2), numpy.float32)})
    yield model("quantised", [node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                              node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                              node("Pad", ["d", "p"], ["y"], mode="edge")],
                [value("x", FLOAT, 2, 4)], [y],
                {"s": numpy.float32(0.1), "z": numpy.uint8(3), "p": ints(0, 1, 1, -1)})
    yield from attention_seeds(node, y)
    yield from picture_seeds(node, ints, y)
    yield from loop_seeds(node, ints, y)


def attention_seeds(node, y):
    yield model("packed", [node("MatMulNBits", ["x", "w", "s", "z", "g"], ["y"], domain=MICROSOFT,
                                K=4, N=2, bits=4, block_size=2)], [value("x", FLOAT, 2, 4)], [y],
                {"w": numpy.full((2, 2, 1), 0x3a, numpy.uint8), "s": numpy.ones(4, numpy.float32),
                 "z": numpy.full(2, 7, numpy.uint8), "g": numpy.array([1, 0, 1, 0], numpy.int32)})
    past = value("p", FLOAT, 1, 1, 3, 4)
    yield model("group", [node("GroupQueryAttention", ["q", "", "", "p", "p", "n", "t", "c", "c"],
                               ["y"], domain=MICROSOFT, num_heads=2, kv_num_heads=1, do_rotary=1)],
                [value("q", FLOAT, 1, 1, 16), past, value("n", TensorProto.INT32, 1)], [y],
                {"t": numpy.array([3], numpy.int32), "c": numpy.ones((4, 2), numpy.float32)})
    yield model("heads", [node("Attention", ["x", "w", "b", "m"], ["y"], domain=MICROSOFT,
                               num_heads=2, unidirectional=1)],
                [value("x", FLOAT, 1, 2, 4), value("m", TensorProto.INT32, 1, 2)], [y],
                {"w": numpy.ones((4, 12), numpy.float32), "b": numpy.ones(12, numpy.float32)})


def picture_seeds(node, ints, y):
    image = value("x", FLOAT, 1, 2, 4, 4)
    yield model("regions", [node("RoiAlign", ["x", "r", "b"], ["y"], output_height=2,
                                 output_width=2, sampling_ratio=1)],
                [image, value("r", FLOAT, 1, 4), value("b", INT64, 1)], [y])
    yield model("samples", [node("GridSample", ["x", "g"], ["z"], mode="linear"),
                            node("TopK", ["z", "k"], ["t", "i"]),
                            node("ScatterElements", ["t", "i", "t"], ["y"], reduction="max")],
                [image, value("g", FLOAT, 1, 2, 2, 2)], [y], {"k": ints(1)})
    yield model("blocks", [node("Col2Im", ["x", "i", "b"], ["y"], pads=[1, 0, 0, 1])],
                [value("x", FLOAT, 1, 4, 9)], [y], {"i": ints(3, 3), "b": ints(2, 2)})


def loop_seeds(node, ints, y):
    step = helper.make_graph([node("Add", ["s", "a"], ["t"]), node("Neg", ["t"], ["o"])], "step",
                             [value("s", FLOAT, 2), value("a", FLOAT, 2)],
                             [value("t", FLOAT, 2), value("o", FLOAT, 2)])
    again = helper.make_graph([node("Add", ["v", "v"], ["w"])], "again",
                              [value("n", INT64), value("c", TensorProto.BOOL), value("v", FLOAT, 2)],
                              [value("c", TensorProto.BOOL), value("w", FLOAT, 2)])
    # The number is small and in the file, so that a few flipped bits make it a large one.
    yield model("loops", [node("Constant", [], ["m"], value_int=3),
                          node("Scan", ["a", "x"], ["l", "z"], num_scan_inputs=1, body=step),
                          node("Loop", ["m", "", "l"], ["y"], body=again)],
                [value("a", FLOAT, 2), value("x", FLOAT, 3, 2)], [y])
    yield model("texts", [node("Unique", ["u"], ["v", "i"]),
                          node("TfIdfVectorizer", ["x"], ["y"], mode="TF", min_gram_length=1,
                               max_gram_length=2, max_skip_count=1, ngram_counts=[0, 1],
                               ngram_indexes=[0, 1], pool_int64s=[1, 2, 3])],
                [value("x", INT64, 4)], [y], {"u": ints(2, 1, 2)})
