#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ResNet-50, MobileNetV2, SqueezeNet 1.0 and VGG-19 on the CPU path beside ONNX Runtime, and the first two in 8-bit integers.

Each network is one table of layers with seeded weights (cpu/models.py), from which the WebNN graph and the ONNX file are made.
Outputs are compared before anything is timed, in a run of either that warms it up. Runs alternate; the figure is the ratio of
the minima of --rounds runs, with one and with two threads. The processor's time is told besides: with one thread it is what
remains of the figure on a machine that others use, too. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are taken out of the environment, since they may pin OpenBLAS
to older kernels than the processor has. Each layer of the CPU (WEBNN_CPU_LAYER) is measured by itself; in the JSON the first one has the keys t1 and t2,
others t1_LAYER and t2_LAYER; in 8-bit integers, t1_int8 and so on.

Usage: bench_cpu.py [--json FILE] [--rounds N] [--build DIR] [--threads N,…] [--layers NAME,…] [--types NAME,…] [MODEL…]
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "cpu"))
from models import MODELS, quantized  # noqa: E402

# Of the largest probability: sums of float32 in another order; integers that round the other way, in all layers.
TOLERANCE = {"float32": 1e-4, "int8": .05}
# Who is measured in 8-bit integers: as Debian's ONNX Runtime has them, and as table.c makes them of a table.
INT8 = ("resnet50", "mobilenetv2")
WEIGHT_SCALE, VALUE_SCALE, VALUE_ZERO = np.float32(.0005), np.float32(1 / 32), 128


