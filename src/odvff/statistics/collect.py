"""One pass over the rows, in chunks, whatever they come from: every chunk is checked, and its sums are added."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from odvff.errors import InputError
from odvff.rows import RowSource
from odvff.statistics.basis import check_columns, check_outside, check_variances, outside, signature
from odvff.statistics.by_product import moments_by_product
from odvff.statistics.nodes import nodes_pay
from odvff.statistics.sums import Rows, Statistics
from odvff.support.checks import matrix, numbers, whole
from odvff.support.progress import Progress, Step
from odvff.support.threads import n_threads as default_threads
from odvff.terms import Sum, Term

if TYPE_CHECKING:
    from odvff.support.journal import Journal

ENGINES = ["auto", "product", "nufft"]
# what these cost, measured (`python -m benchmarks run columns` and `harmonics`), in nanoseconds on one core:
# a multiply-add of the product, a feature of a row, a point of a 1-D and of a 2-D transform
PRODUCT, FEATURE, POINT_1D, POINT_2D = 0.020, 4.3, 55.0, 160.0
MODE = 40.0  # of the 2-D transform's grid, once for each block of rows
NODE_ROW, NODE_HARMONIC = 50.0, 10_000.0  # a row that goes to nodes, and a harmonic of theirs

STAGE = "statistics"
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
    is "product" (matrix products), "nufft" (non-uniform FFTs) or "auto" (the cheaper one). `progress` is called with
    the number of rows after each chunk.
    """
    if engine not in ENGINES:
        raise InputError(f"engine must be one of {ENGINES}, got {engine!r}.")
    n_threads = default_threads() if n_threads is None else n_threads
    whole(n_threads, "n_threads", at_least=1, remedy="leave it out for as many as there are cores")
    for total in _running(Sum.of(terms).canonical, chunks, engine, n_threads):
        if progress is not None:
            progress(total.n_rows)
    return total


def collect_rows(terms: Sum, rows: RowSource, journal: "Journal", progress: Progress) -> Statistics:
    """The statistics of a source, with progress, and a journal by which a run that is resumed gives the same."""
    terms, entry, total, done = terms.canonical, journal.read(STAGE), None, 0
    if entry is not None:
        kept = Statistics.from_arrays(entry[0])
        if kept.signature == signature(terms):  # an earlier run of the same
            total, done = kept, int(entry[1]["chunks"])
    running = _running(terms, rows.chunks(done), "auto", default_threads(), total)
    for n_chunks, total in enumerate(running, start=done + 1):
        progress(Step("adding up", total.n_rows, rows.n_rows))
        if journal.due():
            journal.write(STAGE, total.arrays(), {"chunks": n_chunks})
    assert total is not None
    return total


def _running(
    terms: Sum, chunks: Iterable[Chunk], engine: str, n_threads: int, total: Statistics | None = None
) -> Iterator[Statistics]:
    """The statistics after each chunk, with those of the ones before."""
    for rows in _checked_chunks(chunks):
        part = _statistics(terms, rows, engine, n_threads)
        total = part if total is None else total + part
        check_outside(terms, total.outside.X, total.n_rows)
        yield total
    if total is None or total.weight == 0:
        raise InputError("there is no row with a positive weight to fit to; check the filters before this point.")


def _statistics(terms: Sum, rows: Rows, engine: str, n_threads: int) -> Statistics:
    check_columns(terms, rows.X)
    check_variances(terms, rows.X)
    out = outside(terms, rows.X)
    kept = rows[np.flatnonzero(out)]  # few, if any
    inside = rows[~out] if len(kept) else rows
    if len(inside) == 0:
        moments = np.zeros((terms.size + 1 + rows.Y.shape[1],) * 2)
    elif (cheaper_engine(terms, len(inside)) if engine == "auto" else engine) == "product":
        moments = moments_by_product(terms, inside, n_threads)
    else:
        from odvff.statistics.by_nufft import moments_by_nufft  # late, as FINUFFT takes a while to load

        moments = moments_by_nufft(terms, inside, n_threads)
    return Statistics(moments, terms.size, len(rows), replace(kept, weights=kept.all_weights), signature(terms))


def cheaper_engine(terms: Sum, n_rows: int) -> str:
    """The engine with the fewest estimated nanoseconds of one core, among those that can do these terms well."""
    n = terms.size
    by_product = n_rows * n * (FEATURE + PRODUCT * n)
    axes = [term.fixed.axes for term in terms]
    if any(len(own) != 1 for own in axes):  # separable terms and levels gain little: products are as good for them
        return "product"
    F, s = [own[0].n_harmonics for own in axes], [own[0].n_remainders for own in axes]
    D = len(axes)
    if D == 1 and nodes_pay(F[0], n_rows):
        by_nufft = n_rows * NODE_ROW + F[0] * NODE_HARMONIC
    else:
        # for each column: 1, y and all remainders as strengths, two in one; and the tables of its own
        n_1d = sum((2 + sum(s)) / 2 + (s_t + 1) // 2 for s_t in s)
        pairs = D * (D - 1) / 2
        grids = sum(F[i] * F[j] * 16 for i in range(D) for j in range(i))
        by_nufft = n_rows * (n_1d * POINT_1D + pairs * POINT_2D) + MODE * grids
    return "product" if by_product <= by_nufft else "nufft"


def weighted_rows(chunks: Iterable[Chunk]) -> Iterator[tuple[Any, Any, Any]]:
    """X, y and weights (ones if there were none) of checked chunks of one output, without the rows of weight 0."""
    for rows in _checked_chunks(chunks):
        if rows.Y.shape[1] != 1:
            raise InputError(f"y must have one column here, got {rows.Y.shape[1]}; fit the outputs one by one.")
        yield rows.X, rows.Y[:, 0], rows.all_weights


def _checked_chunks(chunks: Iterable[Chunk]) -> Iterator[Rows]:
    width = None
    for chunk in chunks:
        rows = _checked(chunk)
        width = rows.X.shape[1] if width is None else width
        if rows.X.shape[1] != width:
            raise InputError(f"a chunk has {rows.X.shape[1]} columns, the first had {width}; all must have the same.")
        yield rows


def _checked(chunk: Chunk) -> Rows:
    if not isinstance(chunk, list | tuple) or len(chunk) not in (2, 3):
        parts = f"{len(chunk)} parts" if isinstance(chunk, list | tuple) else type(chunk).__name__
        raise InputError(f"a chunk is (X, y) or (X, y, weights), got {parts}.")
    X, Y = matrix(chunk[0], "X"), _columns(chunk[1], "y")
    if len(Y) != len(X):
        raise InputError(f"X has {len(X)} rows and y has {len(Y)}; they must agree.")
    if len(chunk) == 2 or chunk[2] is None:
        return Rows(X, Y, None)
    weights = _columns(chunk[2], "weights")
    if weights.shape != (len(X), 1):
        raise InputError(f"weights must have shape ({len(X)},), one for each row of X, got {np.shape(chunk[2])}.")
    weights = weights[:, 0]
    if (weights < 0).any():
        i = int(np.argmin(weights))
        raise InputError(
            f"weights has {weights[i]:g} in row {i}; weights count how often a row is there, so from 0 up."
        )
    return Rows(X, Y, weights)[weights > 0]


def _columns(value: Any, name: str) -> Any:
    """One or several columns; a vector is one."""
    array = numbers(value, name)
    return matrix(array[:, None] if array.ndim == 1 else array, name)
