# SPDX-License-Identifier: MIT
"""Sphinx configuration. The references of the hardware (from uapi/) and of the API (from
userspace/webnn.json) are made into generated/ before each build."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
UAPI = HERE.parent / "uapi" / "onpu"
GENERATED = HERE / "generated"

project = "Open NPU"
copyright = "the Open NPU authors"
extensions = []
exclude_patterns = []
html_theme = "alabaster"
html_theme_options = {"description": "An open NPU software stack", "page_width": "1100px"}
highlight_language = "none"

GENERATED.mkdir(exist_ok=True)
subprocess.run([sys.executable, UAPI / "generate.py", "--rst", GENERATED], check=True)
subprocess.run([sys.executable, HERE.parent / "userspace" / "generate.py", "--rst", GENERATED],
               check=True)
shutil.copy(UAPI / "functions.rst", GENERATED / "functions.rst")
subprocess.run([sys.executable, HERE / "accel_rst.py",
                HERE.parent / "uapi" / "drm" / "onpu_accel.h", GENERATED / "accel.rst"],
               check=True)
