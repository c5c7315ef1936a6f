"""The units in which a target is standardised: where its middle is, and how far it spreads."""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any

import numpy as np

from odvff.errors import InputError

LARGEST = 1e300  # beyond, differences leave float64
QUARTILES, NORMAL_QUARTILES = (0.25, 0.5, 0.75), 1.3489795003921634


@dataclass(frozen=True)
class Units:
    """y = shift + scale·(standardised y)."""

    shift: float = 0.0
    scale: float = 1.0

    def standardised(self, y: Any) -> Any:
        return (y - self.shift) / self.scale


class TargetMoments:
    """Mean and standard deviation of targets that come in chunks; each is checked, with the place of its first row.

    Everything is divided by a power of two before it is squared or added up, so that no target is too large or small.
    """

    def __init__(self, check: Callable[[Any, int], None] = lambda y, first_row: None):
        self._check, self.n_rows = check, 0
        self.weight, self.mean, self.spread = 0.0, 0.0, 0.0

    def add(self, y: Any, weights: Any | None) -> None:
        """The targets of one more chunk."""
        self._check(y, self.n_rows)
        if len(y) == 0:
            return
        if np.abs(y).max() > LARGEST:
            i = int(np.argmax(np.abs(y)))
            raise InputError(
                f"y has {y[i]:g} in row {self.n_rows + i}, whose differences leave float64; divide y by a power of ten."
            )
        size = _power(y)
        mean = size * float(np.average(y / size, weights=weights))
        size = _power(y - mean)
        spread = size * float(np.sqrt(np.average(((y - mean) / size) ** 2, weights=weights)))
        weight = float(len(y) if weights is None else weights.sum())
        total, away = self.weight + weight, mean - self.mean
        old, new = self.weight / total, weight / total
        # variances about two means, as one about the mean of both
        self.spread = hypot(sqrt(old) * self.spread, sqrt(new) * spread, sqrt(old * new) * away)
        self.mean += away * new
        self.weight, self.n_rows = total, self.n_rows + len(y)

    def units(self) -> Units:
        """By mean and standard deviation; the latter is 1 for a constant target."""
        return _units(self.mean, self.spread)


def moments_of(y: Any, weights: Any | None) -> TargetMoments:
    """Of targets that are there at once."""
    moments = TargetMoments()
    moments.add(y, weights)
    return moments


def robust_units(y: Any, weights: Any | None) -> Units:
    """By median and quartiles, which a few outliers do not move."""
    w = np.ones(len(y)) if weights is None else weights
    low, middle, high = np.quantile(y, QUARTILES, method="inverted_cdf", weights=w)
    if high > low:
        return _units(float(middle), float(high - low) / NORMAL_QUARTILES)
    return _units(float(middle), moments_of(y, weights).units().scale)


def _units(middle: float, spread: float) -> Units:
    # below 1e-300 there are hardly digits left to tell values apart
    return Units(middle, spread if spread > max(1e-14 * abs(middle), 1e-300) else 1.0)


def _power(values: Any) -> float:
    """The power of two at or below the largest of these, by which dividing is exact; 1 if all are zero."""
    largest = float(np.abs(values).max())
    return float(np.ldexp(0.5, np.frexp(largest)[1])) if largest > 0 else 1.0
