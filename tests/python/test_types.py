#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the package's type annotations: test_types.py FOLDER

The stubs must have the same methods for operators as the package. mypy must accept the package, and
find the errors that typed.py marks, and no others.
"""
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def methods(path):
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    [found] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Operators"]
    return {node.name: ast.unparse(node.args).count(",") for node in found.body if isinstance(node, ast.FunctionDef)}


def main():
    folder = Path(sys.argv[1])
    source, stub = (methods(folder / "webnn_npu" / name) for name in ("_operators.py", "_operators.pyi"))
    stub.pop("where", None)
    if source != stub:
        sys.exit(f"_operators.pyi has other methods or arguments than _operators.py: {set(source.items()) ^ set(stub.items())}")
    if not shutil.which("mypy"):
        print("mypy is not installed")
        return 77
    with tempfile.TemporaryDirectory() as cache:
        result = subprocess.run(["mypy", "--strict", "--cache-dir", cache, "-p", "webnn_npu"], check=False,
                                env={**os.environ, "MYPYPATH": str(folder)})
        program = Path(__file__).with_name("typed.py")
        result.returncode |= subprocess.run(["mypy", "--strict", "--cache-dir", cache, program], check=False,
                                            env={**os.environ, "MYPYPATH": str(folder)}).returncode
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
