"""Kernels by their plain numbers, on NumPy and while JAX traces: what a model of a table is made of."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from odvff.errors import Argument, InputError, KernelError
from odvff.kernels.point_sums import VANISHED, LevelSum, MaternSum, polynomial
from odvff.support.arrays import Array, asarray, namespace
from odvff.support.checks import matrix, positive
from odvff.support.shapes import Float
from odvff.support.words import number


class Kernel(ABC):
    """A covariance function, written over the functions that NumPy and JAX share (`odvff.support.arrays.namespace`).

    A frozen dataclass; `learned` are the names of its positive numbers that are found from data.
    """

    learned: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def covariance(self, X: Any, Z: Any) -> Float[Array, "N M"]:
        """k(X, Z)."""

    @abstractmethod
    def variances(self, X: Float[Array, "N D"]) -> Float[Array, " N"]:
        """k(x, x) for every row."""

    @property
    def numbers(self) -> tuple[Any, ...]:
        """Those that are found from data."""
        return tuple(getattr(self, name) for name in self.learned)

    def at(self, numbers: Sequence[Any]) -> Self:
        """The same with other numbers; all 1, equal kernels are one computation."""
        return replace(self, **dict(zip(self.learned, numbers, strict=True)))  # type: ignore[type-var]

    @property
    def scales(self) -> tuple[Any, ...]:
        """The lengthscale of every column; empty where there are none."""
        return ()

    @property
    def total_variance(self) -> Any:
        """σ², what all of k is proportional to."""
        raise KernelError(f"{type(self).__name__} says no variance; derive it from odvff.kernels.Scaled.")

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> Self:
        """The same with these lengthscales and this variance."""
        raise KernelError(f"{type(self).__name__} says no lengthscales; derive it from odvff.kernels.Scaled.")

    def point_sum(self, points: Float[Array, " G"], weights: Float[Array, " G"]) -> Callable[[Array], Array] | None:
        """x ↦ Σ_i w_i k(x, γ_i) of a one-column kernel in a time that does not grow with the points; None if not."""
        return None

    # what a file holds

    @classmethod
    def kind(cls) -> str:
        """What it is called in files."""
        return cls.__name__.lower()

    def to_words(self) -> dict[str, Any]:
        """Plain values."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_words(cls, words: dict[str, Any], inner: Callable[[Any], "Kernel"]) -> Self:
        """The inverse, every value checked; `inner` reads kernels that this one is made of."""
        return cls(**{name: number(value) for name, value in words.items() if name != "kind"})


class Scaled(Kernel):
    """σ² times a correlation: its numbers are a lengthscale for each column, where it has any, and σ²."""

    def __post_init__(self) -> None:
        for name in self.learned:
            object.__setattr__(self, name, positive(getattr(self, name), name))

    def variances(self, X: Float[Array, "N D"]) -> Float[Array, " N"]:
        return self.total_variance * np.ones(len(X))

    @property
    def scales(self) -> tuple[Any, ...]:
        return self.numbers[:-1]

    @property
    def total_variance(self) -> Any:
        return self.numbers[-1]

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> Self:
        return self.at((*scales, variance))


@dataclass(frozen=True)
class Matern(Scaled):
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
        if self.smoothness not in (0.5, 1.5, 2.5):
            raise InputError(
                Argument("smoothness"), f" must be 0.5, 1.5 or 2.5, got {self.smoothness!r}; 1.5 is a good default."
            )
        super().__post_init__()

    @property
    def rate(self) -> Array:
        """λ = √(2ν)/ℓ."""
        return np.sqrt(2 * self.smoothness) / self.lengthscale

    @property
    def order(self) -> int:
        """p + 1: how many derivatives the RKHS norm takes, and the size of the Markov state."""
        return int(self.smoothness + 0.5)

    def covariance(self, X: Any, Z: Any) -> Float[Array, "N M"]:
        X, Z = matrix(X, "X", n_columns=1), matrix(Z, "Z", n_columns=1)
        if namespace(X, Z, self.lengthscale, self.variance) is not np:
            from odvff.kernels.traced_matern import traced_covariance

            x, z = (asarray(A)[:, 0] for A in (X, Z))
            return traced_covariance(self.order, self.rate, self.variance, x, z)
        r = self.rate * np.minimum(np.abs(X - Z.T), VANISHED / self.rate)
        return self.variance * np.exp(-r) * polynomial(self.order, r)

    def point_sum(self, points: Float[Array, " G"], weights: Float[Array, " G"]) -> MaternSum:
        return MaternSum.of(self, points, weights)


@dataclass(frozen=True)
class Categorical(Scaled):
    """σ² if two rows have the same level, else 0: GPJax's `White` kernel on a column of level codes."""

    learned = ("variance",)

    variance: Any = 1.0

    def covariance(self, X: Any, Z: Any) -> Float[Array, "N M"]:
        X, Z = matrix(X, "X", n_columns=1), matrix(Z, "Z", n_columns=1)
        return self.variance * (X == Z.T)

    def point_sum(self, points: Float[Array, " G"], weights: Float[Array, " G"]) -> LevelSum:
        return LevelSum.of(self, points, weights)
