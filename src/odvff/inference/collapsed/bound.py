"""The collapsed bound from statistics, with its gradient: no row is looked at again.

With K = C Cᵀ, Ã = C⁻¹ΦᵀWΦC⁻ᵀ, b̃ = C⁻¹ΦᵀWy, B̃ = I + Ã/σ² and ṽ = B̃⁻¹b̃/σ² (which is the whitened mean):

    L = −½[N log 2πσ² + log|B̃| + yᵀWy/σ² − b̃ᵀṽ/σ² + (Σ w k(x,x) − tr Ã)/σ²]

    ∂L/∂θ_t   = −½ tr(C⁻¹ (∂K_t/∂θ_t) C⁻ᵀ M_tt) − …,   M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ²   (just its diagonal blocks)
    ∂L/∂log σ² = ½[−N + |β| − tr B̃⁻¹ + yᵀWy/σ² − b̃ᵀṽ/σ² − ṽᵀṽ + (Σ w k(x,x) − tr Ã)/σ²]

One Cholesky factorisation and one triangular inverse. Everything is whitened before it is factored, so that B̃ ⪰ I and
no choice of hyper-parameters makes it ill-conditioned by itself.

Rows outside the box enter with their features at the current hyper-parameters, exactly, and with their own gradient.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from odvff.errors import FactorizationError
from odvff.features.base import WhitenedGroup
from odvff.inference.collapsed.blocks import Blocks, Middle
from odvff.linalg import BlockFactor
from odvff.statistics import Statistics
from odvff.support.arrays import solve_triangular
from odvff.terms import Sum


@dataclass(frozen=True)
class Evaluation:
    """The bound at some parameters, and what the posterior needs."""

    value: float
    gradient: Any
    mean: Any  # ṽ
    inverse_root: Any  # L⁻¹ with L Lᵀ = B̃: the root of S is its transpose
    residuals: Any  # Σ w k_t(x,x) − tr Ã_tt for each term: the variance its features leave out
    effective: Any  # tr(I − B̃⁻¹)_tt for each term: how many of its features the data speak of


@dataclass(frozen=True)
class _Sums:
    """What the bound is made of, whatever the noise: Ã (its lower block triangle), b̃, and what features leave out."""

    A: Any
    b: Any
    residuals: Any
    groups: list[WhitenedGroup]
    outside: tuple[Sum, BlockFactor, Any] | None  # terms, factor and ψ, if there are rows outside the box


class CollapsedBound:
    """The bound as a function of log hyper-parameters: those of each block in turn, then the log noise variance.

    `count` is the N of N log 2πσ², the sum of weights by default; sites, which are not normalised, count 0.
    """

    def __init__(self, terms: Sum, statistics: Statistics, output: int = 0, *, count: float | None = None):
        self.blocks = Blocks(terms)
        self.statistics, self.weight = statistics, statistics.weight
        self.projections = statistics.projections(output)
        self.squares = statistics.sum_of_squares(output)
        self.count = self.weight if count is None else count
        self.y_outside = statistics.outside.Y[:, output]

    def terms_at(self, parameters: Any) -> Sum:
        """The model with these hyper-parameters."""
        return self.blocks.at(parameters[:-1])

    def values(self, kernels: Any, noises: list[float]) -> list[float]:
        """The bound alone, at the hyper-parameters of kernels with several variances of noise.

        Statistics are whitened once for all of them, and there is no gradient.
        """
        sums, values = self._sums(kernels), []
        for noise in noises:
            upper, log_det = _root(sums.A, noise)
            if upper is None:
                values.append(self(np.append(kernels, np.log(noise))).value)
                continue
            z = solve_triangular(upper.T, sums.b / np.sqrt(noise))  # |z|² = b̃ᵀB̃⁻¹b̃/σ², for y of any scale
            values.append(self._value(noise, log_det, (self.squares - z @ z) / noise, sums.residuals))
        return values

    def __call__(self, parameters: Any) -> Evaluation:
        noise, slices = float(np.exp(parameters[-1])), self.blocks.slices
        sums = self._sums(parameters[:-1])
        A, b, residuals = sums.A, sums.b, sums.residuals
        inverse_root, log_det = inverse_root_of(A, noise)
        v = inverse_root.T @ (inverse_root @ b) / noise
        fit = (self.squares - b @ v) / noise

        gradient = np.empty_like(parameters)
        uncertain = np.einsum("ij,ij->j", inverse_root, inverse_root)  # diag B̃⁻¹
        # L⁻¹ is lower triangular
        middles = [Middle(inverse_root[s.start :, s], uncertain[s], v[s], A[s, s], noise) for s in slices]
        gradient[:-1] = -0.5 * self.blocks.traces(sums.groups, middles)
        gradient[self.blocks.variances] -= 0.5 * self.weight * self._variances(parameters) / noise
        if sums.outside is not None:
            gradient[:-1] += self._outside(*sums.outside, v, inverse_root, noise)
        effective = 1 - uncertain
        gradient[-1] = 0.5 * (-self.count + effective.sum() + fit - v @ v + residuals.sum() / noise)
        spoken_of = np.array([effective[s].sum() for s in slices])
        return Evaluation(self._value(noise, log_det, fit, residuals), gradient, v, inverse_root, residuals, spoken_of)

    def information(self, evaluation: Evaluation) -> Any:
        """About the Fisher information of every parameter by itself: one over its variance, were the others known.

        ½ tr(Σ⁻¹∂Σ)², Σ = Q + σ²I: every feature that the data speak of brings ½(∂ log S(ω))², S its spectral density,
        which for a log variance is ½, and for a log lengthscale, as S ∝ ℓ^{−2ν} where ω is large, ½(2ν)². The log noise
        has half the number of rows.
        """
        return np.append(self.blocks.information(evaluation.effective), 0.5 * self.weight)

    def _sums(self, kernels: Any) -> _Sums:
        """The statistics in whitened coordinates, rows outside the box included."""
        slices, rows, outside = self.blocks.slices, self.statistics.outside, None
        try:
            inverses, groups = self.blocks.whitened(kernels)
        except np.linalg.LinAlgError:
            self.blocks.at(kernels).Kuu().factor()  # says which term it is, and what to do
            raise
        A = _whiten(inverses, slices, self.statistics.gram)
        b = np.concatenate([C @ self.projections[s] for C, s in zip(inverses, slices, strict=True)])
        if len(rows):
            terms = self.blocks.at(kernels)
            C = terms.Kuu().factor()
            psi = C.solve(terms.Kuf(rows.X))
            A += (psi * rows.weights) @ psi.T
            b += psi @ (rows.weights * self.y_outside)
            outside = (terms, C, psi)
        residuals = self.weight * self._variances(kernels) - np.array([np.trace(A[s, s]) for s in slices])
        return _Sums(A, b, residuals, groups, outside)

    def _variances(self, parameters: Any) -> Any:
        """k(x,x) of each term."""
        return np.exp(parameters[self.blocks.variances])

    def _value(self, noise: float, log_det: float, fit: float, residuals: Any) -> float:
        left_out = residuals.sum() / noise
        return float(-0.5 * (self.count * np.log(2 * np.pi * noise) + log_det + fit + left_out))

    def _outside(self, terms: Sum, C: BlockFactor, psi: Any, v: Any, inverse_root: Any, noise: float) -> Any:
        """tr(∂L/∂A dA) + ∂L/∂b db for dΦ of the rows outside, ∂L/∂A = −[B⁻¹ − K⁻¹ + vvᵀ]/2σ², ∂L/∂b = v/σ²."""
        rows = self.statistics.outside
        G_psi = -(inverse_root.T @ (inverse_root @ psi) - psi + np.outer(v, v @ psi)) / (2 * noise)
        upstream = C.solve_transpose(2 * G_psi + np.outer(v, self.y_outside) / noise) * rows.weights
        gradient = []
        for term, s in zip(terms, C.slices, strict=True):
            features: Any = term.features
            gradient += [np.sum(upstream[s] * rate) for rate in features.Kuf_rates(term.kernel, term.select(rows.X))]
            gradient.append(0.0)  # of the variance, which the features do not depend on
        return np.array(gradient)


def _whiten(inverses: Sequence[Any], slices: list[slice], gram: Any) -> Any:
    """The lower block triangle of C⁻¹ A C⁻ᵀ for a block-diagonal C, by products with their inverses."""
    half, whitened = np.empty_like(gram), np.zeros_like(gram)
    for inverse, s in zip(inverses, slices, strict=True):
        half[s, : s.stop] = inverse @ gram[s, : s.stop]  # what lies to the right of it is not read
    for inverse, s in zip(inverses, slices, strict=True):
        whitened[s.start :, s] = half[s.start :, s] @ inverse.T
    return whitened


def _root(A: Any, noise: float) -> tuple[Any | None, float]:
    """Lᵀ and log|B̃| for B̃ = I + Ã/σ² = L Lᵀ; just the lower triangle of Ã is read. None where rounding prevents it."""
    B = A / noise
    B.flat[:: len(B) + 1] += 1.0
    # LAPACK counts by columns: our lower triangle is its upper one, B̃ = UᵀU with Uᵀ = L
    upper, failed = lapack.dpotrf(B.T, lower=0, overwrite_a=1)
    return (None, np.nan) if failed else (upper, 2 * float(np.log(np.diagonal(upper)).sum()))


def inverse_root_of(A: Any, noise: float) -> tuple[Any, float]:
    """L⁻¹ and log|B̃|."""
    upper, log_det = _root(A, noise)
    if upper is None:
        # Ã ⪰ 0 but for rounding: take the negative part off
        eigenvalues, Q = np.linalg.eigh(A, UPLO="L")
        if not np.isfinite(eigenvalues).all():
            raise FactorizationError("the statistics contain NaN or infinite entries; check the data for overflow.")
        inflated = 1 + np.maximum(eigenvalues, 0) / noise
        # B̃⁻¹ = EᵀE with E = D^{-½}Qᵀ; reversing rows and columns turns the R of a QR factorisation into a lower L⁻¹
        E = (Q / np.sqrt(inflated)).T
        R: Any = np.linalg.qr(E[:, ::-1], mode="r")
        R = R[::-1, ::-1]
        return R * np.sign(np.diagonal(R))[:, None], float(np.log(inflated).sum())
    inverse, _ = lapack.dtrtri(upper, lower=0, overwrite_c=1)
    return inverse.T, log_det
