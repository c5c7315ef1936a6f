"""Inducing points for the mean: where to put γ, and their coefficients in closed form in one more pass.

The covariance stays in the span of β; the mean gains the span of γ. For given hyper-parameters, with
r(x) = k(γ,x) − ψ(γ)ᵀψ(x), K̃ = K_γ − ψ(γ)ᵀψ(γ) and z = (ψ, r), one pass gives Σ w z zᵀ and Σ w z y, and

    (Σ w z zᵀ + σ² blockdiag(I, K̃)) (m, a_γ) = Σ w z y.

The fit term of the bound can only rise by it, by (zᵀy·solution of the whole − of β alone)/2σ².
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.arrays import cholesky, solve_triangular
from odvff.checks import matrix, whole
from odvff.errors import InputError
from odvff.inference.closed_form import beyond_beta
from odvff.inference.fit import Fit
from odvff.posterior import Posterior
from odvff.posterior.whitened import FastFeatures
from odvff.statistics.chunks import weighted_rows
from odvff.terms import Sum
from odvff.threads import one_blas_thread, side_by_side

BLOCK_ROWS = 1024
SAMPLE_ROWS = 3000
LEAST_ROWS, ROWS_A_POINT = 1000, 10  # of which greedy points are chosen


@dataclass(frozen=True)
class WithInducing:
    """The fit with γ, what the bound gained, and in words whether that was worth it."""

    fit: Fit
    gain: float
    report: str


def greedy_points(terms: Sum, X: Any, n_points: int, *, seed: int = 0) -> Any:
    """Rows of X where, one after the other, the features and the points so far leave the most variance.

    A pivoted Cholesky factorisation of the residual covariance of a sample of rows; it stops where nothing is left.
    """
    X = matrix(X, "X")
    n_points = whole(n_points, "n_points", at_least=1, remedy="leave γ out for none")
    rng, some = np.random.default_rng(seed), max(LEAST_ROWS, ROWS_A_POINT * n_points)
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


def kmeans_points(X: Any, n_points: int, *, seed: int = 0) -> Any:
    """Centres of clusters of a sample of rows, every column scaled to unit variance."""
    from scipy.cluster.vq import kmeans2

    X = matrix(X, "X")
    n_points = whole(n_points, "n_points", at_least=1, remedy="leave γ out for none")
    rng = np.random.default_rng(seed)
    X = X[rng.choice(len(X), SAMPLE_ROWS, replace=False)] if len(X) > SAMPLE_ROWS else X
    scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    centres, _ = kmeans2(X / scale, min(n_points, len(X)), minit="++", rng=rng, missing="warn")
    return np.unique(centres * scale, axis=0)


def add_inducing(fit: Fit, chunks: Iterable[tuple[Any, ...]], gamma: Any, *, least_gain: float = 0.0) -> WithInducing:
    """The fit with inducing points γ for its mean: one pass over the rows, hyper-parameters as they are.

    The chunks are those of `collect`, with y centred as it was for the fit. If the bound gains less than `least_gain`
    nats, the points are left out again, and the report says so.
    """
    if fit.posterior.gamma is not None:
        raise InputError("the fit has inducing points already; add all of them at once, to the fit without any.")
    terms, noise = fit.terms, fit.noise
    gamma = matrix(gamma, "gamma")
    if len(gamma) == 0:
        return WithInducing(fit, 0.0, "no inducing points: the features already explain all of the prior variance")
    n = fit.posterior.factor.size
    psi_gamma, lift = beyond_beta(terms, fit.posterior.factor, gamma)
    features = FastFeatures(terms)

    def sums(rows: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        """Σ w z zᵀ and Σ w z y of a block; z is scaled by √w, as BLAS does a symmetric product with half the work."""
        X, y, w = rows
        root = np.sqrt(w)
        z = np.empty((n + lift.shape[1], len(X)))
        for part, phi in features.blocks(X):
            psi = features.whiten(phi, np.empty_like(phi))
            z[:n, part] = psi
            z[n:, part] = lift.T @ (terms.covariance(gamma, X[part]) - psi_gamma.T @ psi)
        z *= root
        return z @ z.T, z @ (root * y)

    gram, projection = np.zeros((n + lift.shape[1],) * 2), np.zeros(n + lift.shape[1])
    with one_blas_thread():
        for own_gram, own_projection in side_by_side(sums, _blocks(chunks)):
            gram += own_gram
            projection += own_projection
        try:
            alone = _ridge(gram[:n, :n], projection[:n], noise)
            together = _ridge(gram, projection, noise)
        except np.linalg.LinAlgError:
            return WithInducing(fit, 0.0, "no inducing points: with so little noise float64 cannot tell them apart")
    gain = float((projection @ together - projection[:n] @ alone) / (2 * noise))
    if gain < least_gain or lift.shape[1] == 0:
        report = (
            f"no inducing points: {len(gamma)} of them would raise the bound by {gain:.3g} nats, less than "
            f"{least_gain:.3g}"
        )
        return WithInducing(fit, 0.0, report)
    q = Posterior(terms, together[:n], fit.posterior.root, gamma, lift @ together[n:])
    report = f"{len(gamma)} inducing points for the mean raise the bound by {gain:.3g} nats"
    return WithInducing(replace(fit, posterior=q, bound=fit.bound + gain), gain, report)


def _ridge(gram: Any, projection: Any, noise: float) -> Any:
    """(G + σ²I)⁻¹ z, scaled so that it can be factored for any noise."""
    lower = cholesky(gram / noise + np.eye(len(gram)))
    return solve_triangular(lower, solve_triangular(lower, projection / noise), transpose=True)


def _blocks(chunks: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, Any, Any]]:
    """The rows of all chunks a few thousand at a time, with weights."""
    for X, y, w in weighted_rows(chunks):
        for start in range(0, len(X), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield X[rows], y[rows], w[rows]
