# SPDX-License-Identifier: MIT
"""Helpers of the tests of the examples: test_NAME.py PROGRAMS SAMPLES, two folders.

PROGRAMS has the examples that meson built, SAMPLES the files that scripts/fetch-samples.sh fetches.
"""
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PROGRAMS, SAMPLES = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared/models"
DEVICES = ("cpu", "sim")
USAGE = 64


@contextlib.contextmanager
def quiet():
    """Discards standard error within a `with` block, as ONNX Runtime writes messages about the
    machine there.
    """
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def session(model):
    """Returns a session of ONNX Runtime for a model, which is a file or bytes."""
    with quiet():
        import onnxruntime  # pylint: disable=import-outside-toplevel
        options = onnxruntime.SessionOptions()
        # Spinning threads would keep the processors busy while an example runs.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), options)


def pseudo_random(series, count):
    """Returns `count` pseudo-random numbers from -1 to 1; those of each series are the ones that
    the example transformer makes."""
    x = ((series + 1) * 0x9e3779b1 + np.arange(count, dtype=np.uint64)) % 2**32
    x = ((x ^ (x >> np.uint64(16))) * np.uint64(0x7feb352d)) % 2**32
    x = ((x ^ (x >> np.uint64(15))) * np.uint64(0x846ca68b)) % 2**32
    x ^= x >> np.uint64(16)
    return (x >> np.uint64(8)).astype(np.float64) / 2**23 - 1


def needs(*paths):
    """Returns a decorator that skips a test when files are missing, and says which."""
    missing = [str(path) for path in paths if not path.exists()]
    return unittest.skipIf(missing, f"there is no {', '.join(missing)}")


def on_devices(test):
    """Decorates a test whose argument is the name of a device: the test runs once for each device
    that needs no hardware."""
    def run(self):
        for device in DEVICES:
            with self.subTest(device):
                test(self, device)
    return run


class ExampleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, program, *arguments):
        return subprocess.run([PROGRAMS / f"example-{program}", *map(str, arguments)], text=True,
                              capture_output=True, check=False,
                              env={**os.environ, "WEBNN_DEVICE": "cpu"})

    def run_example(self, program, *arguments):
        """Runs a program and returns its output."""
        done = self.start(program, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refuses(self, text, program, *arguments, status=1):
        """Checks that a program fails with a message that has this text, and prints nothing else.
        """
        done = self.start(program, *arguments)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
        self.assertIn(text, done.stderr)

    def numbers(self, program, *arguments):
        return np.array([line.split() for line in
                         self.run_example(program, *arguments).splitlines()], float)

    def near(self, got, expected, tolerance=1e-5):
        """Checks that the largest difference is within a fraction of the range of the expected
        values.
        """
        self.assertEqual(got.shape, expected.shape)
        self.assertLess(np.abs(got - expected).max(), tolerance * np.ptp(expected))


def main():
    unittest.main(argv=[*sys.argv[:1], *sys.argv[3:]], verbosity=2)
