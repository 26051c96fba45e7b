#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs ONNX's backend tests through ONNX Runtime and our provider.

  test_backend.py PROVIDER SAMPLES DEVICE [--every N]

The cases are those of Debian's libonnx-testdata, as far as this ONNX Runtime loads them by itself.
None may be wrong. The test prints how many cases the provider computes as a whole, in part, and not
at all.
"""
import argparse
import collections
import pathlib
import sys

import runtime

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")


def load(path, onnx):
    """Returns the tensor in a file, or None when the file has something else."""
    tensor = onnx.TensorProto()
    try:
        tensor.ParseFromString(path.read_bytes())
        return onnx.numpy_helper.to_array(tensor)
    except Exception:  # pylint: disable=broad-exception-caught
        return None


def read(folder, kind, onnx):
    names = sorted(folder.glob(f"{kind}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [load(path, onnx) for path in names]


def same(ours, theirs, numpy):
    """Returns whether results agree: floats of 16 bits within 2e-3 of the largest magnitude, other
    numbers within 1e-4 of it. Texts, booleans and empty arrays must be equal.
    """
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return False
    if ours.dtype.kind in "OUSb" or not ours.size:
        return bool((ours == theirs).all())
    bar = 2e-3 if theirs.dtype.itemsize == 2 else 1e-4
    ours, theirs = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    finite = numpy.isfinite(theirs)
    span = max(1.0, numpy.abs(theirs[finite]).max()) if finite.any() else 1.0
    return bool(numpy.array_equal(ours[~finite], theirs[~finite], equal_nan=True) and
                (numpy.abs(ours[finite] - theirs[finite]) <= bar * span).all())


class Runner:
    def __init__(self, ort, device):
        self.ort, self.device = ort, device
        self.found = collections.Counter()
        self.failed = []

    def session(self, model, whole):
        options = runtime.options(self.ort, self.device)
        if whole:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        return self.ort.InferenceSession(model, options, enable_fallback=0)

    def ours(self, model):
        """Returns a session in which the provider computes as much as it can, and how much that is:
        "whole", "in part" or "not"."""
        try:
            return self.session(model, True), "whole"
        except self.ort.capi.onnxruntime_pybind11_state.Fail:
            pass
        session = self.session(model, False)
        with open(runtime.REPORT, encoding="utf-8") as report:
            taken = any(not line.startswith("onnxruntime\t") for line in report)
        return session, "in part" if taken else "not"

    def case(self, folder, onnx, numpy):
        model = str(folder / "model.onnx")
        feeds = read(folder / "test_data_set_0", "input", onnx)
        try:
            theirs = self.ort.InferenceSession(model)
            names = [value.name for value in theirs.get_inputs()]
            if None in [None if feed is None else 1 for feed in feeds]:
                raise ValueError("a sequence")
            expected = theirs.run(None, dict(zip(names, feeds)))
        except Exception:  # pylint: disable=broad-exception-caught
            self.found["unknown to ONNX Runtime"] += 1
            return
        if any(isinstance(value, (list, dict)) or value is None for value in expected):
            self.found["no tensors"] += 1
            return
        try:
            session, how = self.ours(model)
            results = session.run(None, dict(zip(names, feeds)))
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.failed.append(f"{folder.name}: {error}")
            return
        # Random results differ between any two runs.
        if any(word in folder.name for word in ("bernoulli", "training_dropout", "random")):
            self.found["random"] += 1
        elif not all(same(a, b, numpy) for a, b in zip(results, expected)):
            self.failed.append(f"{folder.name}: wrong ({how} on the provider)")
        else:
            self.found[how] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("provider")
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("device")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--release", default=runtime.NEWEST)
    options = parser.parse_args()
    ort = runtime.load(options.samples, options.release, options.provider)
    import numpy  # pylint: disable=import-outside-toplevel
    import onnx.numpy_helper  # pylint: disable=import-outside-toplevel
    cases = sorted(path.parent for path in DATA.glob("*/*/model.onnx"))[::options.every]
    if not cases:
        print(f"skipped: there are no cases in {DATA}")
        return 77
    runner = Runner(ort, options.device)
    for folder in cases:
        runner.case(folder, onnx, numpy)
    for how, count in sorted(runner.found.items()):
        print(f"{count:5} {how}")
    print("\n".join(runner.failed))
    print(f"{len(runner.failed)} wrong of {len(cases)} with ONNX Runtime {ort.__version__} on {options.device}")
    return bool(runner.failed) or not runner.found["whole"]


if __name__ == "__main__":
    sys.exit(main())
