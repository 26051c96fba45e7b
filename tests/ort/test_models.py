#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs models that people use through ONNX Runtime, by its own provider for the CPU and by ours:
test_models.py PROVIDER SAMPLES DEVICE [--release RELEASE] [--places] [NAME…]

The models come from packages of PyPI (scripts/fetch-samples.sh, SAMPLES/models) and from
../shared/models. Results must agree, and runs follow each other with states where a model has them.
The test prints how many nodes of each model run where; --places prints each node.
"""
import argparse
import collections
import pathlib
import sys

import runtime

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared/models/onnx"
# Floats differ by at most this share of the largest result.
BAR = 1e-4
# For each model, a dictionary for each size that is tested: sizes of dimensions that the model
# leaves open, by the dimension's name, or by its index in the shapes of inputs that are no states.
# Other open dimensions are 1.
MODELS = {
    "basic-pitch/nmp": [{}],
    "magika/model": [{}, {0: 3}],
    "minilm-int8/model": [{"sequence": 16}, {"sequence": 31, "batch": 2}],
    "openwakeword/melspectrogram": [{"samples": 1760}, {"samples": 12640}],
    "openwakeword/embedding_model": [{}, {0: 5}],
    "openwakeword/alexa_v0.1": [{}],
    "openwakeword/hey_jarvis_v0.1": [{}],
    "openwakeword/hey_mycroft_v0.1": [{}],
    "openwakeword/hey_rhasspy_v0.1": [{}],
    "openwakeword/timer_v0.1": [{}],
    "openwakeword/weather_v0.1": [{}],
    "openwakeword/silero_vad": [{"sequence": 1536}],
    "rapidocr/PP-OCRv6_det_small": [{2: 192, 3: 256}],
    "rapidocr/PP-OCRv6_rec_small": [{3: 160}, {0: 2, 3: 96}],
    "rapidocr/ch_ppocr_mobile_v2.0_cls_mobile": [{2: 48, 3: 192}],
    "silero/silero_vad": [{1: 576}],
    "silero/silero_vad_16k_op15": [{"sequence": 576}],
    "silero/silero_vad_16k_sequence": [{"sequence_length": 4}],
    "silero/silero_vad_half": [{"sequence": 576}],
    "silero/silero_vad_op18_ifless": [{"sequence": 576}],
    "silero/silero_vad_openvino_16k": [{}],
    "shared/mnist": [{}],
    "shared/silero_vad_16k_op15": [{"sequence": 576}],
    "shared/silero_vad_op18_ifless": [{"sequence": 576}],
    "shared/super_resolution_core_op18": [{}],
    "shared/ultraface_version-RFB-320": [{}],
}
# Models with products of bytes, which the two providers round at different places. Their results are
# vectors, and the cosine of the angle between both results must be at least 0.99.
BYTES = {"minilm-int8/model"}
# Models in which some nodes around an If stay with ONNX Runtime, even with its newest release.
PARTLY = {"openwakeword/hey_jarvis_v0.1", "openwakeword/silero_vad", "silero/silero_vad", "silero/silero_vad_op18_ifless",
          "shared/silero_vad_op18_ifless"}
# Inputs that are states, each with the output that becomes this input in the next run.
STATES = {"state": "stateN", "h": "hn", "c": "cn"}
RUNS = 3


def path_of(samples, name):
    folder, file = name.split("/", 1)
    return (SHARED if folder == "shared" else samples / "models" / folder) / f"{file}.onnx"


def shape_of(info, sizes):
    """Returns the shape of an input."""
    return [size if isinstance(size, int) else sizes.get(size, 1 if info.name in STATES else sizes.get(at, 1))
            for at, size in enumerate(info.shape)]


def values(info, shape, numpy, random):
    """Returns numbers such as the model expects, by the name and type of the input."""
    if info.name == "sr":
        return numpy.array(16000, numpy.int64)
    if info.name in STATES:
        return numpy.zeros(shape, numpy.float32)
    if info.name in ("attention_mask", "token_type_ids"):
        return numpy.full(shape, info.name == "attention_mask", numpy.int64)
    if info.type == "tensor(int64)":
        return random.integers(1000, 30000, shape)
    if info.type == "tensor(int32)":
        return random.integers(0, 256, shape).astype(numpy.int32)
    return random.uniform(-1, 1, shape).astype(numpy.float32)


def agree(name, ours, theirs, numpy):
    """Returns an empty text, or how results differ."""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return f"{ours.dtype}{ours.shape} is not {theirs.dtype}{theirs.shape}"
    if name in BYTES:
        ours, theirs = (a.reshape(-1, a.shape[-1]).astype(numpy.float64) for a in (ours, theirs))
        cosine = ((ours * theirs).sum(1) / numpy.linalg.norm(ours, axis=1) / numpy.linalg.norm(theirs, axis=1)).min()
        return "" if cosine >= 0.99 else f"the cosine is {cosine:.4f}"
    if not numpy.isfinite(theirs).all():
        return "the expected result is not finite"
    error = numpy.abs(ours - theirs).max() / max(1, numpy.abs(theirs).max())
    return "" if error <= BAR else f"the error is {error:.2e}"


class Checker:
    def __init__(self, ort, device, numpy):
        self.ort, self.device, self.numpy = ort, device, numpy

    def runs(self, session, reference, name, sizes):
        """Runs both sessions several times and returns differences."""
        random = self.numpy.random.default_rng(7)
        infos, outputs = reference.get_inputs(), [info.name for info in reference.get_outputs()]
        feeds = {info.name: values(info, shape_of(info, sizes), self.numpy, random) for info in infos}
        wrong = []
        for run in range(RUNS):
            ours, theirs = session.run(None, feeds), reference.run(None, feeds)
            for output, a, b in zip(outputs, ours, theirs):
                difference = agree(name, a, b, self.numpy)
                if difference:
                    wrong.append(f"{name} {sizes}, run {run}, output {output}: {difference}")
            for info in infos:
                if info.name in STATES and STATES[info.name] in outputs:
                    feeds[info.name] = theirs[outputs.index(STATES[info.name])]
                elif info.name not in STATES:
                    feeds[info.name] = values(info, shape_of(info, sizes), self.numpy, random)
        return wrong

    def check(self, path, name):
        """Returns differences, and the lines of the report: place, operator, node and reason."""
        quiet = self.ort.SessionOptions()
        quiet.log_severity_level = 4
        reference = self.ort.InferenceSession(str(path), quiet, providers=["CPUExecutionProvider"])
        session = self.ort.InferenceSession(str(path), runtime.options(self.ort, self.device), enable_fallback=0)
        wrong = [line for sizes in MODELS[name] for line in self.runs(session, reference, name, sizes)]
        # Graphs for open shapes are in the report since they were built, in the first run.
        with open(runtime.REPORT, encoding="utf-8") as report:
            return wrong, [line.rstrip("\n").split("\t") for line in report]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("provider")
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("device")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--release", default=runtime.NEWEST)
    parser.add_argument("--places", action="store_true")
    options = parser.parse_args()
    ort = runtime.load(options.samples, options.release, options.provider)
    import numpy  # pylint: disable=import-outside-toplevel
    checker, wrong, count = Checker(ort, options.device, numpy), [], 0
    for name in options.names or MODELS:
        path = path_of(options.samples, name)
        if not path.exists():
            print(f"skipped: there is no {path}")
            continue
        count += 1
        more, report = checker.check(path, name)
        wrong += more
        places = collections.Counter(line[0] for line in report)
        if options.release == runtime.NEWEST and places["onnxruntime"] and name not in PARTLY:
            wrong.append(f"{name}: {places['onnxruntime']} nodes stay with ONNX Runtime")
        print(f"{name}: " + ", ".join(f"{number} {place}" for place, number in sorted(places.items()) if number),
              flush=True)
        for line in report if options.places else ():
            print("  " + "\t".join(line))
    print("\n".join(wrong))
    print(f"{len(wrong)} wrong; {count} models with ONNX Runtime {ort.__version__} on {options.device}")
    if not count:
        print("skipped: there are no models; ./npu check fetches them where PyPI is reached")
        return 77
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
