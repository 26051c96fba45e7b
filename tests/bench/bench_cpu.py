#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures ResNet-50, MobileNetV2, SqueezeNet 1.0, VGG-19 and encoders of BERT on the CPU path
beside ONNX Runtime, the first two in float16, too, and the first three in 8-bit integers. The time
of float16 is compared with that of float32 on the CPU path, as ONNX Runtime has no kernels for
float16.

Each network is one table of layers with seeded weights (cpu/models.py), from which the WebNN graph
and the ONNX file are made. In 8-bit integers, ONNX Runtime's quantize_static makes a second ONNX
file, which both read. ONNX Runtime is the release of PyPI that ./npu check has fetched, or else
Debian's; the output names the version. Each side runs once to warm up, and the outputs of these
runs are compared before anything is timed. The runs of both sides alternate, each begins when the
threads of the other side sleep; the figure is the ratio of the minima of --rounds runs, with one
and with two threads. The output also has the processor time, which with one thread is the figure to
trust on a machine that others use, too. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are taken out of the
environment, since they may pin OpenBLAS to older kernels than the processor has. Each layer of the
CPU (WEBNN_CPU_LAYER) is measured by itself; in the JSON the first one has the keys t1 and t2,
others t1_LAYER and t2_LAYER; in 8-bit integers, t1_int8 and so on; in float16, t1_float16, with
float32_ms for ort_ms.

With --provider, ONNX Runtime runs the networks on both sides: on ours with this project's execution
provider, device cpu, which onpu-ort-preload.so adds.

Each side is a small program in C. In float32 the output also has the peak memory of each side's
process.

Usage: bench_cpu.py [--json FILE] [--rounds N] [--build DIR] [--threads N,…] [--layers NAME,…]
                    [--types NAME,…] [--provider] [MODEL…]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "cpu"))
sys.path.insert(0, str(ROOT / "tests" / "ort"))
import runtime  # noqa: E402
from models import MODELS  # noqa: E402

# Largest allowed differences of outputs, relative to the largest probability. Float32 sums are
# added in another order; 8-bit integers may round the other way in each layer: ONNX Runtime with
# and without its optimiser differs by 0.058, too (ResNet-50).
TOLERANCE = {"float32": 1e-4, "int8": .1, "float16": .05}
# The networks that are measured in other types than float32.
OTHER_TYPES = {"int8": ("resnet50", "mobilenetv2", "squeezenet"), "float16": ("resnet50", "mobilenetv2")}
# If the threads of a program still run after so many milliseconds, the benchmark fails.
SETTLE_MS = 10000
# The names of types that bench-cpu-graph takes. A quantised ONNX file needs none.
TYPES = {"float32": "f32", "float16": "f16"}
# The directory into which ./npu check unpacks ONNX Runtime of PyPI.
WHEELS = ROOT / "build" / "samples" / "python"
NEWEST = WHEELS / f"onnxruntime-{runtime.NEWEST}"
# ONNX Runtime's quantiser imports this module.
ML_DTYPES = next(WHEELS.glob("ml_dtypes-*"), None)


