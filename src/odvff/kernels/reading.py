"""Kernels as they come: ours, and GPJax's, read without importing it."""

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from odvff.errors import InputError, KernelError
from odvff.kernels.plain import SMOOTHNESSES, Categorical, Kernel, Matern
from odvff.support.arrays import Array, asarray, in_double_precision, is_traced
from odvff.support.checks import matrix

COLUMN_HINT = "choose one with `active_dims=[i]` in the kernel or `columns=[i]` in the term"


def covariance(kernel: Any, X: Array, Z: Array) -> Array:
    """k(X, Z), of shape (N, M), for a plain kernel or any of GPJax's."""
    if isinstance(kernel, Kernel):
        return kernel.covariance(X, Z)
    X, Z = matrix(X, "X"), matrix(Z, "Z", n_columns=None)
    if X.shape[1] != Z.shape[1]:
        raise InputError(f"X has {X.shape[1]} columns and Z has {Z.shape[1]}; both must have the kernel's columns.")
    read = columns(kernel, X.shape[1])
    plain = _plain(kernel)
    if plain is not None and len(read) == 1:
        return plain.covariance(X[:, read], Z[:, read])
    return _evaluate(_gpjax_functions()[0], kernel, X, Z)


def variances(kernel: Any, X: Array) -> Array:
    """k(x, x) for every row, of shape (N,)."""
    X = matrix(X, "X")
    if isinstance(kernel, Kernel):
        return kernel.variances(X)
    read = columns(kernel, X.shape[1])
    plain = _plain(kernel)
    if plain is not None and len(read) == 1:
        return plain.variances(X)
    return _evaluate(_gpjax_functions()[1], kernel, X)


def matern(kernel: Any) -> Matern:
    """The plain numbers of a one-column Matérn kernel, ours or GPJax's."""
    plain = kernel if isinstance(kernel, Matern) else _plain(kernel)
    if isinstance(plain, Matern):
        return plain
    raise KernelError(
        f"{name_of(kernel)} has no Fourier features: they exist for one-column Matérn kernels with smoothness 1/2, 3/2 "
        "and 5/2. Use odvff.kernels.Matern or GPJax's Matern12, Matern32 or Matern52, or give this term "
        "InducingPoints, which take any kernel."
    )


def categorical(kernel: Any) -> Categorical:
    """The variance of a categorical kernel, ours or GPJax's `White`."""
    plain = kernel if isinstance(kernel, Categorical) else _plain(kernel)
    if isinstance(plain, Categorical):
        return plain
    raise KernelError(
        f"Levels need a categorical kernel, got {name_of(kernel)}. Use odvff.kernels.Categorical or GPJax's White."
    )


def columns(kernel: Any, width: int) -> list[int]:
    """The columns that a kernel reads from an input of this width, checked (JAX would clamp them in silence)."""
    if isinstance(kernel, Kernel):
        return kernel.columns(width)
    if is_gpjax(kernel, "SumKernel", "ProductKernel"):
        return sorted({c for k in kernel.kernels for c in columns(k, width)})
    active = getattr(kernel, "active_dims", None)
    if active is None or active == slice(None):
        return list(range(width))
    if isinstance(active, slice):
        read = list(range(active.start or 0, width if active.stop is None else active.stop, active.step or 1))
    else:
        read = [int(c) for c in active]
    outside = [c for c in read if not 0 <= c < width]
    if outside or not read:
        raise InputError(
            f"{name_of(kernel)} has active_dims={active}, but its input has {width} column{'s' * (width != 1)}; "
            + (f"column {outside[0]} does not exist. " if outside else "that names none of them. ")
            + "Count from 0, within the columns of the term."
        )
    return read


def one_column(kernel: Any, width: int) -> int:
    """The single column that a kernel reads."""
    read = columns(kernel, width)
    if len(read) != 1:
        raise InputError(f"{name_of(kernel)} reads columns {read}, and one is needed here; {COLUMN_HINT}.")
    return read[0]


def parameter(value: Any) -> Array:
    """A GPJax parameter as a float64 number or array: NumPy's, unless it is being traced."""
    from gpjax.parameters import val

    return asarray(val(value))


def is_gpjax(kernel: Any, *names: str) -> bool:
    """Is this exactly one of these GPJax classes? (A subclass may compute something else.)"""
    gpjax = sys.modules.get("gpjax")
    return gpjax is not None and any(type(kernel) is getattr(gpjax.kernels, name, None) for name in names)


@in_double_precision
def _plain(kernel: Any) -> Matern | Categorical | None:
    """The plain numbers of a GPJax kernel that has them."""
    if is_gpjax(kernel, "White"):
        return Categorical(parameter(kernel.variance))
    for smoothness, name in zip(SMOOTHNESSES, ("Matern12", "Matern32", "Matern52"), strict=True):
        if is_gpjax(kernel, name) and kernel.n_dims in (None, 1):
            return Matern(smoothness, parameter(kernel.lengthscale), parameter(kernel.variance))
    return None


@lru_cache
def _gpjax_functions() -> tuple[Any, Any]:
    """Cross-covariance and diagonal of a GPJax kernel, compiled once per kernel type and shape."""
    import equinox as eqx
    import lineax

    return (
        eqx.filter_jit(lambda kernel, X, Z: kernel.cross_covariance(X, Z)),
        eqx.filter_jit(lambda kernel, X: lineax.diagonal(kernel.diagonal(X))),
    )


@in_double_precision
def _evaluate(function: Any, kernel: Any, *inputs: Array) -> Array:
    """A GPJax function in float64, and as NumPy's array unless it is being traced."""
    gpjax = sys.modules.get("gpjax")
    if gpjax is None or not isinstance(kernel, gpjax.kernels.AbstractKernel):
        raise KernelError(f"{name_of(kernel)} is no kernel; use one of GPJax's or of odvff.kernels.")
    import jax.numpy as jnp

    result = function(kernel, *(jnp.asarray(A) for A in inputs))
    return result if is_traced(result) else np.asarray(result)


def name_of(kernel: Any) -> str:
    return f"{type(kernel).__module__.split('.')[0]}'s {type(kernel).__name__}"


def plain(kernel: Any) -> Any:
    """The kernel by its plain numbers, where it has them, and reads all columns."""
    if isinstance(kernel, Kernel) or getattr(kernel, "active_dims", None) not in (None, slice(None)):
        return kernel
    found = _plain(kernel)
    return kernel if found is None else found


def point_sum(kernel: Any, points: Array, weights: Array) -> Any:
    """x ↦ Σ_i w_i k(x, γ_i) of a one-column kernel in a time that does not grow with the points; None if not."""
    return kernel.point_sum(points, weights) if isinstance(kernel, Kernel) else None
