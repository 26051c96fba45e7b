#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how long the smallest dispatches take on the CPU path, beside ONNX Runtime with
io-binding, on one processor.

The networks are relu of [1, 16], and softmax of a product of two 256 x 256 matrices. "sync"
dispatches and reads the result before the next dispatch; "flight" dispatches a thousand times and
then waits for the last. ONNX Runtime has no queue: it runs a thousand times, one after the other.
Both sides alternate within a run; the best of all rounds counts. The output also has the time of
the self-test of the layer on oneDNN when a process loads it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

SHAPES = {"relu": [1, 16], "matmul": [256, 256]}
COUNTS = {"relu": 1000, "matmul": 100}


class Ours:
    def __init__(self, build, network):
        environment = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        self.process = subprocess.Popen([build / "tests/bench/latency/bench-latency-loop", network], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit("bench latency: bench-latency-loop did not start")

    def run(self, mode, count):
        self.process.stdin.write(f"{mode} {count}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / count * 1e-3

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Ort:
    def __init__(self, network):
        # Debian's package prints hundreds of harmless lines about schemas when it is loaded.
        saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        import onnxruntime
        shape = SHAPES[network]
        names = ["a"] if network == "relu" else ["a", "b"]
        nodes = ([helper.make_node("Relu", ["a"], ["y"])] if network == "relu" else
                 [helper.make_node("MatMul", ["a", "b"], ["p"]), helper.make_node("Softmax", ["p"], ["y"], axis=1)])
        model = helper.make_model(
            helper.make_graph(nodes, network, [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in names],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]),
            ir_version=8, opset_imports=[helper.make_opsetid("", 13)])
        onnx.checker.check_model(model)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        os.dup2(saved, 2)
        self.binding = self.session.io_binding()
        self.arrays = [np.ones(shape, np.float32) for _ in names] + [np.empty(shape, np.float32)]
        for name, array in zip(names, self.arrays):
            self.binding.bind_input(name, "cpu", 0, np.float32, shape, array.ctypes.data)
        self.binding.bind_output("y", "cpu", 0, np.float32, shape, self.arrays[-1].ctypes.data)

    def run(self, count):
        run, begin = self.session.run_with_iobinding, time.perf_counter_ns()
        for _ in range(count):
            run(self.binding)
        return (time.perf_counter_ns() - begin) / count * 1e-3


def self_test(build, rounds):
    """Returns the milliseconds of the self-test in the fastest of `rounds` processes, or None when
    the program is not built.
    """
    program = build / "tests/bench/latency/bench-latency-check"
    if not program.exists():
        return None
    times = [int(subprocess.run([program], check=True, text=True, stdout=subprocess.PIPE).stdout) for _ in range(rounds)]
    return min(times) * 1e-6


def main():
    parser = argparse.ArgumentParser(description="Dispatches that take little time, beside ONNX Runtime.")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--build", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2] / "build/gcc")
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    figures = {}
    for network, count in COUNTS.items():
        ours, ort = Ours(args.build, network), Ort(network)
        times = np.array([(ours.run("sync", count), ours.run("flight", count), ort.run(count))
                          for _ in range(args.rounds)]).min(0)
        ours.close()
        figures[network] = {"sync_us": times[0], "flight_us": times[1], "ort_us": times[2],
                            "sync_ratio": times[0] / times[2], "flight_ratio": times[1] / times[2]}
        print(f"{network:7} sync {times[0]:8.2f} us  in flight {times[1]:8.2f} us  ONNX Runtime {times[2]:8.2f} us  "
              f"ratios {times[0] / times[2]:.2f} {times[1] / times[2]:.2f}", flush=True)
    figures["self_test_ms"] = self_test(args.build, args.rounds)
    if figures["self_test_ms"] is None:
        print("oneDNN's self-test: not measured, the build has no oneDNN")
    else:
        print(f"oneDNN's self-test {figures['self_test_ms']:.2f} ms")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
