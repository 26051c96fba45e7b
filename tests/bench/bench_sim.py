#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures SqueezeNet on the device model beside ONNX Runtime, with one thread each; both alternate
in one run.

Both get the same weights and the same picture; their outputs are compared before anything is timed.
The figure is the ratio of the minima of --rounds runs.

Usage: bench_sim.py [--json FILE] [--rounds N] [--build DIR]
The script needs the shared models; without them it says so and fails.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT.parent / "shared" / "models" / "squeezenet"


def squeezenet_onnx():
    """Returns the network of the models' README as an ONNX model: in NCHW, with the same numbers.
    """
    nodes, weights = [], []

    def conv(x, name, stride=1, pads=(0, 0, 0, 0)):
        kernel = np.load(MODEL / "weights" / f"{name}_kernel.npy").transpose(0, 3, 1, 2)
        bias = np.load(MODEL / "weights" / f"{name}_Conv2D_bias.npy")
        weights.append(numpy_helper.from_array(np.ascontiguousarray(kernel), name + "_w"))
        weights.append(numpy_helper.from_array(bias, name + "_b"))
        nodes.append(helper.make_node("Conv", [x, name + "_w", name + "_b"], [name + "_c"],
                                      strides=[stride] * 2, pads=list(pads)))
        nodes.append(helper.make_node("Relu", [name + "_c"], [name]))
        return name

    def pool(x, name):
        nodes.append(helper.make_node("MaxPool", [x], [name], kernel_shape=[3, 3], strides=[2, 2]))
        return name

    def fire(x, n):
        s = conv(x, f"fire{n}_squeeze")
        one, three = conv(s, f"fire{n}_e1x1"), conv(s, f"fire{n}_e3x3", 1, (1, 1, 1, 1))
        nodes.append(helper.make_node("Concat", [one, three], [f"fire{n}"], axis=1))
        return f"fire{n}"

    x = pool(conv("image", "conv1", 2, (2, 2, 3, 3)), "pool1")
    for n in (2, 3, 4):
        x = fire(x, n)
    x = pool(x, "pool4")
    for n in (5, 6, 7, 8):
        x = fire(x, n)
    x = conv(fire(pool(x, "pool8"), 9), "conv10")
    nodes.append(helper.make_node("AveragePool", [x], ["average"], kernel_shape=[13, 13]))
    nodes.append(helper.make_node("Flatten", ["average"], ["flat"]))
    nodes.append(helper.make_node("Softmax", ["flat"], ["probabilities"], axis=1))
    graph = helper.make_graph(
        nodes, "squeezenet",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [1, 1001])], weights)
    return helper.make_model(graph, ir_version=8,
                             opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


class Ours:
    """A process of model-run, which runs the network once for each line of input."""

    def __init__(self, build, image):
        output = build / "bench-sim-output.bin"
        self.process = subprocess.Popen(
            [build / "tests" / "models" / "model-run", "squeezenet", "--device", "sim",
             "--npu-only", "--threads", "1", "--models", MODEL.parent, "--input", image,
             "--output", output, "--step"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            sys.exit("bench sim: model-run did not start")
        self.output = np.fromfile(output, "<f4")

    def run(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) * 1e-6

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ort:
    def __init__(self, image):
        # Debian's package prints hundreds of harmless lines about schemas when it is loaded.
        saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(squeezenet_onnx(), options,
                                                    providers=["CPUExecutionProvider"])
        os.dup2(saved, 2)
        self.feed = {"image": np.ascontiguousarray(image.transpose(0, 3, 1, 2))}
        self.output = self.session.run(None, self.feed)[0].reshape(-1)

    def run(self):
        begin = time.perf_counter()
        self.session.run(None, self.feed)
        return (time.perf_counter() - begin) * 1e3


def main():
    parser = argparse.ArgumentParser(description="SqueezeNet: device model and ONNX Runtime.")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--build", type=pathlib.Path,
                        default=ROOT / "build" / "gcc")
    args = parser.parse_args()
    if not MODEL.exists():
        sys.exit(f"bench sim: SqueezeNet's files are not at {MODEL}")

    image = MODEL / "input_test.npy"
    ours, ort = Ours(args.build, image), Ort(np.load(image))
    difference = float(np.abs(ours.output - ort.output).max())
    if difference > 1e-4:
        sys.exit(f"bench sim: the outputs differ by {difference}")
    times = np.array([(ours.run(), ort.run()) for _ in range(args.rounds)])
    ours.close()
    best = times.min(0)
    result = {"squeezenet": {"ours_ms": best[0], "ort_ms": best[1], "ratio": best[0] / best[1],
                             "rounds": args.rounds, "difference": difference}}
    print(f"SqueezeNet, one thread, minimum of {args.rounds} alternating runs: sim {best[0]:.2f} ms, "
          f"ONNX Runtime {best[1]:.2f} ms, ratio {best[0] / best[1]:.2f}")
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
