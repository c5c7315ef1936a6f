"""The remainders R̂_k, which complete harmonics to a basis that is orthogonal in L² of the box:

    R̂_k = (B_k − Σ_{0<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t}) / n_k,      ‖R̂_k‖² = ½ as for a cosine,

Bernoulli polynomials less their first F harmonics. They take no hyper-parameter, as monomials do not.

With the remainders R_k of `matern_gram` (orthogonal in the RKHS), n_k R̂_k = R_k + Σ_m (c_m + k!/(iθ_m)^k) e^{iθ_m t},
and

    c_m + k!/(iθ_m)^k = k! Σ_{r≥k} C(s,r) μ^{s−r} (iθ_m)^{r−k} / (μ+iθ_m)^s,

again without cancellation.
"""

from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special

from odvff.features.matern_gram import harmonic_rows, harmonic_table
from odvff.support.arrays import Array, namespace

# B_0 … B_3 by powers of t − ½, of which they have just the even or the odd ones
BERNOULLI_CENTRED = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [-1 / 12, 0, 1, 0], [0, -1 / 4, 0, 1]])


def coefficients(n_harmonics: int, order: int, mu: Array) -> Array:
    """Those of n_k R̂_k on the harmonics beside R_k, for one μ or many; the constant, which is first, has none."""
    each = namespace(mu).asarray(mu)[..., None]
    c = harmonic_rows(_rest(order), 2 * np.pi * np.arange(1, n_harmonics + 1) / each, order)
    return c / (each ** np.arange(order + 1))[..., None]


@lru_cache(maxsize=8)
def _rest(s: int) -> np.ndarray:
    """k! Σ_{r≥k} C(s,r) z^{r−k} for k = 1…s."""
    rest = [{r - k: factorial(k) * comb(s, r) for r in range(k, s + 1)} for k in range(1, s + 1)]
    return harmonic_table([{}, *rest], s)


@lru_cache(maxsize=1024)
def scaled_coefficients(n_harmonics: int, order: int) -> Any:
    """Coefficients of R̂_1 … R̂_order on the F cosines and the F sines, of shape (order, 2F)."""
    theta, k = 2 * np.pi * np.arange(1, n_harmonics + 1), np.arange(1, order + 1)[:, None]
    c = scipy.special.factorial(k) / (1j * theta) ** k / norms(n_harmonics, order)[:, None]
    return np.concatenate([2 * c.real, -2 * c.imag], axis=1)


def harmonic_form(n_harmonics: int, order: int) -> tuple[Any, Any, Any]:
    """R̂_1 … R̂_order as sums of F cosines, F sines and powers of t − ½: the coefficients of each, a row for each R̂."""
    cosines, sines = np.split(scaled_coefficients(n_harmonics, order), 2, axis=1)
    return cosines, sines, BERNOULLI_CENTRED[1 : order + 1, : order + 1] / norms(n_harmonics, order)[:, None]


@lru_cache(maxsize=1024)
def norms(n_harmonics: int, order: int) -> Any:
    """n_k with ‖B_k − its first F harmonics‖² = n_k²/2."""
    k = np.arange(1, order + 1)
    tail = scipy.special.zeta(2 * k, n_harmonics + 1) / (2 * np.pi) ** (2 * k)
    return 2 * scipy.special.factorial(k) * np.sqrt(tail)
