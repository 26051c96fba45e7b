# SPDX-License-Identifier: MIT
"""Rules for operations of linear algebra that JAX lowers to calls of functions of other platforms.

QR is made of Householder reflections, in the form in which LAPACK's geqrf leaves them. Triangular factors,
eigenvalues, singular values and forms that are similar to a matrix are custom calls, which the plugin computes with LAPACK.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def _reflect(a: Any) -> tuple[Any, Any]:
    """Returns R with the vectors of the reflections below it, and their factors: 1 - factor * v * conj(v)."""
    rows, columns = jnp.arange(a.shape[0]), jnp.arange(a.shape[1])
    count = min(a.shape)

    def step(j: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        a, factors = state
        alpha = a[j, j]
        tail = jnp.where(rows > j, a[:, j], 0)
        # Squares of small and large numbers are beyond the range of the type.
        scale = jnp.maximum(jnp.max(jnp.abs(tail)), jnp.abs(alpha))
        scale = jnp.where(scale == 0, 1, scale)
        below = jnp.sum(jnp.abs(tail / scale) ** 2)
        norm = scale * jnp.sqrt(jnp.abs(alpha / scale) ** 2 + below)
        beta = jnp.where(jnp.real(alpha) < 0, norm, -norm)
        # A column with zeros below the diagonal and a real number on it is not reflected.
        done = (below == 0) & (jnp.imag(alpha) == 0)
        factor = jnp.where(done, 0, (beta - alpha) / jnp.where(done, 1, beta))
        v = jnp.where(rows == j, 1, tail / jnp.where(done, 1, alpha - beta))
        rest = a - jnp.where(columns > j, jnp.conj(factor) * jnp.outer(v, jnp.conj(v) @ a), 0)
        column = jnp.where(rows > j, v, jnp.where(rows == j, jnp.where(done, alpha, beta), a[:, j]))
        return jnp.where(columns == j, column[:, None], rest), factors.at[j].set(factor)

    if not count:
        return a, jnp.zeros(0, a.dtype)
    return jax.lax.fori_loop(0, count, step, (a, jnp.zeros(count, a.dtype)))


def _multiply(a: Any, factors: Any) -> Any:
    """Returns the first columns of the product of the reflections in a."""
    rows = jnp.arange(a.shape[0])
    count = factors.shape[0]

    def step(i: Any, q: Any) -> Any:
        j = count - 1 - i
        v = jnp.where(rows > j, a[:, j], jnp.where(rows == j, 1, 0))
        return q - factors[j] * jnp.outer(v, jnp.conj(v) @ q)

    unit = jnp.eye(*a.shape, dtype=a.dtype)
    return jax.lax.fori_loop(0, count, step, unit) if count else unit


def _batched(function: Any) -> Any:
    """Returns a function that applies a function of matrices to batches of them."""
    def call(a: Any, *rest: Any) -> Any:
        batched = function
        for _ in range(a.ndim - 2):
            batched = jax.vmap(batched)
        return batched(a, *rest)

    return call


def _factors(name: str, a: Any, *results: tuple[tuple[int, ...], Any]) -> Any:
    """Returns the results of a function of the plugin for a batch of matrices. `results`: shape,
    without the dimensions of the batch, and type of each.
    """
    batch = a.shape[:-2]
    return jax.ffi.ffi_call(name, tuple(jax.ShapeDtypeStruct((*batch, *shape), kind) for shape, kind in results))(a)


def _real(a: Any) -> Any:
    return jnp.finfo(a.dtype).dtype


def _eigh(a: Any, *, lower: bool, subset_by_index: tuple[int, int] | None = None, **_: Any) -> Any:
    n = a.shape[-1]
    first, last = subset_by_index or (0, n)
    a = a if lower else jnp.conj(jnp.swapaxes(a, -1, -2))
    v, w = _factors("onpu.eigh", a, ((n, n), a.dtype), ((n,), _real(a)))
    return v[..., first:last], w[..., first:last]


def _svd(a: Any, *, full_matrices: bool, compute_uv: bool, subset_by_index: tuple[int, int] | None = None,
         **_: Any) -> Any:
    m, n = a.shape[-2:]
    k = min(m, n)
    first, last = subset_by_index or (0, k)
    if not compute_uv:
        s, = _factors("onpu.svd", a, ((k,), _real(a)))
        return (s[..., first:last],)
    if full_matrices:
        return _factors("onpu.svd", a, ((k,), _real(a)), ((m, m), a.dtype), ((n, n), a.dtype))
    s, u, v = _factors("onpu.svd", a, ((k,), _real(a)), ((m, k), a.dtype), ((k, n), a.dtype))
    return s[..., first:last], u[..., first:last], v[..., first:last, :]


def _eig(a: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **_: Any) -> Any:
    n = a.shape[-1]
    kind = jnp.result_type(a.dtype, jnp.complex64)
    w, left, right = _factors("onpu.eig", a, ((n,), kind), ((n, n), kind), ((n, n), kind))
    return (w, *([left] if compute_left_eigenvectors else []), *([right] if compute_right_eigenvectors else []))


def _lu(a: Any, **_: Any) -> Any:
    m, n = a.shape[-2:]
    return _factors("onpu.lu", a, ((m, n), a.dtype), ((min(m, n),), jnp.int32), ((m,), jnp.int32))


def _schur(a: Any, *, compute_schur_vectors: bool, sort_eig_vals: bool, **_: Any) -> Any:
    if sort_eig_vals:
        raise NotImplementedError("schur with sort_eig_vals is not implemented, nor is it on JAX's CPU")
    both = _factors("onpu.schur", a, (a.shape[-2:], a.dtype), (a.shape[-2:], a.dtype))
    return both if compute_schur_vectors else both[:1]


def _hessenberg(a: Any) -> Any:
    return _factors("onpu.hessenberg", a, (a.shape[-2:], a.dtype), ((max(a.shape[-1] - 1, 0),), a.dtype))


def _tridiagonal(a: Any, *, lower: bool) -> Any:
    n = a.shape[-1]
    return _factors("onpu.tridiagonal_lower" if lower else "onpu.tridiagonal_upper", a, ((n, n), a.dtype),
                    ((n,), _real(a)), ((n - 1,), _real(a)), ((n - 1,), a.dtype))


def _lenient(rule: Any) -> Any:
    """Returns a rule that promotes types and ranks, even where the program's settings of JAX forbid
    that.
    """
    def call(*args: Any, **options: Any) -> Any:
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            return rule(*args, **options)

    return call


def _alone(lowering: Any) -> Any:
    """Returns a rule that sees arrays without their sharding over a mesh: within shard_map, its loops begin with
    arrays of zeros, which JAX takes for another type than those that vary over devices."""
    def lower(context: Any, *args: Any, **options: Any) -> Any:
        arrays = [jax.core.ShapedArray(array.shape, array.dtype, array.weak_type) for array in context.avals_in]
        return lowering(context.replace(avals_in=arrays), *args, **options)

    return lower


def register(platform: str) -> None:
    """Registers the rules for a platform that JAX knows."""
    # pylint: disable=import-outside-toplevel
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    for primitive, rule in ((linalg.geqrf_p, _batched(_reflect)), (linalg.householder_product_p, _batched(_multiply)),
                            (linalg.eig_p, _eig), (linalg.eigh_p, _eigh), (linalg.hessenberg_p, _hessenberg),
                            (linalg.lu_p, _lu), (linalg.schur_p, _schur), (linalg.svd_p, _svd),
                            (linalg.tridiagonal_p, _tridiagonal)):
        several = primitive is not linalg.householder_product_p
        lowering = _alone(mlir.lower_fun(_lenient(rule), multiple_results=several))
        mlir.register_lowering(primitive, lowering, platform=platform)
