"""Completed Fourier features in a basis that is orthogonal in L² of the box: what statistics are taken in.

Monomials are nearly sums of many harmonics, so sums over rows of their products lose digits that no later algebra
brings back. The same span has a better basis: in place of t^k the remainders

    R̂_k = (B_k − Σ_{0<|m|≤F} (−k!/(iθ_m)^k) e^{iθ_m t}) / n_k,      ‖R̂_k‖² = ½ as for a cosine,

Bernoulli polynomials less their first F harmonics. They take no hyper-parameter either. For rows spread evenly over
the box the Gram matrix of [1, cos, sin, R̂] is nearly diagonal.

With the remainders R_k of `matern_gram` (orthogonal in the RKHS), n_k R̂_k = R_k + Σ_m (c_m + k!/(iθ_m)^k) e^{iθ_m t},
and

    c_m + k!/(iθ_m)^k = k! Σ_{r≥k} C(s,r) μ^{s−r} (iθ_m)^{r−k} / (μ+iθ_m)^s,

again without cancellation. The factor eliminates to the same R_k, so whitened features are those of `Fourier`.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
import scipy.special

from odvff.features.fourier import Fourier, harmonics
from odvff.features.matern_gram import BERNOULLI_COEFFICIENTS, Parts, harmonic_rows, harmonic_table, parts
from odvff.kernels import Matern, matern
from odvff.linalg import Bordered, DiagonalPlusLowRank
from odvff.support.arrays import Array, concatenate, namespace
from odvff.support.checks import matrix


@dataclass(frozen=True)
class OrthogonalFourier:
    """[1, cos θ_m t, sin θ_m t, R̂_k] on the interval of completed Fourier features."""

    fourier: Fourier

    def inside(self, X: Array, smoothness: float) -> Array:
        """φ̂(x) for rows inside the box, of shape (|β|, N): no lengthscale and no variance enter."""
        x = matrix(X, "X", n_columns=1)[:, 0]
        F, s = self.fourier.n_harmonics, Matern(smoothness).order
        self.fourier.check_inside(x)
        phi = np.empty((1, 2 * F + 1 + s, len(x)))
        fill_inside(((x - self.fourier.interval[0]) / self.fourier.length)[None], F, s, phi)
        return phi[0]

    def Kuu(self, kernel: Any) -> Bordered:
        """⟨φ̂_i, φ̂_j⟩."""
        k = matern(kernel)
        F, s = self.fourier.n_harmonics, k.order
        p = orthogonal_parts(F, s, k.rate * self.fourier.length)
        sigma = namespace(p.t, k.variance).sqrt(k.variance)
        n = np.concatenate([[1.0], norms(F, s)])
        core = DiagonalPlusLowRank(p.diagonal / k.variance, p.U / sigma)
        return Bordered(core, p.c, p.t / sigma, p.V / sigma, N=np.diag(1 / n), eliminate=np.diag(n), lead=1)

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """Cov(β, f(x)): the change of basis applied to `Fourier.Kuf`."""
        return self._change_basis(self.fourier.Kuf(kernel, X), matern(kernel).order)

    def Kuf_rate(self, kernel: Any, X: Array) -> Array:
        """∂Kuf/∂λ."""
        return self._change_basis(self.fourier.Kuf_rate(kernel, X), matern(kernel).order)

    def edges(self, kernel: Any) -> tuple[Any, Any]:
        """As `Fourier.edges`."""
        left, right = (self._change_basis(edge, matern(kernel).order) for edge in self.fourier.edges(kernel))
        return left, right

    def _change_basis(self, phi: Array, s: int) -> Array:
        F = self.fourier.n_harmonics
        remainders = BERNOULLI_COEFFICIENTS[1 : s + 1, : s + 1] @ concatenate([phi[:1], phi[-s:]])
        remainders = remainders - harmonic_coefficients(F, s) @ phi[1 : 2 * F + 1]
        return concatenate([phi[: 2 * F + 1], remainders / norms(F, s)[:, None]])


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
