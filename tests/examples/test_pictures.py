#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the examples that take pictures with ONNX Runtime: test_pictures.py PROGRAMS SAMPLES."""
import pathlib
import sys

import numpy as np
import onnx
from PIL import Image

from common import SAMPLES, SHARED, ExampleTest, main, needs, on_devices, session

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "onnx"))
import shared_models  # pylint: disable=wrong-import-position

FACE, PANDA = SAMPLES / "face.png", SHARED / "mobilenetv2/test.jpg"
LABELS = SHARED / "squeezenet/labels1001.txt"
ULTRAFACE = SHARED / "onnx/ultraface_version-RFB-320.onnx"
SUPER = SHARED / "onnx/super_resolution_core_op18.onnx"
MARGIN = 8


def run(model, array):
    runtime = session(model)
    return runtime.run(None, {runtime.get_inputs()[0].name: array.astype(np.float32)})


def scaled(path, width, height):
    """Returns a picture scaled by Pillow, which rounds to integers, as floats [height, width, 3].
    """
    with Image.open(path) as picture:
        picture = picture.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
        return np.asarray(picture).astype(float)


def softmax(x):
    x = np.exp(x - x.max())
    return x / x.sum()


class Classify(ExampleTest):
    def classify(self, *arguments):
        """Returns [(class, probability, label)], best first."""
        lines = [line.split(maxsplit=2) for line in
                 self.run_example("classify", *arguments).splitlines()]
        return [(int(line[1]), float(line[0]), "".join(line[2:])) for line in lines]

    def check_best(self, found, expected, tolerance):
        self.assertEqual(sorted(found, key=lambda row: -row[1]), found)
        for number, probability, _ in found:
            self.assertAlmostEqual(probability, expected[number], delta=tolerance)
        self.assertAlmostEqual(sum(row[1] for row in found),
                               np.sort(expected)[-len(found):].sum(), delta=tolerance)

    @on_devices
    def test_digits(self, device):
        """Classifies pictures that the network was not trained with; they need no scaling."""
        images = np.load(shared_models.DIGITS / "heldout_images.npy")[:12]
        digits = np.load(shared_models.DIGITS / "heldout_labels.npy")
        model, path = self.folder / "digits.onnx", self.folder / "digit.png"
        model.write_bytes(shared_models.digits())
        for image, digit in zip(images, digits):
            Image.fromarray(image).save(path)
            expected = softmax(run(model, image[None, None] / 16)[0][0].astype(float))
            found = self.classify("-d", device, "-s", 16, "--softmax", "-t", 3, model, path)
            self.check_best(found, expected, 2e-5)
            self.assertEqual(found[0][0], digit)

    def test_layouts_and_colours(self):
        """Tests models that take planes or pixels, with a mean and a deviation for each colour."""
        random = np.random.default_rng(4)
        pixels = random.integers(0, 256, (6, 5, 3)).astype(np.uint8)
        path, model = self.folder / "x.png", self.folder / "x.onnx"
        Image.fromarray(pixels).save(path)
        mean, deviation = np.array([10, 20, 30.5]), np.array([50, 60, 70])
        weights = random.uniform(-1, 1, (90, 4)).astype(np.float32)
        expected = (pixels - mean) / deviation
        for shape, array in ([1, 3, 6, 5], expected.transpose(2, 0, 1)), ([1, 6, 5, 3], expected):
            net = shared_models.Network(shape)
            net.reshape(1, 90)
            net.add("MatMul", weights)
            model.write_bytes(net.finish())
            found = self.classify("-m", "10,20,30.5", "-s", "50,60,70", model, path)
            self.check_best(found, (array.reshape(1, 90) @ weights)[0], 1e-4)
            self.assertEqual(len(found), 4)

    @needs(PANDA, LABELS)
    @on_devices
    def test_photograph(self, device):
        model = self.folder / "squeezenet.onnx"
        model.write_bytes(shared_models.squeezenet())
        options = ["-d", device, "--mean", 127.5, "--deviation", 127.5]
        expected = run(model, (scaled(PANDA, 224, 224)[None] - 127.5) / 127.5)[0][0]
        found = self.classify(*options, model, PANDA, LABELS)
        self.check_best(found, expected, 0.005)
        self.assertEqual([row[2] for row in found[:2]], ["lesser panda", "teddy"])
        # A picture of the right size is not scaled, so that both sides have the same numbers.
        exact = self.folder / "exact.png"
        Image.fromarray(scaled(PANDA, 224, 224).astype(np.uint8)).save(exact)
        self.check_best(self.classify(*options, model, exact), expected, 1e-5)

    def test_refusals(self):
        path, model = self.folder / "x.png", self.folder / "x.onnx"
        Image.new("L", (8, 8)).save(path)
        self.refuses("is neither one number nor three", "classify", "-m", "1,2", "m", "p", status=64)
        net = shared_models.Network([1, 64])
        net.add("Relu")
        model.write_bytes(net.finish())
        self.refuses("its input is no picture", "classify", model, path)
        path.write_bytes(path.read_bytes()[:40])
        self.refuses(str(path), "classify", model, path)
        path.write_bytes(b"\xff\xd8\xff" + bytes(60))
        self.refuses("", "classify", model, path)


