"""The units in which a target is standardised: where its middle is, and how far it spreads."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError

QUARTILES, NORMAL_QUARTILES = (0.25, 0.5, 0.75), 1.3489795003921634


@dataclass(frozen=True)
class Units:
    """y = middle + spread·(standardised y)."""

    middle: float
    spread: float

    def standardised(self, y: Any) -> Any:
        return (y - self.middle) / self.spread


class TargetMoments:
    """Mean and standard deviation of targets that come in chunks; `counts` are checked to be 0, 1, 2, …"""

    def __init__(self, *, counts: bool = False):
        self._counts, self._n_rows = counts, 0
        self._weight, self._mean, self._squares = 0.0, 0.0, 0.0

    def add(self, y: Any, weights: Any | None) -> None:
        """The targets of one more chunk."""
        if self._counts and ((y < 0) | (y != np.floor(y))).any():
            i = int(np.argmax((y < 0) | (y != np.floor(y))))
            raise InputError(
                f"y has {y[i]:g} in row {self._n_rows + i}; for likelihood='poisson' it must be counts: 0, 1, 2, …"
            )
        if len(y) == 0:
            return
        weight, mean = float(len(y) if weights is None else weights.sum()), float(np.average(y, weights=weights))
        squares = float(np.average((y - mean) ** 2, weights=weights)) * weight
        total, away = self._weight + weight, mean - self._mean
        # sums of squares about two means, as one about the mean of both
        self._squares += squares + away**2 * self._weight * weight / total
        self._mean += away * weight / total
        self._weight, self._n_rows = total, self._n_rows + len(y)

    def units(self) -> Units:
        """By mean and standard deviation; the latter is 1 for a constant target."""
        return _units(self._mean, float(np.sqrt(self._squares / self._weight)))


def units_of(y: Any, weights: Any | None) -> Units:
    """By the mean and standard deviation of these targets."""
    moments = TargetMoments()
    moments.add(y, weights)
    return moments.units()


def robust_units(y: Any, weights: Any | None) -> Units:
    """By median and quartiles, which a few outliers do not move."""
    w = np.ones(len(y)) if weights is None else weights
    low, middle, high = np.quantile(y, QUARTILES, method="inverted_cdf", weights=w)
    if high > low:
        return _units(float(middle), float(high - low) / NORMAL_QUARTILES)
    return _units(float(middle), units_of(y, weights).spread)


def _units(middle: float, spread: float) -> Units:
    return Units(middle, spread if spread > 1e-14 * max(abs(middle), 1e-300) else 1.0)
