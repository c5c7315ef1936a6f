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
from odvff.features import Fourier, Kronecker
from odvff.features.orthogonal import harmonic_coefficients, norms
from odvff.kernels import matern, separable
from odvff.statistics.basis import orthogonal, signature
from odvff.statistics.summary import Statistics
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
    rest = np.eye(len(statistics.moments) - statistics.n_features)  # of 1 and y
    maps = [*(_map(term, few) for term, few in zip(terms, fewer, strict=True)), rest]
    half = _times(maps, statistics.moments)
    moments = _times(maps, half.T)
    return Statistics(
        0.5 * (moments + moments.T), len(moments) - len(rest), statistics.n_rows, statistics.outside, signature(fewer)
    )


def holds(terms: Sum, fewer: Sum) -> bool:
    """Has every term at least the harmonics that it has among `fewer`?"""
    return all(
        have.n_harmonics >= want.n_harmonics
        for term, few in zip(terms, fewer, strict=True)
        for have, want in zip(_fouriers(term), _fouriers(few), strict=True)
    )


def _fouriers(term: Term) -> list[Fourier]:
    """The Fourier features of every column; none if the term has others."""
    features: Any = term.features
    plain = (getattr(f, "fourier", f) for f in getattr(features, "factors", (features,)))
    return [f for f in plain if isinstance(f, Fourier)]


def _map(term: Term, fewer: Term) -> Any:
    """T of a term, from all of its features to the fewer ones."""
    many, few = _fouriers(term), _fouriers(fewer)
    if [replace(f, n_harmonics=1) for f in many] != [replace(f, n_harmonics=1) for f in few] or not many:
        if term.features == fewer.features:
            return np.eye(term.Kuu().size)
        raise InputError(f"term {term.name!r} has {term.features!r}, which do not contain {fewer.features!r}.")
    kernels = separable(term.kernel, len(many)) if isinstance(term.features, Kronecker) else [matern(term.kernel)]
    orders = [matern(k).order if f.completion else 0 for k, f in zip(kernels, many, strict=True)]
    maps = [_column_map(f.n_harmonics, g.n_harmonics, s) for f, g, s in zip(many, few, orders, strict=True)]
    return reduce(np.kron, maps)


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


def _times(maps: list[Any], M: Any) -> Any:
    """diag(T_1, T_2, …) M."""
    ends = np.cumsum([T.shape[1] for T in maps])
    return np.concatenate([T @ M[end - T.shape[1] : end] for T, end in zip(maps, ends, strict=True)])
