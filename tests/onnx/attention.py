# SPDX-License-Identifier: MIT
"""Attention by numpy, on tensors [batch, heads, length, size]."""
import numpy


def softmax(x):
    with numpy.errstate(invalid="ignore"):
        weights = numpy.exp(x - numpy.max(x, -1, keepdims=True))
    return numpy.nan_to_num(weights / weights.sum(-1, keepdims=True))


def attend(q, k, v, bias=0.0, scale=None, softcap=0.0):
    """Returns (result, scaled product of q and k, capped product, masked product, weights); softcap
    0: no cap, scale None: 1 / sqrt(size)."""
    k, v = (numpy.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    product = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5)
    capped = softcap * numpy.tanh(product / softcap) if softcap else product
    masked = capped + bias
    weights = softmax(masked)
    return weights @ v, product, capped, masked, weights


def heads(x, count):
    """Returns [batch, length, heads * size] as [batch, heads, length, size]; flat() is the reverse."""
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def flat(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)
