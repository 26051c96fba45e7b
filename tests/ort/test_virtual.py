#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests virtual devices, which the name of the registration allows: test_virtual.py PROVIDER
SAMPLES RELEASE
"""
import pathlib
import sys
import unittest

import runtime

ort = runtime.load(pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[1], "onpu.virtual")
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "onnx"))

import numpy  # pylint: disable=wrong-import-position
import shared_models  # pylint: disable=wrong-import-position

MODEL = shared_models.digits()
FEED = {"input": numpy.random.default_rng(1).random((2, 1, 8, 8), numpy.float32)}


class Virtual(unittest.TestCase):
    def places(self, options):
        options.log_severity_level = 4
        options.add_session_config_entry("ep.onpuexecutionprovider.report", runtime.REPORT)
        session = ort.InferenceSession(MODEL, options, enable_fallback=0)
        expected = ort.InferenceSession(MODEL).run(None, FEED)[0]
        numpy.testing.assert_allclose(session.run(None, FEED)[0], expected, atol=1e-4)
        with open(runtime.REPORT, encoding="utf-8") as report:
            return {line.split("\t")[0] for line in report} - {"folded"}

    def test_devices(self):
        """Tests that without an option, each virtual device runs on the device that it stands for.
        """
        found = {device.ep_metadata["device"]: device for device in runtime.devices(ort)}
        self.assertEqual(found.keys(), {"sim", "cpu"})
        for name, place in ("sim", "npu"), ("cpu", "cpu"):
            options = ort.SessionOptions()
            options.add_provider_for_devices([found[name]], {})
            self.assertEqual(self.places(options), {place})

    def test_compatibility(self):
        """Tests that a model for one device is said not to fit the other one."""
        calls = ort.capi.onnxruntime_pybind11_state
        for device in runtime.devices(ort):
            name = device.ep_metadata["device"]
            for other in "sim", "cpu":
                text = f"onpu {device.ep_metadata['version']} {other} machine"
                kind = calls.get_model_compatibility_for_ep_devices([device], text)
                self.assertEqual(kind.name, "EP_SUPPORTED_OPTIMAL" if name == other else "EP_UNSUPPORTED")

    def test_policies(self):
        policies = ort.OrtExecutionProviderDevicePolicy
        for policy in (policies.DEFAULT, policies.PREFER_CPU, policies.PREFER_NPU,
                       policies.MAX_EFFICIENCY, policies.MIN_OVERALL_POWER):
            options = ort.SessionOptions()
            options.set_provider_selection_policy(policy)
            session = ort.InferenceSession(MODEL, options)
            self.assertNotIn(runtime.NAME, session.get_providers())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
