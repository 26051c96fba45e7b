# SPDX-License-Identifier: MIT
"""decode(kind, bytes) turns the bytes of a tensor into floats, by the description of GGUF's types."""
import numpy as np


def bits(values, low, count):
    return values.astype(np.int32) >> low & (1 << count) - 1


def half(blocks, at):
    return blocks[:, at:at + 2].copy().view(np.float16).astype(np.float32)


def nibbles(data):
    """Returns the low halves of all bytes, then the high halves."""
    return np.concatenate([bits(data, 0, 4), bits(data, 4, 4)], axis=1)


def fifth(data):
    """Returns a column for each i from 0 to 31: 16 times bit i of the four bytes."""
    return np.stack([bits(data[:, i // 8], i % 8, 1) for i in range(32)], axis=1) * 16


def q4_0(b):
    return half(b, 0) * (nibbles(b[:, 2:]) - 8)


def q4_1(b):
    return half(b, 0) * nibbles(b[:, 4:]) + half(b, 2)


def q5_0(b):
    return half(b, 0) * (nibbles(b[:, 6:]) + fifth(b[:, 2:6]) - 16)


def q5_1(b):
    return half(b, 0) * (nibbles(b[:, 8:]) + fifth(b[:, 4:8])) + half(b, 2)


def q8_0(b):
    return half(b, 0) * b[:, 2:].view(np.int8)


def k_scales(b):
    """Returns eight scales and eight offsets: the twelve bytes after two half floats have 6 bits of each."""
    first, second, third = b[:, 4:8], b[:, 8:12], b[:, 12:16]
    scales = np.concatenate([bits(first, 0, 6), bits(third, 0, 4) + 16 * bits(first, 6, 2)], axis=1)
    offsets = np.concatenate([bits(second, 0, 6), bits(third, 4, 4) + 16 * bits(second, 6, 2)], axis=1)
    return half(b, 0) * scales, half(b, 2) * offsets


def k_numbers(b, at):
    """Returns the 4-bit numbers of four runs of 32 bytes from byte `at` on: 64 of each run."""
    return np.concatenate([nibbles(b[:, at + 32 * i:at + 32 * i + 32]) for i in range(4)], axis=1)


def q4_k(b):
    scales, offsets = k_scales(b)
    return np.repeat(scales, 32, 1) * k_numbers(b, 16) - np.repeat(offsets, 32, 1)


def q5_k(b):
    scales, offsets = k_scales(b)
    high = np.concatenate([bits(b[:, 16:48], i, 1) for i in range(8)], axis=1)
    return np.repeat(scales, 32, 1) * (k_numbers(b, 48) + 16 * high) - np.repeat(offsets, 32, 1)


def q6_k(b):
    parts = []
    for side in range(2):
        low, high = b[:, 64 * side:64 * side + 64], b[:, 128 + 32 * side:160 + 32 * side]
        lows = nibbles(low)
        highs = np.concatenate([bits(high, 2 * i, 2) for i in range(4)], axis=1)
        parts.append(lows + 16 * highs - 32)
    scales = half(b, 208) * b[:, 192:208].view(np.int8)
    return np.repeat(scales, 16, 1) * np.concatenate(parts, axis=1)


# A number of 4 bits selects an element of a table: IQ4 for IQ4_NL and IQ4_XS, E2M1 for MXFP4 of
# OCP.
IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def iq4_nl(b):
    return half(b, 0) * IQ4[nibbles(b[:, 2:])]


def iq4_xs(b):
    high = b[:, 2:4].copy().view(np.uint16)
    scales = np.concatenate([bits(b[:, 4 + i // 2:5 + i // 2], i % 2 * 4, 4) + 16 * bits(high, 2 * i, 2) for i in range(8)], axis=1)
    numbers = np.concatenate([nibbles(b[:, 8 + 16 * i:24 + 16 * i]) for i in range(8)], axis=1)
    return np.repeat(half(b, 0) * (scales - 32), 32, 1) * IQ4[numbers]


def mxfp4(b):
    return np.exp2(b[:, :1].astype(np.float32) - 127) * E2M1[nibbles(b[:, 1:])]


BLOCKS = {"Q4_0": (18, q4_0), "Q4_1": (20, q4_1), "Q5_0": (22, q5_0), "Q5_1": (24, q5_1),
          "Q8_0": (34, q8_0), "Q4_K": (144, q4_k), "Q5_K": (176, q5_k), "Q6_K": (210, q6_k),
          "IQ4_NL": (18, iq4_nl), "IQ4_XS": (136, iq4_xs), "MXFP4": (17, mxfp4)}


def decode(kind, data):
    if kind == "F32":
        return np.frombuffer(data, np.float32)
    if kind == "F16":
        return np.frombuffer(data, np.float16).astype(np.float32)
    if kind == "BF16":
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
    size, function = BLOCKS[kind]
    return function(np.frombuffer(data, np.uint8).reshape(-1, size)).astype(np.float32).reshape(-1)


# Offsets in bytes of the half floats in a block: that of the scale, then that of the offset.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0]}


def random_blocks(kind, rng, blocks, scale=None):
    """Returns blocks of random bits. Half floats have both signs; if @scale is given, no value is
    much larger than it.
    """
    data = rng.integers(0, 256, (blocks, BLOCKS[kind][0]), dtype=np.uint8)
    largest = {"Q4_0": 8, "Q4_1": 8, "Q5_0": 16, "Q5_1": 16, "Q8_0": 128, "Q4_K": 500, "Q5_K": 1000, "Q6_K": 4000,
               "IQ4_NL": 127, "IQ4_XS": 4000, "MXFP4": 6}[kind]
    if kind == "MXFP4":
        # The first byte is an exponent. Without a scale, exponents of the whole range are taken,
        # else those around the scale.
        middle = 127 + round(np.log2((scale or 1) / largest))
        data[:, 0] = np.arange(blocks) * 6 % 252 if scale is None else rng.integers(middle - 2, middle + 1, blocks)
        return data.tobytes()
    for at in HALVES[kind]:
        size = 2 if scale is None else scale / largest * (largest if at == 2 and kind in ("Q4_1", "Q5_1") else 1)
        data[:, at:at + 2] = rng.uniform(-size, size, (blocks, 1)).astype(np.float16).view(np.uint8)
    return data.tobytes()
