"""wᵀφ̂(x) of many rows, where most terms are functions of one column: from tables, whatever the number of features."""

from typing import Any

import numpy as np

from odvff.posterior.whitened import FastFeatures
from odvff.statistics.basis import check_columns, columns_of
from odvff.terms import Sum


class Curves:
    """X ↦ wᵀφ̂(X) of a sum: terms that have a curve by themselves, all others by their features."""

    def __init__(self, features: FastFeatures, weights: Any):
        self._terms = features.terms
        self._curves, others = [], []
        for term, s in zip(features.terms, features.factor.slices, strict=True):
            curve = term.features.curve(term.kernel, weights[s])  # type: ignore[attr-defined]
            if curve is None:
                others.append((term, weights[s]))
            else:
                self._curves.append((columns_of(term)[0], curve))
        self._others = FastFeatures(Sum(tuple(term for term, _ in others))) if others else None
        self._weights = np.concatenate([w for _, w in others]) if others else None

    def __call__(self, X: Any) -> Any:
        check_columns(self._terms, X)
        total = np.zeros(len(X))
        for column, curve in self._curves:
            total += curve(X[:, column])
        if self._others is not None:
            for rows, phi in self._others.blocks(X):
                total[rows] += self._weights @ phi
        return total
