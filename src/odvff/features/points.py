"""Inducing points: function values at chosen locations, for any kernel."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features.base import Features, Stored
from odvff.kernels import Additive, covariance
from odvff.linalg import Dense
from odvff.linalg.operator import DEFAULT_JITTER
from odvff.support.arrays import Array, is_traced
from odvff.support.checks import matrix
from odvff.support.shapes import Float, Int
from odvff.support.words import number


@dataclass(frozen=True, eq=False)
class InducingPoints(Features):
    """β = f(Z) at locations Z of shape (M, columns of the term)."""

    locations: Array
    jitter: float = DEFAULT_JITTER

    def __post_init__(self) -> None:
        Z = matrix(self.locations, "locations")
        if len(Z) == 0:
            raise InputError("locations must hold at least one point, got none; leave the term out instead.")
        if not (isinstance(self.jitter, int | float | np.floating) and 0 <= self.jitter < 1):
            raise InputError(
                f"jitter must be from 0 to 1, relative to the diagonal, got {self.jitter!r}; the default is "
                f"{DEFAULT_JITTER}."
            )
        object.__setattr__(self, "locations", Z if is_traced(Z) else Z.copy())

    @property
    def size(self) -> int:
        return len(self.locations)

    def Kuu(self, kernel: Any) -> Dense:
        return Dense(covariance(kernel, self.locations, self.locations), self.jitter)

    def Kuf(self, kernel: Any, X: Any) -> Float[Array, "B N"]:
        return covariance(kernel, self.locations, matrix(X, "X", n_columns=self.locations.shape[1]))

    def refined(self, factor: int) -> "InducingPoints":
        """These points and (factor − 1) times as many more, at most 2000, spread over the box that they span."""
        Z = np.asarray(self.locations)
        low, high = Z.min(axis=0), Z.max(axis=0)
        more = low + (high - low) * _spread(min((factor - 1) * len(Z), 2000), Z.shape[1])
        return self.moved(np.concatenate([Z, more]))

    def positions(self, fine: Any) -> Int[Array, " B"]:
        return np.arange(len(self.locations))

    def moved(self, locations: Any) -> "InducingPoints":
        return replace(self, locations=locations)

    def split(self, kernel: Any, columns: tuple[int, ...]) -> list[tuple[Any, tuple[int, ...], Features]]:
        """A kernel that is a sum over columns has an effect for each of them."""
        if not isinstance(kernel, Additive):
            return [(kernel, columns, self)]
        each = enumerate(zip(kernel.factors, columns, strict=True))
        return [(k, (c,), self.moved(self.locations[:, [i]])) for i, (k, c) in each]

    def words(self) -> str:
        return f"{len(self.locations)} points"

    @classmethod
    def kind(cls) -> str:
        return "points"

    def to_words(self, arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
        arrays[prefix + "locations"] = np.asarray(self.locations)
        return {"jitter": float(self.jitter)}

    @classmethod
    def from_words(cls, words: dict[str, Any], stored: Stored) -> "InducingPoints":
        locations = stored.arrays[stored.prefix + "locations"]
        stored.at_most(len(locations))
        return cls(locations, number(words["jitter"]))


def _spread(n: int, d: int) -> Float[Array, "n d"]:
    """n points of an additive recurrence that fills the unit cube evenly (Roberts' generalised golden ratio)."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (d + 1))
    return (0.5 + np.arange(1, n + 1)[:, None] * ratio ** -np.arange(1.0, d + 1)) % 1.0
