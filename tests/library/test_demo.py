#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests onpu-demo: each device and layer must give right results; one run records its results, and
another compares with them, to the bit.

test_demo.py ONPU_DEMO FOLDER_OF_DIGITS
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

PROGRAM = sys.argv[1]
DIGITS = pathlib.Path(sys.argv[2])
RIGHT = 357 # of 359: the network's own accuracy, 99.44 %


def convolve(x, name):
    """Returns relu of a 3 x 3 convolution with padding 1; x is [channel, height, width]."""
    w = numpy.load(DIGITS / f"{name}_w.npy").astype(float)
    padded = numpy.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    sums = numpy.einsum("cyxij,ocij->oyx", windows, w)
    return numpy.maximum(sums + numpy.load(DIGITS / f"{name}_b.npy")[:, None, None], 0)


def reference(image):
    """Returns the digit that the network sees, computed from its formula in train.py and its
    weights alone.
    """
    y = convolve(convolve(image[None] / 16.0, "conv1"), "conv2")
    y = convolve(y.reshape(24, 4, 2, 4, 2).max(axis=(2, 4)), "conv3")
    y = y.reshape(24, 2, 2, 2, 2).mean(axis=(2, 4)).reshape(-1)
    y = y @ numpy.load(DIGITS / "dense_w.npy") + numpy.load(DIGITS / "dense_b.npy")
    return int(y.argmax())


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        cls.run_demo("--record", cls.path / "record", "--json", cls.path / "here.json")
        cls.record = json.loads((cls.path / "record").read_text())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def run_demo(cls, *options, status=0, device="sim", **environment):
        done = subprocess.run([PROGRAM, "--device", device, "--models", cls.path / "none", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                              env={**os.environ, **environment})
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def compare(self, record, status=0):
        path = self.path / "changed"
        path.write_text(json.dumps(record))
        said = self.run_demo("--compare", path, "--json", self.path / "out.json", status=status)
        return said if status else json.loads((self.path / "out.json").read_text())

    def test_same_figures(self):
        here = json.loads((self.path / "here.json").read_text())
        there = self.compare(self.record)
        for data in here, there:
            self.assertEqual(data["digits"]["count"], 359)
            del data["digits"]["ms"]["sim"]
        self.assertAlmostEqual(here["digits"]["ms"].pop("cpu"), there["digits"]["ms"].pop("cpu"))
        self.assertEqual(here, there)

    def test_record_is_the_answer(self):
        """Tests that results are compared with those in the file, not with those that the CPU
        computes.
        """
        record = json.loads(json.dumps(self.record))
        rows = record["digits"]["cpu"]["results"]
        rows[7] = rows[7][1:] + rows[7][:1]
        self.assertIn("WRONG RESULTS on sim or cpu: their answers differ for 1 of 359 digits.",
                      self.compare(record, status=1))
        figures = json.loads((self.path / "out.json").read_text())["digits"]
        self.assertEqual((figures["agree"], figures["right"]), (358, {"sim": RIGHT, "cpu": RIGHT - 1}))

    def test_wrong_device(self):
        """Tests that a device with wrong results fails the demo, and that the message has the
        device's name, its accuracy and what to do.
        """
        record = json.loads(json.dumps(self.record))
        record["digits"]["cpu"]["results"][::20] = [[0.1] * 10] * 18
        said = self.compare(record, status=1)
        self.assertRegex(said, r"WRONG RESULTS on cpu: 3\d\d of 359 digits are right, 9\d\.\d\d%; "
                               r"at least 99\.4% are demanded\. Try WEBNN_CPU_LAYER=openblas")
        self.assertIn("troubleshooting.rst", said)
        self.assertNotIn("WRONG RESULTS on sim:", said)

    def changed(self, change):
        """Returns a copy of the digits network with some weights changed."""
        folder = self.path / "changed-weights"
        shutil.copytree(DIGITS, folder, dirs_exist_ok=True)
        weights = numpy.load(folder / "conv3_w.npy")
        change(weights)
        numpy.save(folder / "conv3_w.npy", weights)
        return folder

    def test_wrong_weights(self):
        """Tests that each device notices weights that were overwritten with zeros, as a fault of
        oneDNN once did.
        """
        def forget(weights):
            weights[:, :12] = 0
        folder = self.changed(forget)
        for device, names in (("sim", ("sim", "cpu")), ("cpu", ("cpu",))):
            said = self.run_demo("--digits", folder, device=device, status=1)
            for name in names:
                self.assertRegex(said, f"WRONG RESULTS on {name}: [0-9]+ of 359 digits are right")

    def test_no_number(self):
        def spoil(weights):
            weights[0] = numpy.nan
        said = self.run_demo("--digits", self.changed(spoil), device="cpu", status=1)
        self.assertRegex(said, r"WRONG RESULTS on cpu: result 0 of picture 0 is -?nan\.")

    def test_layers(self):
        """Tests that each layer of the CPU, and the device model, gives each picture the class that
        a formula in numpy gives.
        """
        images = numpy.load(DIGITS / "heldout_images.npy").reshape(-1, 8, 8)
        wanted = [reference(image) for image in images]
        labels = numpy.load(DIGITS / "heldout_labels.npy").tolist()
        self.assertEqual(sum(a == b for a, b in zip(wanted, labels)), RIGHT)
        records = {"sim": self.record["digits"]["sim"]}
        for layer in "openblas", "onednn":
            path = self.path / layer
            self.run_demo("--record", path, device="cpu", WEBNN_CPU_LAYER=layer)
            records[layer] = json.loads(path.read_text())["digits"]["cpu"]
        for name, record in records.items():
            self.assertEqual([int(numpy.argmax(row)) for row in record["results"]], wanted, name)

    def test_bits(self):
        """Tests that a record, whose numbers are decimal, keeps all bits of the results: two runs
        of the device model have equal records.
        """
        again = self.path / "again"
        self.run_demo("--record", again)
        self.assertEqual(json.loads(again.read_text())["digits"]["sim"]["results"],
                         self.record["digits"]["sim"]["results"])

    def test_missing(self):
        self.assertIn("no results of 'digits' on 'cpu'",
                      self.compare({"digits": {"sim": {}}}, status=1))
        short = json.loads(json.dumps(self.record))
        short["digits"]["cpu"]["results"].pop()
        self.assertIn("picture 358: 0 results recorded, not 10", self.compare(short, status=1))
        self.assertIn("nowhere", self.run_demo("--compare", "/nowhere", status=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
