# SPDX-License-Identifier: MIT
"""Loads ONNX Runtime of PyPI, from unpacked wheels in SAMPLES/python/RELEASE, with our provider."""
import os
import sys
import tempfile

NEWEST, OLDEST = "1.32.0", "1.23.2"
NAME = "OnpuExecutionProvider"
# REPORT is the file in which the provider writes the report of the newest session with options().
FOLDER = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
REPORT = FOLDER.name + "/report"


def load(samples, release, provider, name="onpu"):
    """Returns the module, with the provider registered; ends with 77 (skipped) when the module is
    not there.
    """
    folder = samples / "python" / f"onnxruntime-{release}"
    if not folder.is_dir():
        print(f"skipped: there is no {folder}; ./npu check fetches it where PyPI is reached")
        sys.exit(77)
    sys.path.insert(0, str(folder))
    import onnxruntime  # pylint: disable=import-outside-toplevel
    assert onnxruntime.__version__ == release, onnxruntime.__file__
    onnxruntime.set_default_logger_severity(4)
    onnxruntime.register_execution_provider_library(name, os.path.abspath(provider))
    return onnxruntime


def is_since(onnxruntime, minor):
    """Returns whether the module is of version 1.MINOR or later."""
    return int(onnxruntime.__version__.split(".")[1]) >= minor


def devices(onnxruntime):
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == NAME]


def options(onnxruntime, on, **settings):
    """Returns the options of a session on a device, cpu or sim; @settings are further options of
    the provider.
    """
    made = onnxruntime.SessionOptions()
    made.log_severity_level = 4
    made.add_provider_for_devices(devices(onnxruntime)[:1],
                                  {"device": on, "report": REPORT} | settings)
    return made
