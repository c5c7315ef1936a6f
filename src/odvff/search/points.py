"""Inducing points for the mean: where to put γ, and their coefficients in closed form in one more pass.

The covariance stays in the span of β; the mean gains the span of γ. For given hyper-parameters, ρ(x) = liftᵀ[k(γ,x) −
ψ(γ)ᵀψ(x)] whitened as ψ is, c = Σ w ψρᵀ/σ², d = I + Σ w ρρᵀ/σ², s = Σ w ρy/σ² and B̃, m from the fit to the same rows,

    [B̃   c] [m′]   [B̃ m]
    [cᵀ  d] [a ] = [ s  ],    so a = D⁻¹(s − cᵀm), m′ = m − B̃⁻¹c a, with D = d − cᵀB̃⁻¹c ⪰ I and B̃⁻¹ = S.

The fit term of the bound can only rise by it, by ½ aᵀD a. A row adds |β||γ| to the sums, not the |β|² of a first pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.inference.closed_form import beyond_beta
from odvff.inference.collapsed.fit import Fit, posterior_of
from odvff.policy import DEFAULT, Policy
from odvff.posterior import Posterior
from odvff.posterior.fast import FastFeatures
from odvff.rows import Chunk, row_slices
from odvff.statistics import collect
from odvff.statistics.collect import weighted_rows
from odvff.support.checks import matrix, whole
from odvff.support.threads import one_blas_thread, side_by_side
from odvff.terms import Sum

BLOCK_ROWS = 1024


@dataclass(frozen=True)
class WithInducing:
    """The fit with γ, what the bound gained, and in words whether that was worth it."""

    fit: Fit
    gain: float
    report: str


def greedy_points(terms: Sum, X: Any, n_points: int, *, seed: int = 0, policy: Policy = DEFAULT) -> Any:
    """Rows of X where, one after the other, the features and the points so far leave the most variance.

    A pivoted Cholesky factorisation of the residual covariance of a sample of rows; it stops where nothing is left.
    """
    X = matrix(X, "X")
    n_points = whole(n_points, "n_points", at_least=1, remedy="leave γ out for none")
    rng, some = np.random.default_rng(seed), max(policy.least_greedy_rows, policy.greedy_rows_a_point * n_points)
    X = X[rng.choice(len(X), some, replace=False)] if len(X) > some else X
    psi = terms.Kuu().factor().solve(terms.Kuf(X))
    prior = terms.variances(X)
    left = prior - (psi**2).sum(axis=0)
    chosen: list[int] = []
    columns = np.zeros((0, len(X)))
    while len(chosen) < min(n_points, len(X)):
        i = int(np.argmax(left))
        if left[i] < 1e-6 * prior[i]:
            break
        residual = terms.covariance(X[[i]], X)[0] - psi[:, i] @ psi - columns[:, i] @ columns
        columns = np.concatenate([columns, residual[None] / np.sqrt(left[i])])
        left = np.maximum(left - columns[-1] ** 2, 0.0)
        left[i] = 0.0
        chosen.append(i)
    return X[chosen]


def kmeans_points(X: Any, n_points: int, *, seed: int = 0, policy: Policy = DEFAULT) -> Any:
    """Centres of clusters of a sample of rows, every column scaled to unit variance."""
    from scipy.cluster.vq import kmeans2

    X = matrix(X, "X")
    n_points = whole(n_points, "n_points", at_least=1, remedy="leave γ out for none")
    rng, some = np.random.default_rng(seed), policy.kmeans_rows
    X = X[rng.choice(len(X), some, replace=False)] if len(X) > some else X
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    centres, _ = kmeans2(X / scale, min(n_points, len(X)), minit="++", rng=rng, missing="warn")
    return np.unique(centres * scale, axis=0)


def gain_of_a_sample(fit: Fit, rows: Chunk, gamma: Any) -> float:
    """How many nats inducing points γ would add to the bound, were these few rows all there are."""
    few = posterior_of(fit.terms, collect(fit.terms, [rows]), fit.noise)
    return add_inducing(few, [rows], gamma).gain


def add_inducing(fit: Fit, chunks: Iterable[tuple[Any, ...]], gamma: Any, *, least_gain: float = 0.0) -> WithInducing:
    """The fit with inducing points γ for its mean: one pass over the rows, hyper-parameters as they are.

    The chunks are those that the fit was made of, with y centred as it was there. If the bound gains less than
    `least_gain` nats, the points are left out again, and the report says so.
    """
    if fit.posterior.gamma is not None:
        raise InputError("the fit has inducing points already; add all of them at once, to the fit without any.")
    gamma = matrix(gamma, "gamma")
    if len(gamma) == 0:
        return WithInducing(fit, 0.0, "no inducing points: the features already explain all of the prior variance")
    q, noise = fit.posterior, fit.noise
    lift, cross, G, g = _point_sums(fit, gamma, chunks)
    root_c = q.root.T @ cross / noise  # S = R Rᵀ
    eigenvalues, Q = np.linalg.eigh(np.eye(len(G)) + G / noise - root_c.T @ root_c)
    if not eigenvalues.min(initial=1.0) > 0.5:  # it is 1 or more, but for rounding
        return WithInducing(fit, 0.0, "no inducing points: with so little noise float64 cannot tell them apart")
    a = Q @ ((Q.T @ (g - cross.T @ q.mean_u) / noise) / eigenvalues)
    gain = float(0.5 * eigenvalues @ (Q.T @ a) ** 2)
    if gain < least_gain or len(a) == 0:
        words = f"{len(gamma)} of them would raise the bound by {gain:.3g} nats, less than {least_gain:.3g}"
        return WithInducing(fit, 0.0, f"no inducing points: {words}")
    with_points = Posterior(fit.terms, q.mean_u - q.root @ (root_c @ a), q.root, gamma, lift @ a)
    report = f"{len(gamma)} inducing points for the mean raise the bound by {gain:.3g} nats"
    return WithInducing(replace(fit, posterior=with_points, bound=fit.bound + gain), gain, report)


@one_blas_thread()
def _point_sums(fit: Fit, gamma: Any, chunks: Iterable[Chunk]) -> tuple[Any, ...]:
    """What γ brings beyond β: its lift (|γ|, rank), from whitened coefficients to a_γ, Σ w ψρᵀ, Σ w ρρᵀ and Σ w ρy.

    Rows stay in the basis of the statistics: ρ = liftᵀk(γ,x) − Vᵀφ̂(x), V = C⁻ᵀψ(γ)lift, and C⁻¹ comes last.
    """
    terms, features = fit.terms, FastFeatures(fit.terms)
    psi_gamma, lift = beyond_beta(terms, fit.posterior.factor, gamma)
    V = features.factor.solve_transpose(psi_gamma @ lift)

    def sums(rows: Chunk) -> tuple[Any, Any, Any]:
        X, y, w = rows
        rho = lift.T @ terms.covariance(gamma, X)
        cross = np.zeros_like(V)
        for part, phi in features.blocks(X):
            rho[:, part] -= V.T @ phi
            cross += phi @ (w[part] * rho[:, part]).T
        return cross, (w * rho) @ rho.T, rho @ (w * y)

    total = np.zeros_like(V), np.zeros((V.shape[1],) * 2), np.zeros(V.shape[1])
    blocks = ((X[s], y[s], w[s]) for X, y, w in weighted_rows(chunks) for s in row_slices(len(X), BLOCK_ROWS))
    for parts in side_by_side(sums, blocks):
        for own, part in zip(total, parts, strict=True):
            own += part
    cross, G, g = total
    return lift, features.factor.solve(cross), G, g
