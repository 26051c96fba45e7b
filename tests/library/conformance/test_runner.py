#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests wnn-conformance on cases of this project: test_runner.py PROGRAM DEVICE

The cases of data/passing must pass, those of data/failing must fail for the reason in their
"failure", and the files of data/unreadable must be refused.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, DEVICE = sys.argv[1:3]
DATA = pathlib.Path(__file__).resolve().parent / "data"


def run(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        done = subprocess.run([PROGRAM, "--device", DEVICE, "--json", path, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              timeout=120)
        report = json.loads(path.read_text()) if path.exists() else None
    return done, report


class Runner(unittest.TestCase):
    def test_passing(self):
        done, report = run(DATA / "passing")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 4, "a line for each file and one for all")
        self.assertIn("1: opSupportLimits of the device lists no int4 for identity", lines[2])
        cases = [case for file in report["files"] for case in file["cases"]]
        passed = sum(case["result"] == "passed" for case in cases)
        self.assertEqual(lines[-1], f"{passed} passed, 0 failed, {len(cases) - passed} skipped")
        self.assertEqual((report["passed"], report["failed"], report["skipped"]),
                         (passed, 0, len(cases) - passed))
        stored = sum(len(json.loads(path.read_text())["cases"])
                     for path in DATA.glob("passing/**/*.json"))
        self.assertEqual(len(cases), stored)

    def test_path(self):
        """Tests that --json has a name of a file that is not UTF-8, with "?" for the other bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "val\udce8es.json"
            path.write_bytes((DATA / "passing/values.json").read_bytes())
            _, report = run(path)
        self.assertEqual([file["file"] for file in report["files"]], [f"{folder}/val?es.json"])

    def test_errors_are_measured(self):
        _, report = run(DATA / "passing/values.json")
        cases = {case["name"]: case for case in report["files"][0]["cases"]}
        self.assertEqual(cases["fill"]["error"], 0)
        self.assertEqual(cases["ULP: the last one that is allowed"]["error"], 1)
        self.assertEqual(cases["ULP: across zero"]["error"], 2)
        self.assertEqual(cases["ATOL"]["error"], 0.25)
        self.assertEqual(cases["RTOL"]["error"], 10)

    def test_work_is_done_by_the_device(self):
        _, report = run(DATA / "passing/values.json")
        for case in report["files"][0]["cases"]:
            if "npuCycles" in case:
                self.assertEqual(case["npuCycles"] > 0, DEVICE != "cpu", case["name"])

    def test_failing(self):
        for path in DATA.glob("failing/*.json"):
            reasons = {case["name"]: case["failure"] for case in json.loads(path.read_text())["cases"]}
            done, report = run(path)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(report["failed"], len(reasons))
            for case in report["files"][0]["cases"]:
                self.assertEqual(case["result"], "failed", case["name"])
                self.assertIn(reasons[case["name"]], case["reason"])
                self.assertIn(f"{case['name']}: {case['reason']}", done.stderr)

    def test_one_failure_is_enough(self):
        done, _ = run(DATA / "passing", DATA / "failing")
        self.assertEqual(done.returncode, 1)

    def test_skipped_is_not_passed(self):
        done, report = run("--case", "int4 of no operator", DATA / "passing")
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 0 failed, 1 skipped")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(report["skipped"], 1)
        case, = [case for file in report["files"] for case in file["cases"]]
        self.assertIn("lists no int4", case["reason"])

    @unittest.skipIf(DEVICE != "sim", "the CPU has all operators")
    def test_what_the_npu_lacks_is_skipped(self):
        done, report = run(DATA / "npu")
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 2 skipped")
        cases = {case["name"]: case for file in report["files"] for case in file["cases"]}
        for name in ("strides", "strides of a validation"):
            self.assertIn("1 operator cannot run on the NPU, and the policy NPUOnly allows no other device: "
                          "convTranspose2d: ", cases[name]["reason"])
        self.assertIn("channels", cases["refused by every device"]["reason"])
        done, _ = run("--mixed", DATA / "npu")
        self.assertEqual(done.stdout.splitlines()[-1], "2 passed, 1 failed, 0 skipped")

    @unittest.skipIf(DEVICE != "cpu", "the CPU has all types of all operators")
    def test_edges_of_the_definitions(self):
        done, report = run(DATA / "passing/edges.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(report["skipped"], 0)

    @unittest.skipIf(DEVICE != "cpu", "the CPU has all types of all operators")
    def test_four_bits(self):
        done, report = run("--case", "outsideSpec: int4 and back", DATA / "passing")
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 0 failed, 0 skipped")
        self.assertEqual(done.returncode, 0)

    def test_unreadable(self):
        for path in [*DATA.glob("unreadable/*.json"), DATA / "absent.json"]:
            done, _ = run(path)
            self.assertEqual(done.returncode, 1, path)
            self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")
        # This file opens, but reading from its start fails; a file that is not read has no line.
        done, _ = run("/proc/self/mem")
        self.assertIn("(file): it cannot be read: Input/output error", done.stderr)
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "link.json"
            link.symlink_to("none")
            self.assertIn("(file): it is a link to a file that is not there", run(link)[0].stderr)

    def test_other_formats_in_folders_are_passed_over(self):
        done, report = run(DATA / "unreadable")
        self.assertEqual(done.returncode, 1)
        names = [pathlib.Path(file["file"]).name for file in report["files"]]
        self.assertEqual(names, ["no_cases.json", "truncated.json"])

    def test_arguments(self):
        for arguments in (["--device", "tpu", str(DATA)], ["--sram", "much", str(DATA)],
                          ["--sram", "1Mx", str(DATA)], ["--sram", "-1M", str(DATA)],
                          ["--sram", "17179869184G", str(DATA)],
                          ["--threads", "-1", str(DATA)], []):
            done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertTrue(done.stderr, arguments)
        self.assertRegex(done.stderr, "those of this project are installed in /.*/webnn-npu/conformance")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
