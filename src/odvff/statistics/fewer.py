"""The statistics of fewer harmonics from those of many, exactly: no row is looked at again.

The features with f harmonics are linear in those with F ≥ f, z' = T z with a T for each term, so that Σ w z'z'ᵀ =
T (Σ w zzᵀ) Tᵀ. Features know their T (`coarsening`).
"""

from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.statistics.basis import signature
from odvff.statistics.sums import Statistics
from odvff.terms import Sum, Term


def with_fewer_harmonics(statistics: Statistics, terms: Sum, fewer: Sum) -> Statistics:
    """The statistics of `fewer`, which are these terms with fewer harmonics, from those of `terms`."""
    terms, fewer = terms.canonical, fewer.canonical
    if statistics.signature not in ("", signature(terms)):
        raise InputError(f"the statistics are of {statistics.signature}, and the terms are {signature(terms)}.")
    if statistics.signature == signature(fewer):
        return statistics
    if len(terms) != len(fewer):
        raise InputError(f"there are {len(terms)} terms, and {len(fewer)} with fewer harmonics; give one for each.")
    maps = [_map(term, few) for term, few in zip(terms, fewer, strict=True)]
    sizes = [s.stop - s.start for s in terms.slices]
    half = _times(maps, sizes, statistics.moments)
    moments = _times(maps, sizes, half.T)
    n_features = len(moments) - (len(statistics.moments) - statistics.n_features)
    return Statistics(0.5 * (moments + moments.T), n_features, statistics.n_rows, statistics.outside, signature(fewer))


def holds(terms: Sum, fewer: Sum) -> bool:
    """Has every term at least the harmonics that it has among `fewer`, which differ by nothing else?"""
    pairs = zip(terms.canonical, fewer.canonical, strict=True)
    return all(term.features.holds(few.features) for term, few in pairs)  # type: ignore[attr-defined]


def _map(term: Term, fewer: Term) -> Any | None:
    """T of a term, from all of its features to the fewer ones; None where they are the same."""
    if term.columns != fewer.columns:
        raise InputError(
            f"term {term.name!r} has {term.features!r} of columns {term.columns}, which do not contain "
            f"{fewer.features!r} of columns {fewer.columns}."
        )
    return term.features.coarsening(fewer.features)  # type: ignore[attr-defined]


def _times(maps: list[Any | None], sizes: list[int], M: Any) -> Any:
    """diag(T_1, T_2, …, I) M."""
    parts, start = [], 0
    for T, size in zip(maps, sizes, strict=True):
        rows = M[start : start + size]
        parts.append(rows if T is None else T @ rows)
        start += size
    return np.concatenate([*parts, M[start:]])
