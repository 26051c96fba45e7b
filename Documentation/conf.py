# SPDX-License-Identifier: MIT
"""Sphinx configuration. The references of the hardware (from uapi/), of the API (from
userspace/webnn.json and the headers), of the driver's interface and of the messages are made into
generated/ before each build. ./npu doc runs this in a copy, build/doc/source, and says by ONPU_SOURCE
what it is a copy of, so that nothing is written into the checkout."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("ONPU_SOURCE", HERE.parent))
UAPI = ROOT / "uapi"
USERSPACE = ROOT / "userspace"
TOOLS = ROOT / "Documentation"
GENERATED = HERE / "generated"

project = "Open NPU"
release = version = ".".join(map(str, json.loads((USERSPACE / "webnn.json").read_text(encoding="utf-8"))["version"]))
copyright = "the Open NPU authors"
extensions = []
exclude_patterns = ["generated/names.rst", "generated/messages.rst"]
html_theme = "alabaster"
html_theme_options = {"description": "An open NPU software stack", "page_width": "1100px"}
highlight_language = "none"


def make(*command):
    subprocess.run([sys.executable, "-B", *command], check=True)


GENERATED.mkdir(exist_ok=True)
make(UAPI / "onpu" / "generate.py", "--rst", GENERATED)
make(USERSPACE / "generate.py", "--rst", GENERATED)
shutil.copy(UAPI / "onpu" / "functions.rst", GENERATED / "functions.rst")
make(TOOLS / "accel_rst.py", UAPI / "drm" / "onpu_accel.h", GENERATED / "accel.rst")
make(TOOLS / "onnx_h_rst.py", USERSPACE / "include" / "webnn" / "onnx.h", GENERATED / "onnx_api.rst")
make(TOOLS / "onnx_h_rst.py", USERSPACE / "include" / "webnn" / "stablehlo.h", GENERATED / "stablehlo_api.rst")
make(TOOLS / "names_rst.py", USERSPACE / "webnn.json", TOOLS / "onnx.rst", GENERATED / "names.rst")
make(TOOLS / "messages_rst.py", GENERATED / "messages.rst")
