#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs unmodified programs of JAX on the plugin: test_jax.py LIBRARY RECORDER SAMPLES RELEASE
DEVICE

Each runs on the device and on JAX's own CPU, and the results must agree. JAX of that RELEASE is in
SAMPLES (scripts/fetch-samples.sh); without it the test is skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY, RECORDER, SAMPLES, RELEASE, DEVICE = sys.argv[1:6]
JAX = pathlib.Path(SAMPLES) / "jax" / RELEASE
MODULE = pathlib.Path(__file__).resolve().parents[2] / "bindings/jax"
if not JAX.is_dir():
    print(f"skipped: there is no {JAX}; ./npu check fetches it where PyPI is reached")
    sys.exit(77)
os.environ.update(ONPU_PJRT_PLUGIN=os.path.abspath(LIBRARY), WEBNN_DEVICE=DEVICE, JAX_PLATFORMS="onpu,cpu", ONPU_PJRT_COUNT="4",
                  PYTHONPATH=f"{JAX}:{MODULE}")
sys.path[:0] = [str(JAX), str(MODULE)]

import jax  # pylint: disable=wrong-import-position
import jax.numpy as jnp  # pylint: disable=wrong-import-position
import numpy  # pylint: disable=wrong-import-position
from jax.ad_checkpoint import checkpoint_name  # pylint: disable=wrong-import-position
from jax import lax  # pylint: disable=wrong-import-position
from jax.experimental import io_callback, serialize_executable  # pylint: disable=wrong-import-position
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # pylint: disable=wrong-import-position

RANDOM = numpy.random.default_rng(1)
# The NPU computes float32 products in parts of float16.
RTOL, ATOL = (2e-4, 2e-5) if DEVICE == "cpu" else (2e-2, 1e-2)


def random(*shape):
    return RANDOM.normal(size=shape).astype(numpy.float32)


A, B, X, K = random(5, 5), random(5, 3), random(1, 3, 8, 8), random(4, 3, 3, 3)
S = A @ A.T + 5 * numpy.eye(5, dtype=numpy.float32)
LABELS = numpy.eye(4, dtype=numpy.float32)[RANDOM.integers(0, 4, 32)]
WEIGHTS = [(random(8, 16), numpy.zeros(16, numpy.float32)), (random(16, 4), numpy.zeros(4, numpy.float32))]
BATCH = random(32, 8)


def loss(weights, x, y):
    for w, b in weights[:-1]:
        x = jax.nn.relu(x @ w + b)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(x @ weights[-1][0] + weights[-1][1]) * y, -1))


@jax.jit
def step(weights, x, y):
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, slopes), value


def rebuilt(w, v):
    """Returns the matrix that has these eigenvalues and eigenvectors. Unlike the eigenvectors, it
    does not depend on the choice of their signs."""
    return (v * w) @ jnp.conj(v.T)


def strictly(program):
    """Calls a function while JAX allows no implicit promotion of types; returns its result."""
    with jax.numpy_dtype_promotion("strict"):
        return program()


def train():
    """Returns the losses of five training steps; each is one program that computes the gradients
    and updates the weights.
    """
    weights, losses = WEIGHTS, []
    for _ in range(5):
        weights, value = step(weights, BATCH, LABELS)
        losses.append(value)
    return losses


def key():
    return jax.random.PRNGKey(3)


