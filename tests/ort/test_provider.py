#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the provider in sessions of ONNX Runtime from Python: test_provider.py PROVIDER SAMPLES
RELEASE DEVICE

ONNX Runtime of that RELEASE is in SAMPLES (scripts/fetch-samples.sh); without it the test is
skipped.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

import runtime

PROVIDER, SAMPLES, RELEASE, DEVICE = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
ort = runtime.load(SAMPLES, RELEASE, PROVIDER)
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "onnx"))

import numpy  # pylint: disable=wrong-import-position
import onnx  # pylint: disable=wrong-import-position
import shared_models  # pylint: disable=wrong-import-position
from onnx import TensorProto, helper, numpy_helper  # pylint: disable=wrong-import-position

MODELS = shared_models.SHARED / "onnx"
Error = Exception


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def make(nodes, inputs, outputs, constants=None, opset=17):
    tensors = [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", opset)]).SerializeToString()


def random(*shape, seed=0):
    return numpy.random.default_rng(seed).uniform(-1, 1, shape).astype(numpy.float32)


def conv_model(size="size", seed=0):
    """Returns a model with a convolution of pictures. `size` is the width and height: a number, or
    the name of an unknown dimension."""
    return make([helper.make_node("Conv", ["x", "w", "b"], ["c"], "first", pads=[1] * 4),
                 helper.make_node("Relu", ["c"], ["y"], "second")],
                [value("x", [1, 3, size, size])], [value("y", [1, 4, size, size])],
                {"w": random(4, 3, 3, 3, seed=seed), "b": random(4, seed=1)})


def split_model():
    """Returns a model with NonZero, which has as many results as there are numbers other than 0: no
    graph of WebNN has such a shape.
    """
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "before", pads=[1] * 4),
             helper.make_node("Relu", ["c"], ["r"], "relu"),
             helper.make_node("NonZero", ["r"], ["n"], "where"),
             helper.make_node("ReduceMax", ["n"], ["m"], "last", axes=[1], keepdims=0),
             helper.make_node("Cast", ["m"], ["f"], "cast", to=TensorProto.FLOAT),
             helper.make_node("MatMul", ["f", "v"], ["g"], "after"),
             helper.make_node("Softmax", ["g"], ["y"], "probabilities", axis=0)]
    return make(nodes, [value("x", [1, 3, 8, 8])], [value("y", [5]), value("r", [1, 4, 8, 8])],
                {"w": random(4, 3, 3, 3), "v": random(4, 5)})


def places():
    """Returns {node: place} from the newest report, where place is "npu", "cpu" or another word of
    the report."""
    with open(runtime.REPORT, encoding="utf-8") as report:
        return {line.split("\t")[2]: line.split("\t")[0] for line in report}


def workers():
    """Returns the numbers of the threads of this process with which the library computes."""
    names = {path.parent.name: path.read_text(encoding="utf-8") for path in pathlib.Path("/proc/self/task").glob("*/comm")}
    return {number for number, name in names.items() if name == "wnn-cpu\n"}


def memory(field):
    """Returns VmRSS or VmHWM, the peak since VmRSS was asked for, of this process in bytes."""
    if field == "VmRSS":
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    text = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith(field))


