#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that damaged models end in an error: test_damage.py PROGRAM runs PROGRAM on the seeds of
the fuzz target onnx.
"""
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fuzz"))
import make_corpus  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_corpus.main([folder, "onnx"])
        sys.exit(subprocess.run([sys.argv[1], f"{folder}/onnx"], check=False).returncode)


if __name__ == "__main__":
    main()
