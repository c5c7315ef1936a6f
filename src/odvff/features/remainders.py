"""The remainders R̂_k of Bernoulli polynomials: values, Gram matrix, norms, and how those of few harmonics follow.

`odvff.features.orthogonal` says what they are for.
"""

from dataclasses import replace
from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special

from odvff.errors import InputError
from odvff.features.harmonics import harmonics
from odvff.features.matern_gram import Parts, harmonic_rows, harmonic_table, parts
from odvff.support.arrays import Array, namespace


def fill_inside(t: Array, n_harmonics: int, order: int, out: Array) -> None:
    """φ̂ at positions t ∈ [0,1] of several columns at once, (columns, N), into an array (columns, |β_t|, N).

    Few long calls: this is where a pass over the rows spends its time, and it makes no copies.
    """
    F, s = n_harmonics, order
    out[:, 0] = 1.0
    trigonometric = harmonics(t, F, out=out[:, 1 : 2 * F + 1])
    np.matmul(scaled_coefficients(F, s), trigonometric, out=out[:, 2 * F + 1 :])
    for k, polynomial in enumerate(bernoulli(t, s)):
        polynomial *= 1 / norms(F, s)[k]
        out[:, 2 * F + 1 + k] += polynomial


def orthogonal_parts(n_harmonics: int, order: int, mu: Array) -> Parts:
    """The parts of the Gram matrix with the coefficients c that belong to R̂ (scaled by n_k), for one μ or many."""
    s, each = order, namespace(mu).asarray(mu)[..., None]
    c = harmonic_rows(_rest(s), 2 * np.pi * np.arange(1, n_harmonics + 1) / each, s)
    c = c / (each ** np.arange(s + 1))[..., None]
    return replace(parts(n_harmonics, s, mu, degree=s), c=c)


@lru_cache(maxsize=8)
def _rest(s: int) -> np.ndarray:
    """k! Σ_{r≥k} C(s,r) z^{r−k} for k = 1…s; the constant has none."""
    rest = [{r - k: factorial(k) * comb(s, r) for r in range(k, s + 1)} for k in range(1, s + 1)]
    return harmonic_table([{}, *rest], s)


# B_1, B_2, B_3 by powers of t − ½, of which they have just the odd or the even ones
BERNOULLI_CENTRED = ((0.0, 1.0), (-1 / 12, 0.0, 1.0), (0.0, -1 / 4, 0.0, 1.0))


def bernoulli(t: Array, order: int) -> Array:
    """B_1(t), …, B_order(t)."""
    u = t - 0.5
    square = u * u
    return namespace(t).stack([u, square - 1 / 12, u * (square - 1 / 4)][:order])


@lru_cache(maxsize=1024)
def harmonic_coefficients(n_harmonics: int, order: int) -> Any:
    """Coefficients of B_1 … B_order on the F cosines and the F sines, of shape (order, 2F)."""
    theta = 2 * np.pi * np.arange(1, n_harmonics + 1)
    c = np.stack([-factorial(k) / (1j * theta) ** k for k in range(1, order + 1)])
    return np.concatenate([2 * c.real, -2 * c.imag], axis=1)


@lru_cache(maxsize=1024)
def scaled_coefficients(n_harmonics: int, order: int) -> Any:
    """What R̂_k takes off the polynomial: −coefficients/n_k."""
    return -harmonic_coefficients(n_harmonics, order) / norms(n_harmonics, order)[:, None]


def harmonic_form(n_harmonics: int, order: int) -> tuple[Any, Any, Any]:
    """R̂_1 … R̂_order as sums of F cosines, F sines and powers of t − ½: the coefficients of each, a row for each R̂."""
    cosines, sines = np.split(scaled_coefficients(n_harmonics, order), 2, axis=1)
    powers = np.zeros((order, order + 1))
    for row, centred, norm in zip(powers, BERNOULLI_CENTRED, norms(n_harmonics, order), strict=False):
        row[: len(centred)] = np.divide(centred, norm)
    return cosines, sines, powers


@lru_cache(maxsize=1024)
def norms(n_harmonics: int, order: int) -> Any:
    """n_k with ‖B_k − its first F harmonics‖² = n_k²/2."""
    k = np.arange(1, order + 1)
    tail = scipy.special.zeta(2 * k, n_harmonics + 1) / (2 * np.pi) ** (2 * k)
    return 2 * scipy.special.factorial(k) * np.sqrt(tail)


def column_map(F: int, f: int, s: int) -> Any:
    """From 1, F cosines, F sines and s remainders to the same with f harmonics: the remainder that begins earlier is
    the later one and the harmonics between them,

        n'_k R̂'_k = n_k R̂_k + Σ_{f<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t}.
    """
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
