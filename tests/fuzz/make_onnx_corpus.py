# SPDX-License-Identifier: MIT
"""Seeds of the fuzz target onnx, for make_corpus.py: small models with many operators."""
import numpy
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, kind, *shape):
    return helper.make_tensor_value_info(name, kind, shape)


def model(name, nodes, inputs, outputs, constants=None):
    tensors = [numpy_helper.from_array(array, key) for key, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, tensors)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
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
