# SPDX-License-Identifier: MIT
"""What benchmarks have in common that run a program on two sides, each in a process of its own."""
import json
import os
import subprocess
import sys

import numpy as np

import bench_cpu


class Side:
    """A worker process: a script that answers each line of its input with a line of JSON."""

    def __init__(self, worker, name, threads, path, environment=()):
        kept = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-B", worker, name, str(threads)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=kept | {"PYTHONPATH": os.pathsep.join(map(str, path))} | dict(environment))
        self.version = self.answer()["version"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench: {self.name} has ended")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        bench_cpu.settle(self.process.pid, self.name)
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def difference(paths):
    """Returns the largest difference between the results in two .npz files, relative to the largest
    number; None when types or shapes differ.
    """
    with np.load(paths[0]) as ours, np.load(paths[1]) as other:
        pairs = [(ours[name], other[name]) for name in ours.files if name in other.files]
    worst = 0.0
    for a, b in pairs:
        if a.shape != b.shape:
            return None
        kind = np.complex128 if np.iscomplexobj(b) else np.float64
        a, b = a.astype(kind), b.astype(kind)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            finite = np.abs(b[np.isfinite(b)])
            worst = max(worst, float(np.abs(a - b)[~same].max() / max(finite.max(initial=0), 1e-30)))
    return worst
