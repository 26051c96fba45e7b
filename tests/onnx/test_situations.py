#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs models such as users have, and compares with values from numpy: test_situations.py PROGRAM
DEVICE….

The models have situations that the tests of ONNX and of ONNX Runtime lack: nodes in any order,
weights of unknown types, outputs that nobody uses, values at the ends of their range. Each entry of
situations.ALL is a model, its inputs and its outputs; each of situations.REFUSED is a model, and
the operator and reason of its refusal.
"""
import pathlib
import subprocess
import sys
import tempfile

import situations
from onnx_cases import run_cases, write_case


def check_refusals(program, folder):
    """Checks that each model is refused with its operator and reason; returns how many are not."""
    failed = 0
    for name, (model, operator, reason) in situations.REFUSED.items():
        path = pathlib.Path(folder) / f"{name}.onnx"
        path.write_bytes(model.SerializeToString())
        done = subprocess.run([program, "--refusals", path], check=True, text=True,
                              stdout=subprocess.PIPE)
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        if not any(operator in line[1] and reason in line[3] for line in lines):
            print(f"{name}: {lines} instead of {operator}: {reason}")
            failed += 1
    return failed


def main():
    program, *devices = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, (model, feed, results) in situations.ALL.items():
            paths.append(pathlib.Path(folder) / name)
            write_case(paths[-1], model, feed, results)
        for device in devices:
            failed += not run_cases(program, device, paths, ["--range", "2e-5"])
        failed += check_refusals(program, folder)
    print(f"{len(paths)} models, {len(situations.REFUSED)} refused ones, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
