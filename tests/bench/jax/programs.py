# SPDX-License-Identifier: MIT
"""Programs of JAX for ./npu bench jax: name, function that returns a function and its arguments.

The sizes are those at which a program takes about a millisecond on JAX's own CPU.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def normal(*shape, seed=0, kind=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def convolve(x, w, stride=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding)


@program
def resnet50():
    """ResNet-50 without its statistics of batches, which are in the weights of an application."""
    rng = np.random.default_rng(0)

    def filter_of(out, inner, size):
        return (rng.standard_normal((out, inner, size, size)) * np.sqrt(2 / (inner * size * size))).astype(np.float32)

    weights, width = [filter_of(64, 3, 7)], 64
    for blocks, inner in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            weights += [filter_of(inner, width, 1), filter_of(inner, inner, 3), filter_of(inner * 4, inner, 1) * 0.3]
            if not block:
                weights.append(filter_of(inner * 4, width, 1))
            width = inner * 4
    weights.append(normal(2048, 1000) * np.float32(0.02))

    def run(x, weights):
        left = iter(weights)
        x = jax.nn.relu(convolve(x, next(left), 2))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME")
        for stage, blocks in enumerate((3, 4, 6, 3)):
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                y = jax.nn.relu(convolve(x, next(left)))
                y = jax.nn.relu(convolve(y, next(left), stride))
                y = convolve(y, next(left))
                x = jax.nn.relu(y + (x if block else convolve(x, next(left), stride)))
        return x.mean((2, 3)) @ next(left)
    return run, (normal(1, 3, 224, 224), weights)


def step_of(loss):
    """Returns a step of gradient descent with momentum."""
    def step(state, *batch):
        weights, momenta = state
        value, gradients = jax.value_and_grad(loss)(weights, *batch)
        momenta = jax.tree.map(lambda m, g: 0.9 * m + g, momenta, gradients)
        return (jax.tree.map(lambda w, m: w - 0.01 * m, weights, momenta), momenta), value
    return step


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, logits.shape[-1]), -1))


@program
def train_dense():
    """Step of training of three dense layers, 64 pictures."""
    def loss(weights, x, labels):
        for w, b in weights[:-1]:
            x = jax.nn.relu(x @ w + b)
        return cross_entropy(x @ weights[-1][0] + weights[-1][1], labels)
    sizes = (784, 512, 256, 10)
    weights = [(normal(a, b) * np.float32(a ** -0.5), np.zeros(b, np.float32)) for a, b in zip(sizes, sizes[1:])]
    return step_of(loss), ((weights, jax.tree.map(np.zeros_like, weights)), normal(64, 784), np.arange(64) % 10)


@program
def train_convolutions():
    """Step of training of three convolutions, 32 pictures of 28x28."""
    def loss(weights, x, labels):
        for i, w in enumerate(weights[:-1]):
            x = jax.nn.relu(convolve(x, w, 2 if i else 1))
        return cross_entropy(x.reshape(len(x), -1) @ weights[-1], labels)
    weights = [normal(8, 1, 3, 3) * np.float32(0.3), normal(16, 8, 3, 3) * np.float32(0.1),
               normal(32, 16, 3, 3) * np.float32(0.1), normal(32 * 49, 10) * np.float32(0.02)]
    return step_of(loss), ((weights, jax.tree.map(np.zeros_like, weights)), normal(32, 1, 28, 28), np.arange(32) % 10)


@program
def attention():
    def run(q, k, v):
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.125
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    return run, tuple(normal(1, 8, 256, 64, seed=i) for i in range(3))


@program
def layer_norm():
    def run(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        return centred * lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * scale + shift
    return run, (normal(1024, 768), normal(768), normal(768))


@program
def adam():
    def run(w, g, m, v):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        return w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v
    return run, tuple(abs(normal(1024, 1024, seed=i)) for i in range(4))


@program
def scan_recurrent():
    def run(x, h, w, u):
        def step(h, x):
            h = jnp.tanh(x @ w + h @ u)
            return h, h
        return lax.scan(step, h, x)
    return run, (normal(64, 8, 128), normal(8, 128), normal(128, 128) * np.float32(0.1), normal(128, 128) * np.float32(0.1))


@program
def while_small():
    return lambda x: lax.while_loop(lambda s: s[0] < 1000, lambda s: (s[0] + 1, s[1] * 1.001 + 0.5), (0, x)), (normal(16),)


@program
def gather_rows():
    return lambda table, i: table[i], (normal(50000, 128), np.random.default_rng(0).integers(0, 50000, 4096))


@program
def take_along():
    return (lambda x, i: jnp.take_along_axis(x, i, 1),
            (normal(512, 512), np.random.default_rng(0).integers(0, 512, (512, 512))))


@program
def scatter_add():
    return (lambda table, i, x: table.at[i].add(x),
            (normal(10000, 64), np.random.default_rng(0).integers(0, 10000, 4096), normal(4096, 64)))


@program
def sort():
    return lambda x: jnp.sort(x), (normal(200000),)


@program
def argsort():
    return lambda x: jnp.argsort(x, -1), (normal(256, 512),)


@program
def permutation():
    return lambda key: jax.random.permutation(jax.random.wrap_key_data(key), 100000), (np.array([0, 7], np.uint32),)


@program
def top_k():
    return lambda x: lax.top_k(x, 10), (normal(64, 8400),)


@program
def max_pool_gradient():
    def run(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").sum()
    return jax.grad(run), (normal(8, 64, 64, 16),)


@program
def uniform():
    return lambda key: jax.random.uniform(jax.random.wrap_key_data(key), (1000, 1000)), (np.array([0, 7], np.uint32),)


@program
def gaussian():
    return lambda key: jax.random.normal(jax.random.wrap_key_data(key), (1000, 1000)), (np.array([0, 7], np.uint32),)


@program
def categorical():
    return (lambda key, logits: jax.random.categorical(jax.random.wrap_key_data(key), logits),
            (np.array([0, 7], np.uint32), normal(64, 8192)))


@program
def bfloat16_product():
    return lambda a, b: a @ b, (normal(256, 512).astype(jnp.bfloat16), normal(512, 512).astype(jnp.bfloat16))


@program
def bfloat16_layer():
    return (lambda x, w, b: jax.nn.gelu(x @ w + b),
            (normal(128, 256).astype(jnp.bfloat16), normal(256, 1024).astype(jnp.bfloat16), normal(1024).astype(jnp.bfloat16)))


@program
def interp():
    return lambda x, xp, fp: jnp.interp(x, xp, fp), (normal(100000), np.sort(normal(1000)), normal(1000))


@program
def fft():
    return lambda x: jnp.fft.fft(x), ((normal(64, 1024) + 1j * normal(64, 1024, seed=1)).astype(np.complex64),)


@program
def rfft2():
    return lambda x: jnp.fft.rfft2(x), (normal(8, 256, 256),)


@program
def solve():
    return lambda a, b: jnp.linalg.solve(a, b), (normal(128, 128), normal(128, 8))


@program
def determinant():
    return lambda a: jnp.linalg.det(a), (normal(16, 64, 64),)


@program
def cholesky():
    a = normal(128, 128)
    return lambda a: jnp.linalg.cholesky(a), (a @ a.T + 128 * np.eye(128, dtype=np.float32),)


@program
def singular_values():
    return lambda a: jnp.linalg.svd(a, compute_uv=False), (normal(128, 128),)


@program
def inverse():
    return lambda a: jnp.linalg.inv(a), (normal(128, 128),)


@program
def cumulative_sum():
    return lambda x: jnp.cumsum(x, -1), (normal(512, 1024),)


@program
def searchsorted():
    return lambda a, x: jnp.searchsorted(a, x), (np.sort(normal(10000)), normal(50000))


@program
def one_hot_mean():
    return (lambda labels, x: jax.nn.one_hot(labels, 100).T @ x / 64, (np.arange(4096) % 100, normal(4096, 64)))


@program
def segment_sum():
    return (lambda x, i: jax.ops.segment_sum(x, i, 100), (normal(20000, 32), np.arange(20000) % 100))


@program
def histogram():
    return lambda x: jnp.histogram(x, 64, (-4.0, 4.0))[0], (normal(100000),)


@program
def unique():
    return lambda x: jnp.unique(x, size=1000), (np.random.default_rng(0).integers(0, 1000, 50000),)


@program
def median():
    return lambda x: jnp.median(x, 0), (normal(101, 1000),)


@program
def embedding_gradient():
    def loss(table, tokens):
        return (table[tokens] ** 2).sum()
    return jax.grad(loss), (normal(5000, 64), np.random.default_rng(0).integers(0, 5000, 2048))
