#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests webnn-run doctor, on this system and on made-up ones.

test_doctor.py WEBNN_RUN FOLDER-OF-SYSTEM.PY [LIBRARY]: the library breaks oneDNN where it is
preloaded.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
BROKEN = sys.argv[3] if len(sys.argv) > 3 else None
sys.path.insert(0, sys.argv[2])
import system  # noqa: E402

PAGES = "sys/kernel/mm/transparent_hugepage/enabled"


def run(*options, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("WEBNN_")}
    return subprocess.run([PROGRAM, "doctor", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=kept | environment, check=False)


class Doctor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.system = system.System(folder.name)
        self.system.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Abacus 9000\nflags\t\t: fpu\n")
        self.system.write(PAGES, "always [madvise] never\n")

    def ask(self, status=0, **environment):
        """Returns the findings about the made-up system, by their names."""
        done = run("--root", str(self.system.top), "--json=-", **environment)
        self.assertEqual(done.stderr, "")
        data = json.loads(done.stdout)
        self.assertEqual(data["works"], status == 0, data)
        self.assertEqual(done.returncode, status, data)
        for finding in data["findings"]:
            self.assertEqual(finding["fix"] is None, finding["verdict"] == "ok", finding)
        return {f["check"]: f for f in data["findings"]}

    def test_here(self):
        done = run()
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertEqual(done.returncode, 1 if re.search("^wrong ", done.stdout, re.M) else 0, done.stdout)
        name = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
        if name:
            self.assertIn(name[1], done.stdout)
        for word in "kernels", "oneDNN", "OpenBLAS", "threads", "pages", "model":
            self.assertRegex(done.stdout, f"(?m)^(ok|hint|wrong) +{word} ")

    def without_device(self):
        for name in "vendor", "device":
            self.system.write(f"sys/bus/pci/devices/{system.ADDRESS}/{name}", "0x1234\n")

    def test_no_device(self):
        self.without_device()
        found = self.ask()
        self.assertEqual(found["processor"]["what"], "Abacus 9000")
        self.assertEqual(found["pages"]["verdict"], "ok")
        self.assertIn("madvise", found["pages"]["what"])
        self.assertIn("graphs run on the CPU", found["device"]["what"])
        self.assertNotIn("driver", found)

    def test_npu_is_wanted(self):
        self.without_device()
        found = self.ask(status=1, WEBNN_DEVICE="npu")
        self.assertIn("no PCI device is an Open NPU", found["device"]["what"])

    def test_device(self):
        """Tests that the doctor reports a device's faults as onpu-smi check does."""
        self.system.write("lib/firmware/onpu/onpu_v1.bin", b"no firmware")
        found = self.ask()
        self.assertEqual(found["firmware"]["verdict"], "hint")
        self.assertIn("onpu-firmware", found["firmware"]["fix"])
        self.assertEqual(found["driver"]["verdict"], "ok")
        self.system.remove("dev/accel/accel0")
        found = self.ask(status=1)
        self.assertEqual((found["node"]["verdict"], found["node"]["device"]), ("wrong", system.ADDRESS))

    def test_pages(self):
        self.without_device()
        self.system.write(PAGES, "always madvise [never]\n")
        found = self.ask()
        self.assertEqual(found["pages"]["verdict"], "hint")
        self.assertIn("echo madvise", found["pages"]["fix"])
        self.system.remove(PAGES)
        self.assertEqual(self.ask()["pages"]["verdict"], "hint")

    def test_levels(self):
        self.without_device()
        found = self.ask(WEBNN_CPU_LEVEL="base")
        self.assertRegex(found["kernels"]["what"], "^level base, of base.*WEBNN_CPU_LEVEL asks for it")
        self.assertRegex(self.ask()["kernels"]["what"], "it is the best|an emulated one")
        found = self.ask(status=1, WEBNN_CPU_LEVEL="abacus")
        self.assertIn('WEBNN_CPU_LEVEL is "abacus"', found["kernels"]["what"])

    def test_layers(self):
        self.without_device()
        self.assertRegex(self.ask()["OpenBLAS"]["what"], "^version [0-9.]+.* for the processor .")
        found = self.ask(WEBNN_CPU_LAYER="openblas")["oneDNN"]
        self.assertEqual(found["verdict"], "hint")
        self.assertIn("Unset WEBNN_CPU_LAYER", found["fix"])
        found = self.ask(ONEDNN_MAX_CPU_ISA="SSE41")["oneDNN"]
        if found["verdict"] == "ok":
            self.assertRegex(found["what"], "version [0-9.]+ at level SSE41;")

    @unittest.skipUnless(BROKEN, "this build has no library that breaks oneDNN")
    def test_wrong_layer(self):
        """Tests that the self-test notices a oneDNN that computes wrong numbers, and that graphs
        run without it.
        """
        self.without_device()
        found = self.ask(status=1, LD_PRELOAD=BROKEN)
        self.assertEqual(found["oneDNN"]["verdict"], "wrong")
        self.assertRegex(found["oneDNN"]["what"], "^oneDNN [0-9.]+ computes a (convolution|product) of .* wrong")
        self.assertIn("Results are right without it", found["oneDNN"]["fix"])
        self.assertEqual(found["OpenBLAS"]["verdict"], "ok")
        done = run(LD_PRELOAD=BROKEN)
        self.assertRegex(done.stdout, "(?m)^wrong +oneDNN ")
        self.assertEqual(done.returncode, 1)

    def test_threads(self):
        self.without_device()
        online = sorted(os.sched_getaffinity(0))
        if len(online) < 2:
            self.skipTest("this machine has one processor")
        os.sched_setaffinity(0, online[:1])
        self.addCleanup(os.sched_setaffinity, 0, online)
        found = self.ask()["threads"]
        self.assertEqual(found["verdict"], "hint")
        self.assertIn("1, because this process may run on 1 of ", found["what"])

    def test_file(self):
        path = self.system.path("report.json")
        done = run("--json", str(path))
        self.assertIn("kernels", done.stdout)
        self.assertIn("kernels", [f["check"] for f in json.loads(path.read_text())["findings"]])

    def test_usage(self):
        done = run("model.onnx")
        self.assertEqual(done.returncode, 64)
        self.assertIn("doctor takes no model", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
