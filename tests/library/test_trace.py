#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""model-run --profile and --trace: the table adds up, the trace is what viewers read.

test_trace.py MODEL_RUN [OPTION...]
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM, OPTIONS = sys.argv[1], sys.argv[2:]
LANES = {1: "control", 2: "load", 3: "store", 4: "matrix", 5: "vector"}


def write_npy(path, shape):
    """Float32 zeros and ones by turns."""
    count = 1
    for size in shape:
        count *= size
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (tuple(shape),)
    head += " " * (-(len(head) + 11) % 64) + "\n"
    data = struct.pack("<%df" % count, *[i % 2 for i in range(count)])
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            picture, trace = pathlib.Path(folder) / "x.npy", pathlib.Path(folder) / "trace.json"
            write_npy(picture, (1, 1, 8, 8))
            done = subprocess.run(
                [PROGRAM, "digits", "--device", "sim", *OPTIONS, "--input", picture, "--profile",
                 "--trace", trace],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
            cls.table = done.stdout.splitlines()
            cls.events = json.loads(trace.read_text())["traceEvents"]

    def test_lanes(self):
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.events
                 if e["ph"] == "M" and e["name"] == "thread_name"}
        for lane, name in LANES.items():
            self.assertEqual(names[2, lane], name)
        self.assertEqual(names[1, 1], "dispatch")

    def test_within_dispatch(self):
        spans = [e for e in self.events if e["ph"] == "X"]
        dispatch = next(e for e in spans if (e["pid"], e["tid"]) == (1, 1))
        self.assertGreater(dispatch["dur"], 0)
        self.assertEqual(dispatch["args"]["spilled_programs"], 0)
        for event in spans:
            self.assertGreaterEqual(event["ts"], dispatch["ts"])
            self.assertLessEqual(event["ts"] + event["dur"],
                                 dispatch["ts"] + dispatch["dur"] + 1e-6)

    def test_engines(self):
        events = [e for e in self.events if e["ph"] == "X" and e["pid"] == 2]
        job = next(e for e in self.events if e["ph"] == "X" and (e["pid"], e["tid"]) == (1, 2))
        self.assertEqual(max(e["args"]["end_cycle"] for e in events), job["args"]["cycles"])
        labels = {e["name"] for e in events}
        self.assertLessEqual({"conv1", "conv2", "dense", "softmax", "end of the job"}, labels)
        for event in events:
            self.assertTrue(event["args"]["instruction"])
            self.assertGreaterEqual(event["args"]["stall_cycles"], 0)
            if event["args"]["instruction"] != "end":
                self.assertTrue(event["args"]["operator"])
        for lane in LANES:
            end = 0
            for event in sorted((e for e in events if e["tid"] == lane),
                                key=lambda e: (e["args"]["start_cycle"], e["args"]["end_cycle"])):
                self.assertGreaterEqual(event["args"]["start_cycle"], end)
                end = event["args"]["end_cycle"]
                self.assertAlmostEqual(
                    event["dur"], (end - event["args"]["start_cycle"]) * job["dur"] /
                    job["args"]["cycles"], places=3)

    def test_table(self):
        total, rest = map(int, re.match(r"(\d+) cycles, (\d+) of them",
                                        next(t for t in self.table if " of them" in t)).groups())
        rows = [t for t in self.table if "%" in t and "busy" not in t]
        self.assertEqual(sum(int(t.split("%")[0].split()[-2]) for t in rows) + rest, total)
        engines = [re.match(r"(\w+) +(\d+) instructions, busy +(\d+)", t) for t in self.table if "busy" in t]
        self.assertEqual([e.group(1) for e in engines], list(LANES.values()))
        for lane, engine in zip(LANES, engines):
            events = [e["args"] for e in self.events if e["ph"] == "X" and (e["pid"], e["tid"]) == (2, lane)]
            self.assertEqual(len(events), int(engine.group(2)))
            self.assertEqual(sum(e["end_cycle"] - e["start_cycle"] for e in events), int(engine.group(3)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
