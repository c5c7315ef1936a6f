"""Gaussian noise: the best posterior and its bound in closed form, with all rows in memory.

The mean lives in the span of α = [γ, β], the covariance in that of β, and the two separate. Whitened, with
ψ = C⁻¹φ(X) and ρ = G⁻¹[k(γ,X) − ψ(γ)ᵀψ(X)], G Gᵀ = K_γ − ψ(γ)ᵀψ(γ), so that Q_β = ψᵀψ and Q_α = ψᵀψ + ρᵀρ:

    S   = (I + ψψᵀ/σ²)⁻¹
    L   = −N/2 log 2π − ½ log|Q_β + σ²I| − ½ yᵀ(Q_α + σ²I)⁻¹y − tr(K_ff − Q_β)/2σ²

Unwhitened these are the paper's S = K_β(K_β + σ⁻²K_βx K_xβ)⁻¹K_β and a_α = (K_αx K_xα + σ²K_α)⁻¹K_αx y.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.linalg import Factor
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.support.arrays import Array, cholesky, solve_triangular
from odvff.support.checks import matrix, positive, untraced, vector
from odvff.support.shapes import Float
from odvff.terms import Sum, Term

NEGLIGIBLE = 1e-10
"""Directions of γ whose residual variance, relative to the prior's, is below this are already spanned by β."""


@dataclass(frozen=True)
class _Whitened:
    """Everything the closed form needs of the data."""

    terms: Sum
    noise: float
    y: Float[Array, " N"]
    psi: Float[Array, "B N"]
    residual: Float[Array, " N"]  # k(x,x) − ψᵀψ
    basis: Float[Array, "K N"]  # ψ and ρ, the part of γ beyond β
    lift: Float[Array, "G rank"]  # a_γ from whitened coefficients

    def root_of_precision(self) -> Float[Array, "B B"]:
        """L with L Lᵀ = S⁻¹ = I + ψψᵀ/σ²."""
        return cholesky(self.psi @ self.psi.T / self.noise + np.eye(len(self.psi)))

    def ridge(self) -> Float[Array, " K"]:
        """(B Bᵀ + σ²I)⁻¹ B y for the basis B."""
        lower = cholesky(self.basis @ self.basis.T + self.noise * np.eye(len(self.basis)))
        return solve_triangular(lower, solve_triangular(lower, self.basis @ self.y), transpose=True)


def optimal_posterior(terms: Sum | Iterable[Term], noise: float, X: Any, y: Any, gamma: Any = None) -> Posterior:
    """The posterior that maximises the bound for Gaussian noise of this variance."""
    data = _whiten(terms, noise, X, y, gamma)
    root = solve_triangular(data.root_of_precision(), np.eye(len(data.psi)), transpose=True)
    m, a = np.split(data.ridge(), [len(data.psi)])
    return Posterior(data.terms, m, root, gamma, None if gamma is None else data.lift @ a)


def collapsed_bound(terms: Sum | Iterable[Term], noise: float, X: Any, y: Any, gamma: Any = None) -> float:
    """The bound of `optimal_posterior`: what hyper-parameters are chosen by. γ = ∅ is VFF and SGPR."""
    data = _whiten(terms, noise, X, y, gamma)
    y, noise, N = data.y, data.noise, len(data.y)
    log_det = N * np.log(noise) + 2 * np.log(np.diagonal(data.root_of_precision())).sum()
    # yᵀ(Q_α + σ²I)⁻¹y = (y − fit)ᵀy/σ² for the ridge fit in the span of α
    fit = data.ridge() @ data.basis
    return float(-0.5 * (N * np.log(2 * np.pi) + log_det + (y - fit) @ y / noise + data.residual.sum() / noise))


def _whiten(terms: Sum | Iterable[Term], noise: Any, X: Any, y: Any, gamma: Any | None) -> _Whitened:
    terms, X = Sum.of(terms), matrix(X, "X")
    y = vector(y, "y", size=len(X))
    C = terms.Kuu().factor()
    psi = C.solve(terms.Kuf(X))
    remedy = "differentiate Posterior.elbo, or use odvff.inference.collapsed.moving.MovingBound"
    untraced("the closed form", psi, y, noise, gamma, instead=remedy)
    residual = residual_variance(terms.variances(X), psi)
    noise = float(positive(noise, "noise"))
    rho, lift = np.zeros((0, len(X))), np.zeros((0, 0))
    if gamma is not None and len(gamma) > 0:
        gamma = matrix(gamma, "gamma")
        psi_gamma, lift = beyond_beta(terms, C, gamma)
        rho = lift.T @ (terms.covariance(gamma, X) - psi_gamma.T @ psi)
    return _Whitened(terms, noise, y, psi, residual, np.concatenate([psi, rho]), lift)


def beyond_beta(terms: Sum, C: Factor, gamma: Float[Array, "G D"]) -> tuple[Array, Float[Array, "G rank"]]:
    """ψ(γ), and the lift that whitens r(x) = k(γ,x) − ψ(γ)ᵀψ(x): ρ = liftᵀ r, without what β spans already."""
    psi_gamma = C.solve(terms.Kuf(gamma))
    eigenvalues, Q = np.linalg.eigh(terms.covariance(gamma, gamma) - psi_gamma.T @ psi_gamma)
    keep = eigenvalues > NEGLIGIBLE * terms.variances(gamma).max()
    return psi_gamma, Q[:, keep] / np.sqrt(eigenvalues[keep])