def external(name, shape, offset):
    """Returns a constant whose data is in the file of weights."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape,
                         data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "weights"), ("offset", offset * 4), ("length", int(np.prod(shape)) * 4)):
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def from_and_to_heads(layer, x, y, constants):
    """Returns nodes that make [rows, heads * n] into [heads, rows, n] or, transposed, [heads, n,
    rows], and back.
    """
    shape = helper.make_tensor(y[0] + "_shape", TensorProto.INT64, [len(layer["split"])], layer["split"])
    constants.append(shape)
    if len(layer["split"]) == 2:
        return [helper.make_node("Transpose", x, [y[0] + "_t"], perm=[1, 0, 2]),
                helper.make_node("Reshape", [y[0] + "_t", shape.name], y)]
    return [helper.make_node("Reshape", [x[0], shape.name], [y[0] + "_t"]),
            helper.make_node("Transpose", [y[0] + "_t"], y, perm=[1, 2, 0] if layer["transposed"] else [1, 0, 2])]


def gelu(x, y):
    """Returns the nodes that exporters write for gelu."""
    part = [f"{y[0]}_{i}" for i in range(4)]
    return [helper.make_node("Div", [x[0], "root_of_two"], part[:1]), helper.make_node("Erf", part[:1], part[1:2]),
            helper.make_node("Add", [part[1], "one"], part[2:3]), helper.make_node("Mul", [x[0], part[2]], part[3:]),
            helper.make_node("Mul", [part[3], "half"], y)]


def onnx_model(net):
    nodes, constants = [], []
    plain = {"relu": "Relu", "add": "Add"}
    for number, layer in enumerate(net.layers, 1):
        x, y = [f"v{i}" for i in layer["inputs"]], [f"v{number}"]
        if "weight" in layer:
            shape = layer.get("filter") or layer.get("matrix") or layer["vectors"]
            x += [f"w{number}", f"b{number}"]
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
            nodes.append(helper.make_node("Softmax", x, y, "probabilities" if number == len(net.layers) else None, axis=-1))
        elif op == "matmul":
            nodes.append(helper.make_node("MatMul", x, y))
        elif op == "layernorm":
            nodes.append(helper.make_node("LayerNormalization", x, y, axis=-1, epsilon=1e-5))
        elif op == "heads":
            nodes += from_and_to_heads(layer, x, y, constants)
        elif op == "gelu":
            nodes += gelu(x, y)
        elif op == "scale":
            constants.append(helper.make_tensor(y[0] + "_factor", TensorProto.FLOAT, [], [layer["factor"]]))
            nodes.append(helper.make_node("Mul", [x[0], y[0] + "_factor"], y))
        else:
            nodes.append(helper.make_node(plain[op], x, y))
    constants += [helper.make_tensor(name, TensorProto.FLOAT, [], [value])
                  for name, value in (("zero", 0), ("six", 6), ("one", 1), ("half", .5), ("root_of_two", 2 ** .5))]
    graph = helper.make_graph(
        nodes, net.name, [helper.make_tensor_value_info("v0", TensorProto.FLOAT, shape_of(net, 0))],
        [helper.make_tensor_value_info(f"v{len(net.layers)}", TensorProto.FLOAT, shape_of(net, -1))], constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def shape_of(net, value):
    """Returns the shape of a value in the ONNX model; images have a batch dimension there, which
    the table leaves out.
    """
    shape = net.shapes[value]
    return [*shape] if len(net.shapes[0]) == 2 else [1, *shape]


def sleeps(thread):
    """Returns whether a thread sleeps or has ended."""
    try:
        # The state is the first field after the name, which is in parentheses.
        return (thread / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "S"
    except (FileNotFoundError, ProcessLookupError):
        return True


def settle(pid, name):
    """Waits until all threads of the process sleep. After a run, threads of ONNX Runtime spin for
    tens of milliseconds to find more work, and would take a processor from the other program.
    """
    threads = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
    for _ in range(SETTLE_MS):
        if all(map(sleeps, threads)):
            return
        time.sleep(1e-3)
    sys.exit(f"bench: {name} still computes {SETTLE_MS} ms after a run")


class Process:
    """A process of bench-cpu-graph or bench-cpu-ort, which runs its network once for each line of
    input.
    """

    def __init__(self, name, arguments, output, environment=None):
        # Debian's ONNX Runtime prints hundreds of harmless lines about schemas when it starts.
        self.name = name
        self.process = subprocess.Popen(list(map(str, arguments)) + [output], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL if name == "bench-cpu-ort" else None, text=True,
                                        env=environment)
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit(f"bench cpu: {name} did not start; without oneDNN, there is --layers openblas")
        self.answer = answer[1]
        self.output = np.fromfile(output, "<f4")
        settle(self.process.pid, self.name)

    def run(self, warm=0):
        """Runs 1 + warm times; returns the milliseconds and the milliseconds of processor time of
        the last run.
        """
        for _ in range(1 + warm):
            self.process.stdin.write("run\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        settle(self.process.pid, self.name)
        return [int(number) * 1e-6 for number in answer.split()]

    def peak(self):
        """Returns the peak memory of the whole process in MiB, including its code and the mapped
        weights.
        """
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def environment_of(layer):
    """Returns the environment of our side, without variables by which OpenBLAS mistakes the
    processor.
    """
    return {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")} | {"WEBNN_CPU_LAYER": layer}


def ours(build, folder, threads, layer, kind, shape):
    program = build / "tests" / "bench" / "cpu" / "bench-cpu-graph"
    network = (["--model", folder / "model.onnx"] if kind == "int8" else
               ["--type", TYPES[kind], folder / "table", folder / "weights"])
    return Process(program.name, [program, "--threads", threads, "--input", ",".join(map(str, shape)), *network,
                                  folder / "input"], folder / "output", environment_of(layer))


def provider(build, folder, threads, layer, shape):
    """Starts ONNX Runtime with this project's execution provider and returns the process."""
    folders = [build / "userspace", build / "userspace/import/onnx"]
    libraries = [build / "userspace/ort" / name for name in ("onpu-ort-preload.so", "libonnxruntime_providers_onpu.so")]
    for path in libraries:
        if not path.exists():
            sys.exit(f"bench cpu: {path.name} is not built: the build needs -Donnx=enabled")
    environment = environment_of(layer) | {
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, folders)), "LD_PRELOAD": str(libraries[0]), "ONPU_ORT": "cpu",
        "ONPU_ORT_LIBRARY": str(libraries[1]), "ONPU_ORT_OPTIONS": f"threads={threads},report={folder}/report"}
    process = ort(build, folder, threads, shape, environment)
    if "onnxruntime\t" in (folder / "report").read_text(encoding="utf-8"):
        print("bench cpu: some nodes stay with ONNX Runtime")
    return process


