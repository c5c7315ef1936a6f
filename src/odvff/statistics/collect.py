"""One pass over the rows, in chunks, whatever they come from."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.statistics.basis import check_columns, check_variances, outside, signature
from odvff.statistics.chunks import Chunk, checked_chunks
from odvff.statistics.cost import ENGINES, cheaper_engine
from odvff.statistics.sums import Rows, Statistics
from odvff.support.checks import whole
from odvff.support.threads import n_threads as default_threads
from odvff.terms import Sum, Term


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
    terms = Sum.of(terms).canonical
    if engine not in ("auto", *ENGINES):
        raise InputError(f"engine must be one of {['auto', *ENGINES]}, got {engine!r}.")
    n_threads = default_threads() if n_threads is None else n_threads
    whole(n_threads, "n_threads", at_least=1, remedy="leave it out for as many as there are cores")
    total: Statistics | None = None
    for X, Y, weights in checked_chunks(chunks):
        part = _statistics(terms, X, Y, weights, engine, n_threads)
        total = part if total is None else total + part
        if progress is not None:
            progress(total.n_rows)
    if total is None or total.weight == 0:
        raise InputError("there is no row with a positive weight to fit to; check the filters before this point.")
    return total


def _statistics(terms: Sum, X: Any, Y: Any, weights: Any | None, engine: str, n_threads: int) -> Statistics:
    check_columns(terms, X)
    check_variances(terms, X)
    out = outside(terms, X)
    n_rows = len(X)
    beyond = np.flatnonzero(out)  # few, if any
    kept = Rows(X[beyond], Y[beyond], np.ones(len(beyond)) if weights is None else weights[beyond])
    if len(beyond):
        X, Y, weights = X[~out], Y[~out], None if weights is None else weights[~out]
    n_features = terms.size
    if len(X) == 0:
        empty = np.zeros((n_features + 1 + Y.shape[1],) * 2)
        return Statistics(empty, n_features, n_rows, kept, signature(terms))
    engine = cheaper_engine(terms, len(X)) if engine == "auto" else engine
    moments = ENGINES[engine](terms, X, Y, weights, n_threads)
    return Statistics(moments, n_features, n_rows, kept, signature(terms))
