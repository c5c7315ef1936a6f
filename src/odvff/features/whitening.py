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
from functools import cached_property
from typing import Any

import numpy as np

from odvff.features.inverses import Product
from odvff.features.matern_gram import Parts, parts, with_rates
from odvff.features.remainders import norms, orthogonal_parts

SMALL = (
    128  # features of a column: up to here the one call of a product with an array is quicker than several thin ones
)


@dataclass(frozen=True)
class Kind:
    """What columns must share to be stacked: harmonics, the order of the kernel, and whether the basis is completed."""

    n_harmonics: int
    order: int
    completed: bool

    @property
    def size(self) -> int:
        return 2 * self.n_harmonics + 1 + (self.order if self.completed else 0)

    def parts(self, mu: Any) -> tuple[Parts, Parts]:
        """The parts of K for σ² = 1 at many μ, and their derivatives."""
        F, s = self.n_harmonics, self.order
        return with_rates(lambda mu: orthogonal_parts(F, s, mu) if self.completed else parts(F, s, mu, degree=0), mu)


@dataclass(frozen=True)
class LowRank:
    """blockdiag(scale, block) − left rightᵀ, for the harmonics and the few others: G or C⁻¹ of a column, or of many."""

    kind: Kind
    scale: Any  # (…, 2F)
    block: Any  # (…, q, q)
    left: Any  # (…, n, r)
    right: Any

    __array_ufunc__ = None  # an array that is multiplied with it from the left leaves that to `__rmatmul__`

    def __len__(self) -> int:
        return self.kind.size

    @property
    def T(self) -> "LowRank":
        """Of every matrix the transpose."""
        return LowRank(self.kind, self.scale, _t(self.block), self.right, self.left)

    def __matmul__(self, X: Any) -> Any:
        h, R = _harmonics(self.kind), _remainders(self.kind)
        product = -self.left @ (_t(self.right) @ X)
        product[..., h, :] += self.scale[..., None] * X[..., h, :]
        product[..., R, :] += self.block @ X[..., R, :]
        return product

    def __rmatmul__(self, X: Any) -> Any:
        h, R = _harmonics(self.kind), _remainders(self.kind)
        product = -(X @ self.left) @ _t(self.right)
        product[..., h] += X[..., h] * self.scale[..., None, :]
        product[..., R] += X[..., R] @ self.block
        return product

    def columns_of_block(self) -> Any:
        """Its columns of what is no harmonic, (…, n, q)."""
        R = _remainders(self.kind)
        columns = -self.left @ _t(self.right[..., R, :])
        columns[..., R, :] += self.block
        return columns


@dataclass(frozen=True)
class Columns:
    """Columns of one kind, at some hyper-parameters: the first dimension of every array counts them."""

    kind: Kind
    mu: Any
    variance: Any
    G: LowRank
    parts: Parts
    rates: Parts

    @cached_property
    def inverses(self) -> list[Any]:
        """C⁻¹ of every column: an array, or what multiplies matrices as if it were one if that is quicker."""
        stack = self._of_features() if self.kind.completed else self.G
        if self.kind.size <= SMALL:
            return list(stack @ np.eye(self.kind.size))
        arrays = zip(stack.scale, stack.block, stack.left, stack.right, strict=True)
        return [LowRank(self.kind, *own) for own in arrays]

    def _of_features(self) -> LowRank:
        """G E⁻¹, where E⁻¹ makes R = n w − c h of the features."""
        G, h, R = self.G, _harmonics(self.kind), _remainders(self.kind)
        n_k = np.concatenate([[1.0], norms(self.kind.n_harmonics, self.kind.order)])
        left, right = np.zeros((2, *self.mu.shape, len(G), self.kind.order + len(R)))
        own, eliminated = slice(0, self.kind.order), slice(self.kind.order, None)
        left[..., own], right[..., own] = G.left, G.right
        left[..., R, eliminated], right[:, h, eliminated] = G.block, _t(self.parts.c)
        return LowRank(self.kind, G.scale, G.block * n_k, left, right)

    def traces(self, Ms: Any) -> Any:
        """tr(C⁻¹ (∂K/∂log ℓ) C⁻ᵀ M) for every column and its M: ∂/∂log ℓ = −μ ∂/∂μ."""
        p, d, G = self.parts, self.rates, self.G
        h, R = _harmonics(self.kind), _remainders(self.kind)
        P, dP = (np.empty((*self.mu.shape, self.kind.size, self.kind.order)) for _ in range(2))
        P[:, h], P[:, R], dP[:, h], dP[:, R] = p.U, p.V, d.U, d.V
        r = self.kind.order
        few = np.concatenate([G @ P, G.left, G.columns_of_block()], axis=-1)
        of_few = np.stack([M @ own for M, own in zip(Ms, few, strict=True)])
        YP, ML, Y_R = G.T @ of_few[..., :r], of_few[..., r : 2 * r], G.T @ of_few[..., 2 * r :]
        # diag(Y) of the harmonics: e_jᵀGᵀMGe_j with Ge_j = scale_j e_j − left right_j
        N, scale = G.right[:, h], G.scale
        diagonal = scale**2 * np.stack([M.diagonal() for M in Ms])[:, h] - 2 * scale * (ML[:, h] * N).sum(axis=-1)
        diagonal += ((N @ (_t(G.left) @ ML)) * N).sum(axis=-1)
        # X H: dc against the rows h, columns R of H Y
        HY = p.diagonal[..., None] * Y_R[:, h] + p.U @ _t(YP[:, R])
        trace = (d.diagonal * diagonal).sum(axis=1)
        trace += 2 * ((YP * dP).sum(axis=(1, 2)) + ((Y_R[:, R] @ p.t) * d.t).sum(axis=(1, 2)))
        trace += 2 * (_t(d.c) * HY).sum(axis=(1, 2))
        return -self.mu * trace / self.variance


