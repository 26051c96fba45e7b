# SPDX-License-Identifier: MIT
"""Sphinx configuration. The hardware reference is made from uapi/ into generated/ before each build."""
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
shutil.copy(UAPI / "functions.rst", GENERATED / "functions.rst")
