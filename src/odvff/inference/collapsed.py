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
from odvff.inference.blocks import Block
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
        self.blocks = [Block(term) for term in terms]
        self.statistics = statistics
        self.gram = statistics.gram
        self.projections = statistics.projections(output)
        self.squares = statistics.sum_of_squares(output)
        self.weight = statistics.weight
        self.count = self.weight if count is None else count
        self.y_outside = statistics.outside.Y[:, output]

    def split(self, parameters: Any) -> list[Any]:
        """The parameters of each block."""
        sizes = [len(block.parameters()) for block in self.blocks]
        return np.split(parameters[:-1], np.cumsum(sizes)[:-1])

    def terms_at(self, parameters: Any) -> Sum:
        """The model with these hyper-parameters."""
        pairs = zip(self.blocks, self.split(parameters), strict=True)
        return Sum(tuple(block.at(p) for block, p in pairs))

    def __call__(self, parameters: Any) -> Evaluation:
        per_block = self.split(parameters)
        noise = float(np.exp(parameters[-1]))
        terms = self.terms_at(parameters)
        C = terms.Kuu().factor()
        inverses = [block.solve(np.eye(block.size)) for block in C.blocks]
        A, b = _whiten(inverses, C.slices, self.gram), C.solve(self.projections)
        rows = self.statistics.outside
        psi = None
        if len(rows):
            psi = C.solve(terms.Kuf(rows.X))
            A += (psi * rows.weights) @ psi.T
            b = b + psi @ (rows.weights * self.y_outside)
        inverse_root, log_det = _inverse_root(A, noise)
        n = len(b)
        v = inverse_root.T @ (inverse_root @ b) / noise

        slices = C.slices
        variances = np.array([block.variance(p) for block, p in zip(self.blocks, per_block, strict=True)])
        residuals = self.weight * variances - np.array([np.trace(A[s, s]) for s in slices])
        fit = (self.squares - b @ v) / noise
        left_out = residuals.sum() / noise
        value = -0.5 * (self.count * np.log(2 * np.pi * noise) + log_det + fit + left_out)

        gradient = []
        for t, (block, p, s) in enumerate(zip(self.blocks, per_block, slices, strict=True)):
            columns = inverse_root[s.start :, s]  # L⁻¹ is lower triangular
            M = columns.T @ columns + np.outer(v[s], v[s]) + A[s, s] / noise
            np.fill_diagonal(M, np.diagonal(M) - 1)
            g = -0.5 * block.traces(p, C.blocks[t], M)
            g[-1] -= 0.5 * self.weight * variances[t] / noise
            gradient.append(g)
        if psi is not None:
            self._add_outside(gradient, terms, C, psi, v, inverse_root, noise)
        trace_inverse = np.sum(inverse_root**2)
        g_noise = 0.5 * (-self.count + n - trace_inverse + fit - v @ v + left_out)
        return Evaluation(float(value), np.concatenate([*gradient, [g_noise]]), v, inverse_root, residuals)

    def _add_outside(
        self, gradient: list[Any], terms: Sum, C: BlockFactor, psi: Any, v: Any, inverse_root: Any, noise: float
    ) -> None:
        """tr(∂L/∂A dA) + ∂L/∂b db for dΦ of the rows outside, ∂L/∂A = −[B⁻¹ − K⁻¹ + vvᵀ]/2σ², ∂L/∂b = v/σ²."""
        rows = self.statistics.outside
        G_psi = -(inverse_root.T @ (inverse_root @ psi) - psi + np.outer(v, v @ psi)) / (2 * noise)
        upstream = C.solve_transpose(2 * G_psi + np.outer(v, self.y_outside) / noise) * rows.weights
        for t, (block, term, s) in enumerate(zip(self.blocks, terms, C.slices, strict=True)):
            for i, rate in enumerate(block.rates(term, rows.X)):
                gradient[t][i] += np.sum(upstream[s] * rate)


def _whiten(inverses: list[Any], slices: list[slice], gram: Any) -> Any:
    """The lower block triangle of C⁻¹ A C⁻ᵀ for a block-diagonal C, by products with the small inverses."""
    half = np.empty_like(gram)
    for inverse, s in zip(inverses, slices, strict=True):
        np.matmul(inverse, gram[s], out=half[s])
    whitened = np.zeros_like(gram)
    for inverse, s in zip(inverses, slices, strict=True):
        whitened[s.start :, s] = half[s.start :, s] @ inverse.T
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
