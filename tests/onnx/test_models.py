#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares real networks with ONNX Runtime: test_models.py PROGRAM SAMPLES DEVICE….

The networks are all of ../shared/models, those of PP-OCR in SAMPLES (scripts/fetch-samples.sh) at
several sizes, and the demo's. Outputs agree within 1e-4 of their range, those of PP-OCR's detection
within 2.6e-4; these are also compared with a computation in double. Networks whose files are
missing are left out, and the test says so.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import exact
import numpy
import shared_models
from PIL import Image, ImageDraw, ImageFont
from onnx_cases import onnx, onnxruntime, quiet

MODELS = shared_models.SHARED / "onnx"
# This model decodes pictures with operators of an extension; another file has its network alone.
EXTENSIONS = "super_resolution_with_pre_post_processing_op18.onnx"
# FIXED has the values of integer inputs (sr is a rate in Hz), SHAPES the shapes of inputs that
# files leave open.
FIXED = {"sr": 16000}
SHAPES = {"silero_vad_16k_op15": {"input": [1, 576]}, "silero_vad_op18_ifless": {"input": [1, 576]}}
# Names of files in SAMPLES with the shapes of the input. The first layers of detection amplify
# rounding errors: with sharp text, ONNX Runtime is up to 6e-5 from a computation in double, 1.2e-4
# without its optimisations, and another order of operations gives another error.
OCR = {"ch_PP-OCRv4_det_infer": [(1, 3, 192, 448), (1, 3, 320, 96), (1, 3, 160, 320), (1, 3, 320, 320)],
       "ch_PP-OCRv4_rec_infer": [(1, 3, 48, 160), (1, 3, 48, 320)],
       "ch_ppocr_mobile_v2.0_cls_infer": [(1, 3, 48, 192)]}
BAR = "1e-4"
# The largest errors that detection may have beside the computation in double, and beside ONNX
# Runtime, whose own error is up to 6e-5. Weights that include a batch normalisation have the same
# error at each pixel, which does not average out: 1.2e-4 were seen.
OF_DOUBLE = "2e-4"
OF_DETECTION = "2.6e-4"


def write_value(path, value):
    path.write_bytes(onnx.numpy_helper.from_array(value).SerializeToString())


def drawn_text(shape):
    """Returns a picture of text, on which these networks were trained. In noise they find no text:
    nearly all outputs would be 0.
    """
    image = Image.new("RGB", (shape[3], shape[2]), "white")
    for y in range(8, shape[2], 64):
        ImageDraw.Draw(image).text((8, y), "Open NPU 123", "black", ImageFont.load_default(28))
    pixels = numpy.asarray(image) / 255 - [0.485, 0.456, 0.406]
    return (pixels / [0.229, 0.224, 0.225]).transpose(2, 0, 1)[None].astype(numpy.float32)


def make_input(name, shape, integers, network):
    """Returns the input's elements, which follow from the arguments alone, not from what was made
    before.
    """
    if integers:
        return numpy.full(shape, FIXED[name], numpy.int64)
    if network.startswith("ch_PP"):
        return drawn_text(shape)
    return numpy.random.default_rng([*name.encode()]).uniform(-1, 1, shape).astype(numpy.float32)


def make_case(model, case, shapes):
    """Writes the folder that onnx-cases reads: the model, given as a path or as bytes, random
    inputs, and ONNX Runtime's outputs. Returns inputs and outputs.
    """
    data = case / "test_data_set_0"
    data.mkdir(parents=True)
    if isinstance(model, bytes):
        (case / "model.onnx").write_bytes(model)
    else:
        (case / "model.onnx").symlink_to(model)
    with quiet():
        session = onnxruntime.InferenceSession(str(case / "model.onnx"))
    feed = {}
    for index, info in enumerate(session.get_inputs()):
        shape = shapes.get(info.name) or [d if isinstance(d, int) and d > 0 else 1 for d in info.shape]
        feed[info.name] = make_input(info.name, shape, info.type == "tensor(int64)", case.name)
        write_value(data / f"input_{index}.pb", feed[info.name])
    results = session.run(None, feed)
    for index, value in enumerate(results):
        write_value(data / f"output_{index}.pb", value)
    return feed, results


