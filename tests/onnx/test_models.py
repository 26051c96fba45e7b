#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ONNX files of ../shared/models against ONNX Runtime: test_models.py PROGRAM DEVICE….

Outputs agree within 1e-4 of their range. Skipped, and says so, where the files are not there.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
from onnx_cases import onnx, onnxruntime, quiet

MODELS = pathlib.Path(__file__).resolve().parents[3] / "shared/models/onnx"
# It decodes pictures with operators of an extension; its network alone is another file.
EXTENSIONS = "super_resolution_with_pre_post_processing_op18.onnx"
# ConstantOfShape makes their weights: too many for the memory that tests may take.
HUGE = ("light_vgg19.onnx", "light_bvlc_alexnet.onnx", "light_zfnet512.onnx")
# Values of inputs that are no measurements.
FIXED = {"sr": 16000}


def make_case(path, folder):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    with quiet():
        session = onnxruntime.InferenceSession(str(path), options)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").symlink_to(path)
    random = numpy.random.default_rng(1)
    feed = {}
    for index, info in enumerate(session.get_inputs()):
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in info.shape]
        if "silero" in path.name and info.name == "input":
            shape = [1, 576]
        if info.type == "tensor(int64)":
            value = numpy.full(shape, FIXED[info.name], numpy.int64)
        else:
            value = random.uniform(-1, 1, shape).astype(numpy.float32)
        feed[info.name] = value
        (data / f"input_{index}.pb").write_bytes(
            onnx.numpy_helper.from_array(value).SerializeToString())
    for index, value in enumerate(session.run(None, feed)):
        (data / f"output_{index}.pb").write_bytes(
            onnx.numpy_helper.from_array(value).SerializeToString())


def main():
    paths = [p for p in sorted(MODELS.rglob("*.onnx")) if p.name not in (EXTENSIONS, *HUGE)]
    if not paths:
        print(f"skipped: there are no models in {MODELS}")
        return 77
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for path in paths:
            case = pathlib.Path(folder) / path.stem
            make_case(path, case)
            cases.append(case)
        for device in sys.argv[2:]:
            done = subprocess.run([sys.argv[1], "--device", device, "--range", "1e-4", "--verbose",
                                   *cases], check=False, text=True, stdout=subprocess.PIPE)
            print(done.stdout)
            status |= done.returncode != 0 or ", 0 refused" not in done.stdout
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
