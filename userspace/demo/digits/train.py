#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the digits network of the demo.

Data: the UCI "optical recognition of handwritten digits" test set that Debian's python3-sklearn ships (1797 pictures of
8x8 pixels, values 0..16). Every fifth picture (index % 5 == 4) is held out and never seen in training; the held-out
pictures and their labels are written beside the weights, so that the demo needs no Python.

Network (NCHW, filters oihw), input = pixel / 16:
    conv1 3x3 pad 1 -> 12, relu; conv2 3x3 pad 1 -> 24, relu; maxPool2d 2x2;
    conv3 3x3 pad 1 -> 24, relu; averagePool2d 2x2; reshape [n, 96]; gemm -> 10; softmax

The script needs numpy alone for the training and has a fixed seed; a run takes some seconds. The
bits of the weights depend on the numpy and BLAS at hand, so the committed files are the model, and
this script documents where they come from.

Usage: train.py [--epochs N] [--out DIR]
"""
import argparse
import pathlib

import numpy as np
from sklearn.datasets import load_digits

LAYERS = {"conv1": (12, 1, 3, 3), "conv2": (24, 12, 3, 3), "conv3": (24, 24, 3, 3), "dense": (96, 10)}


def columns(x):
    """Returns [n,h,w,c*9] for [n,c,h,w]: the 3x3 neighbourhood of each pixel, zero outside."""
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    win = np.lib.stride_tricks.sliding_window_view(p, (3, 3), axis=(2, 3))
    return win.transpose(0, 2, 3, 1, 4, 5).reshape(*x.shape[:1], *x.shape[2:], -1)


def conv(x, w, b):
    """Returns the result, [n,o,h,w], and columns(x), which conv_backward() takes."""
    cols = columns(x)
    y = cols @ w.reshape(w.shape[0], -1).T + b
    return y.transpose(0, 3, 1, 2), cols


def conv_backward(dy, cols, w):
    """Returns the gradients of the input, the weights and the bias for that of the result, dy."""
    n, o, h, wd = dy.shape
    d = dy.transpose(0, 2, 3, 1)
    dw = (d.reshape(-1, o).T @ cols.reshape(-1, cols.shape[-1])).reshape(w.shape)
    dcols = (d @ w.reshape(o, -1)).reshape(n, h, wd, w.shape[1], 3, 3)
    dx = np.zeros((n, w.shape[1], h + 2, wd + 2), np.float32)
    for i in range(3):
        for j in range(3):
            dx[:, :, i:i + h, j:j + wd] += dcols[..., i, j].transpose(0, 3, 1, 2)
    return dx[:, :, 1:-1, 1:-1], dw, d.sum((0, 1, 2))


def blocks(x):
    """Returns [n,c,h/2,2,w/2,2] for [n,c,h,w]: axes 3 and 5 are within a block of 2x2."""
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2)


def forward(p, x):
    """Returns all intermediate results by name, also the logits, of parameters p for pictures x."""
    t = {"x": x}
    t["y1"], t["c1"] = conv(x, p["conv1_w"], p["conv1_b"])
    t["r1"] = np.maximum(t["y1"], 0)
    t["y2"], t["c2"] = conv(t["r1"], p["conv2_w"], p["conv2_b"])
    t["r2"] = np.maximum(t["y2"], 0)
    t["m"] = blocks(t["r2"]).max((3, 5))
    t["y3"], t["c3"] = conv(t["m"], p["conv3_w"], p["conv3_b"])
    t["r3"] = np.maximum(t["y3"], 0)
    t["a"] = blocks(t["r3"]).mean((3, 5)).reshape(len(x), -1)
    t["logits"] = t["a"] @ p["dense_w"] + p["dense_b"]
    return t


def backward(p, t, labels, drop):
    """Returns the gradients of the mean cross entropy by parameter. t is what forward() returned;
    drop is what its t["a"] was multiplied by (dropout).
    """
    n = len(labels)
    z = t["logits"] - t["logits"].max(1, keepdims=True)
    prob = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    d = prob
    d[np.arange(n), labels] -= 1
    d /= n
    g = {"dense_w": t["a"].T @ d, "dense_b": d.sum(0)}
    d = ((d @ p["dense_w"].T) * drop).reshape(n, 24, 2, 2)
    d = np.repeat(np.repeat(d, 2, 2), 2, 3) / 4 * (t["y3"] > 0)
    d, g["conv3_w"], g["conv3_b"] = conv_backward(d, t["c3"], p["conv3_w"])
    first = blocks(t["r2"]) == t["m"][:, :, :, None, :, None]
    d = (first * d[:, :, :, None, :, None]).reshape(t["r2"].shape) * (t["y2"] > 0)
    d, g["conv2_w"], g["conv2_b"] = conv_backward(d, t["c2"], p["conv2_w"])
    _, g["conv1_w"], g["conv1_b"] = conv_backward(d * (t["y1"] > 0), t["c1"], p["conv1_w"])
    return g


def augment(x, rng):
    """Returns the pictures with a little noise, about half of them shifted by up to one pixel; what
    leaves on one side comes in on the other.
    """
    out = np.zeros_like(x)
    for i, (dy, dx) in enumerate(rng.integers(-1, 2, (len(x), 2))):
        out[i, 0] = np.roll(x[i, 0], (dy, dx), (0, 1)) if rng.random() < 0.5 else x[i, 0]
    return np.clip(out + rng.normal(0, 0.03, x.shape).astype(np.float32), 0, 1)


def train(x, y, epochs, rng):
    """Returns the parameters by name after training with Adam, pictures x and labels y."""
    p = {}
    for name, shape in LAYERS.items():
        fan_in = shape[0] if len(shape) == 2 else int(np.prod(shape[1:]))
        p[name + "_w"] = rng.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        p[name + "_b"] = np.zeros(shape[1] if len(shape) == 2 else shape[0], np.float32)
    m = {k: np.zeros_like(v) for k, v in p.items()}
    v = {k: np.zeros_like(w) for k, w in p.items()}
    step = 0
    for epoch in range(epochs):
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        order = rng.permutation(len(x))
        for i in range(0, len(x), 32):
            pick = order[i:i + 32]
            t = forward(p, augment(x[pick], rng))
            drop = ((rng.random(t["a"].shape) < 0.8) / 0.8).astype(np.float32)
            t["a"] = t["a"] * drop
            t["logits"] = t["a"] @ p["dense_w"] + p["dense_b"]
            g = backward(p, t, y[pick], drop)
            step += 1
            for k in p:
                grad = g[k] + (1e-4 * p[k] if k.endswith("_w") else 0)
                m[k] = 0.9 * m[k] + 0.1 * grad
                v[k] = 0.999 * v[k] + 0.001 * grad * grad
                p[k] -= (rate * (m[k] / (1 - 0.9 ** step))
                         / (np.sqrt(v[k] / (1 - 0.999 ** step)) + 1e-8)).astype(np.float32)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}", flush=True)
    return p


def main():
    parser = argparse.ArgumentParser(description="Train the digits network of the demo.")
    parser.add_argument("--epochs", type=int, default=40,
                        help="how often each picture is used (default: 40)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent,
                        help="the folder for the files (default: that of the script)")
    args = parser.parse_args()

    data = load_digits()
    images = data.images.astype(np.uint8)
    labels = data.target.astype(np.uint8)
    held = np.arange(len(labels)) % 5 == 4
    x = (images[:, None] / 16).astype(np.float32)
    p = train(x[~held], labels[~held], args.epochs, np.random.default_rng(2026))
    right = forward(p, x[held])["logits"].argmax(1) == labels[held]
    print(f"held-out: {right.sum()} of {held.sum()} right ({right.mean():.2%})")
    for name, w in p.items():
        np.save(args.out / f"{name}.npy", np.ascontiguousarray(w, "<f4"))
    np.save(args.out / "heldout_images.npy", images[held])
    np.save(args.out / "heldout_labels.npy", labels[held])


if __name__ == "__main__":
    main()
