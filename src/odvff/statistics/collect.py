"""One pass over the rows, in chunks, whatever they come from."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from odvff.checks import matrix, numbers
from odvff.errors import InputError
from odvff.statistics.basis import orthogonal, outside
from odvff.statistics.cost import ENGINES, cheaper_engine
from odvff.statistics.summary import Rows, Statistics
from odvff.terms import Sum, Term

Chunk = tuple[Any, ...]  # (X, y) or (X, y, weights)


def collect(
    terms: Sum | Iterable[Term],
    chunks: Iterable[Chunk],
    *,
    engine: str = "auto",
    n_threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Statistics:
    """Statistics of all rows of the chunks, each `(X, y)` or `(X, y, weights)`; y may have several columns.

    Memory is bounded by the largest chunk and a few thousand rows of features, whatever the number of rows. The engine
    is "product" (matrix products), "nufft" (non-uniform FFTs) or "auto" (the cheaper one by `cost`). `progress` is
    called with the number of rows after each chunk.
    """
    terms = Sum(tuple(orthogonal(term) for term in Sum.of(terms)))
    if engine not in ("auto", *ENGINES):
        raise InputError(f"engine must be one of {['auto', *ENGINES]}, got {engine!r}.")
    n_threads = n_threads or min(os.cpu_count() or 1, 8)
    total: Statistics | None = None
    for chunk in chunks:
        part = _statistics(terms, *_checked(chunk), engine, n_threads)
        total = part if total is None else total + part
        if progress is not None:
            progress(total.n_rows)
    if total is None or total.weight == 0:
        raise InputError("there is no row with a positive weight to fit to; check the filters before this point.")
    return total


def _checked(chunk: Chunk) -> tuple[Any, Any, Any]:
    if len(chunk) not in (2, 3):
        raise InputError(f"a chunk is (X, y) or (X, y, weights), got {len(chunk)} parts.")
    X, Y = matrix(chunk[0], "X"), _columns(chunk[1], "y")
    if len(Y) != len(X):
        raise InputError(f"X has {len(X)} rows and y has {len(Y)}; they must agree.")
    if len(chunk) == 2 or chunk[2] is None:
        return X, Y, None
    weights = _columns(chunk[2], "weights")[:, 0]
    if len(weights) != len(X):
        raise InputError(f"X has {len(X)} rows and weights has {len(weights)}; they must agree.")
    if (weights < 0).any():
        i = int(np.argmin(weights))
        raise InputError(
            f"weights has {weights[i]:g} in row {i}; weights count how often a row is there, so from 0 up."
        )
    keep = weights > 0
    return X[keep], Y[keep], weights[keep]


def _columns(value: Any, name: str) -> Any:
    """One or several columns; a vector is one."""
    array = numbers(value, name)
    return matrix(array[:, None] if array.ndim == 1 else array, name)


def _statistics(terms: Sum, X: Any, Y: Any, weights: Any | None, engine: str, n_threads: int) -> Statistics:
    out = outside(terms, X)
    n_rows = len(X)
    kept = Rows(X[out], Y[out], np.ones(out.sum()) if weights is None else weights[out])
    if out.any():
        X, Y, weights = X[~out], Y[~out], None if weights is None else weights[~out]
    n_features = terms.Kuu().size
    if len(X) == 0:
        return Statistics(np.zeros((n_features + 1 + Y.shape[1],) * 2), n_features, n_rows, kept)
    engine = cheaper_engine(terms, len(X)) if engine == "auto" else engine
    return Statistics(ENGINES[engine](terms, X, Y, weights, n_threads), n_features, n_rows, kept)
