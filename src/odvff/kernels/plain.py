"""Kernels by their plain numbers, on NumPy and while JAX traces: what a model of a table is made of."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from odvff.errors import Argument, InputError, KernelError
from odvff.kernels.matern_shape import VANISHED, polynomial
from odvff.kernels.point_sums import LevelSum, MaternSum
from odvff.support.arrays import Array, asarray, namespace
from odvff.support.checks import matrix, positive
from odvff.support.words import number

SMOOTHNESSES = (0.5, 1.5, 2.5)


class Kernel(ABC):
    """A covariance function, written over the functions that NumPy and JAX share (`odvff.support.arrays.namespace`).

    A frozen dataclass; `learned` are the names of its positive numbers that are found from data.
    """

    learned: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z), (N, M)."""

    @abstractmethod
    def variances(self, X: Array) -> Array:
        """k(x, x) for every row, (N,)."""

    @property
    def scales(self) -> tuple[Any, ...]:
        """The lengthscale of every column; empty where there are none."""
        return ()

    @property
    def total_variance(self) -> Any:
        """σ², what all of k is proportional to."""
        raise KernelError(f"{type(self).__name__} has no variance that features could take it by.")

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> "Kernel":
        """The same with these lengthscales and this variance."""
        raise KernelError(f"{type(self).__name__} has no lengthscales and variance to replace.")

    def columns(self, width: int) -> list[int]:
        """The columns that are read from an input of this width."""
        return list(range(width))

    def point_sum(self, points: Array, weights: Array) -> Callable[[Array], Array] | None:
        """x ↦ Σ_i w_i k(x, γ_i) of a one-column kernel in a time that does not grow with the points; None if not."""
        return None

    # training: the logarithms of `learned` numbers, and the way back

    def logs(self) -> Any:
        """A tree of the logarithms that training changes."""
        return {name: _log(getattr(self, name)) for name in self.learned}

    def template(self) -> Any:
        """The same with these numbers 1: equal templates are one computation."""
        return replace(self, **dict.fromkeys(self.learned, 1.0))  # type: ignore[type-var]

    def with_logs(self, logs: Any) -> Any:
        """The template with numbers."""
        return replace(self, **{name: _exp(logs[name]) for name in self.learned})  # type: ignore[type-var]

    # what a file holds

    @classmethod
    def kind(cls) -> str:
        """What it is called in files."""
        return cls.__name__.lower()

    def to_words(self) -> dict[str, Any]:
        """Plain values."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_words(cls, words: dict[str, Any], inner: Callable[[Any], "Kernel"]) -> "Kernel":
        """The inverse, every value checked; `inner` reads kernels that this one is made of."""
        return cls(**{name: number(value) for name, value in words.items() if name != "kind"})


@dataclass(frozen=True)
class Matern(Kernel):
    """A one-column Matérn kernel by its plain numbers.

    σ² Σ_{k≤p} c_k (λr)^k e^{−λr} with λ = √(2ν)/ℓ and p = ν − ½.

    >>> Matern(smoothness=1.5, lengthscale=0.2, variance=2.0).covariance([[0.0]], [[0.0], [0.2]]).round(4)
    array([[2.    , 0.9667]])
    """

    learned = ("lengthscale", "variance")

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

    @property
    def scales(self) -> tuple[Any, ...]:
        return (self.lengthscale,)

    @property
    def total_variance(self) -> Any:
        return self.variance

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> "Matern":
        return Matern(self.smoothness, scales[0], variance)

    def point_sum(self, points: Array, weights: Array) -> MaternSum:
        return MaternSum.of(self, points, weights)


@dataclass(frozen=True)
class Categorical(Kernel):
    """σ² if two rows have the same level, else 0: GPJax's `White` kernel on a column of level codes."""

    learned = ("variance",)

    variance: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "variance"))

    def covariance(self, X: Array, Z: Array) -> Array:
        X, Z = matrix(X, "X", n_columns=1), matrix(Z, "Z", n_columns=1)
        return self.variance * (X == Z.T)

    def variances(self, X: Array) -> Array:
        return self.variance * np.ones(len(X))

    @property
    def total_variance(self) -> Any:
        return self.variance

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> "Categorical":
        return Categorical(variance)

    def point_sum(self, points: Array, weights: Array) -> LevelSum:
        return LevelSum.of(self, points, weights)


def _log(value: Any) -> Any:
    return namespace(value).log(value)


def _exp(value: Any) -> Any:
    return namespace(value).exp(value)
