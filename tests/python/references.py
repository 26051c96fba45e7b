#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that no reference is lost or given twice: references.py MODULE, with a debug build of
CPython.

The debug build counts all references. MODULE is webnn_npu._native, compiled for that build.
"""
import array
import gc
import importlib.machinery
import importlib.util
import sys

loader = importlib.machinery.ExtensionFileLoader("webnn_npu._native", sys.argv[1])
_native = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("webnn_npu._native", loader, origin=sys.argv[1]))
loader.exec_module(_native)
sys.modules["webnn_npu._native"] = _native

from webnn_npu._operators import INDEX  # noqa: E402

# NumPy is not compiled for the debug build, so that references that it drops are not counted:
# arrays of the standard library take its place.
context = _native.Context(device="cpu")
data = array.array("f", range(6))
FLOAT, INT8 = 1, 7
ADD, SPLIT, RELU = (INDEX[name] for name in ("add", "split", "relu"))


def build():
    builder = _native.Builder(context)
    x = builder.input("x", FLOAT, (2, 3))
    total = builder.call(ADD, (x, builder.constant(FLOAT, (2, 3), data), "label"), 0, None)
    parts = builder.call(SPLIT, (total, (1, 2), "", 1), 2, None)
    relu = builder.call(RELU, (parts[1], ""), 0, None)
    assert (x.shape, x.data_type, relu.shape) == ([2, 3], FLOAT, [2, 2])
    return builder.build({"a": parts[0], "b": relu})


graph = build()


def compute():
    graph.run((data,), (bytearray(8), bytearray(16)))
    assert len(graph.inputs) + len(graph.outputs) == 3


def tensors():
    tensor = _native.Tensor(context, FLOAT, (2, 3), True, True)
    tensor.write(data)
    tensor.read_into(bytearray(24))
    view = memoryview(tensor)
    assert view.tolist()[1] == [3, 4, 5]
    view.release()
    for versioned in (True, False):
        foreign = _native.Foreign(tensor.dlpack(versioned))
        memoryview(foreign).release()
        tensor.dlpack(versioned)
    del foreign
    tensor.destroy()


def dispatch():
    tensors = [_native.Tensor(context, FLOAT, shape, True, True) for shape in ((2, 3), (2, 1), (2, 2))]
    context.dispatch(graph, {"x": tensors[0]}, {"a": tensors[1], "b": tensors[2]})
    context.wait()


def lent():
    memory = [bytearray(24), bytearray(8), bytearray(16)]
    shapes = (2, 3), (2, 1), (2, 2)
    tensors = [_native.Tensor(context, FLOAT, shape, True, True, m) for shape, m in zip(shapes, memory)]
    context.dispatch(graph, {"x": tensors[0]}, {"a": tensors[1], "b": tensors[2]})
    tensors[0].lend(bytearray(24))
    context.dispatch(graph, {"x": tensors[0]}, {"a": tensors[1], "b": tensors[2]}, True)
    tensors[0].write(data)
    tensors[0].destroy()


def reports():
    graph.placement()
    graph.statistics()
    context.device_info()
    context.cpu_info()
    context.limits()
    _native.devices()
    _native.version()


def errors():
    builder = _native.Builder(context)
    x = builder.input("x", FLOAT, (2, 3))
    tensor = _native.Tensor(context, INT8, (1,))
    for call in (lambda: builder.call(INDEX["matmul"], (x, x, "label"), 0, None), lambda: builder.call(999, (), 0, None),
                 lambda: builder.call(0, (1,), 0, None), lambda: builder.call(ADD, (x,), 0, None),
                 lambda: builder.call(SPLIT, (x, (1, "a"), "", 1), 2, None), lambda: builder.input(3, FLOAT, (1,)),
                 lambda: builder.input("a", FLOAT, (-1,)), lambda: builder.constant(FLOAT, (4,), b"abc"),
                 lambda: builder.constant(FLOAT, (4,), 5), lambda: builder.build({"a": 1}), lambda: builder.build({1: x}),
                 lambda: builder.build([]), lambda: graph.run((), ()), lambda: graph.run((data,), (1, 2)),
                 lambda: graph.run((data,), (b"readonly", bytearray(16))), lambda: graph.run((b"short",), (bytearray(8), bytearray(16))),
                 lambda: context.dispatch(graph, {"x": 1}, {}), lambda: context.dispatch(graph, {"x": tensor}, {}),
                 lambda: memoryview(tensor), lambda: tensor.write(b"xy"), lambda: tensor.dlpack(True), lambda: _native.Foreign(3),
                 lambda: _native.Context(device="abacus"), lambda: _native.Context(device=4),
                 lambda: _native.Tensor(context, 99, (1,)), lambda: _native.Tensor(context, FLOAT, [1]),
                 lambda: _native.Tensor(context, FLOAT, (9,), True, True, bytearray(4)), lambda: tensor.lend(bytearray(4)),
                 lambda: _native.Tensor(context, FLOAT, (1,), True, True, b"read"),
                 lambda: context.load_graph("none"), lambda: _native.Operand()):
        try:
            call()
        except Exception:
            continue
        sys.exit(f"no error: {call}")


def main():
    for step in (build, compute, tensors, dispatch, lent, reports, errors):
        for _ in range(20):
            step()
        counts = []
        for _ in range(4):
            for _ in range(50):
                step()
            gc.collect()
            counts.append(sys.gettotalrefcount())
        # A count that grows with each call is a leak; single references are caches of the interpreter.
        grown = min(b - a for a, b in zip(counts, counts[1:]))
        print(f"{step.__name__}: {grown} references more after 50 times")
        if grown >= 50:
            sys.exit(1)


if __name__ == "__main__":
    main()