PROGRAMS = {
    "dot": lambda: jax.jit(jnp.dot)(A, B),
    "eager": lambda: jnp.ones(3) + jnp.asarray(A).T[:3, 0],
    "train": train,
    "grad": lambda: jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(A),
    "hessian": lambda: jax.hessian(lambda x: jnp.sum(x ** 3))(A[0]),
    "vmap": lambda: jax.vmap(lambda a: a @ a.T)(numpy.stack([A, A * 2])),
    "checkpoint": lambda: jax.grad(jax.checkpoint(lambda x: jnp.sum(jnp.sin(x))))(A),
    "conv": lambda: lax.conv_general_dilated(X, K, (1, 1), "SAME"),
    "pool": lambda: lax.reduce_window(X, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
    "softmax": lambda: jax.nn.softmax(A),
    "fft": lambda: jnp.fft.fft(A),
    "rfft": lambda: jnp.fft.irfft(jnp.fft.rfft(B, axis=0), axis=0),
    "cholesky": lambda: jnp.linalg.cholesky(S),
    "solve": lambda: jnp.linalg.solve(S, B),
    "qr": lambda: jnp.linalg.qr(B),
    "qr-full": lambda: jnp.linalg.qr(B, mode="complete"),
    "qr-wide": lambda: jnp.linalg.qr(numpy.stack([B.T, -B.T])),
    "qr-zero": lambda: jnp.linalg.qr(jnp.zeros((3, 2))),
    "qr-gradient": lambda: jax.grad(lambda a: jnp.sum(jnp.linalg.qr(a)[1]))(B),
    "qr-complex": lambda: strictly(lambda: jnp.linalg.qr(B + 1j * B[::-1])),
    "qr-scale": lambda: [r / scale for scale in (1e30, 1e-30) for r in jnp.linalg.qr(B * numpy.float32(scale))[1:]],
    "eigvalsh": lambda: jax.jit(jnp.linalg.eigvalsh)(numpy.stack([S, -S])),
    "eigh": lambda: rebuilt(*jnp.linalg.eigh(S + 1j * (A - A.T), symmetrize_input=False)),
    "eigh-upper": lambda: rebuilt(*jnp.linalg.eigh(S, UPLO="U")),
    "eig": lambda: [jnp.sort(jnp.abs(w)) for w in (jnp.linalg.eigvals(A), jnp.linalg.eigvals(A + 1j * A.T))],
    "svd-values": lambda: jnp.linalg.svd(numpy.stack([B, B[::-1] * 2]), compute_uv=False),
    "svd": lambda: (lambda u, s, v: (u * s) @ v)(*jnp.linalg.svd(B.T, full_matrices=False)),
    "schur": lambda: (lambda t, q: q @ t @ q.T)(*jax.scipy.linalg.schur(A)),
    "tridiagonal": lambda: [jnp.abs(x) for x in lax.linalg.tridiagonal(jnp.asarray(S), lower=True)[1:3]],
    "hessenberg": lambda: jnp.abs(jnp.triu(lax.linalg.hessenberg(jnp.asarray(A))[0], -1)),
    "det": lambda: jnp.linalg.det(S),
    "scan": lambda: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(5), A),
    "while": lambda: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 1.5), (0, A)),
    "fori": lambda: lax.fori_loop(0, 20, lambda i, a: a * 0.9 + i, A),
    "cond": lambda: [lax.cond(x > 0, lambda a: a + 1, lambda a: a - 1, A) for x in (1.0, -1.0)],
    "switch": lambda: jax.jit(lambda i, a: lax.switch(i, [lambda a: a, jnp.sin, jnp.cos], a))(2, A),
    "uniform": lambda: jax.random.uniform(key(), (7,)),
    "normal": lambda: jax.random.normal(key(), (7,)),
    "randint": lambda: jax.random.randint(key(), (7,), 0, 100),
    "permutation": lambda: jax.random.permutation(key(), 10),
    "split": lambda: jax.random.split(key(), 3),
    "categorical": lambda: jax.random.categorical(key(), A),
    "sort": lambda: (jnp.sort(A), jnp.argsort(A, axis=0), lax.top_k(A, 2)),
    "cumsum": lambda: jnp.cumsum(A, 0),
    "gather": lambda: jnp.asarray(A)[jnp.array([1, 3]), :2],
    "scatter": lambda: jnp.asarray(A).at[jnp.array([1, 3])].add(5.0),
    "erf": lambda: jax.scipy.special.erf(A),
    "bfloat16": lambda: jnp.asarray(B, jnp.bfloat16) * 2,
    "float8": lambda: jnp.asarray(A, jnp.float8_e4m3fn),
    "int8": lambda: jnp.asarray(B * 20, jnp.int8) + 1,
    "int4": lambda: jnp.asarray([1, -3], jnp.int4) + jnp.asarray([1, 2], jnp.int4),
    "complex": lambda: jnp.exp(1j * A),
    "bool": lambda: A > 0,
    "empty": lambda: jnp.zeros((0, 3)) + 1,
    "fortran": lambda: jnp.asarray(numpy.asfortranarray(B)) + jnp.asarray(B[::-1, ::-1]),
}


