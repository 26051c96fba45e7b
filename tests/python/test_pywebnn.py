#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs pywebnn's own tests, unmodified, on this package: test_pywebnn.py FOLDER PYWEBNN DEVICE…

PYWEBNN is the folder of pywebnn's unpacked source archive, which scripts/fetch-samples.sh fetches
from PyPI; without it, the test is skipped. FAILING has each test that fails, and why.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = ["test_python_api.py", "test_integration.py", "test_device_tensors.py", "test_wpt_conformance.py"]

TEXT = "the test has the text of pywebnn's message; ours says the same in other words"
FAILING = {
    "test_broadcasting_incompatible": TEXT, "test_matmul_incompatible": TEXT,
    "test_conv2d_invalid_input_shape": TEXT, "test_conv2d_invalid_groups": TEXT,
    "test_conv_transpose2d_invalid_input_shape": TEXT, "test_pool2d_invalid_input_shape": TEXT,
    "test_reshape_invalid": TEXT,
}
# Reasons of skips that do not depend on what the back end can do.
ALLOWED = ("unconditional skip", "HardSwish requires ONNX opset", "CoreML tests only", "architectural limitation",
           "No test cases for")


def run(tests, package, stand, device):
    """Returns whether exactly the tests of FAILING fail, and all skips have allowed reasons."""
    path = f"{package}:{stand}"
    result = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", *TESTS], check=False, cwd=tests,
                            env={**os.environ, "WEBNN_DEVICE": device, "PYTHONPATH": path}, capture_output=True, text=True)
    failed = set(re.findall(r"^(?:FAILED|ERROR) \S+?::(\S+)", result.stdout, re.M))
    skipped = [line for line in result.stdout.splitlines() if line.startswith("SKIPPED")
               and not any(text in line for text in ALLOWED)]
    print(f"{device}: {result.stdout.strip().splitlines()[-1]}")
    for name in sorted(failed):
        print(f"  {name}: {FAILING.get(name, 'NOT EXPECTED')}")
    for line in skipped:
        print(f"  not expected: {line}")
    for name in sorted(set(FAILING) - failed):
        print(f"  {name} passes: it does not belong into the table any more")
    return failed == set(FAILING) and not skipped


def main():
    package, source, devices = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    if not (source / "tests").exists():
        print(f"there is no {source}: PyPI was not reached when samples were fetched")
        return 77
    if subprocess.run([sys.executable, "-c", "import pytest, pytest_asyncio"], check=False, capture_output=True).returncode:
        print("pytest or pytest-asyncio is not installed")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        # The tests write files into the folder in which they are.
        tests = shutil.copytree(source / "tests", place / "tests")
        (place / "stand/webnn").mkdir(parents=True)
        (place / "stand/webnn/__init__.py").write_text("from webnn_npu import *\n", encoding="utf-8")
        return 0 if all([run(tests, package, place / "stand", device) for device in devices]) else 1


if __name__ == "__main__":
    sys.exit(main())
