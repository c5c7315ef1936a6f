"""The hyper-parameter-free features of each kind of term: how many, in which rows, and how to make them."""

from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features import Fourier, Kronecker, Levels
from odvff.features.orthogonal import OrthogonalFourier, fill_inside
from odvff.kernels import Separable, categorical, matern, one_column, separable
from odvff.support.arrays import Array
from odvff.terms import Sum, Term


def orthogonal(term: Term) -> Term:
    """The term with completed Fourier features in their orthogonal basis: the same span, the same posterior.

    Its kernel is given by plain numbers, and the columns that a GPJax kernel chose by `active_dims` are its own.
    """
    features, kernel = term.features, term.kernel
    if isinstance(features, Fourier | OrthogonalFourier):
        plain, columns = matern(kernel), _read([kernel], term)
        return Term(plain, _orthogonal_fourier(features), columns, term.name)
    if isinstance(features, Kronecker):
        factors = separable(kernel, len(features.factors))
        columns = term.columns if isinstance(kernel, Separable) else _read(kernel.kernels, term)
        if columns is not None and len(columns) != len(factors):
            raise InputError(
                f"term {term.name!r} has {len(factors)} factors and reads {len(columns)} columns; give one for each."
            )
        product = Kronecker(tuple(_orthogonal_fourier(f) for f in features.factors))
        return Term(Separable(tuple(factors)), product, columns, term.name)
    if isinstance(features, Levels):
        return Term(categorical(kernel), features, term.columns, term.name)
    raise InputError(
        f"term {term.name!r} has {type(features).__name__}, whose features change with the hyper-parameters, so "
        "their statistics cannot be taken once and for all; use Fourier, Kronecker or Levels, or another method."
    )


def _read(kernels: Any, term: Term) -> tuple[int, ...] | None:
    """The column of the table that each kernel reads; None if that takes the table to say."""
    if term.columns is not None:
        return tuple(term.columns[one_column(k, len(term.columns))] for k in kernels)
    named: list[Any] = [getattr(k, "active_dims", None) for k in kernels]
    if all(isinstance(active, list | tuple) for active in named):
        return tuple(one_column(k, max(active) + 1) for k, active in zip(kernels, named, strict=True))
    return None


def check_columns(terms: Sum, X: Array) -> None:
    """Does every term find its columns in X?"""
    for term in terms:
        n = len(term.features.factors) if isinstance(term.features, Kronecker) else 1
        if term.columns is None and X.shape[1] != n:
            raise InputError(
                f"term {term.name!r} reads {n} column{'s' * (n != 1)}, and X has {X.shape[1]}; say which by `columns`."
            )
        term.select(X[:0])


def signature(terms: Sum) -> str:
    """What the statistics of these terms depend on, in words."""
    parts = []
    for term in terms:
        smoothness = "" if isinstance(term.features, Levels) else [k.smoothness for k in _kernels(term)]
        parts.append(f"{term.features!r} of columns {term.columns} {smoothness}")
    return "; ".join(parts)


def _kernels(term: Term) -> list[Any]:
    return list(term.kernel.factors) if isinstance(term.kernel, Separable) else [matern(term.kernel)]


def _orthogonal_fourier(features: Any) -> Any:
    return OrthogonalFourier(features) if isinstance(features, Fourier) and features.completion else features


def fill_features(terms: Sum, layout: list[slice], X: Array, out: Array) -> None:
    """Write φ̂ of all terms, for checked rows inside their boxes, into an array of shape (|β|, N)."""
    for run in _runs(terms):
        term, place = terms.terms[run[0]], slice(layout[run[0]].start, layout[run[-1]].stop)
        features = term.features
        if isinstance(features, OrthogonalFourier):
            _fill_alike([terms.terms[i] for i in run], X, out[place].reshape(len(run), -1, len(X)))
        elif isinstance(features, Fourier):
            out[place] = features.inside(term.select(X), matern(term.kernel).smoothness)
        elif isinstance(features, Levels):
            out[place] = features.inside(term.select(X))
        elif isinstance(features, Kronecker):
            smoothness = tuple(k.smoothness for k in separable(term.kernel, len(features.factors)))
            out[place] = features.inside(term.select(X), smoothness)


def _runs(terms: Sum) -> list[list[int]]:
    """Positions of neighbouring completed Fourier terms of one shape; of all others one by one."""
    runs: list[list[int]] = []
    last: Any = None
    for i, term in enumerate(terms):
        f = term.features
        shape = (f.fourier.n_harmonics, matern(term.kernel).order) if isinstance(f, OrthogonalFourier) else None
        if shape is not None and shape == last:
            runs[-1].append(i)
        else:
            runs.append([i])
        last = shape
    return runs


def _fill_alike(terms: list[Term], X: Array, out: Array) -> None:
    t = np.empty((len(terms), len(X)))
    for row, term in zip(t, terms, strict=True):
        a, b = term.features.fourier.interval  # type: ignore[attr-defined]
        np.subtract(X[:, term.column], a, out=row)
        row /= b - a
    first = terms[0].features.fourier  # type: ignore[attr-defined]
    fill_inside(t, first.n_harmonics, matern(terms[0].kernel).order, out)


def fouriers(term: Term) -> list[Fourier]:
    """The Fourier features of each of a term's columns, in whatever basis; none if it has levels."""
    factors = term.features.factors if isinstance(term.features, Kronecker) else (term.features,)
    plain: list[Any] = [f.fourier if isinstance(f, OrthogonalFourier) else f for f in factors]
    return [f for f in plain if isinstance(f, Fourier)]


def boxes(terms: Sum) -> list[tuple[int, float, float]]:
    """(column, a, b) for every column that has a box."""
    result = []
    for term in terms:
        features = fouriers(term)
        columns = term.columns or tuple(range(len(features)))
        result += [(column, *f.interval) for column, f in zip(columns, features, strict=False)]
    return result


def outside(terms: Sum, X: Array) -> Any:
    """Which rows lie outside the box in some column."""
    mask = np.zeros(len(X), dtype=bool)
    if len(X) == 0:
        return mask
    for column, a, b in boxes(terms):
        x = X[:, column]
        if x.min() < a or x.max() > b:  # mostly all are inside, and there is no need to look at each
            mask |= (x < a) | (x > b)
    return mask