class Detect(ExampleTest):
    def check_faces(self, device, path, threshold):
        """Checks that the example prints the boxes and probabilities that ONNX Runtime gives after
        the removal of overlapping boxes; returns the printed rows.
        """
        scores, boxes = run(ULTRAFACE, ((scaled(path, 320, 240) - 127) / 128).transpose(2, 0, 1)[None])
        with Image.open(path) as picture:
            size = picture.size
        scores, boxes = scores[0, :, 1], boxes[0] * np.tile(size, 2)
        expected = []
        for i in np.argsort(-scores):
            if scores[i] < threshold:
                break
            if all(self.overlap(boxes[i], box) <= 0.3 for box, _ in expected):
                expected.append((boxes[i], scores[i]))
        got = self.run_example("detect", "-d", device, "-t", threshold, ULTRAFACE, path)
        got = np.array([line.split() for line in got.splitlines()], float).reshape(-1, 5)
        self.assertEqual(len(got), len(expected))
        for row, (box, score) in zip(got, expected):
            self.assertLess(np.abs(row[:4] - box).max(), 0.01 * size[0])
            self.assertAlmostEqual(row[4], score, delta=0.02)
        return got

    @staticmethod
    def overlap(a, b):
        size = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
        return size / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - size)

    @needs(ULTRAFACE, FACE)
    @on_devices
    def test_face(self, device):
        face = self.check_faces(device, FACE, 0.9)
        self.assertEqual(len(face), 1)
        # The box is around the eyes and the mouth of the one person in the picture.
        left, top, right, bottom, _ = face[0]
        self.assertTrue(160 < left < 200 < 250 < right < 290 and 40 < top < 90 < 150 < bottom < 200)

    @needs(ULTRAFACE, PANDA)
    @on_devices
    def test_animal(self, device):
        """Tests that the network finds the animal's face with a low threshold, and no face with a
        high one.
        """
        self.assertEqual(len(self.check_faces(device, PANDA, 0.7)), 1)
        self.assertEqual(len(self.check_faces(device, PANDA, 0.9)), 0)

    @needs(ULTRAFACE)
    def test_refusals(self):
        path, model = self.folder / "x.png", self.folder / "x.onnx"
        Image.new("RGB", (8, 8)).save(path)
        self.refuses("is not between 0 and 1", "detect", "-t", "7", "m", "p", status=64)
        net = shared_models.Network([1, 3, 8, 8])
        net.add("Relu")
        model.write_bytes(net.finish())
        self.refuses('the network has no output "boxes" of 4 columns', "detect", model, path)


@needs(SUPER)
class Upscale(ExampleTest):
    @staticmethod
    def whole(brightness):
        """Returns the network's result for a picture of any size, computed in one piece."""
        model = onnx.load(SUPER)
        for value in *model.graph.input, *model.graph.output:
            for dimension in value.type.tensor_type.shape.dim[2:]:
                dimension.ClearField("dim_value")
        del model.graph.value_info[:]
        return run(model.SerializeToString(), brightness[None, None])[0][0, 0]

    def check_picture(self, device, pixels):
        small, large = self.folder / "small.png", self.folder / "large.png"
        Image.fromarray(pixels).save(small)
        self.run_example("upscale", "--device", device, SUPER, small, large)
        got = np.asarray(Image.open(large)).astype(float)
        self.assertEqual(got.shape, (pixels.shape[0] * 3, pixels.shape[1] * 3, 3))
        brightness = pixels / 255 @ [0.299, 0.587, 0.114]
        expected = np.clip(self.whole(brightness), 0, 1) * 255
        # Colours are rounded, and clipped where the brightness would take them out of range.
        difference = np.abs(got @ [0.299, 0.587, 0.114] - expected)
        inside = (got > 0).all(2) & (got < 255).all(2)
        self.assertGreater(inside.mean(), 0.5)
        self.assertLess(difference[inside].max(), 1)
        return got

    @on_devices
    def test_seams(self, device):
        """Tests that tiles give the same result as the whole picture, also at their borders."""
        y, x = np.mgrid[:300, :450]
        waves = 128 + 60 * np.sin(x * y / 900)
        pixels = np.stack([waves, waves + 20, 210 - waves], 2).astype(np.uint8)
        got = self.check_picture(device, pixels)
        # Colours stay at their positions.
        means = got.reshape(300, 3, 450, 3, 3).mean((1, 3))
        self.assertLess(np.abs(means - pixels).mean(), 6)

    def test_one_tile(self):
        random = np.random.default_rng(5).integers(90, 160, (224, 224, 1)).repeat(3, 2)
        self.check_picture("cpu", random.astype(np.uint8))

    def test_small(self):
        """Tests that a picture smaller than a tile is padded with its edge pixels, which changes
        only results near the edge.
        """
        pixels = np.full((50, 70, 3), 77, np.uint8)
        small, large = self.folder / "small.png", self.folder / "large.png"
        Image.fromarray(pixels).save(small)
        self.run_example("upscale", SUPER, small, large)
        got = np.asarray(Image.open(large)).astype(int)
        self.assertEqual(got.shape, (150, 210, 3))
        self.assertLess(np.abs(got[30:, 30:] - 77).max(), 6)

    def test_refusals(self):
        path, model = self.folder / "x.png", self.folder / "x.onnx"
        Image.new("RGB", (8, 8)).save(path)
        net = shared_models.Network([1, 3, 8, 8])
        net.add("Relu")
        model.write_bytes(net.finish())
        self.refuses("it does not make brightness larger", "upscale", model, path, path)
        self.refuses("No such file", "upscale", SUPER, path, self.folder / "none/x.png")


if __name__ == "__main__":
    main()
