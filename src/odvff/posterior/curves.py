"""wᵀφ̂(x) of many rows, where most terms are functions of one column: from tables, whatever the number of harmonics."""

from typing import Any

import numpy as np

from odvff.features import Fourier
from odvff.features.cells import evaluate, taylor
from odvff.features.orthogonal import OrthogonalFourier, harmonic_form
from odvff.kernels import matern
from odvff.posterior.whitened import FastFeatures
from odvff.statistics.basis import fouriers
from odvff.terms import Sum, Term


class Curve:
    """x ↦ wᵀφ̂(x) of a Fourier term: a sum of harmonics and a polynomial in the box, features of their own outside."""

    def __init__(self, term: Term, weights: Any):
        self._term, self._weights = term, weights
        (self._fourier,) = fouriers(term)
        F = self._fourier.n_harmonics
        constant, cosines, sines, remainders = np.split(weights, [1, F + 1, 2 * F + 1])
        if isinstance(term.features, OrthogonalFourier):
            # Σ_k w_k R̂_k = Σ_k w_k (harmonics of R̂_k, and a polynomial)
            own_cosines, own_sines, polynomials = harmonic_form(F, matern(term.kernel).order)
            cosines, sines = cosines + remainders @ own_cosines, sines + remainders @ own_sines
            powers = remainders @ polynomials
            powers[0] += constant[0]
        else:
            powers = constant
        self._table = taylor(cosines[None], sines[None], powers[None])

    def __call__(self, X: Any) -> Any:
        x = self._term.select(X)[:, 0]
        a, b = self._fourier.interval
        t = (np.clip(x, a, b) - a) / self._fourier.length
        value = evaluate(self._table, t, np.empty((1, len(x))))[0]
        out = np.flatnonzero((x < a) | (x > b))
        if len(out):
            value[out] = self._weights @ self._term.Kuf(X[out])
        return value


class Curves:
    """X ↦ wᵀφ̂(X): curves of the terms that have one, features of all others."""

    def __init__(self, features: FastFeatures, weights: Any):
        each = list(zip(features.terms, features.factor.slices, strict=True))
        is_curve = [isinstance(term.features, Fourier | OrthogonalFourier) for term, _ in each]
        self._curves = [Curve(term, weights[s]) for (term, s), is_one in zip(each, is_curve, strict=True) if is_one]
        others = [(term, weights[s]) for (term, s), is_one in zip(each, is_curve, strict=True) if not is_one]
        self._others = FastFeatures(Sum(tuple(term for term, _ in others))) if others else None
        self._weights = np.concatenate([np.empty(0), *(w for _, w in others)])

    def __call__(self, X: Any) -> Any:
        total = np.zeros(len(X))
        for curve in self._curves:
            total += curve(X)
        if self._others is not None:
            for rows, phi in self._others.blocks(X):
                total[rows] += self._weights @ phi
        return total
