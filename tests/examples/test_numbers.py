#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the examples that need no model with numpy and scikit-learn: test_numbers.py PROGRAMS
SAMPLES.
"""
import math
import re

import numpy as np
from sklearn.cluster import KMeans

from common import USAGE, ExampleTest, main, on_devices, pseudo_random

# The sizes of transformer.c, and the number of rows and columns of a large matrix.
WIDTH, HEADS, HIDDEN, SIDE = 64, 4, 256, 96


class Matmul(ExampleTest):
    def matrix(self, name, values):
        path = self.folder / name
        np.savetxt(path, values)
        return path

    @on_devices
    def test_product(self, device):
        random = np.random.default_rng(3)
        a = random.uniform(-1, 1, (37, 50))
        b = random.uniform(-1, 1, (50, 23))
        got = self.numbers("matmul", "--device", device, self.matrix("a", a), self.matrix("b", b))
        self.near(got, a @ b)

    def test_refusals(self):
        a, b = self.matrix("a", np.ones((2, 3))), self.folder / "b"
        self.refuses("a of shape [2,3] has 3 columns, but b of shape [2,3] has 2 rows", "matmul", a, a)
        b.write_text("1 2\n3\n", encoding="ascii")
        self.refuses("row 2 has 1 numbers, and those before have 2", "matmul", a, b)
        b.write_text("1 two\n", encoding="ascii")
        self.refuses('"two', "matmul", a, b)
        b.write_text("\n", encoding="ascii")
        self.refuses("there is no number in it", "matmul", a, b)


def layer(words, weights):
    """Returns the layer's output for all words, computed at once, without a cache, in double
    precision.
    """
    def normal(x):
        return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)

    def heads(x):
        return x.reshape(len(x), HEADS, -1).swapaxes(0, 1)

    query, key, value, out, up, down = weights
    x = normal(words)
    scores = heads(x @ query) @ heads(x @ key).swapaxes(1, 2) / math.sqrt(WIDTH / HEADS)
    scores[:, np.triu(np.ones((len(words),) * 2, bool), 1)] = -np.inf
    scores = np.exp(scores - scores.max(2, keepdims=True))
    scores /= scores.sum(2, keepdims=True)
    x = words + (scores @ heads(x @ value)).swapaxes(0, 1).reshape(words.shape) @ out
    y = normal(x) @ up
    return x + y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))) / 2 @ down


class Transformer(ExampleTest):
    @on_devices
    def test_words(self, device):
        """Tests that the example, which has a cache, gives the same results as computing the whole
        text again for each word.
        """
        sizes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, HIDDEN), (HIDDEN, WIDTH)]
        weights = [pseudo_random(i, math.prod(s)).reshape(s) / math.sqrt(s[0])
                   for i, s in enumerate(sizes)]
        for prompt, count in (8, 16), (1, 64):
            words = pseudo_random(6, prompt * WIDTH).reshape(prompt, WIDTH)
            for _ in range(count):
                words = np.vstack([words, layer(words, weights)[-1:]])
            got = self.numbers("transformer", "--device", device, "--all", "--prompt", prompt,
                               "--words", count)
            self.near(got, words[prompt:])

    def test_refusals(self):
        self.refuses("there is room for 64 words only", "transformer", "-p", 60, "-w", 6,
                     status=USAGE)
        self.refuses('"0" is not from 1 to 64', "transformer", "-w", 0, status=USAGE)


class InFlight(ExampleTest):
    FRAMES = 60

    @staticmethod
    def summary(frame):
        y, x = np.mgrid[:SIDE, :SIDE]
        inside = (x - frame * 5 % SIDE)**2 + (y - frame * 3 % SIDE)**2 < (8 + frame % 24)**2
        picture = (x + y) / (2 * SIDE) + inside
        smooth = picture[:, :-2] + 2 * picture[:, 1:-1] + picture[:, 2:]
        down = smooth[2:] - smooth[:-2]
        smooth = picture[:-2] + 2 * picture[1:-1] + picture[2:]
        strength = np.hypot(smooth[:, 2:] - smooth[:, :-2], down)
        return strength.mean(), strength.max()

    @on_devices
    def test_frames(self, device):
        """Tests that each frame gets its own result, however many dispatches are in flight."""
        expected = np.array([self.summary(frame) for frame in range(self.FRAMES)])
        for flight in 1, 4, 16:
            text = self.run_example("inflight", "--device", device, "--frames", self.FRAMES,
                                    "--in-flight", flight)
            found = re.findall(r"^frame (\d+): mean (\S+), largest (\S+)$", text, re.M)
            self.assertEqual([int(row[0]) for row in found], list(range(self.FRAMES)))
            self.near(np.array([row[1:] for row in found], float), expected)

    def test_fewer_frames_than_fit(self):
        self.assertEqual(len(self.run_example("inflight", "-n", 2, "-f", 9).splitlines()), 2)


class Kmeans(ExampleTest):
    @staticmethod
    def first_centres(points, groups):
        chosen = [0]
        for _ in range(groups - 1):
            far = ((points[:, None] - points[chosen])**2).sum(2).min(1)
            chosen.append(int(far.argmax()))
        return points[chosen]

    @on_devices
    def test_groups(self, device):
        random = np.random.default_rng(11)
        middles = np.array([[0, 0, 0], [4, 0, 1], [0, 5, -2], [-3, -3, 3]], float)
        points = np.vstack([random.normal(m, 0.8, (60, 3)) for m in middles]).round(4)
        random.shuffle(points)
        np.savetxt(self.folder / "points", points, "%.4f")
        lines = self.run_example("kmeans", "--device", device, self.folder / "points", 4).splitlines()
        known = KMeans(4, init=self.first_centres(points, 4), n_init=1, tol=0).fit(points)
        self.near(np.array([line.split() for line in lines[:4]], float), known.cluster_centers_)
        self.assertEqual([int(line) for line in lines[4:]], known.labels_.tolist())

    def test_refusals(self):
        path = self.folder / "points"
        path.write_text("1 2\n3 4\n", encoding="ascii")
        self.refuses('"3" groups cannot be made of 2 points', "kmeans", path, 3)
        path.write_text("1 2\n3\n", encoding="ascii")
        self.refuses('"3" is no point like those before', "kmeans", path, 1)


if __name__ == "__main__":
    main()
