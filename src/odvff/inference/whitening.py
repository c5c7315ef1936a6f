"""C⁻¹ of every term and tr(C⁻¹ (∂K/∂θ) C⁻ᵀ M), for all columns of one kind at once.

A bound of ten terms is asked for hundreds of times, and its matrices are small: what costs is the number of calls. So
columns with as many harmonics and the same smoothness are stacked, and every formula of `odvff.linalg.low_rank` is one
call for all of them. The factor is the same, C = E [[C_h, 0], [V Yᵀ, C_R]]; here its inverse is an array,

    C⁻¹ = G E⁻¹,     G = [[C_h⁻¹, 0], [−C_R⁻¹ V Yᵀ C_h⁻¹, C_R⁻¹]],     C_h⁻¹ = (I − W Z Wᵀ) D^{−½},  Z = (I+Λᵀ)⁻¹Λ⁻¹.

K(μ) is made of the parts of `matern_gram`, whose derivatives come from a complex step. In terms of harmonics h and
remainders R, eliminated as the factor does it,

    dK = diag(dD) + dP Pᵀ + P dPᵀ + blockdiag(0, dt tᵀ + t dtᵀ) + X G + G Xᵀ,     P = [U; V],  X = [[0, 0], [dc, 0]],

and with Y = Gᵀ M G the trace is a sum of elementwise products.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.features.matern_gram import Parts, parts, with_rates
from odvff.features.orthogonal import norms, orthogonal_parts


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
class Columns:
    """Columns of one kind, at some hyper-parameters: the first dimension of every array counts them."""

    kind: Kind
    mu: Any
    variance: Any
    inverses: Any  # C⁻¹, (T, n, n)
    eliminated: Any  # G
    parts: Parts
    rates: Parts

    def traces(self, M: Any) -> Any:
        """tr(C⁻¹ (∂K/∂log ℓ) C⁻ᵀ M) for every column: ∂/∂log ℓ = −μ ∂/∂μ."""
        p, d, G = self.parts, self.rates, self.eliminated
        h, R = _harmonics(self.kind), _remainders(self.kind)
        Y = _t(G) @ M @ G
        P, dP = (np.empty((*self.mu.shape, self.kind.size, self.kind.order)) for _ in range(2))
        P[:, h], P[:, R], dP[:, h], dP[:, R] = p.U, p.V, d.U, d.V
        YP = Y @ P
        Y_hR, Y_RR = Y[:, h][..., R], Y[:, R][..., R]
        # X G: dc against the rows h, columns R of G Y
        GY = p.diagonal[..., None] * Y_hR + p.U @ _t(YP[:, R])
        trace = (d.diagonal * np.diagonal(Y, axis1=1, axis2=2)[:, h]).sum(axis=1)
        trace += 2 * ((YP * dP).sum(axis=(1, 2)) + ((Y_RR @ p.t) * d.t).sum(axis=(1, 2)))
        trace += 2 * (_t(d.c) * GY).sum(axis=(1, 2))
        return -self.mu * trace / self.variance


def columns_at(kind: Kind, mu: Any, variance: Any) -> Columns:
    """The columns at these μ = λL and variances; raises `LinAlgError` if one of the Gram matrices is not positive."""
    p, d = kind.parts(mu)
    sigma = np.sqrt(variance)[:, None, None]
    diagonal, U, V, t = p.diagonal / variance[:, None], p.U / sigma, p.V / sigma, p.t / sigma
    if not kind.completed:  # the constant is the first of the core, and nothing is eliminated
        diagonal, U = np.concatenate([t[:, 0, :1] ** 2, diagonal], axis=1), np.concatenate([V, U], axis=1)
        G = _core(diagonal, U)[0]
        return Columns(kind, mu, variance, G, G, p, d)
    core, whitened, lower_inverse = _core(diagonal, U)
    # the Schur complement T + V (I + WᵀW)⁻¹ Vᵀ, scaled to a unit diagonal
    v = lower_inverse @ _t(V)
    schur = t @ _t(t) + _t(v) @ v
    scale = np.sqrt(np.diagonal(schur, axis1=1, axis2=2))
    remainder = _inverse_lower(np.linalg.cholesky(schur / scale[:, :, None] / scale[:, None])) / scale[:, None]
    h, R = _harmonics(kind), _remainders(kind)
    G = np.zeros((len(mu), kind.size, kind.size))
    G[:, h, h] = core
    G[np.ix_(range(len(mu)), R, R)] = remainder
    G[:, R, h] = -remainder @ (V @ (_t(whitened) @ core))
    # E⁻¹: R = n w − c h
    inverses = G.copy()
    inverses[:, :, h] -= G[:, :, R] @ p.c
    inverses[:, :, R] *= np.concatenate([[1.0], norms(kind.n_harmonics, kind.order)])
    return Columns(kind, mu, variance, inverses, G, p, d)


def _core(diagonal: Any, U: Any) -> tuple[Any, Any, Any]:
    """C_h⁻¹, Y = C_h⁻¹U = W Z (I + Λ), and Λ⁻¹ for the core D + U Uᵀ, with Λ Λᵀ = I + WᵀW."""
    root = np.sqrt(diagonal)
    W = U / root[..., None]
    eye = np.eye(U.shape[-1])
    lower = np.linalg.cholesky(eye + _t(W) @ W)
    lower_inverse = _inverse_lower(lower)
    WZ = W @ (_t(_inverse_lower(eye + lower)) @ lower_inverse)
    core = -WZ @ _t(W)
    core[:, range(root.shape[1]), range(root.shape[1])] += 1
    return core / root[:, None], WZ @ (eye + lower), lower_inverse


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
