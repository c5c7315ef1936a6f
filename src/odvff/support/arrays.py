"""Arrays of two kinds, and float64 in both.

Concrete numbers are NumPy's: nothing to compile, nothing to wait for. Only while JAX traces a function (to
differentiate or compile it) are the numbers JAX's. Every formula of the package is written once, over the
functions that both have, and asks `namespace` which of the two it is working with.

JAX's 64-bit types are a setting of the whole process, and it belongs to the user. Where we call JAX for a number
(`in_double_precision`), the types are on for just that call. Where the user compiles or differentiates our functions,
they must be on around the whole transformation, and if they are not, an error says so: half of a gradient in float32
would be a silent surprise.
"""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from scipy.linalg.blas import dtrsm

from odvff.errors import PrecisionError
from odvff.support.shapes import Array as Array
from odvff.support.shapes import Float


def is_traced(value: Any) -> bool:
    """Is JAX tracing this value? (If JAX was never imported, nothing is traced.)"""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def namespace(*values: Any) -> ModuleType:
    """`jax.numpy` if one of the values is being traced, else `numpy`."""
    if any(is_traced(value) for value in values):
        import jax.numpy as jnp

        _require_double_precision()
        return jnp
    return np


def asarray(value: Any) -> Array:
    """The value as float64: a NumPy array, or JAX's if it is being traced."""
    return namespace(value).asarray(value, dtype=np.float64)


def concatenate(parts: Iterable[Array], axis: int = 0) -> Array:
    parts = list(parts)
    return namespace(*parts).concatenate(parts, axis=axis)


def _is_mapped(value: Any) -> bool:
    """Is JAX mapping over this value? LAPACK calls would then be batched, which they must not: small ones are written
    out. (JAX has no public name for it; a test looks at the programs that come of it.)
    """
    return is_traced(value) and type(value).__name__ == "BatchTracer"


def cholesky(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The lower triangular L with L Lᵀ = matrix. NumPy raises `LinAlgError` if there is none, JAX gives NaN."""
    xp = namespace(matrix)
    if not _is_mapped(matrix):
        return xp.linalg.cholesky(matrix)
    n = matrix.shape[0]
    L = [[xp.zeros(()) for _ in range(n)] for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            rest = matrix[i, j] - sum(L[i][k] * L[j][k] for k in range(j))
            L[i][j] = xp.sqrt(rest) if i == j else rest / L[j][j]
    return xp.stack([xp.stack(row) for row in L])


def solve_triangular(
    matrix: Float[Array, "n n"], b: Float[Array, " n *k"], *, lower: bool = True, transpose: bool = False
) -> Float[Array, " n *k"]:
    """T⁻¹ b or T⁻ᵀ b for one triangular T (never a batch of them)."""
    if namespace(matrix, b) is np:
        columns = b[:, None] if b.ndim == 1 else b
        # BLAS counts by columns, NumPy by rows: solve the transposed system from the right, and nothing is copied
        solved = dtrsm(1.0, matrix.T, columns.T, side=1, lower=not lower, trans_a=transpose).T
        return solved[:, 0] if b.ndim == 1 else solved
    if _is_mapped(matrix):
        return _substitute(matrix.T if transpose else matrix, b, forward=lower != transpose)
    import jax.scipy.linalg as jsl

    return jsl.solve_triangular(matrix, b, lower=lower, trans=int(transpose))


def _substitute(matrix: Float[Array, "n n"], b: Float[Array, " n *k"], *, forward: bool) -> Float[Array, " n *k"]:
    """T⁻¹ b, row by row: x_i = (b_i − Σ_j T_ij x_j)/T_ii."""
    n = matrix.shape[0]
    rows: dict[int, Array] = {}
    for i in range(n) if forward else reversed(range(n)):
        rows[i] = (b[i] - sum(matrix[i, j] * x for j, x in rows.items())) / matrix[i, i]
    return namespace(matrix, b).stack([rows[i] for i in range(n)])


def in_double_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run with JAX's 64-bit types on and the process's own setting restored afterwards."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        jax = sys.modules.get("jax")
        if jax is None or jax.config.jax_enable_x64:
            return function(*args, **kwargs)
        leaves = jax.tree.leaves((args, kwargs), is_leaf=lambda x: isinstance(x, Iterator))
        if any(is_traced(leaf) for leaf in leaves):
            _require_double_precision()
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


def _require_double_precision() -> None:
    import jax

    if not jax.config.jax_enable_x64:
        raise PrecisionError(
            "odvff computes in float64, but JAX is compiling or differentiating it with 64-bit types off; put the "
            "transformation into `with jax.enable_x64(True):`, which leaves the rest of your program as it is."
        )
