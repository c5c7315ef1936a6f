"""The statistics of fewer harmonics from those of many, exactly: no row is looked at again.

The features with f harmonics are linear in those with F ≥ f: cosines and sines are among them, and the remainder that
begins earlier is the later one and the harmonics between them,

    n'_k R̂'_k = n_k R̂_k + Σ_{f<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t},

so that z' = T z and Σ w z'z'ᵀ = T (Σ w zzᵀ) Tᵀ, with a T for each term.
"""

from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features import Kronecker
from odvff.features.orthogonal import harmonic_coefficients, norms
from odvff.kernels import matern, separable
from odvff.statistics.basis import fouriers, orthogonal, signature
from odvff.statistics.sums import Statistics
from odvff.terms import Sum, Term


def with_fewer_harmonics(statistics: Statistics, terms: Sum, fewer: Sum) -> Statistics:
    """The statistics of `fewer`, which are these terms with fewer harmonics, from those of `terms`."""
    terms, fewer = (Sum(tuple(orthogonal(term) for term in all_terms)) for all_terms in (terms, fewer))
    if statistics.signature not in ("", signature(terms)):
        raise InputError(f"the statistics are of {statistics.signature}, and the terms are {signature(terms)}.")
    if statistics.signature == signature(fewer):
        return statistics
    if len(terms) != len(fewer):
        raise InputError(f"there are {len(terms)} terms, and {len(fewer)} with fewer harmonics; give one for each.")
    maps = [_map(term, few) for term, few in zip(terms, fewer, strict=True)]
    sizes = [block.size for block in terms.Kuu().blocks]
    half = _times(maps, sizes, statistics.moments)
    moments = _times(maps, sizes, half.T)
    n_features = len(moments) - (len(statistics.moments) - statistics.n_features)
    return Statistics(0.5 * (moments + moments.T), n_features, statistics.n_rows, statistics.outside, signature(fewer))


def holds(terms: Sum, fewer: Sum) -> bool:
    """Has every term at least the harmonics that it has among `fewer`, which differ by nothing else?"""
    return all(
        have.n_harmonics >= want.n_harmonics
        for term, few in zip(terms, fewer, strict=True)
        for have, want in zip(fouriers(term), fouriers(few), strict=True)
    )


def _map(term: Term, fewer: Term) -> Any | None:
    """T of a term, from all of its features to the fewer ones; None where they are the same."""
    many, few = fouriers(term), fouriers(fewer)
    alike = [replace(f, n_harmonics=1) for f in many] == [replace(f, n_harmonics=1) for f in few]
    if not alike or not (many or term.features == fewer.features) or _reads(term) != _reads(fewer):
        raise InputError(
            f"term {term.name!r} has {term.features!r} of columns {term.columns}, which do not contain "
            f"{fewer.features!r} of columns {fewer.columns}."
        )
    if many == few:
        return None
    return reduce(
        np.kron,
        [
            _column_map(f.n_harmonics, g.n_harmonics, s if f.completion else 0)
            for f, g, s in zip(many, few, _orders(term), strict=True)
        ],
    )


def _reads(term: Term) -> tuple[Any, list[int]]:
    """Beside the features themselves, what their values depend on."""
    return term.columns, _orders(term)


def _orders(term: Term) -> list[int]:
    """s of the Matérn kernel of each of its columns."""
    columns = len(fouriers(term))
    if columns == 0:
        return []
    kernels = separable(term.kernel, columns) if isinstance(term.features, Kronecker) else [term.kernel]
    return [matern(kernel).order for kernel in kernels]


def _column_map(F: int, f: int, s: int) -> Any:
    """From 1, F cosines, F sines and s remainders to the same with f harmonics."""
    if f > F:
        raise InputError(f"statistics with {F} harmonics say nothing of {f}; collect them with as many.")
    T = np.zeros((2 * f + 1 + s, 2 * F + 1 + s))
    few, many = np.arange(f), np.arange(F)
    T[0, 0] = 1.0
    T[1 + few, 1 + few] = T[1 + f + few, 1 + F + few] = 1.0
    if s == 0:  # without completion there are no remainders
        return T
    between = np.concatenate([many[f:], F + many[f:]])
    T[2 * f + 1 :, 1 + between] = harmonic_coefficients(F, s)[:, between] / norms(f, s)[:, None]
    T[2 * f + 1 :, 2 * F + 1 :] = np.diag(norms(F, s) / norms(f, s))
    return T


def _times(maps: list[Any | None], sizes: list[int], M: Any) -> Any:
    """diag(T_1, T_2, …, I) M."""
    parts, start = [], 0
    for T, size in zip(maps, sizes, strict=True):
        rows = M[start : start + size]
        parts.append(rows if T is None else T @ rows)
        start += size
    return np.concatenate([*parts, M[start:]])
