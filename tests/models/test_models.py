#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the shared models with their expected results, on the device model and on the CPU.

It checks that the values are within the tolerance of the models' README, that on the device model
no operator runs on the CPU, and that models whose nodes are all marked exact have the same bits
with 4 MiB and with 64 KiB of SRAM.

Usage: test_models.py MODEL_RUN [MODELS]; exits with 77 (skipped) when the shared models are not
there.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRAM_SIZES = (4 << 20, 64 << 10)

passed = failed = 0


def check(name, condition, detail=""):
    """Prints one line of TAP."""
    global passed, failed
    passed, failed = passed + bool(condition), failed + (not condition)
    print(f"{'ok' if condition else 'not ok'} {passed + failed} - {name}{' # ' + detail if detail else ''}",
          flush=True)


class Runner:
    def __init__(self, tool, models, folder):
        self.tool, self.models, self.folder = tool, models, folder

    def run(self, model, image, device, sram=0, full=False):
        """Returns the outputs as one array, and the output of --explain."""
        given, result = self.folder / "input.npy", self.folder / "output.bin"
        np.save(given, np.ascontiguousarray(image, "<f4"))
        command = [self.tool, model, "--device", device, "--models", self.models, "--input", given,
                   "--output", result, "--explain"]
        if device == "sim":
            command += ["--npu-only", "--sram", str(sram)] + ["--full"] * full
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
        if done.returncode:
            print("# " + done.stderr.strip().replace("\n", "\n# "))
            return None, ""
        return np.fromfile(result, "<f4"), done.stdout


def check_model(runner, model, image, expected, tolerance, extra=None):
    """Checks a model's outputs on the CPU and on machines with each size of SRAM, where no operator
    may run on the CPU and all sizes must give the same bits unless a node was split.

    `expected`: an array for each output; `tolerance`: the largest error, relative to an output's
    largest value, or absolute where that is below 1; `extra`: a text and a function that returns
    whether the outputs are right.
    """
    outputs, inexact = {}, False
    for device, sram in [("cpu", 0)] + [("sim", s) for s in SRAM_SIZES]:
        name = f"{model} on {device}" + (f" with {sram >> 10} KiB" if sram else "")
        got, text = runner.run(model, image, device, sram)
        if got is None:
            check(name, False, "did not run")
            continue
        parts = np.split(got, np.cumsum([len(e) for e in expected])[:-1])
        worst = max(float(np.abs(p - e).max() / max(1, np.abs(e).max()))
                    for p, e in zip(parts, expected))
        check(name, worst <= tolerance, f"largest error {worst:.1e}")
        if extra:
            check(name + ": " + extra[0], extra[1](parts))
        if sram:
            outputs[sram] = got
            inexact |= any(mark in text for mark in ("split-k", "split-reduce", "split-keys"))
            check(name + ": nothing on the CPU", " 0 on the CPU" in text)
    if len(outputs) == len(SRAM_SIZES):
        first, second = (outputs[s].tobytes() for s in SRAM_SIZES)
        check(f"{model}: same bits for every SRAM size", first == second or inexact,
              "split nodes" if inexact else "all nodes exact")


def lenet(runner, folder):
    results = json.loads((folder / "expected.json").read_text())["results"]
    for r in results:
        data = (folder / "mnist-digits" / r["file"]).read_bytes()[16:16 + 784]
        image = np.frombuffer(data, np.uint8).astype("<f4").reshape(1, 1, 28, 28)
        expected = [np.array(r["logits"], "<f4"), np.array(r["probabilities"], "<f4")]
        check_model(runner, "lenet", image, expected, 1e-4,
                    (f"the digit is {r['top1']}", lambda p, d=r["top1"]: int(p[1].argmax()) == d))


def cycles(text):
    """Returns the cycles of a dispatch, from the last line of --explain."""
    return next((line.split()[0] for line in text.splitlines() if " cycles, " in line), None)


def check_full(runner, model, image):
    """Checks that a run with firmware, rings and page tables has the same bits and cycles."""
    flat, flat_text = runner.run(model, image, "sim")
    full, full_text = runner.run(model, image, "sim", full=True)
    check(f"{model}: full mode gives flat mode's bits",
          flat is not None and full is not None and flat.tobytes() == full.tobytes())
    check(f"{model}: full mode takes flat mode's cycles",
          cycles(flat_text) is not None and cycles(flat_text) == cycles(full_text),
          f"{cycles(flat_text)} and {cycles(full_text)}")


def squeezenet(runner, folder):
    expected = np.load(folder / "expected_output.npy").reshape(-1)
    top = np.argsort(-expected, kind="stable")[:5]
    check_full(runner, "squeezenet", np.load(folder / "input_test.npy"))
    check_model(runner, "squeezenet", np.load(folder / "input_test.npy"), [expected], 1e-4,
                ("top five", lambda p: list(np.argsort(-p[0], kind="stable")[:5]) == list(top)))


def mobilenetv2(runner, folder):
    expected = [np.load(folder / f"expected_{n}.npy").reshape(-1) for n in ("conv_94", "features")]
    check_model(runner, "mobilenetv2", np.load(folder / "input_test.npy"), expected, 1e-4)


def main():
    tool = sys.argv[1]
    models = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT.parent / "shared" / "models"
    if not models.exists():
        print(f"1..0 # SKIP the shared models are not at {models}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(tool, models, pathlib.Path(folder))
        for test in (lenet, squeezenet, mobilenetv2):
            if (models / test.__name__).exists():
                test(runner, models / test.__name__)
    print(f"1..{passed + failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
