"""Kernels as they come: ours, and GPJax's, read without importing it."""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from odvff.errors import FileError, InputError, KernelError
from odvff.kernels.plain import Categorical, Kernel, Matern
from odvff.support.arrays import Array, asarray, in_double_precision, is_traced
from odvff.support.checks import matrix
from odvff.support.shapes import Float
from odvff.support.words import items, number, text, whole

MATERNS = {0.5: "Matern12", 1.5: "Matern32", 2.5: "Matern52"}
TOGETHER = ("SumKernel", "ProductKernel")
# GPJax's kernels that a file holds, with the numbers that make them
NUMBERS = {
    **dict.fromkeys(("RBF", *MATERNS.values()), ("lengthscale", "variance")),
    "Periodic": ("lengthscale", "variance", "period"),
    "PoweredExponential": ("lengthscale", "variance", "power"),
    "RationalQuadratic": ("lengthscale", "variance", "alpha"),
    "Linear": ("variance",),
}


def covariance(kernel: Any, X: Any, Z: Any) -> Float[Array, "N M"]:
    """k(X, Z) for a plain kernel or any of GPJax's."""
    if isinstance(kernel, Kernel):
        return kernel.covariance(X, Z)
    X, Z = matrix(X, "X"), matrix(Z, "Z")
    if X.shape[1] != Z.shape[1]:
        raise InputError(f"X has {X.shape[1]} columns and Z has {Z.shape[1]}; both must have the kernel's columns.")
    read, plain = columns(kernel, X.shape[1]), _plain(kernel)
    if plain is not None and len(read) == 1:
        return plain.covariance(X[:, read], Z[:, read])
    return _evaluate(_gpjax_functions()[0], kernel, X, Z)


def variances(kernel: Any, X: Any) -> Float[Array, " N"]:
    """k(x, x) for every row."""
    X = matrix(X, "X")
    if isinstance(kernel, Kernel):
        return kernel.variances(X)
    read, plain = columns(kernel, X.shape[1]), _plain(kernel)
    if plain is not None and len(read) == 1:
        return plain.variances(X)
    return _evaluate(_gpjax_functions()[1], kernel, X)


def point_sum(kernel: Any, points: Array, weights: Array) -> Callable[[Array], Array] | None:
    """`Kernel.point_sum`; None if it is none of ours."""
    return kernel.point_sum(points, weights) if isinstance(kernel, Kernel) else None


def numbers_apart(kernel: Any) -> tuple[tuple[Any, ...], Kernel] | None:
    """The numbers of a kernel of ours that are found from data, and it with 1 in their places; None for others."""
    return (kernel.numbers, kernel.at([1.0] * len(kernel.numbers))) if isinstance(kernel, Kernel) else None


def plain(kernel: Any) -> Any:
    """The kernel by its plain numbers, where it has them, and reads all columns."""
    reads_some = getattr(kernel, "active_dims", None) not in (None, slice(None))
    return kernel if reads_some else _plain(kernel) or kernel


def matern(kernel: Any) -> Matern:
    """The plain numbers of a one-column Matérn kernel, ours or GPJax's."""
    if isinstance(plain := _plain(kernel), Matern):
        return plain
    raise KernelError(
        f"{name_of(kernel)} has no Fourier features: they exist for one-column Matérn kernels with smoothness 1/2, 3/2 "
        "and 5/2. Use odvff.kernels.Matern or GPJax's Matern12, Matern32 or Matern52, or give this term "
        "InducingPoints, which take any kernel."
    )


def categorical(kernel: Any) -> Categorical:
    """The variance of a categorical kernel, ours or GPJax's `White`."""
    if isinstance(plain := _plain(kernel), Categorical):
        return plain
    raise KernelError(
        f"Levels need a categorical kernel, got {name_of(kernel)}. Use odvff.kernels.Categorical or GPJax's White."
    )


def columns(kernel: Any, width: int) -> list[int]:
    """The columns that a kernel reads from an input of this width, checked (JAX would clamp them in silence)."""
    if is_gpjax(kernel, *TOGETHER):
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
        raise InputError(
            f"{name_of(kernel)} reads columns {read}, and one is needed here; choose one with `active_dims=[i]` in the "
            "kernel or `columns=[i]` in the term."
        )
    return read[0]


@in_double_precision
def parameter(value: Any) -> Array:
    """A GPJax parameter as a float64 number or array: NumPy's, unless it is being traced."""
    from gpjax.parameters import val

    return asarray(val(value))