def library():
    """Returns ONNX Runtime of PyPI if it has been fetched, or the name of Debian's library."""
    newest = NEWEST / "onnxruntime" / "capi" / f"libonnxruntime.so.{runtime.NEWEST}"
    return newest if newest.exists() else "libonnxruntime.so"


def ort(build, folder, threads, shape, environment=None):
    program = build / "tests" / "bench" / "cpu" / "bench-cpu-ort"
    if not program.exists():
        sys.exit("bench cpu: bench-cpu-ort is not built: install libonnxruntime-dev and build again")
    return Process(program.name, [program, library(), threads, ",".join(map(str, shape)), folder / "model.onnx",
                                  folder / "input"], folder / "output", environment)


def quantise(model, shape):
    """Replaces the file of the model by the result of ONNX Runtime's own quantiser, which runs in a
    process of its own, as its module is that of PyPI. Weights are int8 with a scale for each output
    channel; other values are uint8, in the ranges that they have for eight random inputs. The
    probabilities stay float32: steps of 1/256 would hide how far the results are apart.
    """
    script = f"""
import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

class Reader(CalibrationDataReader):
    inputs = iter(np.random.default_rng(2).standard_normal((8, *{shape}), np.float32))

    def get_next(self):
        x = next(self.inputs, None)
        return None if x is None else {{"v0": x}}

quantize_static({str(model)!r}, {str(model)!r}, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, nodes_to_exclude=["probabilities"])
"""
    path = os.pathsep.join(map(str, (NEWEST, ML_DTYPES)))
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": path}, check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"bench cpu: ONNX Runtime does not quantise {model.name}: {done.stderr.strip().splitlines()[-1]}")


