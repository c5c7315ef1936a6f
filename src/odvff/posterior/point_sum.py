"""X ↦ k(X, γ) a: what points for the mean add at many rows."""

from typing import Any

import numpy as np

from odvff.terms import Sum


class PointSum:
    """Of a sum of terms: terms of one column in a time that does not grow with the points, others as they are."""

    def __init__(self, terms: Sum, gamma: Any, weights: Any):
        self._gamma, self._weights = gamma, weights
        self._sums = [(term, term.point_sum(gamma, weights)) for term in terms]

    def __call__(self, X: Any) -> Any:
        total = np.zeros(len(X))
        for term, one in self._sums:
            total += term.covariance(X, self._gamma) @ self._weights if one is None else one(X)
        return total
