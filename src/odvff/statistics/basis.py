"""The features of canonical terms at many rows: which rows are inside the boxes, and φ̂ there."""

import numpy as np

from odvff.errors import InputError, KernelError
from odvff.support.shapes import Array, Bool, Float
from odvff.terms import Sum, Term

# features of rows outside the boxes, which a bound holds a few times over: a gigabyte each time. Boxes by quantiles
# leave hardly any outside; of ten columns of Cauchy's numbers 3 %: with 200 features it takes 20 million rows of them
OUTSIDE_ENTRIES = 2**27


def check_columns(terms: Sum, X: Float[Array, "N D"]) -> None:
    """Raise if X lacks a column that a term reads."""
    for term in terms:
        n = len(term.fixed.boxes)
        if term.columns is None and X.shape[1] != n:
            raise InputError(
                f"term {term.name!r} reads {n} column{'s' * (n != 1)}, and X has {X.shape[1]}; say which by `columns`."
            )
        term.select(X[:0])


def check_variances(terms: Sum, X: Float[Array, "N D"]) -> None:
    """Is k(x,x) the variance, as the bound takes it for granted of fixed features? A look at the first row."""
    for term in terms:
        here = term.variances(X[:1])
        if not np.allclose(here, term.kernel.total_variance, rtol=1e-6):
            raise KernelError(
                f"the kernel of term {term.name!r} has k(x,x) = {here[0]:g} where its variance is "
                f"{term.kernel.total_variance:g}; fixed features are for kernels whose variance is the same "
                "everywhere: give this one inducing points."
            )


def check_outside(terms: Sum, X: Float[Array, "N D"], n_rows: int) -> None:
    """Raise if these rows outside the boxes, among so many, are more than can be kept."""
    if len(X) * terms.size <= OUTSIDE_ENTRIES:
        return
    shares = [outside(Sum((term,)), X).sum() / n_rows for term in terms]
    share, term = max(zip(shares, terms, strict=True), key=lambda pair: pair[0])
    intervals = " × ".join(f"({box[0]:g}, {box[1]:g})" for box in term.fixed.boxes if box is not None)
    raise InputError(
        f"term {term.name!r} has {share:.0%} of the rows outside its interval {intervals}, where features change with "
        f"the kernel, so that rows are kept in memory: {len(X):,} with {terms.size} features are too many; widen the "
        "interval until it holds nearly all rows, or transform the column."
    )


def signature(terms: Sum) -> str:
    """What the statistics of these terms depend on, in words."""
    return "; ".join(f"{term.features!r} of columns {term.columns}" for term in terms)


def fill_features(terms: Sum, X: Float[Array, "N D"], out: Float[Array, "K N"]) -> None:
    """φ̂ of all terms, for checked rows inside their boxes, into the first |β| rows: of like neighbours at once."""
    for run in terms.runs:
        like = [terms.terms[i].fixed for i in run]
        place = out[terms.slices[run[0]].start : terms.slices[run[-1]].stop]
        columns = [columns_of(terms.terms[i]) for i in run]
        like[0].fill_alike(like, X, columns, place.reshape(len(run), like[0].size, len(X)))


def columns_of(term: Term) -> tuple[int, ...]:
    """The columns of the table that a term reads."""
    return tuple(range(len(term.fixed.boxes))) if term.columns is None else term.columns


def outside(terms: Sum, X: Float[Array, "N D"]) -> Bool[Array, " N"]:
    """Which rows lie outside the box in some column."""
    mask = np.zeros(len(X), dtype=bool)
    for term in terms if len(X) else ():
        for column, box in zip(columns_of(term), term.fixed.boxes, strict=True):
            x = X[:, column]
            # mostly all are inside, and there is no need to look at each
            if box is not None and (x.min() < box[0] or x.max() > box[1]):
                mask |= (x < box[0]) | (x > box[1])
    return mask
