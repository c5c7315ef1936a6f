"""The hyper-parameter-free features of each kind of term: how many, in which rows, and how to make them."""

from typing import Any

import numpy as np

from odvff.arrays import Array
from odvff.errors import InputError
from odvff.features import Fourier, Kronecker, Levels
from odvff.features.orthogonal import OrthogonalFourier
from odvff.kernels import matern, separable
from odvff.terms import Sum, Term


def orthogonal(term: Term) -> Term:
    """The term with completed Fourier features in their orthogonal basis: the same span, the same posterior."""
    features = term.features
    if isinstance(features, Fourier):
        features = _orthogonal_fourier(features)
    elif isinstance(features, Kronecker):
        features = Kronecker(tuple(_orthogonal_fourier(f) for f in features.factors))
    elif not isinstance(features, Levels | OrthogonalFourier):
        raise InputError(
            f"term {term.name!r} has {type(features).__name__}, whose features change with the hyper-parameters, so "
            "their statistics cannot be taken once and for all; use Fourier, Kronecker or Levels, or another method."
        )
    return Term(term.kernel, features, term.columns, term.name)


def _orthogonal_fourier(features: Any) -> Any:
    return OrthogonalFourier(features) if isinstance(features, Fourier) and features.completion else features


def fill_features(term: Term, X: Array, out: Array) -> None:
    """Write φ̂ of a term, for rows inside its box, into an array of shape (|β_t|, N)."""
    X = term.select(X)
    if isinstance(term.features, OrthogonalFourier):
        term.features.inside(X, matern(term.kernel).smoothness, out=out)
    elif isinstance(term.features, Fourier):
        out[:] = term.features.inside(X, matern(term.kernel).smoothness)
    elif isinstance(term.features, Levels):
        out[:] = term.features.inside(X)
    elif isinstance(term.features, Kronecker):
        smoothness = tuple(k.smoothness for k in separable(term.kernel, len(term.features.factors)))
        out[:] = term.features.inside(X, smoothness)


def boxes(terms: Sum) -> list[tuple[int, float, float]]:
    """(column, a, b) for every column that has a box."""
    result = []
    for term in terms:
        factors = term.features.factors if isinstance(term.features, Kronecker) else (term.features,)
        for i, factor in enumerate(factors):
            if isinstance(factor, OrthogonalFourier):
                factor = factor.fourier
            if isinstance(factor, Fourier):
                result.append(((term.columns or tuple(range(len(factors))))[i], *factor.interval))
    return result


def outside(terms: Sum, X: Array) -> Any:
    """Which rows lie outside the box in some column."""
    mask = np.zeros(len(X), dtype=bool)
    if len(X) == 0:
        return mask
    low, high = X.min(axis=0), X.max(axis=0)
    for column, a, b in boxes(terms):
        if low[column] >= a and high[column] <= b:  # all inside, as mostly: no need to look at each
            continue
        mask |= (X[:, column] < a) | (X[:, column] > b)
    return mask