def test_precision(program, devices, model, case, feed, result):
    """Prints how far devices and ONNX Runtime are from a computation in double, for a case of
    make_case(). Returns the number of devices that are too far from it.
    """
    expected = exact.run(onnx.load(model), *feed.values())
    error = numpy.abs(result - expected).max() / numpy.ptp(expected)
    print(f"ONNX Runtime: {error:.1e} of the range from double")
    write_value(case / "test_data_set_0/output_0.pb", expected.astype(numpy.float32))
    wrong = 0
    for device in devices:
        line = run(program, device, case, "--range", OF_DOUBLE)
        print(f"{device}, from double: {line}", flush=True)
        wrong += not line.startswith("passed")
    return wrong


def seeded_values(tensor):
    """Returns a tensor's elements by the formula of the models' README."""
    x = numpy.arange(numpy.prod(tensor["shape"]), dtype=numpy.uint32)
    x += numpy.uint32((tensor["index"] + 1) * 0x9e3779b1 % 2**32)
    x = (x ^ (x >> numpy.uint32(16))) * numpy.uint32(0x7feb352d)
    x = (x ^ (x >> numpy.uint32(15))) * numpy.uint32(0x846ca68b)
    x = (x ^ (x >> numpy.uint32(16))) >> numpy.uint32(8)
    low, high = tensor["lo"], tensor["hi"]
    return (low + (high - low) * (x / 2**24)).astype(numpy.float32).reshape(tensor["shape"])


def seeded(entry):
    """Returns the bytes of a model whose weights, which the file stores as one number each, become
    pseudo-random.
    """
    model = onnx.load(MODELS / "light" / entry["model"])
    values = {tensor["name"]: seeded_values(tensor) for tensor in entry["tensors"]}
    nodes = [node for node in model.graph.node if node.output[0] not in values]
    assert len(nodes) + len(values) == len(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.extend(onnx.numpy_helper.from_array(value, name)
                                   for name, value in values.items())
    return model.SerializeToString()


def networks(samples):
    """Yields (name, path or function that returns the file's bytes, shapes of inputs) for each
    network."""
    yield "digits", shared_models.digits, {"input": [3, 1, 8, 8]}
    for path in sorted(MODELS.rglob("*.onnx")):
        if path.name != EXTENSIONS:
            yield path.stem, path, SHAPES.get(path.stem, {})
    if MODELS.exists():
        entries = json.loads((MODELS / "light/seeded.json").read_text())["models"]
        for name, entry in entries.items():
            yield f"seeded_{name}", lambda entry=entry: seeded(entry), {}
        for make in shared_models.squeezenet, shared_models.mobilenetv2, shared_models.lenet:
            yield make.__name__, make, {}
    else:
        print(f"left out: there are no models in {MODELS}")
    for name, shapes in OCR.items():
        path = samples / "ocr-models" / f"{name}.onnx"
        if not path.exists():
            print(f"left out: there is no {path}")
            continue
        for shape in shapes:
            yield f"{name}_{shape[2]}x{shape[3]}", path, {"x": shape}


def run(program, device, case, *options):
    done = subprocess.run([program, "--device", device, *options, "--verbose", case], check=False,
                          text=True, stdout=subprocess.PIPE)
    return done.stdout.splitlines()[0]


def test_extensions(program):
    """Returns whether the model is refused with the domain and name of a missing operator."""
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder) / "extensions"
        (case / "test_data_set_0").mkdir(parents=True)
        (case / "model.onnx").symlink_to(MODELS / EXTENSIONS)
        write_value(case / "test_data_set_0/input_0.pb", numpy.zeros(100, numpy.uint8))
        line = run(program, "cpu", case)
    print(line)
    return line.startswith("refused") and "com.microsoft.extensions.DecodeImage" in line


def main():
    program, samples, *devices = sys.argv[1:]
    wrong = 0
    for name, model, shapes in networks(pathlib.Path(samples).resolve()):
        # Each case is removed before the next is written: some are big.
        with tempfile.TemporaryDirectory() as folder:
            case = pathlib.Path(folder) / name
            feed, results = make_case(model if isinstance(model, pathlib.Path) else model(), case, shapes)
            bar = OF_DETECTION if "det_infer" in name else BAR
            for device in devices:
                line = run(program, device, case, "--range", bar)
                print(f"{device}: {line}", flush=True)
                wrong += not line.startswith("passed")
            if "det_infer" in name:
                wrong += test_precision(program, devices, model, case, feed, *results)
    if MODELS.exists():
        wrong += not test_extensions(program)
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
