"""C⁻¹ of every term and tr(C⁻¹ (∂K/∂θ) C⁻ᵀ M), for all columns of one kind at once.

A bound of ten terms is asked for hundreds of times, and its matrices are small: what costs is the number of calls. So
columns with as many harmonics and the same smoothness are stacked, and nearly every formula of `odvff.linalg.low_rank`
is one call for all of them. The factor is the same, C = E [[C_h, 0], [V (C_h⁻¹U)ᵀ, C_R]]. Its inverse is a diagonal, a
small block and a matrix of low rank, as C_h⁻¹ = (I − W Z Wᵀ) D^{−½} with Z = (I+Λᵀ)⁻¹Λ⁻¹, and
(C_h⁻¹U)ᵀ C_h⁻¹ = (ΛΛᵀ)⁻¹ Wᵀ D^{−½}:

    C⁻¹ = G E⁻¹,     G = blockdiag(D^{−½}, C_R⁻¹) − [W Z; C_R⁻¹ V (ΛΛᵀ)⁻¹] [D^{−½} W; 0]ᵀ.

(If the basis is not completed, the constant is one more row of W, its own D^{−½} is the block, and E = I.)

K(μ) = E H Eᵀ is made of the parts of `matern_gram`, whose derivatives come from a complex step. In terms of harmonics h
and remainders R, H = diag(D, 0) + P Pᵀ + blockdiag(0, t tᵀ) with P = [U; V], and E⁻¹dE = X = [[0, 0], [dc, 0]], so

    E⁻¹ dK E⁻ᵀ = diag(dD, 0) + dP Pᵀ + P dPᵀ + blockdiag(0, dt tᵀ + t dtᵀ) + X H + H Xᵀ.

Of Y = Gᵀ M G its trace takes the diagonal and a few columns: M meets a few vectors, not G itself.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.features.matern_gram import Parts, with_rates

SMALL = 128  # features of a column: up to here one product with an array is quicker than several thin ones


@dataclass(frozen=True)
class LowRank:
    """blockdiag(scale, block) − left rightᵀ, for the harmonics and the few others: G or C⁻¹ of a column, or of many."""

    scale: Any  # (…, 2F)
    block: Any  # (…, q, q)
    left: Any  # (…, n, r)
    right: Any

    __array_ufunc__ = None  # an array that is multiplied with it from the left leaves that to `__rmatmul__`

    def __len__(self) -> int:
        return int(self.left.shape[-2])

    @property
    def T(self) -> "LowRank":
        """Of every matrix the transpose."""
        return LowRank(self.scale, self.block.mT, self.right, self.left)

    @property
    def places(self) -> tuple[slice, list[int]]:
        """Where the harmonics stand; the constant, and what completes them."""
        stop = 1 + self.scale.shape[-1]
        return slice(1, stop), [0, *range(stop, len(self))]

    def __matmul__(self, X: Any) -> Any:
        if X.ndim == 1:
            return (self @ X[:, None])[:, 0]
        h, R = self.places
        product = -self.left @ (self.right.mT @ X)
        product[..., h, :] += self.scale[..., None] * X[..., h, :]
        product[..., R, :] += self.block @ X[..., R, :]
        return product

    def __rmatmul__(self, X: Any) -> Any:
        h, R = self.places
        product = -(X @ self.left) @ self.right.mT
        product[..., h] += X[..., h] * self.scale[..., None, :]
        product[..., R] += X[..., R] @ self.block
        return product


@dataclass(frozen=True)
class Columns:
    """Columns of one kind, at some hyper-parameters: the first dimension of every array counts them."""

    mu: Any
    variance: Any
    parts: Parts
    rates: Parts  # ∂/∂μ of the parts
    G: LowRank
    eliminate: Any  # R = N⁻¹ w − c h of the constant and what completes the harmonics

    @property
    def inverses(self) -> list[Any]:
        """C⁻¹ of every column: an array, or what multiplies matrices as if it were one if that is quicker."""
        G, (h, R), s = self.G, self.G.places, self.G.left.shape[-1]
        left, right = np.zeros((2, *G.left.shape[:-1], s + len(R)))
        left[..., :s], right[..., :s] = G.left, G.right
        left[..., R, s:], right[..., h, s:] = G.block, self.parts.c.mT
        stack = LowRank(G.scale, G.block @ self.eliminate, left, right)
        if len(G) <= SMALL:
            return list(stack @ np.eye(len(G)))
        return [LowRank(*own) for own in zip(stack.scale, stack.block, left, right, strict=True)]

    def traces(self, Ms: Any) -> Any:
        """tr(C⁻¹ (∂K/∂log ℓ) C⁻ᵀ M) for every column and its M, (columns, 1): ∂/∂log ℓ = −μ ∂/∂μ."""
        p, d, G = self.parts, self.rates, self.G
        (h, R), s = G.places, G.left.shape[-1]
        P, dP = np.empty((2, *G.left.shape))
        P[:, h], P[:, R], dP[:, h], dP[:, R] = p.U, p.V, d.U, d.V
        G_R = -G.left @ G.right[:, R].mT
        G_R[:, R] += G.block
        few = np.concatenate([G @ P, G.left, G_R], axis=-1)
        of_few = np.stack([M @ own for M, own in zip(Ms, few, strict=True)])
        YP, ML, Y_R = G.T @ of_few[..., :s], of_few[..., s : 2 * s], G.T @ of_few[..., 2 * s :]
        # diag(Y) of the harmonics: e_jᵀGᵀMGe_j with Ge_j = scale_j e_j − left right_j
        N, scale = G.right[:, h], G.scale
        diagonal = scale**2 * np.stack([M.diagonal() for M in Ms])[:, h] - 2 * scale * (ML[:, h] * N).sum(axis=-1)
        diagonal += ((N @ (G.left.mT @ ML)) * N).sum(axis=-1)
        # X H: dc against the rows h, columns R of H Y
        HY = p.diagonal[..., None] * Y_R[:, h] + p.U @ YP[:, R].mT
        trace = (d.diagonal * diagonal).sum(axis=1)
        trace += 2 * ((YP * dP).sum(axis=(1, 2)) + ((Y_R[:, R] @ p.t) * d.t).sum(axis=(1, 2)))
        trace += 2 * (d.c.mT * HY).sum(axis=(1, 2))
        return (-self.mu * trace / self.variance)[:, None]


def columns_at(features: Any, mu: Any, variance: Any) -> Columns:
    """Columns of Fourier features like these at many μ = λL and variances.

    Raises `LinAlgError` if one of the Gram matrices is not positive.
    """
    s = features.order
    p, d = with_rates(lambda mu: features.parts(s, mu), mu)
    sigma = np.sqrt(variance)[:, None, None]
    diagonal, U, V, t = p.diagonal / variance[:, None], p.U / sigma, p.V / sigma, p.t / sigma
    _, eliminate = features.elimination(s)
    if not features.completion:  # the constant is the first of the core, and nothing is eliminated
        diagonal, U = np.concatenate([t[:, 0, :1] ** 2, diagonal], axis=1), np.concatenate([V, U], axis=1)
        scale, WZ, W, _ = _core(diagonal, U)
        G = LowRank(scale[:, 1:], scale[:, :1, None], WZ, W * scale[..., None])
        return Columns(mu, variance, p, d, G, eliminate)
    scale, WZ, W, lower_inverse = _core(diagonal, U)
    # the Schur complement T + V (I + WᵀW)⁻¹ Vᵀ, scaled to a unit diagonal
    v = lower_inverse @ V.mT
    schur = t @ t.mT + v.mT @ v
    unit = np.sqrt(np.diagonal(schur, axis1=1, axis2=2))
    block = _inverse_lower(np.linalg.cholesky(schur / unit[:, :, None] / unit[:, None])) / unit[:, None]
    left, right = np.zeros((2, len(mu), diagonal.shape[1] + len(eliminate), s))
    G = LowRank(scale, block, left, right)
    h, R = G.places
    left[:, h], left[:, R] = WZ, block @ (v.mT @ lower_inverse)
    right[:, h] = W * scale[..., None]
    return Columns(mu, variance, p, d, G, eliminate)


def _core(diagonal: Any, U: Any) -> tuple[Any, Any, Any, Any]:
    """D^{−½}, W Z, W and Λ⁻¹ for the core D + U Uᵀ, with Λ Λᵀ = I + WᵀW."""
    scale = 1 / np.sqrt(diagonal)
    W = U * scale[..., None]
    eye = np.eye(U.shape[-1])
    lower = np.linalg.cholesky(eye + W.mT @ W)
    lower_inverse = _inverse_lower(lower)
    return scale, W @ (_inverse_lower(eye + lower).mT @ lower_inverse), W, lower_inverse


def _inverse_lower(lower: Any) -> Any:
    """L⁻¹ of many small triangular matrices, row by row: X_i = (e_i − Σ_{j<i} L_ij X_j)/L_ii."""
    n = lower.shape[-1]
    inverse = np.zeros_like(lower)
    for i in range(n):
        inverse[:, i, i] = 1
        inverse[:, i] -= (lower[:, i, None, :i] @ inverse[:, :i])[:, 0]
        inverse[:, i] /= lower[:, i, i, None]
    return inverse
