# SPDX-License-Identifier: MIT
"""Runs models on request, while another process waits: worker.py ours|ort THREADS

Each line on standard input is a request; a line of JSON on standard output answers it. "load FILE
INPUTS RESULTS" loads a model and an .npz of its inputs, runs it and writes the results to another
.npz. "run MILLISECONDS" runs the model as often as fits, at least once, and answers with the
nanoseconds of the fastest run. Inputs and outputs keep their addresses, so that no side copies
them.
"""
import json
import sys
import time

import numpy as np


class Ours:
    def __init__(self, threads):
        import webnn_npu.onnx  # pylint: disable=import-outside-toplevel
        self.make = webnn_npu.onnx.Session
        self.context = webnn_npu.ML().create_context(device="cpu", threads=threads)

    def load(self, path, feeds):
        session = self.make(path, context=self.context)
        results = session.run(None, feeds)
        self.session, graph = session, session._last
        self.inputs = {name: self.context.create_tensor(shape, kind, writable=True) for name, kind, shape in graph.inputs}
        self.outputs = {name: self.context.create_tensor(shape, kind, readable=True) for name, kind, shape in graph.outputs}
        for name, tensor in self.inputs.items():
            self.context.write_tensor(tensor, feeds[name].view(np.uint8) if feeds[name].dtype == bool else feeds[name])
        return results

    def run(self):
        self.context._native.dispatch(self.session._last.native, self.inputs, self.outputs)
        self.context.wait()


class Ort:
    def __init__(self, threads):
        import onnxruntime  # pylint: disable=import-outside-toplevel
        self.ort, self.threads = onnxruntime, threads
        onnxruntime.set_default_logger_severity(4)

    def load(self, path, feeds):
        options = self.ort.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self.threads, 1
        options.log_severity_level = 4
        self.session = self.ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        results = self.session.run(None, feeds)
        self.binding = self.session.io_binding()
        for name, array in feeds.items():
            self.binding.bind_ortvalue_input(name, self.ort.OrtValue.ortvalue_from_numpy(array))
        for output, result in zip(self.session.get_outputs(), results):
            if isinstance(result, np.ndarray):
                self.binding.bind_ortvalue_output(output.name, self.ort.OrtValue.ortvalue_from_numpy(result.copy()))
            else:
                self.binding.bind_output(output.name)
        return results

    def run(self):
        self.session.run_with_iobinding(self.binding)


def best(side, milliseconds):
    """Runs for about `milliseconds`, at least once; returns the nanoseconds of the fastest run."""
    least, end = None, time.perf_counter_ns() + int(milliseconds * 1e6)
    while least is None or time.perf_counter_ns() < end:
        begin = time.perf_counter_ns()
        side.run()
        took = time.perf_counter_ns() - begin
        least = took if least is None else min(least, took)
    return least


def main():
    side = {"ours": Ours, "ort": Ort}[sys.argv[1]](int(sys.argv[2]))
    print(json.dumps({"version": side.ort.__version__ if isinstance(side, Ort) else None}), flush=True)
    for line in sys.stdin:
        request, *words = line.split()
        try:
            if request == "load":
                with np.load(words[1]) as feeds:
                    results = side.load(words[0], dict(feeds))
                np.savez(words[2], *(result for result in results if isinstance(result, np.ndarray)))
                answer = {}
            else:
                answer = {"ns": best(side, float(words[0]))}
        except Exception as failure:  # pylint: disable=broad-except
            answer = {"failure": " ".join(str(failure).split())}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
