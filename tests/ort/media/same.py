#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares results: same.py lines FILE FILE (within 1e-4), or same.py samples FILE (of sound.onnx)
"""
import array
import collections
import sys


def lines(ours, theirs):
    with open(ours, encoding="ascii") as one, open(theirs, encoding="ascii") as two:
        rows = [[[float(word) for word in line.split()] for line in file] for file in (one, two)]
    print(*rows, sep="\n", file=sys.stderr)
    assert len(rows[0]) == len(rows[1]) == 3
    for a, b in zip(*rows):
        assert len(a) == len(b) == 5
        assert max(abs(x - y) for x, y in zip(a, b)) <= 1e-4


def samples(file):
    """Checks that each sample is one that the model computed (0.5 from sound, 0.25 from silence) or
    silence from before, and that enough of them are 0.5.
    """
    with open(file, "rb") as data:
        content = data.read()
    count = collections.Counter(array.array("f", content[:len(content) // 4 * 4]))
    print(dict(count), file=sys.stderr)
    assert set(count) <= {0.0, 0.25, 0.5}
    assert count[0.5] >= 256 * 16


globals()[sys.argv[1]](*sys.argv[2:])
