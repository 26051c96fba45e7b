# SPDX-License-Identifier: MIT
"""Configures Sphinx, and makes the pages in generated/ before each build: the references of the
hardware (from uapi/), of the API (from userspace/webnn.json and the headers), of the driver's
interface and of the messages. ./npu doc runs this in build/doc/source, a copy, so that nothing is
written into the checkout; ONPU_SOURCE names the checkout."""
import json
import os
import pathlib
import re
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
extensions = ["sphinx.ext.graphviz"]
graphviz_output_format = "svg"
exclude_patterns = ["generated/names.rst"]
html_theme = "alabaster"
html_theme_options = {"description": "An open NPU software stack", "page_width": "min(1280px, 96vw)", "body_max_width": "none",
                      "font_size": "16px"}
html_static_path = ["_static"]
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
highlight_language = "none"
# "--" is an option, not a dash.
smartquotes = False


def make(*command):
    subprocess.run([sys.executable, "-B", *command], check=True)


GENERATED.mkdir(exist_ok=True)
make(UAPI / "onpu" / "generate.py", "--rst", GENERATED)
make(USERSPACE / "generate.py", "--rst", GENERATED)
shutil.copy(UAPI / "onpu" / "functions.rst", GENERATED / "functions.rst")
make(TOOLS / "accel_rst.py", UAPI / "drm" / "onpu_accel.h", GENERATED / "accel.rst")
make(TOOLS / "onnx_h_rst.py", USERSPACE / "include" / "webnn" / "onnx.h", GENERATED / "onnx_api.rst")
make(TOOLS / "onnx_h_rst.py", USERSPACE / "include" / "webnn" / "stablehlo.h", GENERATED / "stablehlo_api.rst")
make(TOOLS / "names_rst.py", USERSPACE / "webnn.json", TOOLS / "onnx-operators.rst", GENERATED / "names.rst")
make(TOOLS / "messages_rst.py", GENERATED)
(GENERATED / "man").mkdir(exist_ok=True)
make(TOOLS / "man_rst.py", GENERATED / "man", *(
    path for folder in ("emulator", "userspace/tools") for path in sorted((ROOT / folder).rglob("*.1"))))

# Each page begins with the question that it answers. Generated pages have none and get it here.
questions = {
    "accel": "What does each ioctl of the driver take and promise?",
    "api": "What does each function and type of the C interface promise?",
    "functions": "Which bits does an exponential or a sine of the vector unit have?",
    "instructions": "What does an instruction do, what does it cost, and how is it encoded?",
    "onnx_api": "What does each function that loads ONNX models promise?",
    "operators": "Which data types and ranks does an operator of WebNN take?",
    "registers": "What is at which address of the device, and in which bits of the memory that it shares with the driver?",
    "slots": "Which fields does an operand or a parameter of an instruction have?",
    "stablehlo_api": "What does each function that runs StableHLO programs promise?",
}
TITLE = re.compile(r"^(?:(=+)\n)?[^\n.:=]+\n=+\n", re.M)


def ask(_app, name, source):
    question = questions.get(name.removeprefix("generated/")) if name.startswith("generated/") else None
    if question:
        end = TITLE.search(source[0]).end()
        source[0] = f"{source[0][:end]}\n*{question}*\n{source[0][end:]}"


def setup(app):
    # With this value, Sphinx reads all pages again when a question changes.
    app.add_config_value("questions", {}, "env", [dict])
    app.connect("source-read", ask)
