"""Derivatives of sums over a covariance, Σ U ∘ k(Z, X), with respect to the kernel and to Z, for any kernel: by JAX."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odvff.kernels.reading import covariance, variances
from odvff.support.arrays import in_double_precision

ROWS = 4096  # at a time, at most


@in_double_precision
def of_rows(make: Any, vector: Any, Z: Any, X: Any, U: Any) -> tuple[Any, Any]:
    """∂/∂vector and ∂/∂Z of Σ U ∘ k(Z, X)."""
    parts = [_of_rows(make, jnp.asarray(vector), jnp.asarray(Z), x, u) for x, u in _blocks(X, U)]
    of_kernel, of_Z = (np.sum([np.asarray(part) for part in own], axis=0) for own in zip(*parts, strict=True))
    return of_kernel, of_Z


@in_double_precision
def of_points(make: Any, vector: Any, Z: Any, U: Any) -> tuple[Any, Any]:
    """The same of Σ U ∘ k(Z, Z)."""
    kernel, Z_bar = _of_points(make, jnp.asarray(vector), jnp.asarray(Z), jnp.asarray(U))
    return np.asarray(kernel), np.asarray(Z_bar)


@in_double_precision
def of_variances(make: Any, vector: Any, X: Any, u: Any) -> Any:
    """∂/∂vector of Σ u k(x, x)."""
    return np.sum([np.asarray(_of_variances(make, jnp.asarray(vector), x, w)) for x, w in _blocks(X, u)], axis=0)


def _blocks(X: Any, U: Any) -> Iterator[tuple[Any, Any]]:
    """Rows with their sensitivities in the last axis, filled up to a power of two with rows of none."""
    size = min(ROWS, 1 << (len(X) - 1).bit_length())
    for start in range(0, len(X), size):
        x, u = X[start : start + size], U[..., start : start + size]
        missing = size - len(x)
        fill = [(0, 0)] * (u.ndim - 1) + [(0, missing)]
        yield jnp.asarray(np.concatenate([x, np.repeat(X[:1], missing, axis=0)])), jnp.asarray(np.pad(u, fill))


@partial(jax.jit, static_argnums=0)
def _of_rows(make: Any, vector: Any, Z: Any, X: Any, U: Any) -> Any:
    return jax.grad(lambda v, Z: jnp.sum(U * covariance(make(v), Z, X)), argnums=(0, 1))(vector, Z)


@partial(jax.jit, static_argnums=0)
def _of_points(make: Any, vector: Any, Z: Any, U: Any) -> Any:
    return jax.grad(lambda v, Z: jnp.sum(U * covariance(make(v), Z, Z)), argnums=(0, 1))(vector, Z)


@partial(jax.jit, static_argnums=0)
def _of_variances(make: Any, vector: Any, X: Any, u: Any) -> Any:
    return jax.grad(lambda v: u @ variances(make(v), X))(vector)
