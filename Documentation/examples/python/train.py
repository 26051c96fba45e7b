# SPDX-License-Identifier: MIT
"""Trains a small network on points of two spirals with NumPy alone, and saves it as spirals.webnn.

The last line that it prints tells how many of 100 new points the saved network, read back, puts
into the right spiral.
"""
import numpy as np
import webnn_npu

random = np.random.default_rng(1)


def spirals(count):
    """Returns points, and for each the spiral that it is on."""
    kind = random.integers(0, 2, count)
    angle = random.uniform(0.5, 2.5, count) * np.pi
    points = np.stack([np.cos(angle + np.pi * kind), np.sin(angle + np.pi * kind)], axis=1) * angle[:, None] / 4
    return (points + random.normal(0, 0.03, points.shape)).astype(np.float32), kind


def train(steps=1500, width=32, rate=0.02):
    """Returns the weights of three layers, found by gradient descent with momentum (Adam)."""
    points, kind = spirals(400)
    target = np.eye(2, dtype=np.float32)[kind]
    sizes = [(2, width), (width,), (width, width), (width,), (width, 2), (2,)]
    weights = [random.normal(0, 1 / np.sqrt(size[0]), size).astype(np.float32) if len(size) > 1
               else np.zeros(size, np.float32) for size in sizes]
    means, squares = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    for step in range(1, steps + 1):
        h1 = np.tanh(points @ weights[0] + weights[1])
        h2 = np.tanh(h1 @ weights[2] + weights[3])
        scores = h2 @ weights[4] + weights[5]
        share = np.exp(scores - scores.max(1, keepdims=True))
        d3 = (share / share.sum(1, keepdims=True) - target) / len(points)
        d2 = d3 @ weights[4].T * (1 - h2 * h2)
        d1 = d2 @ weights[2].T * (1 - h1 * h1)
        slopes = [points.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0)]
        for weight, slope, mean, square in zip(weights, slopes, means, squares):
            mean += 0.1 * (slope - mean)
            square += 0.01 * (slope * slope - square)
            weight -= rate * (mean / (1 - 0.9 ** step)) / (np.sqrt(square / (1 - 0.99 ** step)) + 1e-8)
    return weights


def network(context, weights, count):
    """Builds the graph that classifies `count` points."""
    builder = context.create_graph_builder()
    value = builder.input("points", [count, 2])
    for number in range(3):
        value = builder.gemm(value, builder.constant(weights[2 * number]), builder.constant(weights[2 * number + 1]),
                             label=f"layer {number}")
        value = builder.tanh(value) if number < 2 else builder.softmax(value, 1)
    return builder.build({"share": value})


context = webnn_npu.ML().create_context()
network(context, train(), 500).save("spirals.webnn")

graph = webnn_npu.MLGraph.load("spirals.webnn")
points, kind = spirals(500)
share = context.compute(graph, {"points": points})["share"]
for row in graph.placement()[:3]:
    print(row["operator"], row["label"], "on", row["device"])
print(f"{100 * np.mean(share.argmax(1) == kind):.0f} of 100 points are sorted right on {context.device}")