def write_files(net, folder, kind):
    with open(folder / "weights", "wb") as f:
        for data in net.weights:
            data.tofile(f)
    net.weights.clear()
    for number, layer in enumerate(net.layers, 1):
        if layer["op"] == "heads":
            old, new = net.shapes[layer["inputs"][0]], net.shapes[number]
            layer["split"] = list(new) if len(new) == 2 else [old[0], layer["heads"], old[1] // layer["heads"]]
    (folder / "table").write_text(json.dumps(net.layers))
    (folder / "model.onnx").write_bytes(onnx_model(net).SerializeToString())
    x = np.random.default_rng(1).standard_normal(shape_of(net, 0), np.float32)
    x.tofile(folder / "input")
    if kind == "int8":
        quantise(folder / "model.onnx", x.shape)
    return x


def compare(args, name, threads, layer, kind, folder, x):
    own = (provider(args.build, folder, threads, layer, x.shape) if args.provider else
           ours(args.build, folder, threads, layer, kind, x.shape))
    other = (ours(args.build, folder, threads, layer, "float32", x.shape) if kind == "float16" else
             ort(args.build, folder, threads, x.shape))
    error = float(np.abs(own.output - other.output).max() / np.abs(other.output).max())
    if not error <= TOLERANCE[kind]:
        sys.exit(f"bench cpu: {name}: the outputs differ by {error:.3g} of the largest")
    times = np.array([(own.run(args.warm), other.run(args.warm)) for _ in range(args.rounds)])
    # In the other types bench-cpu-graph makes constants in its own memory, so that the peaks cannot
    # be compared.
    peaks = (own.peak(), other.peak()) if kind == "float32" else None
    own.close()
    other.close()
    best, cpu = times.min(0).T
    # The medians are the times that a program sees whose threads sleep and whose caches others fill
    # in between.
    middle = np.median(times, 0)[:, 0]
    answer = "" if args.provider else f"  OpenBLAS {own.answer}"
    print(f"{name:12} {kind:7} {layer:8} {threads} thread{'s' if threads > 1 else ' '}  {'provider' if args.provider else 'ours'} {best[0]:8.2f} ms  {'our float32' if kind == 'float16' else 'ONNX Runtime'} "
          f"{best[1]:8.2f} ms  ratio {best[0] / best[1]:.2f}  (medians {middle[0] / middle[1]:.2f}  processor {cpu[0]:8.2f} {cpu[1]:8.2f}  {cpu[0] / cpu[1]:.2f})  "
          f"{f'peak {peaks[0]:.0f} {peaks[1]:.0f} MiB {peaks[0] / peaks[1]:.2f}  ' if peaks else ''}"
          f"error {error:.1e}{answer}{'' if kind == 'float16' else f'  ONNX Runtime {other.answer}'}", flush=True)
    name = "float32" if kind == "float16" else "ort"
    memory = {"ours_peak_mib": peaks[0], "ort_peak_mib": peaks[1], "peak_ratio": peaks[0] / peaks[1]} if peaks else {}
    return own.answer, {"ours_ms": best[0], f"{name}_ms": best[1], "ratio": best[0] / best[1], "median_ratio": middle[0] / middle[1], "ours_cpu_ms": cpu[0],
                       f"{name}_cpu_ms": cpu[1], "cpu_ratio": cpu[0] / cpu[1], "error": error,
                       "layer": layer, "threads": threads, "type": kind} | memory


def main():
    parser = argparse.ArgumentParser(description="Networks on the CPU path and in ONNX Runtime.")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--warm", type=int, default=0, metavar="N",
                        help="N runs before each that is measured, for programs that dispatch one graph after the other")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "gcc")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--layers", default="onednn,openblas")
    parser.add_argument("--types", default="float32,int8,float16")
    parser.add_argument("--provider", action="store_true", help="ONNX Runtime on both sides, on ours with this project's provider")
    parser.add_argument("models", nargs="*", metavar="MODEL")
    args = parser.parse_args()
    unknown = set(args.models) - set(MODELS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are: {', '.join(MODELS)}")

    if args.provider and not NEWEST.is_dir():
        sys.exit(f"bench cpu: {WHEELS} has not {NEWEST.name}; --provider needs it, since Debian's ONNX Runtime takes no "
                 "execution providers from a library. ./npu check fetches it where PyPI is reached")

    result = {"rounds": args.rounds, "warm": args.warm, "models": {}}
    for name in args.models or MODELS:
        entry = result["models"][name] = {}
        for kind in args.types.split(","):
            if kind != "float32" and (name not in OTHER_TYPES[kind] or (args.provider and kind == "float16")):
                continue
            if kind == "int8" and not (NEWEST.is_dir() and ML_DTYPES):
                print(f"{name:12} {kind:7} skipped: {WHEELS} has not {NEWEST.name} and ml_dtypes, with which ONNX Runtime "
                      "quantises; remove it, and ./npu check fetches both where PyPI is reached")
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
