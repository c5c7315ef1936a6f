"""The collapsed bound from statistics, with its gradient: no row is looked at again.

With K = C Cᵀ, Ã = C⁻¹ΦᵀWΦC⁻ᵀ, b̃ = C⁻¹ΦᵀWy, B̃ = I + Ã/σ² and ṽ = B̃⁻¹b̃/σ² (which is the whitened mean):

    L = −½[N log 2πσ² + log|B̃| + yᵀWy/σ² − b̃ᵀṽ/σ² + (Σ w k(x,x) − tr Ã)/σ²]

    ∂L/∂θ_t   = −½ tr(C⁻¹ (∂K_t/∂θ_t) C⁻ᵀ M_tt) − …,   M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ²   (just its diagonal blocks)
    ∂L/∂log σ² = ½[−N + |β| − tr B̃⁻¹ + yᵀWy/σ² − b̃ᵀṽ/σ² − ṽᵀṽ + (Σ w k(x,x) − tr Ã)/σ²]

One Cholesky factorisation and one triangular inverse. Everything is whitened before it is factored, so that B̃ ⪰ I and
no choice of hyper-parameters makes it ill-conditioned by itself.

Rows outside the box enter with their features at the current hyper-parameters, exactly, and with their own gradient.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from odvff.errors import FactorizationError
from odvff.inference.blocks import Block, Blocks, Inverse, Whitened
from odvff.linalg import BlockFactor
from odvff.statistics import Statistics
from odvff.terms import Sum


@dataclass(frozen=True)
class Evaluation:
    """The bound at some parameters, and what the posterior needs."""

    value: float
    gradient: Any
    mean: Any  # ṽ
    inverse_root: Any  # L⁻¹ with L Lᵀ = B̃: the root of S is its transpose
    residuals: Any  # Σ w k_t(x,x) − tr Ã_tt for each term: the variance its features leave out


class CollapsedBound:
    """The bound as a function of log hyper-parameters: those of each block in turn, then the log noise variance.

    `count` is the N of N log 2πσ², the sum of weights by default; sites, which are not normalised, count 0.
    """

    def __init__(self, terms: Sum, statistics: Statistics, output: int = 0, *, count: float | None = None):
        self._blocks = Blocks(terms)
        self.statistics = statistics
        self.gram = statistics.gram
        self.projections = statistics.projections(output)
        self.squares = statistics.sum_of_squares(output)
        self.weight = statistics.weight
        self.count = self.weight if count is None else count
        self.y_outside = statistics.outside.Y[:, output]

    @property
    def blocks(self) -> list[Block]:
        return self._blocks.blocks

    def terms_at(self, parameters: Any) -> Sum:
        """The model with these hyper-parameters."""
        ends = self._blocks.variances + 1
        pairs = zip(self.blocks, np.split(parameters[:-1], ends[:-1]), strict=True)
        return Sum(tuple(block.at(p) for block, p in pairs))

    def __call__(self, parameters: Any) -> Evaluation:
        noise, slices = float(np.exp(parameters[-1])), self._blocks.slices
        whitened = self._whitened(parameters)
        A = _whiten(whitened.inverses, slices, self.gram)
        b = np.concatenate([C @ self.projections[s] for C, s in zip(whitened.inverses, slices, strict=True)])
        rows = self.statistics.outside
        if len(rows):
            terms = self.terms_at(parameters)
            C = terms.Kuu().factor()
            psi = C.solve(terms.Kuf(rows.X))
            A += (psi * rows.weights) @ psi.T
            b += psi @ (rows.weights * self.y_outside)
        inverse_root, log_det = _inverse_root(A, noise)
        v = inverse_root.T @ (inverse_root @ b) / noise

        variances = np.exp(parameters[self._blocks.variances])  # k(x,x)
        residuals = self.weight * variances - np.array([np.trace(A[s, s]) for s in slices])
        fit = (self.squares - b @ v) / noise
        left_out = residuals.sum() / noise
        value = -0.5 * (self.count * np.log(2 * np.pi * noise) + log_det + fit + left_out)

        gradient = np.empty_like(parameters)
        gradient[:-1] = -0.5 * whitened.traces([_middle(inverse_root, v, A, noise, s) for s in slices])
        gradient[self._blocks.variances] -= 0.5 * self.weight * variances / noise
        if len(rows):
            gradient[:-1] += self._outside(terms, C, psi, v, inverse_root, noise)
        trace_inverse = np.sum(inverse_root**2)
        gradient[-1] = 0.5 * (-self.count + len(b) - trace_inverse + fit - v @ v + left_out)
        return Evaluation(float(value), gradient, v, inverse_root, residuals)

    def _whitened(self, parameters: Any) -> Whitened:
        try:
            return self._blocks.whitened(parameters)
        except np.linalg.LinAlgError:
            self.terms_at(parameters).Kuu().factor()  # says which term it is, and what to do
            raise

    def _outside(self, terms: Sum, C: BlockFactor, psi: Any, v: Any, inverse_root: Any, noise: float) -> Any:
        """tr(∂L/∂A dA) + ∂L/∂b db for dΦ of the rows outside, ∂L/∂A = −[B⁻¹ − K⁻¹ + vvᵀ]/2σ², ∂L/∂b = v/σ²."""
        rows = self.statistics.outside
        G_psi = -(inverse_root.T @ (inverse_root @ psi) - psi + np.outer(v, v @ psi)) / (2 * noise)
        upstream = C.solve_transpose(2 * G_psi + np.outer(v, self.y_outside) / noise) * rows.weights
        gradient = []
        for block, term, s in zip(self.blocks, terms, C.slices, strict=True):
            gradient += [np.sum(upstream[s] * rate) for rate in block.rates(term, rows.X)]
            gradient.append(0.0)  # of the variance, which the features do not depend on
        return np.array(gradient)


def _middle(inverse_root: Any, v: Any, A: Any, noise: float, s: slice) -> Any:
    """A diagonal block of M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ²."""
    columns = inverse_root[s.start :, s]  # L⁻¹ is lower triangular
    M = columns.T @ columns + np.outer(v[s], v[s]) + A[s, s] / noise
    M.flat[:: len(M) + 1] -= 1
    return M


def _whiten(inverses: list[Inverse], slices: list[slice], gram: Any) -> Any:
    """The lower block triangle of C⁻¹ A C⁻ᵀ for a block-diagonal C, by products with the small inverses."""
    half = np.empty_like(gram)
    for inverse, s in zip(inverses, slices, strict=True):
        half[s] = inverse @ gram[s]
    whitened = np.zeros_like(gram)
    for inverse, s in zip(inverses, slices, strict=True):
        whitened[s.start :, s] = (inverse @ half[s.start :, s].T).T
    return whitened


def _inverse_root(A: Any, noise: float) -> tuple[Any, float]:
    """L⁻¹ and log|B̃| for B̃ = I + Ã/σ² = L Lᵀ; just the lower triangle of Ã is read."""
    B = A / noise
    B.flat[:: len(B) + 1] += 1.0
    # LAPACK counts by columns: our lower triangle is its upper one, B̃ = UᵀU with Uᵀ = L
    upper, failed = lapack.dpotrf(B.T, lower=0, overwrite_a=1)
    if failed:
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
    log_det = 2 * float(np.log(np.diagonal(upper)).sum())
    inverse, _ = lapack.dtrtri(upper, lower=0, overwrite_c=1)
    return inverse.T, log_det
