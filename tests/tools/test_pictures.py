#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests pictures as inputs of webnn-run run: test_pictures.py WEBNN_RUN

The test makes the files, and the model returns its input, which must have the pixels of the file.
"""
import numpy as np
from onnx import TensorProto

import picture_files
from common import ToolTest, main, same


def write_png(path, pixels):
    """Writes bytes of [height, width, 3 or 1] as a PNG file; returns the path."""
    path.write_bytes(picture_files.png([row.tobytes() for row in pixels], pixels.shape[2]))
    return path


def write_jpeg(path, levels):
    """Writes grey blocks of 8x8 pixels as a JPEG file; returns the path."""
    path.write_bytes(picture_files.jpeg(levels.tolist()))
    return path


def scaled(pixels, size, axis):
    """Returns scaled pixels. Each new pixel is the mean of the old ones, weighted by a triangle
    that is as wide as the reduction.
    """
    old = pixels.shape[axis]
    ratio = old / size
    places = np.arange(old) + 0.5
    weights = np.array([np.maximum(0, 1 - np.abs(places - (i + 0.5) * ratio) / max(ratio, 1))
                        for i in range(size)])
    weights /= weights.sum(1, keepdims=True)
    return np.moveaxis(np.tensordot(weights, pixels, (1, axis)), 0, axis)


class Pictures(ToolTest):
    def setUp(self):
        super().setUp()
        self.pixels = np.random.default_rng(3).integers(0, 256, (6, 5, 3), dtype=np.uint8)
        self.png = write_png(self.folder / "p.png", self.pixels)

    def elements(self, model, *options, picture=None):
        result = self.folder / "result.npy"
        self.tool("run", model, "-i", picture or self.png, "-o", result, *options)
        return np.load(result)

    def test_layouts(self):
        want = self.pixels / 255
        for shape, layout in (([1, 3, 6, 5], (2, 0, 1)), ([3, 6, 5], (2, 0, 1)),
                              ([1, 6, 5, 3], (0, 1, 2)), ([6, 5, 3], (0, 1, 2))):
            got = self.elements(same(self.folder, "same", shape))
            np.testing.assert_allclose(got.reshape(shape[-3:]), want.transpose(layout), atol=1e-6)

    def test_layout_that_both_could_be(self):
        pixels = np.random.default_rng(4).integers(0, 256, (3, 4, 3), dtype=np.uint8)
        picture = write_png(self.folder / "q.png", pixels)
        model = same(self.folder, "same", [1, 3, 4, 3])
        got = self.elements(model, "--layout", "nhwc", picture=picture)
        np.testing.assert_allclose(got[0], pixels / 255, atol=1e-6)
        tall = self.elements(model, "--layout", "nchw", picture=picture)
        want = scaled(scaled(pixels / 255, 3, 1), 4, 0)
        np.testing.assert_allclose(tall[0], want.transpose(2, 0, 1), atol=1e-5)
        self.refuses(3, "with 1 or 3 channels C; this shape fits, but --layout names the other one: leave out --layout",
                     "run", same(self.folder, "last", [1, 6, 5, 3]), "-i", self.png, "--layout", "nchw")

    def test_numbers(self):
        model = same(self.folder, "same", [1, 3, 6, 5])
        got = self.elements(model, "--scale", "2", "--mean", "1,2,3", "--deviation", "4,5,8")
        want = (self.pixels * 2.0 - [1, 2, 3]) / [4, 5, 8]
        np.testing.assert_allclose(got[0], want.transpose(2, 0, 1), rtol=1e-6)
        got = self.elements(model, "--colours", "bgr", "--scale", "1")
        np.testing.assert_array_equal(got[0], self.pixels[:, :, ::-1].transpose(2, 0, 1))

    def test_integers(self):
        got = self.elements(same(self.folder, "same", [6, 5, 3], TensorProto.UINT8))
        np.testing.assert_array_equal(got, self.pixels)

    def test_grey(self):
        want = self.pixels @ [0.299, 0.587, 0.114]
        for shape in ([1, 1, 6, 5], [6, 5]):
            got = self.elements(same(self.folder, "same", shape), "--scale", 1)
            np.testing.assert_allclose(got.reshape(6, 5), want, rtol=1e-5)

    def test_resize(self):
        want = self.pixels.astype(float)
        for width, height in ((5, 6), (2, 3), (10, 12), (7, 2)):
            got = self.elements(same(self.folder, "same", [height, width, 3]),
                                "--scale", 1, "--layout", "nhwc")
            np.testing.assert_allclose(got, scaled(scaled(want, width, 1), height, 0), atol=1e-3)

    def test_shorter_side_and_crop(self):
        model = same(self.folder, "same", [8, 8, 3])
        got = self.elements(model, "--resize", 10, "--scale", 1)
        want = scaled(scaled(self.pixels.astype(float), 10, 1), 12, 0)
        np.testing.assert_allclose(got, want[2:10, 1:9], atol=1e-3)
        model = same(self.folder, "same", [4, 3, 3])
        got = self.elements(model, "--crop", "3x4", "--scale", 1)
        np.testing.assert_array_equal(got, self.pixels[1:5, 1:4])
        self.refuses(3, "the picture has 5x6 pixels, but 8x8 are to be cut out of its middle: give --resize 8x8 or "
                     "more\n", "run", same(self.folder, "same", [8, 8, 3]), "-i", self.png, "--crop", 8)
        self.refuses(3, "the picture has 7x8 pixels after --resize, but 8x8 are to be cut out of its middle: give "
                     "--resize 8x8 or more", "run", same(self.folder, "same", [8, 8, 3]), "-i", self.png, "--resize", "7x8")
        for size in (2, 9):
            self.refuses(3, f'--crop {size}x{size} is not the size of input "x", which takes 8x8 pixels', "run",
                         same(self.folder, "same", [8, 8, 3]), "-i", self.png, "--crop", size)

    def test_jpeg(self):
        levels = np.array([[0, 255, 128], [30, 200, 31]])
        picture = write_jpeg(self.folder / "p.jpg", levels)
        got = self.elements(same(self.folder, "same", [16, 24, 3]), "--scale", 1, picture=picture)
        want = np.kron(levels, np.ones((8, 8)))[:, :, None].repeat(3, 2)
        np.testing.assert_array_equal(got, want)

    def test_damaged(self):
        model = same(self.folder, "same", [16, 24, 3])
        levels = np.random.default_rng(9).integers(0, 256, (30, 40))
        for path, left in ((write_jpeg(self.folder / "p.jpg", levels), (0.9, 0.1)), (self.png, (0.7, 0.2))):
            whole = path.read_bytes()
            for part in left:
                path.write_bytes(whole[:int(len(whole) * part)])
                self.refuses(3, f"{path.name}: ", "run", model, "-i", path)

    def test_no_picture_fits(self):
        self.refuses(3, 'input "x" is float32 [1, 2, 6, 5] and takes no picture', "run",
                     same(self.folder, "same", [1, 2, 6, 5]), "-i", self.png)
        self.refuses(3, "takes a batch of 2", "run", same(self.folder, "same", [2, 3, 6, 5]), "-i",
                     self.png)


if __name__ == "__main__":
    main()
