# SPDX-License-Identifier: MIT
"""Rules for operations of linear algebra that JAX lowers to calls of functions of other platforms.

QR is made of Householder reflections, in the form in which LAPACK's geqrf leaves them.
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
        below = jnp.sum(jnp.abs(tail) ** 2)
        norm = jnp.sqrt(jnp.abs(alpha) ** 2 + below)
        beta = jnp.where(jnp.real(alpha) < 0, norm, -norm)
        # A column that is as it should be is not reflected.
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
    """Applies a function of matrices to batches of them."""
    def call(a: Any, *rest: Any) -> Any:
        batched = function
        for _ in range(a.ndim - 2):
            batched = jax.vmap(batched)
        return batched(a, *rest)

    return call


def register(platform: str) -> None:
    """Registers the rules for a platform that JAX knows."""
    # pylint: disable=import-outside-toplevel
    from jax._src.interpreters import mlir
    from jax._src.lax import linalg

    mlir.register_lowering(linalg.geqrf_p, mlir.lower_fun(_batched(_reflect), multiple_results=True),
                           platform=platform)
    mlir.register_lowering(linalg.householder_product_p, mlir.lower_fun(_batched(_multiply), multiple_results=False),
                           platform=platform)
