"""The units of a target that comes in chunks: its mean and standard deviation."""

from typing import Any

import numpy as np

from odvff.errors import InputError


class Units:
    """Mean and spread of the targets seen so far; `counts` are checked to be 0, 1, 2, …"""

    def __init__(self, *, counts: bool = False):
        self._counts, self._n_rows = counts, 0
        self._weight, self.mean, self._squares = 0.0, 0.0, 0.0

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
        total, away = self._weight + weight, mean - self.mean
        # sums of squares about two means, as one about the mean of both
        self._squares += squares + away**2 * self._weight * weight / total
        self.mean += away * weight / total
        self._weight, self._n_rows = total, self._n_rows + len(y)

    @property
    def spread(self) -> float:
        """The standard deviation; 1 for a constant target."""
        spread = float(np.sqrt(self._squares / self._weight))
        return spread if spread > 1e-14 * max(abs(self.mean), 1e-300) else 1.0

    def standardised(self, y: Any) -> Any:
        return (y - self.mean) / self.spread
