#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs real networks and examples on the device, through driver and firmware, as TAP.

Outputs of networks in ../shared/models must be within 1e-4 of the recorded outputs of ONNX Runtime.
The examples must print the numbers that they print on the CPU, except for the last digits. With the
argument "digits", only two pictures of digits are run.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

TOP = pathlib.Path(__file__).resolve().parents[2]
SHARED = TOP.parent / "shared/models"
MODELS, DATA = SHARED / "onnx", SHARED / "onnx/data"
BUILD = TOP / "build/gcc"
FACE = TOP / "build/samples/face.png"

count = failed = 0


def report(good, name, detail=""):
    global count, failed
    count, failed = count + 1, failed + (not good)
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
    if not good:
        print("# " + detail.replace("\n", "\n# "))


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - {name} # SKIP {why}", flush=True)


def compare(name, model, given, expected):
    """Compares a model's outputs with the expected ones; no node of it may run on the CPU."""
    command = [BUILD / "userspace/tools/webnn-run", "compare", MODELS / model, "--device", "npu",
               "--npu-only", "--tolerance", "1e-4", "--input", given]
    for output in expected:
        command += ["--expect", output]
    done = subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    report(done.returncode == 0, name, done.stdout)


def digits(folder):
    for digit in 3, 8:
        pixels = (SHARED / f"lenet/mnist-digits/{digit}.idx").read_bytes()[16:16 + 784]
        np.save(folder / "digit.npy", np.frombuffer(pixels, np.uint8).astype("<f4").reshape(1, 1, 28, 28))
        np.save(folder / "scores.npy", np.load(DATA / "mnist_output.npy")[digit:digit + 1])
        compare(f"the digit {digit} has ONNX Runtime's scores", "mnist.onnx", folder / "digit.npy",
                [folder / "scores.npy"])


def networks(folder):
    compare("faces on the device are ONNX Runtime's", "ultraface_version-RFB-320.onnx",
            DATA / "ultraface_input.npy",
            [f"{name}={DATA}/ultraface_{name}.npy" for name in ("scores", "boxes")])
    compare("so is a larger picture", "super_resolution_core_op18.onnx",
            DATA / "super_resolution_input.npy", [DATA / "super_resolution_output.npy"])
    digits(folder)


def example(name, *arguments):
    """Tests that the numbers an example prints on the device differ from those on the CPU by at
    most 1e-4 of the range of the latter. Returns what report() returns.
    """
    texts = {}
    for device in "npu", "cpu":
        done = subprocess.run([BUILD / f"tests/examples/example-{name}", "--device", device, *arguments],
                              text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            return report(False, f"the example {name} on {device}", done.stdout)
        texts[device] = np.array(re.findall(r"-?\d+\.\d+(?:e-?\d+)?", done.stdout), float)
    npu, cpu = texts["npu"], texts["cpu"]
    same = len(npu) == len(cpu) > 0 and np.abs(npu - cpu).max() <= 1e-4 * np.ptp(cpu)
    return report(same, f"the example {name} gives on the device what it gives on the CPU", str(texts))


def main():
    alone = sys.argv[1:] == ["digits"]
    print("1..2" if alone else "1..6")
    if MODELS.exists():
        with tempfile.TemporaryDirectory() as folder:
            (digits if alone else networks)(pathlib.Path(folder))
    else:
        for _ in range(2 if alone else 4):
            skip("networks on the device", f"there is no {MODELS}")
    if alone:
        return int(failed > 0)
    example("transformer", "--all", "--words", "4")
    if MODELS.exists() and FACE.exists():
        example("detect", MODELS / "ultraface_version-RFB-320.onnx", FACE)
    else:
        skip("the example detect", f"there is no {MODELS} or no {FACE}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
