#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the example ocr on pages that the test draws; compares with the drawn text and with ONNX
Runtime: test_ocr.py PROGRAMS SAMPLES.
"""
import pathlib
import unittest

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from common import SAMPLES, ExampleTest, main, needs

MODELS = SAMPLES / "ocr-models"
DETECTION, RECOGNITION = MODELS / "ch_PP-OCRv4_det_infer.onnx", MODELS / "ch_PP-OCRv4_rec_infer.onnx"
DIRECTION, KEYS = MODELS / "ch_ppocr_mobile_v2.0_cls_infer.onnx", MODELS / "ppocr_keys_v1.txt"
FONTS = pathlib.Path("/usr/share/fonts/truetype/dejavu")
SANS, SERIF, BOLD = (FONTS / f"DejaVu{name}.ttf" for name in ("Sans", "Serif", "Sans-Bold"))
TEXT = """\
The Open NPU reads this page.
A network marks the pixels of text,
another one tells up from down,
and a third one spells the letters.
It was drawn on 23 November 2026 with 12 lines.
Quick brown foxes jump over lazy dogs 1234567890
Every operator runs on the CPU or on the NPU.
Prices: 19.95 EUR, 7.50 USD, 100 percent.
Questions? Write to reader@example.org today!
Graphs have fixed shapes (one for each size).
Left to right, top to bottom, line by line.
The end of the page.
""".splitlines()
# For each page: font, points, size of the page, longest side for detection, lines, degrees of
# rotation, devices.
PAGES = {
    "sans": (SANS, 28, (1000, 860), 960, TEXT, 0, ["cpu"]),
    "upside down": (SERIF, 28, (1000, 860), 640, TEXT, 180, ["cpu"]),
    "shrunk": (BOLD, 44, (1600, 1300), 640, TEXT, 0, ["cpu"]),
    "narrow": (SANS, 30, (420, 400), 960, ["Ten short lines", "stand on a page", "that is narrow.",
                                      "NPU 42", "The end"], 0, ["cpu", "sim"]),
    "columns": (SANS, 28, (900, 224), 960, ["Left column\tRight column", "one two\tthree four",
                                       "fifty\tsixty"], 0, ["cpu", "sim"]),
}
MARGIN, TAB = 40, 480


def draw(page):
    font, points, size, _, lines, turned, _ = page
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    for i, line in enumerate(lines):
        for column, text in enumerate(line.split("\t")):
            pen.text((MARGIN + column * TAB, MARGIN + i * points * 1.9), text, fill=(20, 20, 60),
                     font=ImageFont.truetype(str(font), points))
    return image.rotate(turned)


def wrong(got, expected):
    """Returns how many characters have to be changed, added or removed."""
    row = np.arange(len(expected) + 1)
    for i, a in enumerate(got):
        before, row = row, row + 1
        row[0] = i + 1
        for j, b in enumerate(expected):
            row[j + 1] = min(before[j] + (a != b), before[j + 1] + 1, row[j] + 1)
    return row[-1]


@needs(MODELS, FONTS)
class Ocr(ExampleTest):
    @classmethod
    def setUpClass(cls):
        from ocr_reference import Reader  # pylint: disable=import-outside-toplevel
        cls.reference = Reader(MODELS)

    def ocr(self, device, path, *options):
        return self.run_example("ocr", "--device", device, "--direction", DIRECTION, *options,
                                DETECTION, RECOGNITION, KEYS, path)

    def check_page(self, name):
        """Checks that the example reads the drawn text with at most 2 wrong characters in 100, and
        exactly the text of ONNX Runtime. Returns the path of the page and the boxes of ONNX
        Runtime.
        """
        page = PAGES[name]
        image = draw(page)
        path = self.folder / f"{name}.png"
        image.save(path)
        expected, boxes = self.reference.read(np.asarray(image), page[3])
        drawn = "\n".join(page[4]).replace("\t", " ") + "\n"
        for device in page[6]:
            with self.subTest(f"{name} {device}"):
                text = self.ocr(device, path, "--side", page[3])
                self.assertEqual(text, expected)
                self.assertLessEqual(wrong(text, drawn), 0.02 * len(drawn), text)
        return path, boxes

    def test_narrow_page(self):
        self.check_page("narrow")

    def test_columns(self):
        """Tests that boxes are at the expected positions, and that lines are read across both
        columns.
        """
        path, boxes = self.check_page("columns")
        found = self.ocr("cpu", path, "--boxes")
        found = [[int(x) for x in line.split()[:4]] for line in found.splitlines()]
        self.assertEqual(len(found), len(boxes), found)
        self.assertLessEqual(np.abs(np.array(found) - boxes).max(), 1)

    def test_large_page(self):
        self.check_page("sans")

    def test_upside_down(self):
        self.check_page("upside down")

    def test_shrunk(self):
        self.check_page("shrunk")

    def test_nothing_to_read(self):
        path = self.folder / "empty.png"
        Image.new("RGB", (200, 100), "white").save(path)
        self.assertEqual(self.ocr("cpu", path), "")

    def test_refusals(self):
        path = self.folder / "page.png"
        Image.new("RGB", (64, 64), "white").save(path)
        self.refuses("is not from 32 to 4096", "ocr", "--side", "5", "a", "b", "c", "d", status=64)
        draw(PAGES["columns"]).save(path)
        keys = self.folder / "keys"
        keys.write_text("a\nb\n", encoding="ascii")
        self.refuses("6625 numbers in a row, and not 4", "ocr", DETECTION,
                     RECOGNITION, keys, path)
        self.refuses('of input "x" is 48 in the model', "ocr", RECOGNITION, RECOGNITION, KEYS, path)


if __name__ == "__main__":
    if not MODELS.exists():
        print(f"skipped: {MODELS} was not fetched (scripts/fetch-samples.sh)")
        raise SystemExit(77)
    unittest.TestCase.maxDiff = None
    main()
