"""Arrays of two kinds, and float64 in both.

Concrete numbers are NumPy's: nothing to compile, nothing to wait for. Only while JAX traces a function (to
differentiate or compile it) are the numbers JAX's. Every formula of the package is written once, over the
functions that both have, and asks `namespace` which of the two it is working with.
"""

import functools
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import scipy.linalg

Array = Any  # a NumPy array, or a JAX tracer in its place
Class = TypeVar("Class", bound=type)


def is_traced(value: Any) -> bool:
    """Is JAX tracing this value? (If JAX was never imported, nothing is traced.)"""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def namespace(*values: Any) -> ModuleType:
    """`jax.numpy` if one of the values is being traced, else `numpy`."""
    if any(is_traced(value) for value in values):
        import jax.numpy as jnp

        return jnp
    return np


def asarray(value: Any) -> Array:
    """The value as float64: a NumPy array, or JAX's if it is being traced."""
    return namespace(value).asarray(value, dtype=np.float64)


def concatenate(parts: Iterable[Array], axis: int = 0) -> Array:
    parts = list(parts)
    return namespace(*parts).concatenate(parts, axis=axis)


def cholesky(matrix: Array) -> Array:
    """The lower triangular L with L Lᵀ = matrix, unbatched. NumPy raises `LinAlgError` if there is none."""
    return namespace(matrix).linalg.cholesky(matrix)


def solve_triangular(matrix: Array, b: Array, *, lower: bool = True, transpose: bool = False) -> Array:
    """T⁻¹ b or T⁻ᵀ b for one triangular T (never a batch of them)."""
    if namespace(matrix, b) is np:
        return scipy.linalg.solve_triangular(matrix, b, lower=lower, trans=int(transpose), check_finite=False)
    import jax.scipy.linalg as jsl

    return jsl.solve_triangular(matrix, b, lower=lower, trans=int(transpose))


def in_double_precision(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run with JAX's 64-bit types on and the process's own setting restored afterwards."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        jax = sys.modules.get("jax")
        if jax is None or jax.config.jax_enable_x64:
            return function(*args, **kwargs)
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


def double_precision(cls: Class) -> Class:
    """Class decorator: every public method runs `in_double_precision`."""
    for name, member in list(vars(cls).items()):
        public = not name.startswith("_") or name in ("__init__", "__post_init__", "__call__", "__matmul__")
        if public and callable(member) and not isinstance(member, type):
            setattr(cls, name, in_double_precision(member))
    return cls
