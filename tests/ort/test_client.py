#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests a program in C with ONNX Runtime of npm and of PyPI: test_client.py CLIENT PROVIDER PRELOAD
SAMPLES [RUNS|sanitized]

The program runs a network by ONNX Runtime alone, with the provider, and with the provider
preloaded. Then 16 threads make many runs on two sessions; afterwards the process must not hold more
than before: memory in use (but for 1 %), descriptors and mappings.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import runtime

CLIENT, PROVIDER, PRELOAD, SAMPLES = map(os.path.abspath, sys.argv[1:5])
SANITIZED = sys.argv[5:] == ["sanitized"]
RUNS = [] if SANITIZED else sys.argv[5:]
MODELS = pathlib.Path(__file__).resolve().parents[3] / "shared/models/onnx"
MODEL = MODELS / "mnist.onnx"
# The number of mappings that may be added: stacks and arenas of the C library, whose number depends
# on how many of the 16 threads run at the same time.
MAPPINGS = 64
NODE = pathlib.Path(SAMPLES) / "onnxruntime/node_modules/onnxruntime-node"
# A program in JavaScript that knows of no provider: it runs MODEL with an input of ones.
SCRIPT = f"""
const ort = require({json.dumps(str(NODE))});
(async () => {{
  const session = await ort.InferenceSession.create({json.dumps(str(MODEL))});
  const [input] = session.inputMetadata;
  const ones = new Float32Array(input.shape.reduce((a, b) => a * b)).fill(1);
  const results = await session.run({{ [input.name]: new ort.Tensor('float32', ones, input.shape) }});
  console.log(JSON.stringify(Array.from(Object.values(results)[0].data)));
}})();
"""


def libraries():
    samples = pathlib.Path(SAMPLES)
    # ONNX Runtime 1.30.0 leaks 14 bytes by itself, at which a sanitizer stops.
    if not SANITIZED:
        yield from samples.glob("onnxruntime/node_modules/onnxruntime-node/bin/*/linux/x64/libonnxruntime.so.1")
    for release in runtime.NEWEST, *([] if SANITIZED else [runtime.OLDEST]):
        yield from samples.glob(f"python/onnxruntime-{release}/onnxruntime/capi/libonnxruntime.so.*")


class Client(unittest.TestCase):
    def run_client(self, *arguments, **environment):
        done = subprocess.run([CLIENT, *map(str, arguments)], env=os.environ | environment, check=False,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        return done.returncode, done.stdout, done.stderr

    def sums(self, *arguments, **environment):
        status, out, err = self.run_client(*arguments, **environment)
        self.assertEqual(status, 0, out + err)
        self.assertIn("done", out)
        return [float(number) for number in re.findall(r"^\S+ (-?[\d.e+-]+)$", out, re.M)]

    def agree(self, ours, theirs):
        self.assertTrue(theirs)
        self.assertEqual(len(ours), len(theirs))
        for a, b in zip(ours, theirs):
            self.assertAlmostEqual(a, b, delta=1e-4 * max(1, abs(b)))

    def test_provider(self):
        for library in libraries():
            theirs = self.sums(library, "-", "", MODEL)
            for device in "cpu", "sim":
                with self.subTest(library=library.name, device=device):
                    self.agree(self.sums(library, PROVIDER, device, MODEL), theirs)

    @unittest.skipIf(SANITIZED, "a sanitizer does not work behind a library that is preloaded")
    def test_preload(self):
        for library in libraries():
            theirs = self.sums(library, "-", "", MODEL)
            with self.subTest(library.name), tempfile.TemporaryDirectory() as folder:
                report = pathlib.Path(folder) / "report"
                ours = self.sums(library, "-", "", MODEL, LD_PRELOAD=PRELOAD, ONPU_ORT="sim",
                                 ONPU_ORT_LIBRARY=PROVIDER, ONPU_ORT_OPTIONS=f"report={report},threads=1")
                self.agree(ours, theirs)
                self.assertIn("npu\tconv2d\t", report.read_text(encoding="utf-8"))

    @unittest.skipIf(SANITIZED, "a sanitizer does not work behind a library that is preloaded")
    @unittest.skipUnless(shutil.which("node") and NODE.exists(), "there is no Node, or no onnxruntime-node")
    def test_preload_in_node(self):
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder) / "report"
            results = []
            for environment in {}, {"LD_PRELOAD": PRELOAD, "ONPU_ORT": "sim", "ONPU_ORT_LIBRARY": PROVIDER,
                                    "ONPU_ORT_OPTIONS": f"report={report}"}:
                done = subprocess.run(["node", "-e", SCRIPT], env=os.environ | environment, check=True, text=True,
                                      stdout=subprocess.PIPE, timeout=60)
                results.append(json.loads(done.stdout))
            self.agree(results[1], results[0])
            self.assertIn("npu\tconv2d\t", report.read_text(encoding="utf-8"))

    @unittest.skipIf(SANITIZED, "a sanitizer does not work behind a library that is preloaded")
    def test_preload_that_is_off(self):
        library = next(libraries())
        self.sums(library, "-", "", MODEL, LD_PRELOAD=PRELOAD)

    @unittest.skipIf(SANITIZED, "a sanitizer does not work behind a library that is preloaded")
    def test_preload_errors(self):
        library = next(libraries())
        for environment, words in (({"ONPU_ORT": "gpu"}, "ONPU_ORT must be npu, npu:NUMBER, sim or cpu"),
                                   ({"ONPU_ORT": "cpu", "ONPU_ORT_LIBRARY": "/nowhere.so"}, "/nowhere.so"),
                                   ({"ONPU_ORT": "cpu", "ONPU_ORT_OPTIONS": "threads=1," * 40 + "speed=1"},
                                    "there is no option speed"),
                                   ({"ONPU_ORT": "cpu", "ONPU_ORT_OPTIONS": "speed=1"},
                                    "there is no option speed")):
            with self.subTest(environment):
                _, _, err = self.run_client(library, "-", "", MODEL, LD_PRELOAD=PRELOAD,
                                            **({"ONPU_ORT_LIBRARY": PROVIDER} | environment))
                self.assertIn(words, err)

    def test_threads(self):
        library = next(libraries())
        status, out, err = self.run_client(library, PROVIDER, "cpu", MODEL, 16, *(RUNS or [50]))
        self.assertEqual(status, 0, out + err)
        held = {name: (int(before), int(after)) for name, before, after in re.findall(r"^(\w+) (\d+) (\d+)$", out, re.M)}
        self.assertEqual(sorted(held), ["descriptors", "heap", "mappings"])
        print(held)
        self.assertEqual(*held["descriptors"])
        if RUNS:
            # The smallest leak, one object in one of eight runs, would add seven times the allowed
            # 1 %.
            self.assertLess(held["heap"][1], held["heap"][0] * 1.01)
            self.assertLess(held["mappings"][1], held["mappings"][0] + MAPPINGS)


if __name__ == "__main__":
    if not any(libraries()):
        print(f"skipped: there is no ONNX Runtime in {SAMPLES}; ./npu check fetches it from npm and PyPI")
        sys.exit(77)
    if not MODEL.exists():
        print(f"skipped: there is no {MODEL}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=0)