class Provider(unittest.TestCase):
    def session(self, model, whole=True, **settings):
        options = runtime.options(ort, DEVICE, **settings)
        if whole:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        return ort.InferenceSession(model, options, enable_fallback=0)

    def compare(self, model, feeds, bar=1e-4, **settings):
        reference = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
        session = self.session(model, **settings)
        for feed in feeds:
            for ours, theirs in zip(session.run(None, feed), reference.run(None, feed)):
                self.assertEqual(ours.shape, theirs.shape)
                self.assertEqual(ours.dtype, theirs.dtype)
                if not theirs.size:
                    continue
                span = max(1, numpy.abs(theirs).max())
                self.assertLessEqual(numpy.abs(ours - theirs).max(), bar * span)
        return session

    def test_device(self):
        device, = runtime.devices(ort)
        self.assertEqual(device.ep_vendor, "Open NPU")
        self.assertEqual(device.device.type, ort.OrtHardwareDeviceType.CPU)

    def test_policies(self):
        """Tests that no policy of ONNX Runtime chooses sim or cpu: a program that adds the provider
        names the device.
        """
        for policy in ort.OrtExecutionProviderDevicePolicy.__members__.values():
            options = ort.SessionOptions()
            options.log_severity_level = 4
            options.set_provider_selection_policy(policy)
            options.add_session_config_entry("ep.onpuexecutionprovider.report", runtime.REPORT)
            session = ort.InferenceSession(conv_model(8), options, enable_fallback=0)
            session.run(None, {"x": random(1, 3, 8, 8)})
            with open(runtime.REPORT, encoding="utf-8") as report:
                self.assertEqual(report.read(), "")

    def test_digits(self):
        feeds = [{"input": random(batch, 1, 8, 8, seed=batch)} for batch in (1, 3, 1, 7)]
        self.compare(shared_models.digits(), feeds)

    @unittest.skipUnless(MODELS.exists(), "there is no ../shared/models")
    def test_networks(self):
        for name in ("mnist", "ultraface_version-RFB-320"):
            with self.subTest(name):
                path = str(MODELS / f"{name}.onnx")
                info, = ort.InferenceSession(path).get_inputs()
                self.compare(path, [{info.name: random(*info.shape, seed=seed)} for seed in (1, 2)])

    @unittest.skipUnless(MODELS.exists(), "there is no ../shared/models")
    def test_state(self):
        """Tests a model whose branches depend on the value of the input "sr", so that most of the
        model stays with ONNX Runtime.
        """
        path = str(MODELS / "silero_vad_16k_op15.onnx")
        feed = {"input": random(1, 576), "state": random(2, 1, 128), "sr": numpy.array(16000, numpy.int64)}
        self.compare(path, [feed, feed], whole=False)
        if runtime.is_since(ort, 24):
            # ONNX Runtime asks about graphs within nodes first, without the constants around them.
            self.assertNotIn("onnxruntime", places().values())

    def test_parts(self):
        self.compare(split_model(), [{"x": random(1, 3, 8, 8, seed=seed)} for seed in range(3)],
                     whole=False)
        found = places()
        self.assertEqual(found["where"], "onnxruntime")
        self.assertNotEqual(found["before"], "onnxruntime")
        self.assertNotEqual(found["after"], "onnxruntime")

    def test_boxes(self):
        """Tests a detector: NonMaxSuppression, whose result has as many rows as it takes boxes, stays
        with ONNX Runtime, and nodes behind it also compute without any box.
        """
        nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], "boxes"), helper.make_node("Sigmoid", ["m"], ["s"]),
                 helper.make_node("Reshape", ["s", "shape"], ["b"]),
                 helper.make_node("ReduceMax", ["b"], ["r"], axes=[2]), helper.make_node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
                 helper.make_node("NonMaxSuppression", ["b", "t", "most", "overlap", "least"], ["n"], "nms"),
                 helper.make_node("Slice", ["n", "two", "three", "one"], ["i"]), helper.make_node("Squeeze", ["i", "one"], ["j"]),
                 helper.make_node("Squeeze", ["b", "zero"], ["c"]), helper.make_node("Gather", ["c", "j"], ["g"]),
                 helper.make_node("MatMul", ["g", "v"], ["h"], "head"), helper.make_node("Relu", ["h"], ["y"])]
        constants = {"w": random(8, 40), "v": random(4, 4), "shape": numpy.array([1, 10, 4]), "most": numpy.array([5]),
                     "overlap": numpy.array([0.5], numpy.float32), "zero": numpy.array([0]), "one": numpy.array([1]),
                     "two": numpy.array([2]), "three": numpy.array([3])}
        model = make(nodes, [value("x", [1, 8]), value("least", [1])],
                     [value("y", ["taken", 4]), value("n", ["taken", 3], TensorProto.INT64)], constants)
        self.compare(model, [{"x": random(1, 8, seed=seed), "least": numpy.array([least], numpy.float32)}
                             for seed, least in enumerate((0, 0.9, 2, 0.8))], whole=False)
        found = places()
        self.assertEqual(found["nms"], "onnxruntime")
        self.assertNotIn("onnxruntime", (found["boxes"], found["head"]))

    def test_no_elements(self):
        """Tests runs in which some outputs, or all, have no elements; such graphs are not kept in
        the cache, where the shapes of these outputs would be lost.
        """
        sums = helper.make_node("ReduceSum", ["y"], ["z"], "sum", keepdims=0)
        node, rows = helper.make_node("MatMul", ["x", "w"], ["y"]), value("y", ["rows", 2])
        feeds = [{"x": random(size, 4)} for size in (3, 0, 3, 0)]
        for nodes, outputs in ([node], [rows]), ([node, sums], [rows, value("z", [])]):
            model = make(nodes, [value("x", ["rows", 4])], outputs, {"w": random(4, 2)})
            with tempfile.TemporaryDirectory() as name:
                for _ in range(2):
                    self.compare(model, feeds, cache_dir=name)
                self.assertEqual(len(list(pathlib.Path(name).iterdir())), 1)

    def test_too_many_dimensions(self):
        """Tests that nodes of a graph that the importer refuses as a whole have a reason, too."""
        shape = [1] * 8 + [2]
        model = make([helper.make_node("Relu", ["x"], ["y"], "relu")], [value("x", shape)], [value("y", shape)])
        self.compare(model, [{"x": random(*shape)}], whole=False)
        with open(runtime.REPORT, encoding="utf-8") as report:
            self.assertRegex(report.read(), "^onnxruntime\tRelu\trelu\t.*9 dimensions")

    def test_around(self):
        """Tests a node that takes one value directly from an earlier node, and another one by way
        of a node that stays with ONNX Runtime.
        """
        nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "before", pads=[1] * 4),
                 helper.make_node("NonZero", ["c"], ["n"], "where"),
                 helper.make_node("ReduceMax", ["n"], ["m"], "last", axes=[1], keepdims=0),
                 helper.make_node("Cast", ["m"], ["f"], "cast", to=TensorProto.FLOAT),
                 helper.make_node("MatMul", ["f", "v"], ["g"], "after"),
                 helper.make_node("Add", ["c", "g"], ["y"], "both")]
        model = make(nodes, [value("x", [1, 3, 8, 8])], [value("y", [1, 4, 8, 8])],
                     {"w": random(4, 3, 3, 3), "v": random(4, 8)})
        self.compare(model, [{"x": random(1, 3, 8, 8)}], whole=False)
        # ONNX Runtime leaves out a group from which it cannot make one node; then "before" would not be
        # in the report.
        self.assertIn(places().get("before"), ("cpu", "npu"))

    def test_sound(self):
        """Tests windows of more samples than pictures have pixels, for an unknown number of them."""
        model = make([helper.make_node("Conv", ["x", "w"], ["y"], "windows", strides=[160])],
                     [value("x", [1, 1, "samples"])], [value("y", [1, 8, "windows"])], {"w": random(8, 1, 512)})
        self.compare(model, [{"x": random(1, 1, size)} for size in (512, 1760)])

    def test_types(self):
        """Tests types that WebNN has not: double stays with ONNX Runtime, and integers of 16 bits
        are taken where they are neither an input nor an output of a group.
        """
        weights = {"w": random(4, 3, 3, 3), "s": numpy.float32(0.01), "z": numpy.int16(7)}
        inner = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1] * 4),
                 helper.make_node("QuantizeLinear", ["c", "s", "z"], ["q"], "to")]
        outer = [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], "from")]
        feeds = [{"x": random(1, 3, 8, 8)}]
        picture, result = value("x", [1, 3, 8, 8]), value("y", [1, 4, 8, 8])
        self.compare(make(inner + outer, [picture], [result], weights, opset=21), feeds)
        small = value("q", [1, 4, 8, 8], TensorProto.INT16)
        self.compare(make(inner, [picture], [small], weights, opset=21), feeds, whole=False)
        found = places()
        self.assertEqual(found.pop("to"), "onnxruntime")
        self.assertNotIn("onnxruntime", found.values())
        self.compare(make(outer, [small], [result], weights, opset=21),
                     [{"q": numpy.arange(-128, 128, dtype=numpy.int16).reshape(1, 4, 8, 8)}], whole=False)
        self.assertEqual(places(), {"from": "onnxruntime"})
        wide = [helper.make_node("Conv", ["x", "w"], ["c"], "conv", pads=[1] * 4),
                helper.make_node("Cast", ["c"], ["d"], "wide", to=TensorProto.DOUBLE),
                helper.make_node("Mul", ["d", "d"], ["m"], "product"),
                helper.make_node("Cast", ["m"], ["y"], "narrow", to=TensorProto.FLOAT)]
        self.compare(make(wide, [picture], [result], weights), feeds, whole=False)
        found = places()
        self.assertEqual([found.pop(name) for name in ("wide", "product", "narrow")], ["onnxruntime"] * 3)
        self.assertNotIn("onnxruntime", found.values())

    def test_weights_in_a_file(self):
        """Tests weights that are in a file beside the model, for open shapes as well, and that only
        one of them is in memory twice while a graph packs them.
        """
        side = 2048
        weights = {f"w{number}": random(side, side, seed=number) / side for number in range(4)}
        nodes = [helper.make_node("MatMul", [f"v{number}", f"w{number}"], [f"v{number + 1}"]) for number in range(4)]
        for rows in 3, "rows":
            model = onnx.load_from_string(make(nodes, [value("v0", [rows, side])], [value("v4", [rows, side])], weights))
            with self.subTest(rows), tempfile.TemporaryDirectory() as name:
                path = name + "/model.onnx"
                onnx.save(model, path, save_as_external_data=True, location="model.weights")
                if rows == 3 and DEVICE == "cpu":
                    before = memory("VmRSS")
                    session = self.session(path)
                    size = sum(array.nbytes for array in weights.values())
                    self.assertLess(memory("VmHWM") - before, 1.7 * size)
                    del session
                self.compare(path, [{"v0": random(3, side)}])

    def test_many_shapes(self):
        """Tests more input shapes than a group keeps graphs for; each shape comes twice."""
        self.compare(conv_model(), [{"x": random(1, 3, size, size)} for size in [*range(1, 21)] * 2])

    def test_dimension(self):
        self.compare(conv_model(), [{"x": random(1, 3, 9, 9)}], **{"dim.size": "9"})

    def test_bool_and_integers(self):
        model = make([helper.make_node("Less", ["x", "z"], ["l"]),
                      helper.make_node("Not", ["l"], ["y"]),
                      helper.make_node("Cast", ["l"], ["i"], to=TensorProto.INT64)],
                     [value("x", [3, 4]), value("z", [4])],
                     [value("y", [3, 4], TensorProto.BOOL), value("i", [3, 4], TensorProto.INT64)])
        reference = ort.InferenceSession(model)
        feed = {"x": random(3, 4), "z": random(4, seed=1)}
        for ours, theirs in zip(self.session(model).run(None, feed), reference.run(None, feed)):
            numpy.testing.assert_array_equal(ours, theirs)

    def test_branches(self):
        """Tests that an If whose condition is a constant goes to the provider with both of its
        graphs.
        """
        then = helper.make_graph([helper.make_node("Add", ["x", "one"], ["t"])], "then", [],
                                 [value("t", [4])], [numpy_helper.from_array(numpy.float32(1), "one")])
        other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", [4])])
        model = make([helper.make_node("Shape", ["x"], ["s"]),
                      helper.make_node("Equal", ["s", "four"], ["c"]),
                      helper.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)],
                     [value("x", ["n"])], [value("y", None)], {"four": numpy.array([4])})
        self.compare(model, [{"x": random(4)}], whole=False)

    def test_branches_by_input(self):
        """Tests an If that stays with ONNX Runtime; from 1.24 on, heavy nodes in its graphs go to
        the provider.
        """
        weights = [numpy_helper.from_array(random(3, 3, 3, 3, seed=seed), f"w{seed}") for seed in (1, 2)]
        graphs = [helper.make_graph([helper.make_node("Conv", ["x", f"w{seed}"], [f"c{seed}"], f"conv{seed}"),
                                     helper.make_node("Relu", [f"c{seed}"], [f"r{seed}"])],
                                    f"branch{seed}", [], [value(f"r{seed}", None)], weights[seed - 1:seed])
                  for seed in (1, 2)]
        model = make([helper.make_node("If", ["c"], ["y"], "if", then_branch=graphs[0],
                                       else_branch=graphs[1])],
                     [value("x", [1, 3, 8, 8]), value("c", [], TensorProto.BOOL)],
                     [value("y", [1, 3, 6, 6])])
        self.compare(model, [{"x": random(1, 3, 8, 8), "c": numpy.array(which)} for which in (True, False)],
                     whole=False)
        if runtime.is_since(ort, 24):
            self.assertEqual(places()["if"], "onnxruntime")
            self.assertNotIn("onnxruntime", [places()["conv1"], places()["conv2"]])

    def test_branches_in_branches(self):
        """Tests that each node of graphs within graphs has one place in the report: that of the graph
        which is computed.
        """
        def branch(name, nodes, output):
            return helper.make_graph(nodes, name, [], [value(output, None, TensorProto.INT64)])

        inner = [branch(f"inner{number}", [helper.make_node("MatMul", ["m", "w"], [f"p{number}"], f"product{number}"),
                                           helper.make_node("NonZero", [f"p{number}"], [f"n{number}"], f"where{number}")],
                        f"n{number}") for number in (1, 2)]
        second = helper.make_node("If", ["c"], ["i"], "second", then_branch=inner[0], else_branch=inner[1])
        outer = [branch("yes", [second], "i"),
                 branch("no", [helper.make_node("NonZero", ["m"], ["k"], "where")], "k")]
        model = make([helper.make_node("Relu", ["x"], ["m"], "relu"),
                      helper.make_node("If", ["c"], ["y"], "first", then_branch=outer[0], else_branch=outer[1])],
                     [value("x", [3, 4]), value("c", [], TensorProto.BOOL)],
                     [value("y", [2, "n"], TensorProto.INT64)], {"w": random(4, 4)})
        self.compare(model, [{"x": random(3, 4), "c": numpy.array(which)} for which in (True, False)], whole=False)
        with open(runtime.REPORT, encoding="utf-8") as report:
            lines = [line.split("\t")[:3] for line in report]
        told = collections.Counter(name for place, _, name in lines if place == "onnxruntime")
        self.assertEqual({told[name] for name in ("first", "where1", "where2", "where")}, {1}, told)
        if runtime.is_since(ort, 24):
            self.assertEqual(told["second"], 1)
            self.assertNotIn("product1", told)

    def test_threads(self):
        sessions = [self.session(conv_model(8)), self.session(shared_models.digits())]
        feeds = [{"x": random(1, 3, 8, 8)}, {"input": random(2, 1, 8, 8)}]
        expected = [session.run(None, feed)[0] for session, feed in zip(sessions, feeds)]

        def work(number):
            for _ in range(25):
                result, = sessions[number % 2].run(None, feeds[number % 2])
                numpy.testing.assert_array_equal(result, expected[number % 2])

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(16)))

    @unittest.skipUnless(runtime.is_since(ort, 25), "profiles of providers came with 1.25")
    def test_profile(self):
        """Tests that ONNX Runtime's profile has an event for each run of a group, within the time
        of the run, and that the event names what was computed.
        """
        with tempfile.TemporaryDirectory() as name:
            options = runtime.options(ort, DEVICE)
            options.enable_profiling = True
            options.profile_file_prefix = name + "/profile"
            session = ort.InferenceSession(conv_model(8), options, enable_fallback=0)
            for _ in range(3):
                session.run(None, {"x": random(1, 3, 8, 8)})
            events = json.loads(pathlib.Path(session.end_profiling()).read_text(encoding="utf-8"))
            session.run(None, {"x": random(1, 3, 8, 8)})
        runs = [event for event in events if event.get("name") == "model_run"]
        ours = [event for event in events if event.get("cat") == "Kernel" and "npu_nodes" in event["args"]]
        self.assertEqual((len(runs), len(ours)), (3, 3))
        # ONNX Runtime reports how long ago the profile began, and the provider gets this report a
        # little later, so that all its events are too early by that delay. Times are rounded down.
        least = max(run["ts"] - event["ts"] for run, event in zip(runs, ours))
        most = min(run["ts"] + run["dur"] - event["ts"] - event["dur"] for run, event in zip(runs, ours))
        self.assertLessEqual(max(least, 0), most + 2)
        self.assertLess(least, 10e6, "the events belong to another time")
        for event in ours:
            self.assertIn("OnpuExecutionProvider", event["name"])
            self.assertEqual(event["args"]["device"], DEVICE)
            self.assertEqual((event["args"]["copied_in"], event["args"]["copied_out"]), ("0", "0"))
            on_npu = DEVICE == "sim"
            self.assertEqual(int(event["args"]["npu_cycles"]) > 0, on_npu)
            self.assertEqual(int(event["args"]["npu_nodes"]) > 0, on_npu)
            self.assertEqual(int(event["args"]["cpu_nodes"]) > 0, not on_npu)

    def test_bound_memory(self):
        """Tests that memory that a program binds is used without a copy. Odd addresses, and an
        output in the memory of an input, are copied.
        """
        size, shape = 64 * 64 * 4, [64, 64]
        weights = random(64, 64, seed=3)
        model = make([helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
                     [value("x", shape)], [value("y", shape)], {"w": weights})
        memory = numpy.zeros(4 * size + 128, numpy.uint8)
        begin = -memory.ctypes.data % 64
        cases = [(0, size, 0, 0), (4, 2 * size + 4, 0, 0), (1, 2 * size + 3, size, size), (1, 2 * size, size, 0),
                 (0, 0, 0, size), (0, 256, 0, size)]
        with tempfile.TemporaryDirectory() as name:
            options = runtime.options(ort, DEVICE)
            options.enable_profiling = True
            options.profile_file_prefix = name + "/profile"
            session = ort.InferenceSession(model, options, enable_fallback=0)
            for number, (x, y, _, _) in enumerate(cases):
                given, binding = random(*shape, seed=number), session.io_binding()
                memory[begin + x:begin + x + size] = given.reshape(-1).view(numpy.uint8)
                for bind, at, place in (binding.bind_input, "x", x), (binding.bind_output, "y", y):
                    bind(at, "cpu", 0, numpy.float32, shape, memory.ctypes.data + begin + place)
                session.run_with_iobinding(binding)
                result = memory[begin + y:begin + y + size].copy().view(numpy.float32).reshape(shape)
                numpy.testing.assert_allclose(result, numpy.maximum(given @ weights, 0), atol=1e-4)
            events = json.loads(pathlib.Path(session.end_profiling()).read_text(encoding="utf-8"))
        if runtime.is_since(ort, 25):
            copied = [(int(event["args"]["copied_in"]), int(event["args"]["copied_out"]))
                      for event in events if "copied_in" in event.get("args", {})]
            self.assertEqual(copied, [case[2:] for case in cases])

    @unittest.skipUnless(runtime.is_since(ort, 28), "Python makes values of such memory from 1.28 on")
    def test_allocated_memory(self):
        """Tests that values in memory of our allocator are bound without a copy, and copied by our
        data transfer.
        """
        device, = runtime.devices(ort)
        memory = device.memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
        x, y, r = (ort.OrtValue.ortvalue_from_shape_and_type(shape, numpy.float32, memory_info=memory)
                   for shape in ([1, 3, 8, 8], [1, 4, 8, 8], [1, 4, 8, 8]))
        self.assertEqual([ortvalue.data_ptr() % 4096 for ortvalue in (x, y, r)], [0] * 3)
        self.assertEqual({ortvalue.device_name() for ortvalue in (x, y, r)}, {"npu"})
        ours = ort.OrtValue.ortvalue_from_numpy(random(1, 3, 8, 8))
        ort.copy_tensors([ours], [x])
        numpy.testing.assert_array_equal(x.numpy(), ours.numpy())
        with tempfile.TemporaryDirectory() as name:
            options = runtime.options(ort, DEVICE)
            options.enable_profiling = True
            options.profile_file_prefix = name + "/profile"
            session = ort.InferenceSession(conv_model(8), options, enable_fallback=0)
            binding = session.io_binding()
            binding.bind_ortvalue_input("x", x)
            binding.bind_ortvalue_output("y", y)
            session.run_with_iobinding(binding)
            events = json.loads(pathlib.Path(session.end_profiling()).read_text(encoding="utf-8"))
        copied = [(event["args"]["copied_in"], event["args"]["copied_out"])
                  for event in events if "copied_in" in event.get("args", {})]
        self.assertEqual(copied, [("0", "0")])
        theirs = ort.OrtValue.ortvalue_from_numpy(numpy.zeros([1, 4, 8, 8], numpy.float32))
        ort.copy_tensors([y], [theirs])
        reference = ort.InferenceSession(conv_model(8), providers=["CPUExecutionProvider"])
        numpy.testing.assert_allclose(theirs.numpy(), reference.run(None, {"x": ours.numpy()})[0], atol=1e-4)
        # Nodes that stay with ONNX Runtime read and write this memory, too.
        session = self.session(split_model(), whole=False)
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", x)
        binding.bind_ortvalue_output("r", r)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        expected = ort.InferenceSession(split_model()).run(["r", "y"], {"x": ours.numpy()})
        numpy.testing.assert_allclose(r.numpy(), expected[0], atol=1e-4)
        numpy.testing.assert_allclose(binding.get_outputs()[1].numpy(), expected[1], atol=1e-4)

    def test_terminate(self):
        session = self.session(conv_model(8))
        options = ort.RunOptions()
        options.terminate = True
        with self.assertRaisesRegex(Error, "terminate"):
            session.run(None, {"x": random(1, 3, 8, 8)}, options)

    def compiled(self, model, folder, embed, **settings):
        """Returns the path of the model that a session writes, with the compiled graphs of the
        given model.
        """
        path = str(folder / "model_ctx.onnx")
        options = runtime.options(ort, DEVICE, **settings)
        for key, setting in (("enable", "1"), ("file_path", path), ("embed_mode", str(int(embed)))):
            options.add_session_config_entry(f"ep.context_{key}", setting)
        ort.InferenceSession(model, options, enable_fallback=0)
        return path

    def test_compiled(self):
        """Tests that compiled graphs are in the model or beside it, and that a second session
        compiles nothing.
        """
        feed = {"x": random(1, 3, 8, 8)}
        for model, whole in (conv_model(8), True), (split_model(), False):
            theirs = ort.InferenceSession(model).run(None, feed)
            for embed in False, True:
                with self.subTest(embed=embed), tempfile.TemporaryDirectory() as name:
                    path = self.compiled(model, pathlib.Path(name), embed)
                    node = [node.op_type for node in onnx.load(path).graph.node]
                    self.assertIn("EPContext", node)
                    files = list(pathlib.Path(name).glob("*.onpu"))
                    self.assertEqual(bool(files), not embed)
                    session = self.session(path, whole=whole)
                    for ours, expected in zip(session.run(None, feed), theirs):
                        numpy.testing.assert_allclose(ours, expected, atol=1e-4)

    def test_compiled_by_the_interface(self):
        """Tests ONNX Runtime's interface for compiling models: from a file or bytes to such."""
        feed = {"x": random(1, 3, 8, 8)}
        expected, = ort.InferenceSession(conv_model(8)).run(None, feed)
        with tempfile.TemporaryDirectory() as name:
            path, target = name + "/model.onnx", name + "/model_ctx.onnx"
            pathlib.Path(path).write_bytes(conv_model(8))
            for source in path, conv_model(8):
                for embed in False, True:
                    compiler = ort.ModelCompiler(runtime.options(ort, DEVICE), source, embed_compiled_data_into_model=embed)
                    compiler.compile_to_file(target)
                    numpy.testing.assert_allclose(self.session(target).run(None, feed)[0], expected, atol=1e-4)
                    pathlib.Path(target).unlink()
            compiler = ort.ModelCompiler(runtime.options(ort, DEVICE), path, embed_compiled_data_into_model=True)
            made = compiler.compile_to_bytes()
            numpy.testing.assert_allclose(self.session(made).run(None, feed)[0], expected, atol=1e-4)

    @unittest.skipUnless(hasattr(ort.capi.onnxruntime_pybind11_state, "get_model_compatibility_for_ep_devices"),
                         "Python has no call on the compatibility of a model")
    def test_compatibility(self):
        """Tests what ONNX Runtime says about a compiled model before a session loads it."""
        calls = ort.capi.onnxruntime_pybind11_state
        kinds = calls.OrtCompiledModelCompatibility
        with tempfile.TemporaryDirectory() as name:
            model = onnx.load(self.compiled(conv_model(8), pathlib.Path(name), True))
        texts = {entry.key: entry.value for entry in model.metadata_props}
        text = texts[f"ep_compatibility_info.{runtime.NAME}"]
        for information, kind in ((text, kinds.EP_SUPPORTED_OPTIMAL), ("another provider's", kinds.EP_NOT_APPLICABLE),
                                  (re.sub(r" \d", " 9", text, count=1), kinds.EP_UNSUPPORTED)):
            self.assertEqual(calls.get_model_compatibility_for_ep_devices(runtime.devices(ort), information), kind)

    def test_compiled_for_other_types(self):
        """Tests that a model whose inputs or outputs have other types than the compiled graph, which
        would read or write beyond their memory, is refused.
        """
        with tempfile.TemporaryDirectory() as name:
            path = self.compiled(conv_model(8), pathlib.Path(name), True)
            for part in "input", "output":
                model = onnx.load(path)
                getattr(model.graph, part)[0].type.tensor_type.elem_type = TensorProto.FLOAT16
                with self.assertRaisesRegex(Error, "other names or types than the nodes"):
                    self.session(model.SerializeToString())

    def test_compiled_of_a_dimension(self):
        with tempfile.TemporaryDirectory() as name:
            with self.assertRaisesRegex(Error, "dim.NAME"):
                self.compiled(conv_model(), pathlib.Path(name), True)
            path = self.compiled(conv_model(), pathlib.Path(name), True, **{"dim.size": "8"})
            session = self.session(path)
            session.run(None, {"x": random(1, 3, 8, 8)})
            with self.assertRaisesRegex(Error, '"x" has another shape than the model was compiled for'):
                session.run(None, {"x": random(1, 3, 9, 9)})

    def test_compiled_and_damaged(self):
        with tempfile.TemporaryDirectory() as name:
            path = self.compiled(conv_model(8), pathlib.Path(name), False)
            file, = pathlib.Path(name).glob("*.onpu")
            data = bytearray(file.read_bytes())
            for place in 60, len(data) // 4, len(data) // 2:
                # The bytes between the parts of a file are 0, and nobody reads them.
                while not data[place]:
                    place += 1
                other = bytearray(data)
                other[place] ^= 0x55
                file.write_bytes(other)
                with self.assertRaisesRegex(Error, "compiled graph of EPContext node .*(damaged|saved)"):
                    self.session(path)
            file.unlink()
            with self.assertRaisesRegex(Error, "cannot be opened: No such file"):
                self.session(path)
            model = onnx.load(path)
            for attribute in model.graph.node[0].attribute:
                if attribute.name == "ep_cache_context":
                    attribute.s = b"../elsewhere.onpu"
            onnx.save(model, path)
            with self.assertRaisesRegex(Error, "is not in the folder of the model"):
                self.session(path)

    def test_cache(self):
        """Tests that the cache has a file for each graph, and that a damaged file is made again."""
        feeds = [{"x": random(1, 3, size, size)} for size in (8, 9)]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "new/newer"
            self.compare(conv_model(), feeds, cache_dir=str(folder))
            files = {path: path.read_bytes() for path in folder.iterdir()}
            self.assertEqual(len(files), 2)
            times = [path.stat().st_mtime_ns for path in files]
            self.compare(conv_model(), feeds, cache_dir=str(folder))
            self.assertEqual(times, [path.stat().st_mtime_ns for path in files])
            for path, data in files.items():
                path.write_bytes(data[:len(data) // 2])
            self.compare(conv_model(), feeds, cache_dir=str(folder))
            self.assertEqual({path: path.read_bytes() for path in folder.iterdir()}.keys(), files.keys())
            self.assertTrue(all(path.stat().st_size == len(data) for path, data in files.items()))
            # These graphs have other nodes, or equal nodes with other weights.
            self.compare(shared_models.digits(), [{"input": random(1, 1, 8, 8)}], cache_dir=str(folder))
            self.compare(conv_model(seed=9), feeds[:1], cache_dir=str(folder))
            self.assertEqual(len(list(folder.iterdir())), 4)

    def test_unregistered(self):
        """Tests that a session and a value in the provider's memory outlive the registration, which
        ONNX Runtime forbids without a check, and that the library can be registered again.
        """
        feed = {"x": random(1, 3, 8, 8)}
        expected, = ort.InferenceSession(conv_model(8)).run(None, feed)
        session = self.session(conv_model("size"))
        device, = runtime.devices(ort)
        memory = None
        if runtime.is_since(ort, 28):
            info = device.memory_info(ort.OrtDeviceMemoryType.HOST_ACCESSIBLE)
            memory = ort.OrtValue.ortvalue_from_shape_and_type([1, 4, 8, 8], numpy.float32, memory_info=info)
        del device
        ort.unregister_execution_provider_library("onpu")
        self.addCleanup(ort.register_execution_provider_library, "onpu", os.path.abspath(PROVIDER))
        self.assertEqual(runtime.devices(ort), [])
        for size in 8, 9:
            result, = session.run(None, {"x": random(1, 3, size, size)})
            self.assertEqual(result.shape, (1, 4, size, size))
        numpy.testing.assert_allclose(session.run(None, feed)[0], expected, atol=1e-4)
        if memory:
            memory.numpy()[:] = expected
            numpy.testing.assert_array_equal(memory.numpy(), expected)
        del session, memory
        self.doCleanups()
        numpy.testing.assert_allclose(self.session(conv_model(8)).run(None, feed)[0], expected, atol=1e-4)

    def test_policy(self):
        """Tests the option policy, and options as settings of the session."""
        feed, npu = {"x": random(1, 3, 8, 8)}, DEVICE == "sim"
        for policy, place in ("prefer-npu", "npu" if npu else "cpu"), ("npu-only", "npu" if npu else None), ("cpu-only", "cpu"):
            with self.subTest(policy):
                options = runtime.options(ort, DEVICE)
                options.add_session_config_entry("ep.onpuexecutionprovider.policy", policy)
                if not place:
                    with self.assertRaisesRegex(Error, "policy"):
                        ort.InferenceSession(conv_model(8), options, enable_fallback=0)
                    continue
                ort.InferenceSession(conv_model(8), options, enable_fallback=0).run(None, feed)
                self.assertEqual(set(places().values()) - {"folded"}, {place})

    def test_threads_option(self):
        """Tests that a graph on the CPU computes with as many threads as the option says, the
        caller's included.
        """
        model = make([helper.make_node("Conv", ["x", "w"], ["y"])], [value("x", [1, 32, 56, 56])],
                     [value("y", [1, 32, 54, 54])], {"w": random(32, 32, 3, 3)})
        feed = {"x": random(1, 32, 56, 56)}
        expected = self.session(model, device="cpu", threads="1").run(None, feed)[0]
        for threads in 1, 3:
            before = workers()
            session = self.session(model, device="cpu", threads=str(threads))
            # A thread gives itself its name some time after it was started.
            end = time.monotonic() + 30
            while len(workers() - before) < threads - 1 and time.monotonic() < end:
                numpy.testing.assert_allclose(session.run(None, feed)[0], expected, atol=1e-4)
            self.assertEqual(len(workers() - before), threads - 1)
            del session

    def test_wrong_options(self):
        for settings, words in (({"device": "gpu"}, 'device cannot be "gpu": it must be npu, npu:NUMBER, sim or cpu'),
                                ({"policy": "fast"}, "npu-only, prefer-npu or cpu-only"),
                                ({"threads": "-1"}, "a number of threads"),
                                ({"dim.n": "0"}, "a number of elements"),
                                ({"nothing": "1"}, "there is no option nothing"),
                                ({"report": "/nowhere/at/all"}, "/nowhere/at/all: No such file")):
            with self.subTest(settings), self.assertRaisesRegex(Error, words):
                self.session(conv_model(8), **settings)

    def test_shape_that_is_refused(self):
        """Tests that a run with a shape that is refused fails with a message that has the node and
        the reason.
        """
        model = make([helper.make_node("AveragePool", ["x"], ["y"], "window", kernel_shape=[4])],
                     [value("x", [1, 1, "n"])], [value("y", None)], {})
        session = self.compare(model, [{"x": random(1, 1, 9)}])
        with self.assertRaisesRegex(Error, '"window" .AveragePool.: '):
            session.run(None, {"x": random(1, 1, 2)})
        session.run(None, {"x": random(1, 1, 9)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
