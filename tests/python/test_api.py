#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn_npu as programs use it, on cpu and sim: results, every kind of error, and arrays of
other libraries.
"""
import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import unittest
import weakref

import numpy as np

import webnn_npu
from webnn_npu import ML, MLInvalidStateError, MLTypeError, _native
from webnn_npu._operators import ENUMS, OPERATORS
from webnn_npu._types import as_array, as_data

CONTEXTS = {device: ML().create_context(device=device) for device in ("cpu", "sim")}


class Case(unittest.TestCase):
    def refused(self, kind, text, call, *arguments, **keywords):
        """Checks that the call raises an error of that kind whose message has the text; returns the
        error.
        """
        with self.assertRaises(kind) as caught:
            call(*arguments, **keywords)
        self.assertIn(text, str(caught.exception))
        return caught.exception

    def equal(self, a, b):
        np.testing.assert_array_equal(a, b)
        self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)


def relu_graph(context, shape=(2, 3), data_type="float32"):
    builder = context.create_graph_builder()
    return builder.build({"y": builder.relu(builder.input("x", shape, data_type))})


class Contexts(Case):
    def test_devices_and_hints(self):
        for device, context in CONTEXTS.items():
            self.assertEqual(context.device, device)
            self.assertEqual(context.device_info()["device"], device)
            self.assertIn("threads", context.cpu_info())
        self.assertIn("cpu", [item["device"] for item in ML.devices()])
        self.assertTrue(CONTEXTS["sim"].accelerated)
        self.assertFalse(CONTEXTS["cpu"].accelerated)

    def test_environment_wins_over_the_hint(self):
        program = ("import webnn_npu, sys\n"
                   "c = webnn_npu.ML().create_context(device_type='cpu', accelerated=False)\n"
                   "g = webnn_npu.MLGraphBuilder()\n"
                   "g = g.build({'y': g.relu(g.input('x', [2]))})\n"
                   "print(c.device, c.accelerated, c.create_device_tensor(g, [2], 'float32').device,"
                   " webnn_npu.ML().create_context(device='cpu').device)")
        result = subprocess.run([sys.executable, "-c", program], env={**os.environ, "WEBNN_DEVICE": "sim"},
                                capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout.split(), ["sim", "False", "cpu", "cpu"])

    def test_bad_arguments(self):
        self.refused(MLTypeError, "high-performance", ML().create_context, "fast")
        self.refused(MLTypeError, "device_type", ML().create_context, device_type="tpu")
        self.refused(webnn_npu.MLError, "abacus", ML().create_context, device="abacus")
        self.refused(MLTypeError, "policy", ML().create_context, policy="never")

    def test_limits(self):
        limits = CONTEXTS["cpu"].op_support_limits()
        self.assertEqual(len(limits), len(OPERATORS) + 5)
        self.assertIn("float32", limits["conv2d"]["filter"]["dataTypes"])
        self.assertEqual(limits["matmul"]["a"]["rankRange"]["min"], 2)

    def test_destroyed(self):
        context = ML().create_context(device="cpu")
        graph = relu_graph(context)
        context.destroy()
        error = self.refused(MLInvalidStateError, "", context.compute, graph, {"x": np.zeros((2, 3))})
        self.assertEqual(error.status, "InvalidStateError")


class Graphs(Case):
    def test_readme(self):
        for context in CONTEXTS.values():
            data = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
            self.equal(context.compute(relu_graph(context), {"x": data})["y"], np.maximum(data, 0))

    def test_every_data_type(self):
        for context in CONTEXTS.values():
            for name in ENUMS["OperandDataType"]:
                if name in ("int4", "uint4"):
                    continue
                builder = context.create_graph_builder()
                graph = builder.build({"y": builder.identity(builder.input("x", [5], name))})
                data = np.arange(5).astype(name)
                self.equal(context.compute(graph, {"x": data})["y"], data)

    def test_int4(self):
        values = np.array([[-8, 7, 3], [0, -1, 5]], np.int8)
        packed = webnn_npu.pack(values)
        self.equal(packed, np.array([0x78, 0x03, 0x5F], np.uint8))
        self.equal(webnn_npu.unpack(packed, [2, 3]), values)
        self.equal(webnn_npu.unpack(webnn_npu.pack([1, 15, 9], "uint4"), [3], "uint4"), np.array([1, 15, 9], np.uint8))
        self.refused(MLTypeError, "-8 to 7", webnn_npu.pack, [8])
        self.refused(MLTypeError, "the data has 65543 to 65543", webnn_npu.pack, [65543])  # 7 in 16 bits
        for context in CONTEXTS.values():
            builder = context.create_graph_builder()
            scale = builder.constant(np.array([[0.5]], np.float32))
            zero = builder.constant(np.array([[0]], np.int8))
            graph = builder.build({"y": builder.dequantize_linear(builder.input("x", [2, 3], "int4"), scale, zero)})
            for data in (values, packed):
                self.equal(context.compute(graph, {"x": data})["y"], values.astype(np.float32) / 2)
            tensor = context.create_host_tensor([2, 3], "int4")
            context.write_tensor(tensor, values)
            self.equal(context.read_tensor(tensor), packed)

    def test_float16(self):
        for context in CONTEXTS.values():
            data = np.array([1.5, -2.25, 1e-7, 65504], np.float16)
            graph = relu_graph(context, [4], "float16")
            self.equal(context.compute(graph, {"x": data})["y"], np.maximum(data, 0))

    def test_without_context(self):
        builder = webnn_npu.MLGraphBuilder()
        graph = builder.build({"y": builder.relu(builder.input("x", [2, 3]))})
        for context in CONTEXTS.values():
            self.equal(context.compute(graph, {"x": -np.ones((2, 3))})["y"], np.zeros((2, 3), np.float32))
            self.assertEqual(graph.placement(context)[0]["operator"], "relu")

    def test_a_builder_goes_on(self):
        context = CONTEXTS["cpu"]
        builder = context.create_graph_builder()
        x = builder.input("x", [2])
        y = builder.add(x, builder.constant(1.0))
        first = builder.build({"y": y})
        second = builder.build({"z": builder.mul(y, builder.constant(3.0))})
        data = np.array([1, 2], np.float32)
        self.equal(context.compute(first, {"x": data})["y"], data + 1)
        self.equal(context.compute(second, {"x": data})["z"], (data + 1) * 3)
        self.assertEqual((first.operation_count, second.operation_count), (1, 2))

    def test_several_results(self):
        for context in CONTEXTS.values():
            builder = context.create_graph_builder()
            x = builder.input("x", [2, 6])
            parts = builder.split(x, [1, 2, 3], axis=1) + builder.split(x, 2, axis=1)
            graph = builder.build({str(i): part for i, part in enumerate(parts)})
            data = np.arange(12, dtype=np.float32).reshape(2, 6)
            results = context.compute(graph, {"x": data})
            for i, expected in enumerate(np.split(data, [1, 3], axis=1) + np.split(data, 2, axis=1)):
                self.equal(results[str(i)], expected)

    def test_recurrent(self):
        context = CONTEXTS["cpu"]
        builder = context.create_graph_builder()
        x, w, r = builder.input("x", [2, 1, 3]), builder.constant(np.ones((1, 12, 3), np.float32)), \
            builder.constant(np.ones((1, 12, 3), np.float32))
        self.assertEqual([o.shape for o in builder.lstm(x, w, r, 2, 3)], [[1, 1, 3], [1, 1, 3]])
        both = builder.lstm(x, w, r, 2, 3, return_sequence=True, activations=["sigmoid", "tanh", "relu"])
        self.assertEqual(len(both), 3)
        named = builder.lstm(x, w, r, 2, 3, activations=["sigmoid", "tanh", "tanh"])
        graph = builder.build({"a": builder.lstm(x, w, r, 2, 3)[0], "b": named[0]})
        results = context.compute(graph, {"x": np.linspace(-1, 1, 6).reshape(2, 1, 3)})
        self.equal(results["a"], results["b"])
        self.refused(MLTypeError, "activations", builder.lstm, x, w, r, 2, 3, activations=["cosh"])

    def test_outputs_into_arrays(self):
        context = CONTEXTS["cpu"]
        graph = relu_graph(context)
        out = np.empty((2, 3), np.float32)
        result = context.compute(graph, {"x": np.ones((2, 3))}, {"y": out})
        self.assertIs(result["y"], out)
        self.equal(out, np.ones((2, 3), np.float32))
        for wrong in (np.empty((3, 2), np.float32), np.empty((2, 3)), np.empty((3, 2), np.float32).T, [1]):
            self.refused(MLTypeError, "output 'y'", context.compute, graph, {"x": np.ones((2, 3))}, {"y": wrong})

    def test_errors_name_operator_and_label(self):
        builder = CONTEXTS["cpu"].create_graph_builder()
        x = builder.input("x", [2, 3])
        error = self.refused(ValueError, "matmul", builder.matmul, x, x, label="scores")
        self.assertEqual((error.operator, error.label, error.status), ("matmul", "scores", "TypeError"))
        self.assertNotIn("matmul", error.reason)
        self.assertIn("columns", error.reason)
        self.refused(TypeError, "axis is -1", builder.softmax, x, -1)
        self.refused(MLTypeError, "softmax: Axis 2 out of bounds for rank 2", builder.softmax, x, 2)
        self.refused(MLTypeError, "Axis 3 out of bounds", builder.reduce_sum, x, [0, 3])
        self.refused(MLTypeError, "Duplicate axis 1", builder.reduce_sum, x, [1, 1])
        self.refused(MLTypeError, "Axis 9 out of bounds", builder.concat, [x, x], 9)
        self.refused(MLTypeError, "must be an MLOperand", builder.add, x, np.ones(3))
        self.refused(MLTypeError, "another builder", builder.relu, CONTEXTS["cpu"].create_graph_builder().input("x", [1]))
        self.refused(MLTypeError, "Invalid input_layout 'chwn'", builder.conv2d, x, x, input_layout="chwn")
        self.refused(MLTypeError, "list of int", builder.reshape, x, 6)
        self.refused(MLTypeError, "not from 0 to 4294967295", builder.reshape, x, [2 ** 33])
        self.refused(MLTypeError, "number", builder.elu, x, "steep")
        self.refused(MLTypeError, "Unsupported data type", builder.input, "z", [1], "float99")
        self.refused(MLTypeError, "Unsupported data type", builder.constant, np.zeros(2))
        self.refused(MLTypeError, "at least one output", builder.build, {})
        self.refused(MLTypeError, "Duplicate axis", builder.squeeze, x, [0, 0])
        self.refused(MLTypeError, "size 2, not 1", builder.squeeze, x, [0])
        self.refused(MLTypeError, "two for each dimension", builder.pad, x, [1, 1, 1])

    def test_errors_of_runs(self):
        context = CONTEXTS["cpu"]
        graph = relu_graph(context, [2], "int32")
        self.refused(MLTypeError, "Missing input: x", context.compute, graph, {})
        self.refused(MLTypeError, "no input of the graph", context.compute, graph, {"x": [1, 2], "w": [1]})
        self.refused(MLTypeError, "Shape mismatch", context.compute, graph, {"x": [1, 2, 3]})
        self.refused(MLTypeError, "cannot hold", context.compute, graph, {"x": [0.5, 1]})
        self.refused(MLTypeError, "cannot hold", context.compute, graph, {"x": [2 ** 40, 1]})
        self.refused(MLTypeError, "no numbers", context.compute, graph, {"x": ["a", "b"]})
        self.refused(MLTypeError, "must be an MLGraph", context.compute, None, {})
        other = CONTEXTS["sim"]
        tensor = other.create_host_tensor([2], "int32")
        self.refused(MLTypeError, "another context", context.dispatch, graph, {"x": tensor}, {"y": tensor})
        graph.destroy()
        self.refused(MLInvalidStateError, "destroyed", context.compute, graph, {"x": [1, 2]})

    def test_unused_inputs(self):
        context = CONTEXTS["cpu"]
        builder = context.create_graph_builder()
        builder.input("unused", [7])
        graph = builder.build({"y": builder.relu(builder.input("x", [1]))})
        self.assertEqual(graph.get_input_names(), ["unused", "x"])
        self.equal(context.compute(graph, {"x": [3], "unused": np.zeros(7)})["y"], np.array([3], np.float32))

    def test_what_pywebnn_has_beside_webnn(self):
        context = CONTEXTS["cpu"]
        builder = context.create_graph_builder()
        x = builder.input("x", [1, 2, 3, 3])
        rank1 = builder.reshape(builder.slice(x, [0, 0, 0, 0], [1, 1, 1, 3], strides=[1, 1, 1, 1]), [3])
        zero = builder.constant(0.0)
        results = {
            "average": builder.global_average_pool(x), "max": builder.global_max_pool(x),
            "squeezed": builder.squeeze(x), "unsqueezed": builder.unsqueeze(rank1, [0, 2]),
            "padded": builder.pad(rank1, [1, 2], value=9.0), "swish": builder.hard_swish(rank1, 0.25, 0.5),
            "not": builder.logical_not(rank1), "where": builder.where(rank1, zero, builder.constant(1.0)),
            "scaled": builder.dequantize_linear(builder.constant(np.array([2, 4], np.int8)), builder.constant(0.5),
                                                builder.constant(0, data_type="int8")),
            "arg": builder.arg_max(rank1, 0)}
        data = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
        got = context.compute(builder.build(results), {"x": data})
        row = data[0, 0, 0]
        self.equal(got["average"], data.mean((2, 3), keepdims=True))
        self.equal(got["max"], data.max((2, 3), keepdims=True))
        self.equal(got["squeezed"], data[0])
        self.equal(got["unsqueezed"], row.reshape(1, 3, 1))
        self.equal(got["padded"], np.array([9, 0, 1, 2, 9, 9], np.float32))
        np.testing.assert_allclose(got["swish"], row * np.clip(row * 0.25 + 0.5, 0, 1))
        self.equal(got["not"], np.array([1, 0, 0], np.uint8))
        self.equal(got["where"], np.array([1, 0, 0], np.float32))
        self.equal(got["scaled"], np.array([1, 2], np.float32))
        self.equal(got["arg"], np.array(2, np.int64))

    def test_compiled_files(self):
        for device, context in CONTEXTS.items():
            path = f"{os.environ['TEST_FOLDER']}/{device}.wnn"
            graph = relu_graph(context)
            graph.save_compiled(path)
            loaded = context.load_compiled(path)
            self.equal(context.compute(loaded, {"x": -np.ones((2, 3))})["y"], np.zeros((2, 3), np.float32))
            self.assertEqual(loaded.get_input_names(), ["x"])
            self.refused(MLInvalidStateError, "no operators", loaded.save, path)
            with open(path, "r+b") as file:
                file.seek(100)
                file.write(b"damage")
            self.refused(webnn_npu.MLError, path, context.load_compiled, path)


class Tensors(Case):
    def test_dispatch(self):
        for context in CONTEXTS.values():
            graph = relu_graph(context)
            x, y = context.create_tensor([2, 3], "float32", writable=True), context.create_host_tensor([2, 3], "float32")
            for i in range(3):
                context.write_tensor(x, np.full((2, 3), i - 1))
                context.dispatch(graph, {"x": x}, {"y": y})
                self.equal(context.read_tensor(y), np.full((2, 3), max(i - 1, 0), np.float32))
            context.wait()
            out = np.empty((2, 3), np.float32)
            self.assertIs(context.read_tensor(y, out), out)
            self.refused(MLTypeError, "out has shape", context.read_tensor, y, np.empty(3, np.float32))

    def test_an_input_is_updated_in_place(self):
        for context in CONTEXTS.values():
            builder = context.create_graph_builder()
            cache = builder.input("cache", [4, 2])
            place = builder.input("place", [1, 1], "int32")
            stored = builder.scatter_nd(cache, place, builder.input("row", [1, 2]))
            sums = builder.reduce_sum(stored, axes=[1])
            builder.update_input(cache, stored)
            self.refused(MLTypeError, "the input has an update already", builder.update_input, cache, stored)
            self.refused(MLTypeError, "cache", builder.build, {"sums": sums})
            other = context.create_graph_builder().input("x", [4, 2])
            self.refused(MLTypeError, "another builder", builder.update_input, cache, other)
            self.refused(MLTypeError, "MLOperand", builder.update_input, cache, np.zeros(4))
            # The second build replays the calls and the update.
            for _ in range(2):
                graph = builder.build({"stored": stored, "sums": sums})
                state = context.create_host_tensor([4, 2], "float32")
                rows = context.create_host_tensor([1, 2], "float32")
                places = context.create_host_tensor([1, 1], "int32")
                result = context.create_host_tensor([4], "float32")
                expected = np.zeros((4, 2), np.float32)
                for token in (2, 0):
                    expected[token] = (token + 1, token + 5)
                    context.write_tensor(rows, expected[token:token + 1])
                    context.write_tensor(places, [[token]])
                    context.dispatch(graph, {"cache": state, "row": rows, "place": places},
                                     {"stored": state, "sums": result})
                self.equal(context.read_tensor(state), expected)
                self.equal(context.read_tensor(result), expected.sum(1))
            # Arrays are not updated in place: the result is a new array.
            given = np.ones((4, 2), np.float32)
            told = context.compute(graph, {"cache": given, "row": [[7, 8]], "place": [[1]]})
            self.equal(given, np.ones((4, 2), np.float32))
            self.equal(told["sums"], np.array([2, 15, 2, 2], np.float32))

    def test_flags_and_states(self):
        context = CONTEXTS["cpu"]
        hidden = context.create_tensor([2, 3], "float32")
        self.assertEqual((hidden.readable, hidden.writable, hidden.shape, hidden.size), (False, False, [2, 3], 6))
        self.refused(RuntimeError, "not readable", context.read_tensor, hidden)
        self.refused(RuntimeError, "not writable", context.write_tensor, hidden, np.zeros((2, 3)))
        self.refused(BufferError, "not readable", memoryview, hidden)
        hidden.destroy()
        self.refused(RuntimeError, "already destroyed", hidden.destroy)
        self.refused(RuntimeError, "destroyed", context.read_tensor, hidden)
        tensor = context.create_host_tensor([2], "int8")
        self.refused(ValueError, "Shape mismatch", context.write_tensor, tensor, [1, 2, 3])
        self.refused(MLTypeError, "another context", CONTEXTS["sim"].read_tensor, tensor)
        self.refused(MLTypeError, "must be an MLTensor", context.read_tensor, None)
        self.refused(MLTypeError, "graph", context.create_device_tensor, None, [1], "float32")
        self.refused(MLTypeError, "Unsupported device", context.create_device_tensor, relu_graph(context), [1],
                     "float32", "abacus")
        self.refused(ValueError, "", context.create_tensor, [2 ** 31, 2 ** 31], "float32")

    def test_buffers_are_the_memory(self):
        for context in CONTEXTS.values():
            tensor = context.create_host_tensor([2, 3], "float32")
            array = np.asarray(tensor)
            array[1, 2] = 7
            self.refused(MLInvalidStateError, "shown by", context.read_tensor, tensor)
            self.refused(BufferError, "in use", tensor.destroy)
            second = memoryview(tensor)
            self.assertEqual((second.format, second.shape, second.strides, second.readonly), ("f", (2, 3), (12, 4), False))
            del array
            self.assertTrue(tensor.mapped)
            second.release()
            self.assertFalse(tensor.mapped)
            self.assertEqual(context.read_tensor(tensor)[1, 2], 7)

    def test_dlpack_out(self):
        for context in CONTEXTS.values():
            tensor = context.create_host_tensor([2, 3], "int64")
            context.write_tensor(tensor, np.arange(6).reshape(2, 3))
            array = np.from_dlpack(tensor)
            self.equal(array, np.arange(6).reshape(2, 3))
            self.assertTrue(tensor.mapped)
            del array
            self.assertFalse(tensor.mapped)
            capsule = tensor.__dlpack__(max_version=(1, 0))
            foreign = _native.Foreign(capsule)
            self.refused(TypeError, "no capsule", _native.Foreign, capsule)
            self.equal(np.asarray(memoryview(foreign)), np.arange(6).reshape(2, 3))
            del foreign
            tensor.__dlpack__()
            self.assertFalse(tensor.mapped)
            self.assertEqual(tensor.__dlpack_device__(), (1, 0))
            readonly = context.create_tensor([1], "int8", readable=True)
            self.refused(BufferError, "DLPack 1.0", readonly.__dlpack__)
            self.refused(BufferError, "memory of the CPU", tensor.__dlpack__, dl_device=(2, 0))

    def test_dlpack_in(self):
        class Array:
            """An array that supports nothing but DLPack."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **keywords):
                return self.array.__dlpack__()

        data = np.arange(12, dtype=np.float32).reshape(3, 4)
        self.assertTrue(np.shares_memory(as_array(Array(data)), data))
        self.equal(as_array(Array(data.T)), data.T)
        made = as_data(Array(data), "float32", (3, 4), "it")
        self.assertTrue(np.shares_memory(made, data))
        context = CONTEXTS["cpu"]
        self.equal(context.compute(relu_graph(context, [3, 4]), {"x": Array(data)})["y"], data)

    def test_lent_memory(self):
        for device, context in CONTEXTS.items():
            with self.subTest(device):
                graph = relu_graph(context)
                data, result = np.arange(-3, 3, dtype=np.float32).reshape(2, 3), np.full((2, 3), 9, np.float32)
                x, y = context.lend_tensor(data), context.lend_tensor(result)
                self.assertEqual((x.data_type, x.shape, x.readable, x.writable), ("float32", [2, 3], True, True))
                told = context.dispatch_measured(graph, {"x": x}, {"y": y})
                self.assertEqual((told["bytes_copied_in"], told["bytes_copied_out"]), (0, 0))
                self.equal(result, np.maximum(data, 0))
                data[:] = 5
                context.dispatch(graph, {"x": x}, {"y": y})
                context.wait()
                self.equal(result, data)
                context.write_tensor(y, np.zeros((2, 3)))
                self.equal(context.read_tensor(y), np.zeros((2, 3), np.float32))
                self.equal(result, np.zeros((2, 3), np.float32))
                # The tensor uses the newly lent memory from now on, and no longer writes the first
                # one.
                moved = np.ones((2, 3), np.float32)
                x.lend(np.full((2, 3), 7, np.float32))
                context.dispatch(graph, {"x": x}, {"y": y})
                y.lend(moved)
                self.equal(result, np.full((2, 3), 7, np.float32))
                context.dispatch_measured(graph, {"x": x}, {"y": y})
                self.equal(moved, result)

    def test_measured_dispatch(self):
        for device, context in CONTEXTS.items():
            with self.subTest(device):
                builder = context.create_graph_builder()
                x = builder.input("x", [64, 64])
                graph = builder.build({"y": builder.relu(builder.matmul(x, x))})
                x, y = (context.create_host_tensor([64, 64], "float32") for _ in range(2))
                told = [context.dispatch_measured(graph, {"x": x}, {"y": y}) for _ in range(2)]
                self.assertEqual([one["run"] for one in told], [1, 2])
                one, placement, sums = told[-1], graph.placement(), graph.statistics()
                for place in "npu", "cpu":
                    self.assertEqual(one[f"{place}_nodes"], sum(node["device"] == place for node in placement))
                    self.assertEqual(one[f"{place}_nanoseconds"] > 0, place == ("npu" if device == "sim" else "cpu"))
                for name in "npu_cycles", "macs", "bytes_read", "bytes_written", "nanoseconds":
                    self.assertEqual(one[name], sums[name], name)
                engines = [one[f"{name}_cycles"] for name in ("control", "load", "store", "matrix", "vector")]
                if device == "sim":
                    self.assertGreaterEqual(one["macs"], 64 ** 3)
                    self.assertGreaterEqual(one["bytes_read"], 64 * 64 * 4)
                    self.assertEqual(one["bytes_written"], 64 * 64 * 4)
                    self.assertGreater(min(engines), 0)
                    self.assertLessEqual(max(engines), one["npu_cycles"])
                else:
                    self.assertEqual({one["macs"], one["npu_cycles"], *engines}, {0})

    def test_lent_memory_of_others(self):
        context = CONTEXTS["cpu"]
        graph = relu_graph(context, (4,), "int8")

        class Array:
            """An array that supports nothing but version 1 of DLPack."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **keywords):
                return self.array.__dlpack__(**keywords)

        out, old = bytearray(4), np.zeros(4, np.int8)
        y = context.lend_tensor(out, "int8", [4])
        for memory in (bytes([1, 255, 3, 254]), memoryview(bytes([1, 255, 3, 254])),
                       Array(np.array([1, -1, 3, -2], np.int8))):
            x = context.lend_tensor(memory, "int8", [4])
            context.dispatch_measured(graph, {"x": x}, {"y": y})
            self.assertEqual(bytes(out), bytes([1, 0, 3, 0]))
            out[:] = bytes(4)
        context.dispatch_measured(graph, {"x": x}, {"y": context.lend_tensor(Array(old))})
        self.equal(old, np.array([1, 0, 3, 0], np.int8))
        packed = context.lend_tensor(np.zeros(2, np.uint8), "int4", [3])
        self.assertEqual((packed.data_type, packed.shape), ("int4", [3]))
        # Memory that may only be read is never written.
        constant = context.lend_tensor(bytes(4), "int8", [4])
        self.refused(MLTypeError, "can be no output", context.dispatch, graph, {"x": x}, {"y": constant})
        self.refused(MLInvalidStateError, "not writable", context.write_tensor, constant, np.zeros(4))
        self.assertTrue(memoryview(constant).readonly)

    def test_lent_memory_that_is_refused(self):
        context = CONTEXTS["cpu"]
        plain = np.zeros((4, 4), np.float32)
        self.refused(MLTypeError, "must be a buffer", context.lend_tensor, [1, 2])
        self.refused(MLTypeError, "elements of float64", context.lend_tensor, np.zeros(2))
        self.refused(MLTypeError, "tensor of int32 cannot", context.lend_tensor, plain, "int32")
        self.refused(MLTypeError, "Shape mismatch", context.lend_tensor, plain, None, [16])
        self.refused(MLTypeError, "row-major", context.lend_tensor, plain[:, :2])
        self.refused(MLTypeError, "begin at multiples of 4", context.lend_tensor,
                     np.frombuffer(bytearray(9), np.uint8)[1:], "float32", [2])
        tensor = context.lend_tensor(plain)
        self.refused(MLTypeError, "Shape mismatch", tensor.lend, plain[0])
        self.refused(MLTypeError, "memory of its own", context.create_host_tensor([1], "int8").lend, plain)
        self.refused(MLTypeError, "read-only", tensor.lend, np.frombuffer(bytes(64), np.float32).reshape(4, 4))
        # A dispatch whose input and output share memory is refused, and the tensors can still be
        # used.
        graph = relu_graph(context, (4, 4))
        self.refused(MLTypeError, "overlap", context.dispatch, graph, {"x": tensor}, {"y": context.lend_tensor(plain)})
        tensor.destroy()
        self.refused(MLInvalidStateError, "destroyed", tensor.lend, plain)

    @staticmethod
    def long_run(context):
        """Returns a function that enqueues work which takes a while."""
        builder = context.create_graph_builder()
        a = builder.input("a", [600, 600])
        graph = builder.build({"b": builder.matmul(a, builder.matmul(a, builder.matmul(a, a)))})
        a, b = (context.create_tensor([600, 600], "float32") for _ in range(2))
        return lambda: context.dispatch(graph, {"a": a}, {"b": b})

    def test_lent_memory_stays_while_it_is_used(self):
        enqueue_long_run = self.long_run(CONTEXTS["cpu"])
        for device, context in CONTEXTS.items():
            graph = relu_graph(context, (1000,))
            for end in ("drop", "destroy", "lend"):
                data, result = np.ones(1000, np.float32), np.zeros(1000, np.float32)
                counts = sys.getrefcount(data), sys.getrefcount(result)
                x, y = context.lend_tensor(data), context.lend_tensor(result)
                self.assertGreater(sys.getrefcount(result), counts[1])
                if device == "cpu":
                    enqueue_long_run()
                context.dispatch(graph, {"x": x}, {"y": y})
                if end == "destroy":
                    x.destroy()
                    y.destroy()
                elif end == "lend":
                    x.lend(np.zeros(1000, np.float32))
                    y.lend(np.zeros(1000, np.float32))
                else:
                    del x, y
                # The end of the loan has waited for the work.
                self.equal(result, data)
                self.assertEqual((sys.getrefcount(data), sys.getrefcount(result)), counts)
            context.wait()

    def test_lent_memory_stays_while_another_thread_reads_it(self):
        context = CONTEXTS["cpu"]
        enqueue_long_run = self.long_run(context)

        def change_while_read(change):
            """Returns the message of the error that the change raises, if it comes while a thread is reading."""
            tensor, ready = context.lend_tensor(np.ones(4, np.float32)), threading.Event()

            def read():
                # The read waits for the long run.
                enqueue_long_run()
                ready.set()
                try:
                    context.read_tensor(tensor)
                except MLInvalidStateError:
                    pass  # The change came first.

            thread = threading.Thread(target=read)
            thread.start()
            ready.wait()
            try:
                change(tensor)
                return ""
            except MLInvalidStateError as error:
                return str(error)
            finally:
                thread.join()

        for change in lambda tensor: tensor.lend(np.zeros(4, np.float32)), webnn_npu.MLTensor.destroy:
            # A thread may be late, so that the change comes before the read.
            messages = (change_while_read(change) for _ in range(100))
            self.assertTrue(any("another thread is using" in message for message in messages))

    def test_constants_are_not_copied(self):
        builder = CONTEXTS["cpu"].create_graph_builder()
        data = np.arange(4, dtype=np.float32)
        kept = builder._recording.values
        builder.constant(data)
        self.assertFalse(np.shares_memory(kept[-1].data, data))
        builder.constant(data, copy=False)
        self.assertTrue(np.shares_memory(kept[-1].data, data))
        data = np.frombuffer(bytes(16), np.float32)
        builder.constant(data)
        self.assertTrue(np.shares_memory(kept[-1].data, data))
        builder.constant(bytes(16), [2, 2], "float32")
        self.assertEqual(kept[-1].shape, [2, 2])
        self.refused(MLTypeError, "shape and its data_type", builder.constant, bytes(16))
        self.refused(ValueError, "16", builder.constant, bytes(15), [2, 2], "float32")


class Running(Case):
    def test_coroutines(self):
        async def main():
            context = await ML().create_context_async(device="sim")
            builder = context.create_graph_builder()
            graph = await builder.build_async({"y": builder.relu(builder.input("x", [2]))})
            results = await asyncio.gather(*(context.compute_async(graph, {"x": [i, -i]}) for i in range(8)))
            for i, result in enumerate(results):
                self.equal(result["y"], np.array([i, 0], np.float32))
            both = webnn_npu.AsyncMLContext(context)
            x, y = both.create_tensor([2], "float32"), both.create_tensor([2], "float32")
            await both.write_tensor_async(x, np.array([-1, 5], np.float32))
            await both.dispatch(graph, {"x": x}, {"y": y})
            self.equal(await both.read_tensor_async(y), np.array([0, 5], np.float32))

        asyncio.run(main())

    def test_ten_threads(self):
        for context in CONTEXTS.values():
            graph, wrong = relu_graph(context, [64]), []

            def work(number, context=context, graph=graph, wrong=wrong):
                for i in range(40):
                    data = np.full(64, number * 100 + i, np.float32)
                    result = context.compute(graph, {"x": data})["y"]
                    if not (result == data).all():
                        wrong.append((number, i))

            threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])

    def test_others_run_meanwhile(self):
        """Tests that a Python thread goes on counting while a graph computes, which it could not do
        if the call kept the interpreter's lock.
        """
        context = ML().create_context(device="cpu", threads=1)
        builder = context.create_graph_builder()
        x = builder.input("x", [1, 32, 96, 96])
        y = x
        # This takes many times as long as six iterations of the loop below, also on a fast and busy processor.
        for _ in range(32):
            y = builder.tanh(builder.conv2d(y, builder.constant(np.full((32, 32, 3, 3), 1e-3, np.float32)), pads=[1] * 4))
        graph = builder.build({"y": y})
        data = np.ones((1, 32, 96, 96), np.float32)
        context.compute(graph, {"x": data})
        done, counted = threading.Event(), []

        def work():
            context.compute(graph, {"x": data})
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not done.is_set():
            counted.append(time.perf_counter())
            time.sleep(0.0005)
        thread.join()
        self.assertGreater(len(counted), 5)

    def test_objects_go(self):
        context = ML().create_context(device="cpu")
        graph = relu_graph(context)
        references = [weakref.ref(graph), weakref.ref(context)]
        context.compute(graph, {"x": np.zeros((2, 3))})
        del graph, context
        gc.collect()
        self.assertEqual([reference() for reference in references], [None, None])

    def test_tensors_made_and_dropped(self):
        context = CONTEXTS["cpu"]
        used = []
        for _ in range(int(os.environ.get("TEST_TENSORS", "20000")) // 1000):
            for _ in range(1000):
                context.create_tensor([16, 16], "float32")
            used.append(context.device_info()["memory_used"])
        self.assertLessEqual(used[-1], used[0] + 4096)

    def test_arguments_keep_their_counts(self):
        context = CONTEXTS["cpu"]
        graph, data, name = relu_graph(context), np.ones((2, 3), np.float32), "x" * 3
        native = graph._for(context).native
        gc.collect()
        before = [sys.getrefcount(item) for item in (data, name, context._native, native)]
        for _ in range(100):
            context.compute(graph, {"x": data})
            tensor = context.create_host_tensor([2, 3], "float32")
            context.write_tensor(tensor, data)
            context.read_tensor(tensor, np.empty((2, 3), np.float32))
            for bad in (lambda: context.compute(graph, {"x": data[0]}), lambda: native.run((data,), (name,)),
                        lambda: native.run((), ()), lambda: context._native.dispatch(native, {"x": name}, {}),
                        lambda: context._native.load_graph(name), lambda: np.from_dlpack(context.create_tensor([1], "int8"))):
                self.assertRaises(Exception, bad)
        del tensor
        gc.collect()
        after = [sys.getrefcount(item) for item in (data, name, context._native, native)]
        self.assertEqual(before, after)


if __name__ == "__main__":
    unittest.main()
