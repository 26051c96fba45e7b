# SPDX-License-Identifier: MIT
"""Runs programs of JAX on request, while another process waits: worker.py ours|jaxlib THREADS

Each line on standard input is a request; a line of JSON on standard output answers it. "load NAME
RESULTS" compiles a program, runs it and writes the results to an .npz. "run MILLISECONDS" runs the
program as often as fits, at least once, and answers with the nanoseconds of the fastest run.
Arguments are on the device.
"""
import json
import os
import sys
import time

THREADS = int(sys.argv[2])
# Both sides take the number of threads from the processors that the process may use.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])

import jax  # noqa: E402
import numpy as np  # noqa: E402
from programs import PROGRAMS  # noqa: E402


class Side:
    def load(self, name):
        function, arguments = PROGRAMS[name]()
        self.arguments = jax.device_put(arguments)
        begin = time.perf_counter_ns()
        self.compiled = jax.jit(function).lower(*self.arguments).compile()
        self.compile_ns = time.perf_counter_ns() - begin
        return self.run()

    def run(self):
        return jax.block_until_ready(self.compiled(*self.arguments))


def best(side, milliseconds):
    """Runs for about `milliseconds`, at least once; returns the nanoseconds of the fastest run."""
    least, end = None, time.perf_counter_ns() + int(milliseconds * 1e6)
    while least is None or time.perf_counter_ns() < end:
        begin = time.perf_counter_ns()
        side.run()
        took = time.perf_counter_ns() - begin
        least = took if least is None else min(least, took)
    return least


def plain(array):
    """Returns an array of a type that .npz files have."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == jax.numpy.bfloat16 else array


def main():
    side = Side()
    print(json.dumps({"version": jax.__version__, "device": str(jax.devices()[0])}), flush=True)
    for line in sys.stdin:
        request, *words = line.split()
        try:
            if request == "load":
                np.savez(words[1], *map(plain, jax.tree.leaves(side.load(words[0]))))
                answer = {"compile_ns": side.compile_ns}
            else:
                answer = {"ns": best(side, float(words[0]))}
        except Exception as failure:  # pylint: disable=broad-except
            answer = {"failure": " ".join(str(failure).split())}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
