#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests a device that is lost while sessions use it: test_lost.py PROVIDER SAMPLES DEVICE, with
lose.c preloaded
"""
import concurrent.futures
import ctypes
import pathlib
import sys
import unittest

import runtime

PROVIDER, SAMPLES, DEVICE = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
ort = runtime.load(SAMPLES, runtime.NEWEST, PROVIDER)
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "onnx"))

import numpy  # pylint: disable=wrong-import-position
import shared_models  # pylint: disable=wrong-import-position

FEED = {"input": numpy.linspace(-1, 1, 64, dtype=numpy.float32).reshape(1, 1, 8, 8)}
REASON = "OnpuExecutionProvider: .*wnnContextDestroy was called"


def lose_before(dispatch):
    ctypes.CDLL(None).lose_before(dispatch)


class Lost(unittest.TestCase):
    def session(self):
        return ort.InferenceSession(shared_models.digits(), runtime.options(ort, DEVICE), enable_fallback=0)

    def test_run_fails_with_the_reason(self):
        """Tests that all later runs of the session fail as well. Another session that was open
        works, and so does the next one.
        """
        session, other = self.session(), self.session()
        expected, = session.run(None, FEED)
        lose_before(3)
        for _ in range(2):
            numpy.testing.assert_array_equal(session.run(None, FEED)[0], expected)
        for _ in range(3):
            with self.assertRaisesRegex(Exception, REASON):
                session.run(None, FEED)
        numpy.testing.assert_array_equal(other.run(None, FEED)[0], expected)
        del session
        numpy.testing.assert_array_equal(self.session().run(None, FEED)[0], expected)

    def test_threads(self):
        """Tests that each run gives the right result or the reason, and that no run succeeds after
        one that failed.
        """
        session = self.session()
        expected, = session.run(None, FEED)
        lose_before(40)

        def work(_):
            fails = []
            for _ in range(20):
                try:
                    numpy.testing.assert_array_equal(session.run(None, FEED)[0], expected)
                    fails.append(False)
                except ort.capi.onnxruntime_pybind11_state.Fail as error:
                    self.assertRegex(str(error), REASON)
                    fails.append(True)
            return fails

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            results = list(pool.map(work, range(8)))
        for fails in results:
            self.assertEqual(fails, sorted(fails))
        self.assertEqual(sum(map(len, results)), 160)
        self.assertLess(sum(fails.count(False) for fails in results), 40)
        numpy.testing.assert_array_equal(self.session().run(None, FEED)[0], expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=0)
