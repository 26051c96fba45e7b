#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn_npu.onnxruntime: test_onnxruntime.py FOLDER PROVIDER

FOLDER has ONNX Runtime, unpacked, in folders onnxruntime-VERSION, which scripts/fetch-samples.sh
gets; without them, or without the provider, only refusals are tested.
"""
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from webnn_npu import MLNotSupportedError, onnxruntime as helper

HERE = str(Path(__file__).resolve())
SAMPLES, PROVIDER = Path(sys.argv[1]), Path(sys.argv[2])
del sys.argv[1:]

PROGRAM = """
import numpy as np
import onnxruntime
import webnn_npu.onnxruntime as helper
from onnx import TensorProto, helper as make
graph = make.make_graph([make.make_node("Relu", ["x"], ["y"])], "g", [make.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                        [make.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
model = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=8).SerializeToString()
assert helper.register() == helper.register()
for device in ("sim", "cpu"):
    options = helper.add(onnxruntime.SessionOptions(), device)
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = onnxruntime.InferenceSession(model, options)
    assert session.get_providers()[0] == helper.PROVIDER
    assert session.run(None, {"x": np.array([-1, 0, 2], np.float32)})[0].tolist() == [0, 0, 2]
"""


def fake(version="1.30.0", devices=()):
    """Returns a stand-in for the module onnxruntime, with the members that the helper uses."""
    module = types.SimpleNamespace(__version__=version, calls=[], get_ep_devices=lambda: list(devices))
    module.register_execution_provider_library = lambda *arguments: module.calls.append(arguments)
    module.unregister_execution_provider_library = lambda *arguments: module.calls.append(arguments)
    return module


def device(**metadata):
    return types.SimpleNamespace(ep_name=helper.PROVIDER, ep_metadata=metadata)


class Options:
    def __init__(self, threads=0):
        self.intra_op_num_threads = threads

    def add_provider_for_devices(self, devices, options):
        self.given = (devices, options)


class Refused(unittest.TestCase):
    def setUp(self):
        helper._registered.clear()

    def test_versions(self):
        with self.assertRaisesRegex(MLNotSupportedError, "1.22.0 takes no providers"):
            helper.register(fake("1.22.0"), library=HERE)
        for version, name in (("1.23.2", helper.PROVIDER), ("1.24.0", helper.PROVIDER + ".virtual")):
            self.assertEqual(helper.register(fake(version), library=HERE), name)
        with self.assertRaisesRegex(MLNotSupportedError, "not installed"), \
                mock.patch("importlib.import_module", side_effect=ModuleNotFoundError(name="onnxruntime")):
            helper.register()
        with self.assertRaisesRegex(MLNotSupportedError, "does not load: no libfoo"), \
                mock.patch("importlib.import_module", side_effect=ImportError("no libfoo")):
            helper.register()

    def test_libraries(self):
        with self.assertRaisesRegex(FileNotFoundError, "no provider /none"):
            helper.register(fake(), library="/none")
        with mock.patch.dict(os.environ, {"ONPU_ORT_PROVIDER": HERE}):
            self.assertEqual(helper.find_library(), HERE)
        with tempfile.TemporaryDirectory() as name:
            with mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": name, "ONPU_ORT_PROVIDER": ""}):
                for folder in Path(name, "webnn-npu"), Path(name):
                    folder.mkdir(exist_ok=True)
                    (folder / helper.LIBRARY).touch()
                    self.assertEqual(Path(helper.find_library()), (folder / helper.LIBRARY).resolve())
        with self.assertRaisesRegex(ValueError, "no provider is registered"):
            helper.unregister("strange", fake())
        module = fake()
        name = helper.register(module, library=HERE)
        helper.register(module)
        helper.unregister(name, module)
        self.assertEqual(module.calls, [(name, HERE), (name,)])

    def test_devices(self):
        with mock.patch.dict(os.environ, {"ONPU_ORT_PROVIDER": HERE}):
            hardware, npu, sim, cpu = device(), device(device="npu"), device(device="sim"), device(device="cpu")
            for wanted, there, found in (("sim", [hardware, sim, cpu], sim), ("npu", [hardware, sim, cpu], hardware),
                                         ("npu:1", [npu, sim, cpu], npu), ("npu:1", [hardware], hardware),
                                         ("sim", [hardware], hardware)):
                options = helper.add(Options(), wanted, {"threads": 2}, fake(devices=there))
                self.assertEqual(options.given, ([found], {"device": wanted, "threads": "2"}))
            options = helper.add(Options(threads=3), "sim", None, fake(devices=[sim, cpu]))
            self.assertEqual(options.given, ([sim], {"device": "sim", "threads": "3"}))
            with self.assertRaisesRegex(MLNotSupportedError, "no device 'npu' .* it has sim, cpu"):
                helper.add(Options(), "npu", None, fake(devices=[sim, cpu]))
            with self.assertRaisesRegex(MLNotSupportedError, "no device 'npu:1' .* it has sim, cpu"):
                helper.add(Options(), "npu:1", None, fake(devices=[sim, cpu]))


class Real(unittest.TestCase):
    def test_sessions(self):
        # 1.22 is there for a test of its own, since it takes no providers from libraries.
        folders = [folder for folder in sorted(SAMPLES.glob("onnxruntime-*")) if "-1.22." not in folder.name]
        if not folders or not PROVIDER.exists():
            self.skipTest(f"there is no {PROVIDER.name}, or ONNX Runtime is not in {SAMPLES}")
        for folder in folders:
            with self.subTest(folder.name):
                subprocess.run([sys.executable, "-c", PROGRAM], check=True, env={
                    **os.environ, "ONPU_ORT_PROVIDER": str(PROVIDER), "PYTHONPATH": f"{folder}:{os.environ['PYTHONPATH']}"})


if __name__ == "__main__":
    unittest.main()
