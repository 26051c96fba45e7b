# SPDX-License-Identifier: MIT
"""Reads pages with ONNX Runtime. The steps before and after the networks do the same as those of
Documentation/examples/ocr.c, with numpy and scipy."""
import itertools

import numpy as np
import scipy.ndimage

from common import session

HEIGHT, STEP, DIRECTION = 48, 160, 192
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def taps(size, length):
    """Returns weights [size, length] for scaling: each row is a triangle as wide as the pixels that
    it covers.
    """
    scale = length / size
    middles = (np.arange(size) + 0.5)[:, None] * scale
    weights = np.maximum(1 - np.abs(np.arange(length) + 0.5 - middles) / max(scale, 1), 0)
    return weights / weights.sum(1, keepdims=True)


def scale(pixels, width, height):
    """Returns the picture [rows, columns, colours] scaled to [colours, height, width], with its
    values divided by 255.
    """
    rows = np.tensordot(taps(height, pixels.shape[0]), pixels, (1, 0))
    return np.tensordot(taps(width, pixels.shape[1]), rows, (1, 1)).transpose(2, 1, 0) / 255


def rounded(x):
    return int(np.floor(x + 0.5))


class Reader:
    def __init__(self, folder):
        self.detection = session(folder / "ch_PP-OCRv4_det_infer.onnx")
        self.direction = session(folder / "ch_ppocr_mobile_v2.0_cls_infer.onnx")
        self.recognition = session(folder / "ch_PP-OCRv4_rec_infer.onnx")
        self.symbols = (folder / "ppocr_keys_v1.txt").read_text("utf-8").split("\n")
        if self.symbols[-1] == "":
            self.symbols.pop()
        self.symbols.append(" ")

    @staticmethod
    def run(network, planes):
        return network.run(None, {network.get_inputs()[0].name: planes[None].astype(np.float32)})[0][0]

    def detect(self, page, side):
        """Returns boxes of text, each (left, top, right, bottom) in pixels of the page; the page is
        scaled so that its longer side is at most `side` pixels."""
        factor = min(1, side / max(page.shape[:2]))
        height, width = (max(rounded(size * factor / 32), 1) * 32 for size in page.shape[:2])
        planes = scale(page, width, height)
        planes = (planes - np.array(MEAN)[:, None, None]) / np.array(DEVIATION)[:, None, None]
        text = self.run(self.detection, planes)[0]
        labels, _ = scipy.ndimage.label(text > 0.3, np.ones((3, 3)))
        y_scale, x_scale = page.shape[0] / height, page.shape[1] / width
        boxes = []
        for rows, columns in scipy.ndimage.find_objects(labels):
            h, w = rows.stop - rows.start, columns.stop - columns.start
            if min(h, w) < 3 or text[rows, columns].mean() < 0.5:
                continue
            more = 1.6 * w * h / (2 * (w + h))
            boxes.append((max(0, rounded((columns.start - more) * x_scale)),
                          max(0, rounded((rows.start - more) * y_scale)),
                          min(page.shape[1], rounded((columns.stop + more) * x_scale)),
                          min(page.shape[0], rounded((rows.stop + more) * y_scale))))
        return boxes

    @staticmethod
    def cut_out(page, box, most, step):
        left, top, right, bottom = box
        width = max(1, min(int(np.ceil(HEIGHT * (right - left) / (bottom - top))), most))
        planes = np.zeros((3, HEIGHT, -(-width // step) * step))
        planes[:, :, :width] = (scale(page[top:bottom, left:right], width, HEIGHT) - 0.5) / 0.5
        return planes

    def read_box(self, page, box):
        steps = self.run(self.recognition, self.cut_out(page, box, STEP * 20, STEP))
        classes = [int(k) for k, _ in itertools.groupby(steps.argmax(1)) if k]
        return "".join(self.symbols[k - 1] for k in classes)

    @staticmethod
    def lines(boxes):
        """Returns a list of boxes for each line of text, from left to right. A box belongs to the
        line before if its middle is above the lower edge of the first box that was put into that
        line.
        """
        lines = []
        for box in sorted(boxes, key=lambda b: b[1] + b[3]):
            if lines and (box[1] + box[3]) // 2 < lines[-1][0][3]:
                lines[-1].append(box)
            else:
                lines.append([box])
        return [sorted(line) for line in lines]

    def read(self, page, side):
        """Returns the text and the boxes of a page [rows, columns, red green blue]."""
        page = page[:, :, ::-1].astype(float)
        boxes = self.detect(page, side)
        turned = [self.run(self.direction, self.cut_out(page, box, DIRECTION, DIRECTION))[1] > 0.5
                  for box in boxes]
        if sum(turned) * 2 > len(boxes):
            page = page[::-1, ::-1]
            boxes = self.detect(page, side)
        lines = self.lines(boxes)
        text = "".join(" ".join(self.read_box(page, box) for box in line) + "\n" for line in lines)
        return text, [box for line in lines for box in line]