@dataclass(frozen=True)
class FourierGroup:
    """Terms of one column each, of one kind."""

    columns: Columns

    @classmethod
    def at(cls, kind: Kind, smoothness: float | None, parameters: Any) -> "FourierGroup":
        """At rows of (log ℓ/L, log σ²)."""
        assert smoothness is not None
        mu = np.sqrt(2 * smoothness) / np.exp(parameters[:, 0])
        return cls(columns_at(kind, mu, np.exp(parameters[:, 1])))

    @property
    def inverses(self) -> list[Product]:
        return [Product((inverse,)) for inverse in self.columns.inverses]

    def traces(self, Ms: Any) -> Any:
        return self.columns.traces(Ms)[:, None]


def columns_at(kind: Kind, mu: Any, variance: Any) -> Columns:
    """The columns at these μ = λL and variances; raises `LinAlgError` if one of the Gram matrices is not positive."""
    p, d = kind.parts(mu)
    sigma = np.sqrt(variance)[:, None, None]
    diagonal, U, V, t = p.diagonal / variance[:, None], p.U / sigma, p.V / sigma, p.t / sigma
    if not kind.completed:  # the constant is the first of the core, and nothing is eliminated
        diagonal, U = np.concatenate([t[:, 0, :1] ** 2, diagonal], axis=1), np.concatenate([V, U], axis=1)
        scale, WZ, W, _ = _core(diagonal, U)
        G = LowRank(kind, scale[:, 1:], scale[:, :1, None], WZ, W * scale[..., None])
        return Columns(kind, mu, variance, G, p, d)
    scale, WZ, W, lower_inverse = _core(diagonal, U)
    # the Schur complement T + V (I + WᵀW)⁻¹ Vᵀ, scaled to a unit diagonal
    v = lower_inverse @ _t(V)
    schur = t @ _t(t) + _t(v) @ v
    unit = np.sqrt(np.diagonal(schur, axis1=1, axis2=2))
    remainder = _inverse_lower(np.linalg.cholesky(schur / unit[:, :, None] / unit[:, None])) / unit[:, None]
    h, R = _harmonics(kind), _remainders(kind)
    left, right = np.zeros((2, len(mu), kind.size, kind.order))
    left[:, h], left[:, R] = WZ, remainder @ (_t(v) @ lower_inverse)
    right[:, h] = W * scale[..., None]
    return Columns(kind, mu, variance, LowRank(kind, scale, remainder, left, right), p, d)


def _core(diagonal: Any, U: Any) -> tuple[Any, Any, Any, Any]:
    """D^{−½}, W Z, W and Λ⁻¹ for the core D + U Uᵀ, with Λ Λᵀ = I + WᵀW."""
    scale = 1 / np.sqrt(diagonal)
    W = U * scale[..., None]
    eye = np.eye(U.shape[-1])
    lower = np.linalg.cholesky(eye + _t(W) @ W)
    lower_inverse = _inverse_lower(lower)
    return scale, W @ (_t(_inverse_lower(eye + lower)) @ lower_inverse), W, lower_inverse


def _inverse_lower(lower: Any) -> Any:
    """L⁻¹ of many small triangular matrices, row by row: X_i = (e_i − Σ_{j<i} L_ij X_j)/L_ii."""
    n = lower.shape[-1]
    inverse = np.zeros_like(lower)
    for i in range(n):
        inverse[:, i, i] = 1
        inverse[:, i] -= (lower[:, i, None, :i] @ inverse[:, :i])[:, 0]
        inverse[:, i] /= lower[:, i, i, None]
    return inverse


def _harmonics(kind: Kind) -> slice:
    return slice(1, 2 * kind.n_harmonics + 1)


def _remainders(kind: Kind) -> list[int]:
    """The constant, and what completes the basis."""
    return [0, *range(2 * kind.n_harmonics + 1, kind.size)]


def _t(stack: Any) -> Any:
    return np.swapaxes(stack, -1, -2)