def leaves(value):
    return [numpy.asarray(leaf) for leaf in jax.tree.leaves(value)]


# Skips a test on releases that do not ask a plugin how arguments and results are sharded.
ASKS = unittest.skipIf(RELEASE.startswith("0.7."), "this release of JAX runs programs on one device of a plugin")


class Programs(unittest.TestCase):
    def test_platform(self):
        device = jax.devices()[0]
        self.assertEqual([other.id for other in jax.devices()], [0, 1, 2, 3])
        self.assertEqual((jax.default_backend(), str(device)), ("onpu", f"OnpuDevice(id=0, kind=\"{device.device_kind}\")"))
        self.assertIn(f"onpu {DEVICE}", device.device_kind)
        self.assertIn(f"device {DEVICE}", device.client.platform_version)

    def test_programs(self):
        for name, program in PROGRAMS.items():
            with self.subTest(name):
                ours = leaves(program())
                with jax.default_device(jax.devices("cpu")[0]):
                    theirs = leaves(program())
                self.assertEqual(len(ours), len(theirs))
                for a, b in zip(ours, theirs):
                    self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                    if a.dtype.kind in "fc":
                        numpy.testing.assert_allclose(a, b, RTOL, ATOL)
                    else:
                        numpy.testing.assert_array_equal(a, b)

    def test_float64(self):
        # Old releases have enable_x64 in jax.experimental.
        enable = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
        with enable(True):
            numpy.testing.assert_array_equal(jnp.asarray([0.1, 1e300]) * 3, numpy.array([0.1, 1e300]) * 3)

    def test_shardings(self):
        """Tests a mesh of one device: shardings, constraints, shard_map."""
        mesh = Mesh(numpy.array(jax.devices()[:1]), ("x",))
        placed = NamedSharding(mesh, PartitionSpec("x"))
        x = jax.device_put(jnp.arange(8.0), placed)
        y = jax.jit(lambda x: lax.with_sharding_constraint(x, placed) + 1)(x)
        numpy.testing.assert_array_equal(y, numpy.arange(8) + 1)
        total = jax.jit(jax.shard_map(lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=PartitionSpec("x"),
                                      out_specs=PartitionSpec()))(x)
        numpy.testing.assert_array_equal(total, numpy.arange(8))

    @ASKS
    def test_several_devices(self):
        """Tests shard_map with all collectives, pmap, automatic shardings and copies on four devices."""
        mesh = Mesh(numpy.array(jax.devices()).reshape(2, 2), ("x", "y"))
        spec = PartitionSpec
        a, v = random(8, 4), numpy.arange(8, dtype=numpy.float32)
        placed = jax.device_put(a, NamedSharding(mesh, spec("x", "y")))
        self.assertEqual([shard.data.shape for shard in placed.addressable_shards], [(4, 2)] * 4)
        numpy.testing.assert_array_equal(placed, a)

        def both(a, v):
            return (lax.psum(a, "x"), lax.pmax(a, ("x", "y")), lax.all_gather(v, "y", tiled=True),
                    lax.psum_scatter(a, "x", tiled=True), lax.ppermute(v, "x", [(0, 1), (1, 0)]),
                    lax.all_to_all(a, "y", 0, 1, tiled=True), a + lax.axis_index("x") * 10 + lax.axis_index("y"))

        got = jax.jit(jax.shard_map(
            both, mesh=mesh, in_specs=(spec("x", "y"), spec("x")),
            out_specs=(spec(None, "y"), spec(), spec(("x", "y")), spec("x", "y"), spec("x"), spec("x", "y"), spec("x", "y")),
            check_vma=False))(placed, v)
        tiles = a.reshape(2, 4, 2, 2).transpose(0, 2, 1, 3)  # [x, y, row, column]
        numpy.testing.assert_allclose(got[0], a[:4] + a[4:], 1e-6)
        numpy.testing.assert_array_equal(got[1], tiles.max((0, 1)))
        numpy.testing.assert_array_equal(got[2], numpy.concatenate([v[:4], v[:4], v[:4], v[:4], v[4:], v[4:], v[4:], v[4:]]))
        numpy.testing.assert_allclose(got[3], a[:4] + a[4:], 1e-6)
        numpy.testing.assert_array_equal(got[4], numpy.roll(v, 4))
        swapped = numpy.stack([[numpy.concatenate([tiles[x, 0, y * 2:][:2], tiles[x, 1, y * 2:][:2]], 1) for y in range(2)]
                               for x in range(2)])
        numpy.testing.assert_array_equal(got[5], numpy.block([[swapped[0, 0], swapped[0, 1]], [swapped[1, 0], swapped[1, 1]]]))
        numpy.testing.assert_allclose(got[6], a + numpy.repeat([0, 10], 4)[:, None] + numpy.repeat([0, 1], 2), 1e-6)
        # Without shard_map, the plugin divides the program by the shardings of its arguments.
        numpy.testing.assert_allclose(jax.jit(lambda a: jnp.tanh(a) @ a.T)(placed), numpy.tanh(a) @ a.T, RTOL, ATOL)
        turned = jax.jit(jnp.transpose, out_shardings=NamedSharding(mesh, spec("x", "y")))(placed)
        self.assertEqual(turned.addressable_shards[1].data.shape, (2, 4))
        numpy.testing.assert_array_equal(turned, a.T)
        numpy.testing.assert_allclose(jax.pmap(lambda v: v / lax.psum(v, "i"), axis_name="i")(v[4:]), v[4:] / 22, 1e-6)
        moved = jax.device_put(jnp.asarray(v), jax.devices()[3])
        self.assertEqual((moved + 1).devices(), {jax.devices()[3]})
        numpy.testing.assert_array_equal(moved + 1, v + 1)

    @ASKS
    def test_factors(self):
        """Tests rules with loops within shard_map, where each device has matrices of its own."""
        mesh = Mesh(numpy.array(jax.devices()[:2]), ("x",))
        a, spec = random(4, 3, 3), PartitionSpec("x")
        for name, function in ("qr", lambda a: jnp.linalg.qr(a)[1]), ("det", jnp.linalg.det):
            with self.subTest(name):
                made = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec))(a)
                numpy.testing.assert_allclose(made, function(a), RTOL, ATOL)

    def test_callbacks(self):
        """Programs call into Python: with results, in their order, and within a loop."""
        seen, two = [], jax.ShapeDtypeStruct((2,), numpy.float32)

        @jax.jit
        def program(x):
            jax.debug.callback(lambda x: seen.append(("debug", float(x[0]))), x)
            for i in range(2):
                io_callback(lambda x, i=i: seen.append((i, float(x[1]))), None, x, ordered=True)
            return lax.fori_loop(0, 3, lambda _, x: jax.pure_callback(lambda x: x * 2, two, x), x)

        numpy.testing.assert_array_equal(program(numpy.float32([1, 3])), [8, 24])
        jax.effects_barrier()
        self.assertEqual(seen, [("debug", 1), (0, 3), (1, 3)])

        def wrong(x):
            raise ValueError("not today")

        with self.assertRaisesRegex(Exception, "not today"):
            jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(wrong, two, x))(numpy.float32([1, 3])))

    @ASKS
    def test_callbacks_on_devices(self):
        """Tests that all devices get the results of one call; within shard_map, each device gets
        those of a call with its own slice."""
        mesh, seen = Mesh(numpy.array(jax.devices()), ("x",)), []
        spec, part = PartitionSpec("x"), jax.ShapeDtypeStruct((2,), numpy.float32)

        def count(x):
            seen.append(x.shape)
            return numpy.float32(len(seen)) + x

        x = jax.device_put(numpy.arange(8, dtype=numpy.float32), NamedSharding(mesh, spec))
        made = jax.jit(lambda x: 2 * io_callback(count, jax.ShapeDtypeStruct((8,), numpy.float32), 2 * x))(x)
        numpy.testing.assert_array_equal(made, 4 * numpy.arange(8) + 2)
        self.assertEqual(seen, [(8,)])

        def each(function):
            return jax.jit(jax.shard_map(lambda x: jax.pure_callback(function, part, x), mesh=mesh, in_specs=spec,
                                         out_specs=spec))(x)

        numpy.testing.assert_array_equal(each(lambda x: x + x[0]), [0, 1, 4, 5, 8, 9, 12, 13])

        def wrong(x):
            if x[0] == 4:
                raise ValueError("not this slice")
            return x

        with self.assertRaisesRegex(Exception, "ValueError: not this slice"):
            jax.block_until_ready(each(wrong))

    @ASKS
    def test_data_parallel(self):
        """Tests that a training step on four devices gives the results of a step on one."""
        mesh = Mesh(numpy.array(jax.devices()), ("data",))
        spec = PartitionSpec

        def parallel(weights, x, y):
            value, slopes = jax.value_and_grad(loss)(jax.tree.map(lambda w: lax.pcast(w, "data", to="varying")
                                                                  if hasattr(lax, "pcast") else lax.pvary(w, "data"),
                                                                  weights), x, y)
            slopes = lax.pmean(slopes, "data")
            return jax.tree.map(lambda w, slope: w - 0.1 * slope, weights, slopes), lax.pmean(value, "data")

        many = jax.jit(jax.shard_map(parallel, mesh=mesh, in_specs=(spec(), spec("data"), spec("data")), out_specs=spec()))
        for a, b in zip(leaves(many(WEIGHTS, BATCH, LABELS)), leaves(step(WEIGHTS, BATCH, LABELS))):
            numpy.testing.assert_allclose(a, b, RTOL, ATOL)

    @ASKS
    def test_automatic(self):
        """Tests that a training step is divided by the shardings of its arguments and results
        alone.
        """
        mesh = Mesh(numpy.array(jax.devices()).reshape(2, 2), ("data", "model"))

        def at(*axes):
            return NamedSharding(mesh, PartitionSpec(*axes))

        places = [(at(None, "model"), at("model")), (at("model", None), at())]
        many = jax.jit(step, in_shardings=(places, at("data"), at("data")), out_shardings=(places, at()))
        for a, b in zip(leaves(many(WEIGHTS, BATCH, LABELS)), leaves(step(WEIGHTS, BATCH, LABELS))):
            numpy.testing.assert_allclose(a, b, RTOL, ATOL)
        text = many.lower(WEIGHTS, BATCH, LABELS).compile().as_text()
        self.assertIn("all-reduce", text)
        self.assertIn("f32[16,8]", text)
        # A result whose sharding is open comes in parts.
        y = jax.jit(lambda x: jnp.tanh(x) @ numpy.ones((8, 2), numpy.float32))(jax.device_put(BATCH, at("data")))
        self.assertEqual(y.sharding.spec, PartitionSpec("data"))
        numpy.testing.assert_allclose(y, numpy.tanh(BATCH) @ numpy.ones((8, 2)), RTOL, ATOL)

    @unittest.skipIf(RELEASE == "0.7.2", "this release has no unreduced shardings")
    def test_open_sums(self):
        """Tests a product whose sum is made later: until then each device has an addend of its own.
        """
        mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
        spec = PartitionSpec
        with jax.set_mesh(mesh):
            a = jax.device_put(numpy.arange(4.0, dtype=numpy.float32).reshape(2, 2), spec(None, "x"))
            b = jax.device_put(numpy.arange(4.0, dtype=numpy.float32).reshape(2, 2), spec("x", None))
            product = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=spec(None, None, unreduced={"x"})))(a, b)
            self.assertEqual(product.sharding.spec.unreduced, {"x"})
            shards = [numpy.asarray(shard.data) for shard in product.addressable_shards]
            numpy.testing.assert_allclose(shards, [[[0, 0], [0, 2]], [[2, 3], [6, 9]]], rtol=RTOL, atol=ATOL)
            made = jax.sharding.reshard(product + product, spec("x", None))
            numpy.testing.assert_allclose(made, [[4, 6], [12, 22]], rtol=RTOL, atol=ATOL)

    def test_donation(self):
        x, y = jnp.arange(4.0) + 1, jnp.arange(4.0)
        place = x.unsafe_buffer_pointer()
        z = jax.jit(lambda x, y: x + y, donate_argnums=0)(x, y)
        self.assertEqual((x.is_deleted(), y.is_deleted(), z.unsafe_buffer_pointer()), (True, False, place))
        numpy.testing.assert_array_equal(z, [1, 3, 5, 7])
        with self.assertRaisesRegex((RuntimeError, ValueError), "deleted"):
            _ = x + 1

    def test_memories(self):
        mesh = Mesh(numpy.array(jax.devices()[:1]), ("x",))
        x = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, PartitionSpec(), memory_kind="device"))
        self.assertEqual(x.sharding.memory_kind, "device")
        numpy.testing.assert_array_equal(x, numpy.arange(4))
        self.assertEqual([memory.kind for memory in jax.devices()[0].addressable_memories()], ["device", "pinned_host"])
        with self.assertRaisesRegex(Exception, "Got memory kind: unpinned_host"):
            NamedSharding(mesh, PartitionSpec(), memory_kind="unpinned_host")
        before = jax.devices()[0].memory_stats()["bytes_in_use"]
        y = jax.device_put(numpy.zeros(1000, numpy.float32))
        self.assertEqual(jax.devices()[0].memory_stats()["bytes_in_use"], before + 4000)
        y.delete()
        self.assertEqual(jax.devices()[0].memory_stats()["bytes_in_use"], before)

    def test_offloading(self):
        """Tests arrays and results in the memory pinned_host, which do not count as the device's."""
        mesh = Mesh(numpy.array(jax.devices()[:1]), ("x",))
        device = NamedSharding(mesh, PartitionSpec(), memory_kind="device")
        host = device.with_memory_kind("pinned_host")
        before = jax.devices()[0].memory_stats()["bytes_in_use"]
        x = jax.device_put(numpy.arange(1000, dtype=numpy.float32), host)
        self.assertEqual((x.sharding.memory_kind, jax.devices()[0].memory_stats()["bytes_in_use"]), ("pinned_host", before))
        y = jax.device_put(x, device)
        self.assertEqual((y.sharding.memory_kind, jax.devices()[0].memory_stats()["bytes_in_use"]), ("device", before + 4000))
        z = jax.jit(lambda a: a * 2, in_shardings=device, out_shardings=host)(y)
        self.assertEqual((z.sharding.memory_kind, jax.devices()[0].memory_stats()["bytes_in_use"]),
                         ("pinned_host", before + 4000))
        numpy.testing.assert_array_equal(z, numpy.arange(1000) * 2)
        policy = jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=[], names_which_can_be_offloaded=["y"], offload_src="device",
            offload_dst="pinned_host")

        def program(a):
            b = checkpoint_name(jnp.sin(a), "y")
            return jnp.sum(jnp.cos(b) * b)

        numpy.testing.assert_allclose(jax.jit(jax.grad(jax.checkpoint(program, policy=policy)))(A),
                                      jax.grad(program)(A), RTOL, ATOL)

    def test_dlpack(self):
        """Tests that NumPy takes arrays as copies, and that JAX takes those of NumPy."""
        x = jnp.asarray(B)
        y = numpy.from_dlpack(x)
        with self.assertRaisesRegex(BufferError, "onpu is copied"):
            x.__dlpack__(copy=False)
        with self.assertRaisesRegex(BufferError, r"not of the device \(2, 0\)"):
            x.__dlpack__(dl_device=(2, 0))
        x.delete()
        numpy.testing.assert_array_equal(y, B)
        x = jnp.asarray(B)
        numpy.testing.assert_array_equal(jnp.from_dlpack(B), B)
        there = jax.dlpack.from_dlpack(B, device=jax.devices()[0])
        self.assertEqual(list(there.devices()), jax.devices()[:1])
        numpy.testing.assert_array_equal(there, B)
        # JAX imports arrays to its own CPU, also those of types that NumPy does not know.
        for kind in jnp.float32, jnp.bfloat16:
            numpy.testing.assert_array_equal(jnp.from_dlpack(x.astype(kind)), x.astype(kind))
        mine = jax.device_put(B, jax.devices("cpu")[0])
        numpy.testing.assert_array_equal(numpy.from_dlpack(mine), B)

    def test_cache(self):
        """Tests that a second process uses the compiled graphs that the first has saved."""
        code = ("import jax, jax.numpy as jnp; x = jnp.arange(4096.0).reshape(64, 64);"
                "print(float(jax.jit(lambda a: jnp.sum(jnp.tanh(a @ a.T)))(x)))")
        with tempfile.TemporaryDirectory() as above:
            folder = pathlib.Path(above) / "graphs"
            runs = []
            for _ in range(2):
                done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True,
                                      env=os.environ | {"ONPU_PJRT_CACHE_DIR": str(folder)})
                self.assertEqual(done.returncode, 0, done.stderr)
                runs.append((done.stdout, {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}))
            self.assertEqual(runs[0], runs[1])
            self.assertTrue(runs[0][1])
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
            file = folder / sorted(runs[0][1])[0]
            done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True,
                                  env=os.environ | {"ONPU_PJRT_CACHE_DIR": str(file), "JAX_PLATFORMS": "onpu"})
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the folder {file} of the environment variable ONPU_PJRT_CACHE_DIR cannot be used", done.stderr)

    def test_compiled(self):
        """Tests what JAX can ask about a compiled program, and that the program can be saved and
        loaded.
        """
        compiled = jax.jit(lambda x: jnp.sin(x) * 2).lower(jnp.arange(8.0)).compile()
        self.assertEqual(compiled.cost_analysis()["bytes accessed"], 64)
        self.assertEqual(compiled.memory_analysis().argument_size_in_bytes, 32)
        self.assertIn("HloModule", compiled.as_text())
        again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled),
                                                          execution_devices=jax.devices()[:1])
        numpy.testing.assert_array_equal(again(jnp.arange(8.0)), compiled(jnp.arange(8.0)))

    def test_errors(self):
        with self.assertRaisesRegex(Exception, "UNIMPLEMENTED: onpu: .*there is no function 'nothing'"):
            jax.jit(lambda x: jax.ffi.ffi_call("nothing", jax.ShapeDtypeStruct((8,), "float32"))(x))(jnp.arange(8.0))
        x = jnp.arange(3.0) + 1
        x.delete()
        with self.assertRaisesRegex(RuntimeError, "deleted"):
            _ = x + 1

    def test_sizes(self):
        """Tests that JAX's structures are as large as ours; they are larger where JAX has newer
        members.
        """
        code = ("import jax, jax.numpy as jnp; x = jax.jit(lambda x: x + 1)(jnp.arange(3.0)); print(x, jax.devices()[0]);"
                "jax.jit(jnp.sin).lower(x).compile().memory_analysis(); jax.devices()[0].memory_stats(); x.delete()")
        with tempfile.NamedTemporaryFile("r") as file:
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL,
                           env=os.environ | {"ONPU_PJRT_SIZES": file.name, "ONPU_PJRT_BEHIND": os.path.abspath(LIBRARY),
                                             "ONPU_PJRT_PLUGIN": os.path.abspath(RECORDER)})
            seen = {name: (int(theirs), int(ours)) for name, theirs, ours in map(str.split, file)}
        self.assertGreater(len(seen), 40)
        # Releases differ in the ends of these structures: (most bytes that may be missing, whether
        # there may be more).
        ends = {"Client_Create": (0, True), "Device_MemoryStats": (7, True), "Executable_GetCompiledMemoryStats": (8, True)}
        for name, (theirs, ours) in seen.items():
            with self.subTest(name):
                # A C structure ends with padding that JAX's sizes do not count.
                missing, more = ends.get(name, (7, False))
                self.assertGreaterEqual(theirs, ours - missing)
                self.assertTrue(more or theirs <= ours, (theirs, ours))

    def test_default(self):
        """Tests that without an NPU, and without WEBNN_DEVICE, other programs stay on JAX's own
        CPU.
        """
        environment = {name: value for name, value in os.environ.items() if name not in ("JAX_PLATFORMS", "WEBNN_DEVICE")}
        code = "import jax, jax_plugins.onpu as it; print(it.has_npu(), jax.default_backend(), jax.devices('onpu'))"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
        said = done.stdout.split()
        self.assertEqual(said[:2], ["True", "onpu"] if said[0] == "True" else ["False", "cpu"])
        self.assertEqual(" ".join(said[2:]), "[" + ", ".join(f"OnpuDevice(id={i})" for i in range(4)) + "]")
        self.assertEqual("is experimental" in done.stderr, said[0] == "True", done.stderr)

    def test_no_library(self):
        """Tests that a library that is missing or does not load costs other programs one line, and
        no traceback.
        """
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("JAX_PLATFORMS", "WEBNN_DEVICE")}
        code = "import jax; print(jax.numpy.arange(3).sum(), jax.default_backend())"
        with tempfile.NamedTemporaryFile(suffix=".so") as broken:
            for library in "/nowhere/libpjrt_onpu.so", broken.name:
                for platforms, status in (None, 0), ("cpu", 0), ("onpu", 1):
                    with self.subTest(library=library, platforms=platforms):
                        there = environment | {"ONPU_PJRT_PLUGIN": library}
                        if platforms:
                            there["JAX_PLATFORMS"] = platforms
                        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True,
                                              env=there)
                        self.assertEqual(done.returncode, status, done.stderr)
                        self.assertEqual(done.stderr.count("JAX cannot use the platform onpu: "), 1, done.stderr)
                        if status:
                            self.assertRegex(done.stderr,
                                             "Unable to initialize backend 'onpu': .*" + os.path.basename(library))
                        else:
                            self.assertEqual(done.stdout.split(), ["3", "cpu"])
                            self.assertNotIn("Traceback", done.stderr)

    def test_no_device(self):
        """Tests that a device that does not open ends programs that ask for onpu, and no others."""
        environment = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
        environment["WEBNN_DEVICE"] = "npu:7"
        code = "import jax; print(jax.numpy.arange(3).sum(), jax.default_backend())"
        for platforms, status in (None, 0), ("onpu", 1):
            with self.subTest(platforms):
                done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True,
                                      env=environment | ({"JAX_PLATFORMS": platforms} if platforms else {}))
                self.assertEqual(done.returncode, status, done.stderr)
                if platforms:
                    self.assertIn("/dev/accel/accel7 does not open", done.stderr)
                else:
                    self.assertEqual(done.stdout.split(), ["3", "cpu"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