def external(name, shape, offset):
    """A constant that lies in the file of weights."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                         data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "weights"), ("offset", offset * 4), ("length", int(np.prod(shape)) * 4)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


class Integers:
    """The parts of a model in QDQ form."""

    def __init__(self, constants, weights):
        self.constants, self.weights, self.nodes = constants, weights, []
        self.constants += [helper.make_tensor("value_scale", TensorProto.FLOAT, [], [VALUE_SCALE]),
                           helper.make_tensor("value_zero", TensorProto.UINT8, [], [VALUE_ZERO])]

    def dequantized(self, name, shape, offset, kind, scale):
        """A constant of integers and its dequantisation, with a scale for each output channel."""
        dtype, numpy = (TensorProto.INT8, np.int8) if kind == "weight" else (TensorProto.INT32, np.int32)
        data = (self.weights[offset:offset + int(np.prod(shape))] / scale).astype(np.int32).astype(numpy)
        self.constants += [helper.make_tensor(name + "_q", dtype, shape, data.tobytes(), raw=True),
                           helper.make_tensor(name + "_s", TensorProto.FLOAT, shape[:1], [scale] * shape[0]),
                           helper.make_tensor(name + "_z", dtype, shape[:1], [0] * shape[0])]
        self.nodes.append(helper.make_node("DequantizeLinear", [f"{name}_{part}" for part in "qsz"], [name], axis=0))

    def requantized(self, name):
        """Nodes that round a value; what they give has the name with _r."""
        scales = ["value_scale", "value_zero"]
        return [helper.make_node("QuantizeLinear", [name, *scales], [name + "_u"]),
                helper.make_node("DequantizeLinear", [name + "_u", *scales], [name + "_r"])]


def onnx_model(net, kind="float32"):
    nodes, constants = [], []
    integers = Integers(constants, net.numbers) if kind == "int8" else None
    rounded = {0} if integers else set()
    if integers:
        nodes += integers.requantized("v0")
    plain = {"relu": "Relu", "add": "Add"}
    for number, layer in enumerate(net.layers, 1):
        x, y = [f"v{i}_r" if i in rounded else f"v{i}" for i in layer["inputs"]], [f"v{number}"]
        if "weight" in layer:
            shape = layer.get("filter") or layer["matrix"]
            x += [f"w{number}", f"b{number}"]
            if integers:
                integers.dequantized(x[1], shape, layer["weight"], "weight", WEIGHT_SCALE)
                integers.dequantized(x[2], shape[:1], layer["bias"], "bias", WEIGHT_SCALE * VALUE_SCALE)
            else:
                constants += [external(x[1], shape, layer["weight"]), external(x[2], shape[:1], layer["bias"])]
        op = layer["op"]
        square = {} if "stride" not in layer else {"strides": [layer["stride"]] * 2, "pads": [layer["pad"]] * 4}
        if op == "conv":
            nodes.append(helper.make_node("Conv", x, y, group=layer["groups"], **square))
        elif op in ("maxpool", "averagepool"):
            nodes.append(helper.make_node("MaxPool" if op == "maxpool" else "AveragePool", x, y,
                                          kernel_shape=[layer["kernel"]] * 2, **square))
        elif op == "relu6":
            nodes.append(helper.make_node("Clip", x + ["zero", "six"], y))
        elif op == "linear":
            nodes.append(helper.make_node("Gemm", x, y, transB=1))
        elif op == "concat":
            nodes.append(helper.make_node("Concat", x, y, axis=1))
        elif op == "flatten":
            nodes.append(helper.make_node("Flatten", x, y))
        elif op == "softmax":
            nodes.append(helper.make_node("Softmax", x, y, axis=1))
        else:
            nodes.append(helper.make_node(plain[op], x, y))
        if integers and layer["quantize"]:
            nodes += integers.requantized(y[0])
            rounded.add(number)
    nodes = (integers.nodes if integers else []) + nodes
    constants += [helper.make_tensor(name, TensorProto.FLOAT, [], [value])
                  for name, value in (("zero", 0), ("six", 6))]
    graph = helper.make_graph(
        nodes, net.name, [helper.make_tensor_value_info("v0", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info(f"v{len(net.layers)}", TensorProto.FLOAT, [1, 1000])], constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


class Ours:
    """bench-cpu-graph in a process of its own, one run for each line."""

    def __init__(self, build, folder, threads, layer, kind):
        environment = {k: v for k, v in os.environ.items()
                       if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")} | {"WEBNN_CPU_LAYER": layer}
        output = folder / "output"
        self.process = subprocess.Popen(
            [build / "tests" / "bench" / "cpu" / "bench-cpu-graph", "--threads", str(threads), "--type", "f32" if kind == "float32" else kind,
             folder / "table", folder / "weights", folder / "input", output],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit("bench cpu: bench-cpu-graph did not start; without oneDNN, there is --layers openblas")
        self.core = answer[1]
        self.output = np.fromfile(output, "<f4")

    def run(self):
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return [int(number) * 1e-6 for number in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ort:
    def __init__(self, folder, threads, x):
        # Debian's package prints hundreds of harmless lines about schemas when it is loaded.
        saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options,
                                                    providers=["CPUExecutionProvider"])
        os.dup2(saved, 2)
        self.feed = {"v0": x}
        self.output = self.session.run(None, self.feed)[0].reshape(-1)

    def run(self):
        begin, cpu = time.perf_counter(), time.process_time()
        self.session.run(None, self.feed)
        return [(time.perf_counter() - begin) * 1e3, (time.process_time() - cpu) * 1e3]


def write_files(net, folder, kind):
    with open(folder / "weights", "wb") as f:
        for data in net.weights:
            data.tofile(f)
    if kind == "int8":
        quantized(net)
        net.numbers = np.concatenate([data.reshape(-1) for data in net.weights])
    net.weights.clear()
    (folder / "table").write_text(json.dumps(net.layers))
    (folder / "model.onnx").write_bytes(onnx_model(net, kind).SerializeToString())
    x = np.random.default_rng(1).standard_normal((1, 3, 224, 224), np.float32)
    x.tofile(folder / "input")
    return x


def compare(args, name, threads, layer, kind, folder, x):
    ours, ort = Ours(args.build, folder, threads, layer, kind), Ort(folder, threads, x)
    error = float(np.abs(ours.output - ort.output).max() / np.abs(ort.output).max())
    if not error <= TOLERANCE[kind]:
        sys.exit(f"bench cpu: {name}: the outputs differ by {error:.3g} of the largest")
    times = np.array([(ours.run(), ort.run()) for _ in range(args.rounds)])
    ours.close()
    best, cpu = times.min(0).T
    print(f"{name:12} {kind:7} {layer:8} {threads} thread{'s' if threads > 1 else ' '}  ours {best[0]:8.2f} ms  ONNX Runtime "
          f"{best[1]:8.2f} ms  ratio {best[0] / best[1]:.2f}  (processor {cpu[0]:8.2f} {cpu[1]:8.2f}  {cpu[0] / cpu[1]:.2f})  "
          f"error {error:.1e}  OpenBLAS {ours.core}", flush=True)
    return ours.core, {"ours_ms": best[0], "ort_ms": best[1], "ratio": best[0] / best[1], "ours_cpu_ms": cpu[0],
                       "ort_cpu_ms": cpu[1], "cpu_ratio": cpu[0] / cpu[1], "error": error,
                       "layer": layer, "threads": threads, "type": kind}


def main():
    parser = argparse.ArgumentParser(description="Networks on the CPU path and in ONNX Runtime.")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--layers", default="onednn,openblas")
    parser.add_argument("--types", default="float32,int8")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    args = parser.parse_args()
    unknown = set(args.models) - set(MODELS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are: {', '.join(MODELS)}")

    result = {"rounds": args.rounds, "models": {}}
    for name in args.models or MODELS:
        entry = result["models"][name] = {}
        for kind in args.types.split(","):
            if kind == "int8" and name not in INT8:
                continue
            with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="bench-cpu-") as path:
                folder = pathlib.Path(path)
                x = write_files(MODELS[name](), folder, kind)
                for number, layer in enumerate(args.layers.split(",")):
                    for threads in map(int, args.threads.split(",")):
                        key = f"t{threads}" + (f"_{kind}" if kind != "float32" else "") + (f"_{layer}" if number else "")
                        result["openblas_core"], entry[key] = compare(args, name, threads, layer, kind, folder, x)
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