def is_gpjax(kernel: Any, *names: str) -> bool:
    """Is this exactly one of these GPJax classes? (A subclass may compute something else.)"""
    gpjax = sys.modules.get("gpjax")
    return gpjax is not None and any(type(kernel) is getattr(gpjax.kernels, name, None) for name in names)


def name_of(kernel: Any) -> str:
    return f"{type(kernel).__module__.split('.')[0]}'s {type(kernel).__name__}"


@in_double_precision
def make_gpjax(name: str, numbers: dict[str, Any], **rest: Any) -> Any:
    """A kernel of GPJax."""
    import gpjax as gpx
    import jax.numpy as jnp

    return getattr(gpx.kernels, name)(**rest, **{key: jnp.asarray(value) for key, value in numbers.items()})


def kernel_words(kernel: Any) -> dict[str, Any]:
    """A kernel as plain values, for a file: ours say theirs themselves."""
    kernel = plain(kernel)
    return {"kind": kernel.kind(), **kernel.to_words()} if isinstance(kernel, Kernel) else _gpjax_words(kernel)


class OfGPJax:
    """Makes kernels of GPJax again from words; nothing but what is named here."""

    @classmethod
    def kind(cls) -> str:
        return "gpjax"

    @classmethod
    def from_words(cls, words: dict[str, Any], inner: Callable[[Any], Any]) -> Any:
        name = text(words["name"])
        if name in TOGETHER:
            return make_gpjax(name, {}, kernels=[inner(w) for w in items(words["kernels"])])
        if name not in NUMBERS:
            raise FileError(f"it has the kernel {name[:40]!r} of GPJax, which files do not hold.")
        columns = None if words["columns"] is None else [whole(c) for c in items(words["columns"])]
        numbers = {key: np.vectorize(number)(words[key]) for key in NUMBERS[name]}
        return make_gpjax(name, numbers, active_dims=columns)


def _gpjax_words(kernel: Any) -> dict[str, Any]:
    name = type(kernel).__name__
    if not type(kernel).__module__.startswith("gpjax") or name not in (*NUMBERS, *TOGETHER):
        raise FileError(
            f"{name_of(kernel)} has no place in a file; write it as a class derived from odvff.kernels.Kernel."
        )
    words = {"kind": OfGPJax.kind(), "name": name}
    if name in TOGETHER:
        return words | {"kernels": [_gpjax_words(part) for part in kernel.kernels]}
    active = kernel.active_dims
    if isinstance(active, slice) and active != slice(None):
        raise FileError(f"{name_of(kernel)} has active_dims={active}; give a list of columns, which a file can hold.")
    columns = None if isinstance(active, slice) else [int(c) for c in active]
    return words | {"columns": columns, **{key: parameter(getattr(kernel, key)).tolist() for key in NUMBERS[name]}}


def _plain(kernel: Any) -> Kernel | None:
    """Ours as it is; a kernel of GPJax by its plain numbers, if it has them."""
    if isinstance(kernel, Kernel):
        return kernel
    if is_gpjax(kernel, "White"):
        return Categorical(parameter(kernel.variance))
    if is_gpjax(kernel, *MATERNS.values()) and kernel.n_dims in (None, 1):
        smoothness = next(nu for nu, name in MATERNS.items() if is_gpjax(kernel, name))
        return Matern(smoothness, parameter(kernel.lengthscale), parameter(kernel.variance))
    return None


@lru_cache
def _gpjax_functions() -> tuple[Any, Any]:
    """Cross-covariance and diagonal of a GPJax kernel, compiled once per kernel type and shape."""
    import equinox as eqx
    import lineax

    cross = eqx.filter_jit(lambda kernel, X, Z: kernel.cross_covariance(X, Z))
    return cross, eqx.filter_jit(lambda kernel, X: lineax.diagonal(kernel.diagonal(X)))


@in_double_precision
def _evaluate(function: Any, kernel: Any, *inputs: Array) -> Array:
    """A GPJax function in float64, and as NumPy's array unless it is being traced."""
    gpjax = sys.modules.get("gpjax")
    if gpjax is None or not isinstance(kernel, gpjax.kernels.AbstractKernel):
        raise KernelError(f"{name_of(kernel)} is no kernel; use one of GPJax's or of odvff.kernels.")
    import jax.numpy as jnp

    result = function(kernel, *(jnp.asarray(A) for A in inputs))
    return result if is_traced(result) else np.asarray(result)
