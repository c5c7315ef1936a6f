"""Kernels: GPJax's, read without importing it, and three of them by their plain numbers.

A Fourier term needs of its kernel only the smoothness, the lengthscale and the variance. `Matern` holds these as
numbers, so that a model of such terms runs on NumPy alone; `Categorical` and `Separable` do the same for a column
of levels and for a product. Everything else is GPJax's, and GPJax is asked only for kernels that it made.
"""

import sys
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from odvff.errors import Argument, InputError, KernelError
from odvff.kernels.matern_shape import VANISHED, polynomial
from odvff.support.arrays import Array, asarray, in_double_precision, is_traced, namespace
from odvff.support.checks import matrix, positive

SMOOTHNESSES = (0.5, 1.5, 2.5)

COLUMN_HINT = "choose one with `active_dims=[i]` in the kernel or `columns=[i]` in the term"


@dataclass(frozen=True)
class Matern:
    """A one-column Matérn kernel by its plain numbers.

    σ² Σ_{k≤p} c_k (λr)^k e^{−λr} with λ = √(2ν)/ℓ and p = ν − ½.

    >>> Matern(smoothness=1.5, lengthscale=0.2, variance=2.0).covariance([[0.0]], [[0.0], [0.2]]).round(4)
    array([[2.    , 0.9667]])
    """

    smoothness: float = 1.5
    lengthscale: Any = 1.0
    variance: Any = 1.0

    def __post_init__(self) -> None:
        if self.smoothness not in SMOOTHNESSES:
            raise InputError(
                Argument("smoothness"), f" must be 0.5, 1.5 or 2.5, got {self.smoothness!r}; 1.5 is a good default."
            )
        for name in ("lengthscale", "variance"):
            object.__setattr__(self, name, positive(getattr(self, name), name))

    @property
    def rate(self) -> Array:
        """λ = √(2ν)/ℓ."""
        return np.sqrt(2 * self.smoothness) / self.lengthscale

    @property
    def order(self) -> int:
        """p + 1: how many derivatives the RKHS norm takes, and the size of the Markov state."""
        return int(self.smoothness + 0.5)

    def covariance(self, X: Array, Z: Array) -> Array:
        X, Z = matrix(X, "X", n_columns=1), matrix(Z, "Z", n_columns=1)
        if namespace(X, Z, self.lengthscale, self.variance) is not np:
            from odvff.kernels.traced_matern import traced_covariance

            x, z = (asarray(A)[:, 0] for A in (X, Z))
            return traced_covariance(self.order, self.rate, self.variance, x, z)
        r = self.rate * np.minimum(np.abs(X - Z.T), VANISHED / self.rate)
        return self.variance * np.exp(-r) * polynomial(self.order, r)

    def variances(self, X: Array) -> Array:
        return self.variance * np.ones(len(X))


@dataclass(frozen=True)
class Categorical:
    """σ² if two rows have the same level, else 0: GPJax's `White` kernel on a column of level codes."""

    variance: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "variance"))

    def covariance(self, X: Array, Z: Array) -> Array:
        X, Z = matrix(X, "X", n_columns=1), matrix(Z, "Z", n_columns=1)
        return self.variance * (X == Z.T)

    def variances(self, X: Array) -> Array:
        return self.variance * np.ones(len(X))


