#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs unmodified onnxruntime-web on navigator.ml: test_onnx.py NODE PACKAGE SAMPLES DEVICE [NAME…]

The networks of tests/onnx/test_models.py run in onnxruntime-web through its WebNN execution
provider, with numbers and with MLTensor as inputs and outputs, and must agree with onnxruntime-node
within 1e-4 of the range of each output. For each network the test prints how many nodes the
provider took over, and which operators stay in WebAssembly. Both runtimes are from npm
(scripts/fetch-samples.sh); without them the test is skipped.
"""
import collections
import json
import os
import pathlib
import re
import selectors
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "onnx"))
import test_models  # pylint: disable=wrong-import-position
from onnx_cases import numpy, onnx  # pylint: disable=wrong-import-position

# Seconds for a network, however loaded the machine is.
PATIENCE = int(os.environ.get("ONPU_ONNX_SECONDS", "600"))
TOLERANCE = 1e-4
# Larger tolerances. tests/onnx/test_models.py says how far the detection of text is from a
# computation in double; two runtimes may differ by twice as much. Operators that are exact but for
# the rounding of results to float32 differ by 1.19e-4 from onnxruntime-node, and onnxruntime-node
# by 1.7e-4 from itself when graphOptimizationLevel is "extended" instead of "all".
FURTHER = {"ch_PP-OCRv4_det_infer_320x320": 2e-4}
# Networks that onnxruntime-web itself cannot run, with its message, whatever navigator.ml is: its
# provider takes over the branches of an If, but loses the initializers of the graph around them.
# When the If's condition is a constant, the branch takes its place and the network can run.
IMPOSSIBLE = {"silero_vad_op18_ifless": "raw_hash_map<>::at"}
SHARE = re.compile(r"nodes in the graph: (\d+) number of nodes supported by WebNN: (\d+)")
REFUSED = re.compile(r"Operator type: \[(\w+)\].* supported: \[0\]")


def with_constant(path, name, value):
    """Returns the model's bytes with one input turned into a constant."""
    model = onnx.load(path)
    kept = [info for info in model.graph.input if info.name != name]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.append(onnx.numpy_helper.from_array(numpy.array(value, numpy.int64), name))
    return model.SerializeToString()


def networks(samples):
    """Yields the networks of test_models.py, and those of IMPOSSIBLE once more with a constant
    input, in which form they can run.
    """
    for name, model, shapes in test_models.networks(samples):
        yield name, model, shapes
        if name in IMPOSSIBLE:
            rate = test_models.FIXED["sr"]
            yield f"{name}_{rate}", lambda path=model, rate=rate: with_constant(path, "sr", rate), shapes


def make_case(model, folder, name, shapes):
    """Returns the path of the model and its case, which onnx.js reads: the model, random inputs,
    and sizes for free dimensions.
    """
    path = model
    if callable(model):
        path = folder / "model.onnx"
        path.write_bytes(model())
    graph = onnx.load(path).graph
    constants = {tensor.name for tensor in graph.initializer}
    inputs, dimensions = [], {}
    for info in graph.input:
        if info.name in constants:
            continue
        kind, sizes = info.type.tensor_type.elem_type, info.type.tensor_type.shape.dim
        shape = shapes.get(info.name) or [max(size.dim_value, 1) for size in sizes]
        dimensions.update({size.dim_param: value for size, value in zip(sizes, shape) if size.dim_param})
        array = test_models.make_input(info.name, shape, kind == onnx.TensorProto.INT64, name)
        file = folder / f"{len(inputs)}.bin"
        file.write_bytes(array.tobytes())
        inputs.append({"name": info.name, "type": str(array.dtype), "dims": list(array.shape), "file": str(file)})
    case = folder / "case.json"
    case.write_text(json.dumps({"model": str(path), "inputs": inputs, "freeDimensions": dimensions}))
    return case


class Runner:
    """A process of onnx.js, which is started again after a case that kills it or takes too long."""

    def __init__(self, node, package, modules, device, log):
        self.command = [node, "--liftoff-only", str(HERE / "onnx.js"), package, str(modules)]
        self.device, self.log, self.process = device, log, None

    def run(self, case):
        if not self.process:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                env={**os.environ, "WEBNN_DEVICE": self.device})
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            line = self.process.stdout.readline() if selector.select(PATIENCE) else ""
        if line:
            return json.loads(line)
        status = self.process.poll()
        self.stop()
        return {"error": f"no answer in {PATIENCE} s" if status is None else f"onnx.js ended with {status}"}

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None


def coverage(log):
    """Returns the number of nodes of the first session, the number that WebNN computes, and the
    operators of the others.
    """
    text = log.split("SESSION\n")[1] if "SESSION\n" in log else ""
    nodes, taken = (sum(int(number) for number in numbers) for numbers in zip((0, 0), *SHARE.findall(text)))
    left = collections.Counter(REFUSED.findall(text))
    return nodes, taken, ", ".join(f"{count} {name}" for name, count in sorted(left.items()))


def judge(name, result, nodes, taken, allowed):
    """Returns the error of a network's result as a text, or None when the result is as expected."""
    if name in IMPOSSIBLE:
        return None if IMPOSSIBLE[name] in result.get("error", "") else "it is listed as impossible"
    if "error" in result:
        return result["error"]
    if nodes == 0:
        return "the provider says nothing about its share"
    if result["worst"] > allowed:
        return f"{result['worst']:.1e} of the range from onnxruntime-node"
    if result.get("tensors", 0) > allowed:
        return f"with MLTensor: {result['tensors']:.1e} of the range from onnxruntime-node"
    if taken == nodes and "tensorError" in result:
        return f"with MLTensor: {result['tensorError']}"
    return None


def describe(name, result, nodes, taken, left):
    if name in IMPOSSIBLE:
        return "onnxruntime-web cannot"
    tensors = f"with MLTensor {result['tensors']:.1e}" if "tensors" in result else "no MLTensor"
    return (f"{taken} of {nodes} nodes on WebNN" + (f" (not {left})" if left else "") +
            f", {result.get('worst', numpy.nan):.1e} of the range, {tensors}")


def main():
    node, package, samples, device, *names = sys.argv[1:]
    samples = pathlib.Path(samples).resolve()
    modules = samples / "onnxruntime"
    if not modules.exists():
        print(f"skipped: {modules} was not fetched (scripts/fetch-samples.sh)")
        return 77
    wrong = 0
    with tempfile.TemporaryFile("w+") as log:
        runner = Runner(node, package, modules, device, log)
        for name, model, shapes in networks(samples):
            if names and not any(part in name for part in names):
                continue
            with tempfile.TemporaryDirectory() as folder:
                log.seek(0)
                log.truncate()
                result = runner.run(make_case(model, pathlib.Path(folder), name, shapes))
                log.seek(0)
                nodes, taken, left = coverage(log.read())
            problem = judge(name, result, nodes, taken, FURTHER.get(name, TOLERANCE))
            wrong += problem is not None
            print(f"{device}: {name}: {describe(name, result, nodes, taken, left)}" +
                  (f": WRONG: {problem}" if problem else ""), flush=True)
        runner.stop()
    print(f"{wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
