#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that pip makes a wheel that works, in an environment of its own: test_wheel.py SOURCE
PKG_CONFIG_FOLDER

The test needs no network: the build needs no package of PyPI.
"""
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PROGRAM = """
import sys
import numpy as np
import webnn_npu
import webnn_npu.onnx
assert webnn_npu.__file__.startswith(sys.prefix), webnn_npu.__file__
context = webnn_npu.ML().create_context(device="sim")
builder = context.create_graph_builder()
graph = builder.build({"y": builder.relu(builder.input("x", [4]))})
assert context.compute(graph, {"x": [-1, 2, -3, 4]})["y"].tolist() == [0, 2, 0, 4]
print(webnn_npu.__version__)
"""


def main():
    source, folder = sys.argv[1:]
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        print("python3-venv is not installed")
        return 77
    environment = {**os.environ, "PKG_CONFIG_PATH": folder, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", place / "venv"], check=True)
        python = place / "venv/bin/python"
        subprocess.run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", place, source], check=True, env=environment)
        [wheel] = place.glob("*.whl")
        names = zipfile.ZipFile(wheel).namelist()
        if "-cp311-abi3-" not in wheel.name or "webnn_npu/_native.abi3.so" not in names or "webnn_npu/py.typed" not in names:
            sys.exit(f"{wheel.name} has {names}")
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True, env=environment)
        subprocess.run([python, "-c", PROGRAM], check=True, env=environment, cwd=temporary)
        environment["PKG_CONFIG_PATH"] = environment["PKG_CONFIG_LIBDIR"] = temporary
        missing = subprocess.run([python, "-m", "pip", "wheel", "--no-deps", "-w", place, source], check=False,
                                 env=environment, capture_output=True, text=True)
        if missing.returncode == 0 or "install libwebnn-npu-dev" not in missing.stdout + missing.stderr:
            sys.exit(f"without the library pip says: {missing.stdout}{missing.stderr}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