@dataclass(frozen=True)
class Separable:
    """A product of one-column kernels: factor i reads column i."""

    factors: tuple[Matern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", _maternal(self.factors, "Separable"))

    def covariance(self, X: Array, Z: Array) -> Array:
        return prod(_by_column(self.factors, X, Z))

    def variances(self, X: Array) -> Array:
        return prod(k.variances(X) for k in self.factors)


@dataclass(frozen=True)
class Additive:
    """A sum of one-column kernels as one kernel: part i reads column i.

    For inducing points that see all columns at once (SVGP). With features for each column use a `Sum` of terms instead.
    """

    factors: tuple[Matern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", _maternal(self.factors, "Additive"))

    def covariance(self, X: Array, Z: Array) -> Array:
        return sum(_by_column(self.factors, X, Z))

    def variances(self, X: Array) -> Array:
        return sum(k.variances(X) for k in self.factors)


def _maternal(factors: Any, name: str) -> tuple[Matern, ...]:
    if not isinstance(factors, list | tuple) or not factors:
        raise InputError(f"{name} takes a list of one-column Matérn kernels, got {factors!r}.")
    return tuple(matern(factor) for factor in factors)


def _by_column(factors: tuple[Matern, ...], X: Array, Z: Array) -> list[Array]:
    X, Z = (matrix(A, name, n_columns=len(factors)) for A, name in ((X, "X"), (Z, "Z")))
    return [k.covariance(X[:, [i]], Z[:, [i]]) for i, k in enumerate(factors)]


PLAIN = (Matern, Categorical, Separable, Additive)


def covariance(kernel: Any, X: Array, Z: Array) -> Array:
    """k(X, Z), of shape (N, M), for a plain kernel or any of GPJax's."""
    if isinstance(kernel, PLAIN):
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
    if isinstance(kernel, PLAIN):
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
        f"{_name(kernel)} has no Fourier features: they exist for one-column Matérn kernels with smoothness 1/2, 3/2 "
        "and 5/2. Use odvff.kernels.Matern or GPJax's Matern12, Matern32 or Matern52, or give this term "
        "InducingPoints, which take any kernel."
    )


def categorical(kernel: Any) -> Categorical:
    """The variance of a categorical kernel, ours or GPJax's `White`."""
    plain = kernel if isinstance(kernel, Categorical) else _plain(kernel)
    if isinstance(plain, Categorical):
        return plain
    raise KernelError(
        f"Levels need a categorical kernel, got {_name(kernel)}. Use odvff.kernels.Categorical or GPJax's White."
    )


def separable(kernel: Any, n: int) -> list[Matern]:
    """The n one-column factors of a product kernel, by their plain numbers."""
    if isinstance(kernel, Separable):
        factors: tuple[Any, ...] = kernel.factors
    elif _is_gpjax(kernel, "ProductKernel"):
        factors = kernel.kernels
    else:
        raise KernelError(
            f"Kronecker features need a product of one-column Matérn kernels, got {_name(kernel)}. Multiply GPJax "
            "kernels that each have `active_dims=[i]`, or use odvff.kernels.Separable. (A Matérn kernel over several "
            "columns is a function of the Euclidean distance and is not such a product.)"
        )
    if len(factors) != n:
        raise KernelError(
            f"Kronecker features over {n} columns need a product of {n} kernels, got {len(factors)}; give one Fourier "
            "for each factor."
        )
    return [matern(factor) for factor in factors]


def separable_columns(kernel: Any, width: int) -> list[int]:
    """The column that each factor of a product kernel reads; no two may read the same."""
    if isinstance(kernel, Separable):
        if len(kernel.factors) != width:
            raise InputError(
                f"a Separable kernel of {len(kernel.factors)} factors reads as many columns, got {width}; choose them "
                "with `columns` in the term."
            )
        return list(range(width))
    read = [one_column(factor, width) for factor in kernel.kernels]
    if len(set(read)) != len(read) or max(read) >= width:
        raise InputError(
            f"the factors of the product kernel read the columns {read} of {width}; each must read one of its own. "
            "Set `active_dims=[i]` in each factor."
        )
    return read


def columns(kernel: Any, width: int) -> list[int]:
    """The columns that a kernel reads from an input of this width, checked (JAX would clamp them in silence)."""
    if isinstance(kernel, Separable):
        return list(range(len(kernel.factors)))
    if _is_gpjax(kernel, "SumKernel", "ProductKernel"):
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
            f"{_name(kernel)} has active_dims={active}, but its input has {width} column{'s' * (width != 1)}; "
            + (f"column {outside[0]} does not exist. " if outside else "that names none of them. ")
            + "Count from 0, within the columns of the term."
        )
    return read


def one_column(kernel: Any, width: int) -> int:
    """The single column that a kernel reads."""
    read = columns(kernel, width)
    if len(read) != 1:
        raise InputError(f"{_name(kernel)} reads columns {read}, and one is needed here; {COLUMN_HINT}.")
    return read[0]


def parameter(value: Any) -> Array:
    """A GPJax parameter as a float64 number or array: NumPy's, unless it is being traced."""
    from gpjax.parameters import val

    return asarray(val(value))


def _is_gpjax(kernel: Any, *names: str) -> bool:
    """Is this exactly one of these GPJax classes? (A subclass may compute something else.)"""
    gpjax = sys.modules.get("gpjax")
    return gpjax is not None and any(type(kernel) is getattr(gpjax.kernels, name, None) for name in names)


@in_double_precision
def _plain(kernel: Any) -> Matern | Categorical | None:
    """The plain numbers of a GPJax kernel that has them."""
    if _is_gpjax(kernel, "White"):
        return Categorical(parameter(kernel.variance))
    for smoothness, name in zip(SMOOTHNESSES, ("Matern12", "Matern32", "Matern52"), strict=True):
        if _is_gpjax(kernel, name) and kernel.n_dims in (None, 1):
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
        raise KernelError(f"{_name(kernel)} is no kernel; use one of GPJax's or of odvff.kernels.")
    import jax.numpy as jnp

    result = function(kernel, *(jnp.asarray(A) for A in inputs))
    return result if is_traced(result) else np.asarray(result)


def _name(kernel: Any) -> str:
    return f"{type(kernel).__module__.split('.')[0]}'s {type(kernel).__name__}"


__all__ = [
    "Additive",
    "Categorical",
    "Matern",
    "Separable",
    "categorical",
    "columns",
    "covariance",
    "matern",
    "one_column",
    "parameter",
    "separable",
    "separable_columns",
    "variances",
]
