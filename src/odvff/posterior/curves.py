"""wᵀφ̂(x) of many rows, where most terms are functions of one column: from tables, whatever the number of features."""

from collections.abc import Callable
from typing import Any

import numpy as np

from odvff.features import Fourier, Levels
from odvff.features.cells import evaluate, taylor
from odvff.features.fourier import tail_weights
from odvff.features.orthogonal import OrthogonalFourier, harmonic_form
from odvff.kernels import matern
from odvff.kernels.matern_shape import VANISHED
from odvff.posterior.whitened import FastFeatures
from odvff.statistics.basis import check_columns, fouriers
from odvff.terms import Sum, Term


class Curve:
    """x ↦ wᵀφ̂(x) of a Fourier term: a sum of harmonics and a polynomial in the box, a decaying tail on either side."""

    def __init__(self, term: Term, weights: Any):
        (fourier,) = fouriers(term)
        F, self._kernel = fourier.n_harmonics, matern(term.kernel)
        self._interval, self._length = fourier.interval, fourier.length
        self._left, self._right = (weights @ edge for edge in term.features.edges(term.kernel))  # type: ignore[attr-defined]
        powers, cosines, sines, remainders = np.split(weights, [1, F + 1, 2 * F + 1])
        if isinstance(term.features, OrthogonalFourier):
            # Σ_k w_k R̂_k, by the harmonics and the polynomial of each
            own_cosines, own_sines, polynomials = harmonic_form(F, self._kernel.order)
            cosines, sines = cosines + remainders @ own_cosines, sines + remainders @ own_sines
            polynomials = remainders @ polynomials
            polynomials[0] += powers[0]
            powers = polynomials
        self._table = taylor(cosines[None], sines[None], powers[None])

    def __call__(self, x: Any) -> Any:
        nearest = np.clip(x, *self._interval)
        t = (nearest - self._interval[0]) / self._length
        value = evaluate(self._table, t, np.empty((1, len(x))))[0]
        out = np.flatnonzero(x != nearest)
        if len(out):
            r = np.minimum(np.abs(x[out] - nearest[out]), VANISHED / self._kernel.rate)
            tails = tail_weights(r, self._kernel, self._length)
            value[out] = np.where(x[out] < self._interval[0], self._left @ tails, self._right @ tails)
        return value


class Level:
    """The same for a column of codes: a number for each, and 0 for the code −1."""

    def __init__(self, term: Term, weights: Any):
        self._features: Any = term.features
        self._values = np.append(weights, 0.0)

    def __call__(self, x: Any) -> Any:
        return self._values.take(self._features.codes(x[:, None]).astype(np.intp))


KINDS: dict[type, Callable[[Term, Any], Callable[[Any], Any]]] = {
    Fourier: Curve,
    OrthogonalFourier: Curve,
    Levels: Level,
}


class Curves:
    """X ↦ wᵀφ̂(X) of a sum: terms of one column by themselves, all others by their features."""

    def __init__(self, features: FastFeatures, weights: Any):
        self._terms = features.terms
        self._curves, others = [], []
        for term, s in zip(features.terms, features.factor.slices, strict=True):
            if (kind := KINDS.get(type(term.features))) is None:
                others.append((term, weights[s]))
            else:
                self._curves.append((term.column, kind(term, weights[s])))
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
