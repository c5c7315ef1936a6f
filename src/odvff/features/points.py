"""Inducing points: function values at chosen locations, for any kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.kernels import covariance
from odvff.linalg import Dense
from odvff.linalg.dense import DEFAULT_JITTER, check_jitter
from odvff.support.arrays import Array, is_traced
from odvff.support.checks import matrix


@dataclass(frozen=True, eq=False)
class InducingPoints:
    """β = f(Z) at locations Z of shape (M, columns of the term)."""

    locations: Array
    jitter: float = DEFAULT_JITTER

    def __post_init__(self) -> None:
        Z = matrix(self.locations, "locations")
        if len(Z) == 0:
            raise InputError("locations must hold at least one point, got none; leave the term out instead.")
        check_jitter(self.jitter)
        object.__setattr__(self, "locations", Z if is_traced(Z) else Z.copy())

    def Kuu(self, kernel: Any) -> Dense:
        """k(Z, Z)."""
        return Dense(covariance(kernel, self.locations, self.locations), self.jitter)

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """k(Z, X), of shape (M, N)."""
        X = matrix(X, "X", n_columns=self.locations.shape[1])
        return covariance(kernel, self.locations, X)

    def refined(self, factor: int) -> "InducingPoints":
        """These points and (factor − 1) times as many more, at most 2000, spread over the box that they span."""
        Z = np.asarray(self.locations)
        low, high = Z.min(axis=0), Z.max(axis=0)
        more = low + (high - low) * _spread(min((factor - 1) * len(Z), 2000), Z.shape[1])
        return InducingPoints(np.concatenate([Z, more]), self.jitter)

    def positions(self, kernel: Any, fine: "InducingPoints") -> np.ndarray:
        """Where these points stand among refined ones."""
        return np.arange(len(self.locations))


def _spread(n: int, d: int) -> np.ndarray:
    """n points of an additive recurrence that fills the unit cube evenly (Roberts' generalised golden ratio)."""
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (d + 1))
    return (0.5 + np.arange(1, n + 1)[:, None] * ratio ** -np.arange(1.0, d + 1)) % 1.0
