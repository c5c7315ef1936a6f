"""Samples of f: jointly exact for a few rows, and as functions that can be evaluated at any number of them.

q(f) is the law of ψ(x)ᵀ(m + Rε) + [k(x,γ) − ψ(x)ᵀψ(γ)]a_γ + r(x), where r ~ GP(0, k − ψᵀψ) is what the features
leave to the prior. A path needs r as a function. The features φ stand among richer ones φ′ (more harmonics, more
points), so draw u′ ~ N(0, K′), of which u = u′[positions] is a part, and take

    r(x) = φ′(x)ᵀ K′⁻¹ u′ − φ(x)ᵀ K⁻¹ u,        Cov r = ψ′ᵀψ′ − ψᵀψ.

The rest, k − ψ′ᵀψ′, is what a path does not resolve; `Paths.unresolved` tells how much that is.
"""

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from odvff.errors import NumericalError
from odvff.linalg import BlockFactor
from odvff.posterior.residual import ROUNDING, residual_variance
from odvff.support.checks import matrix, whole
from odvff.support.shapes import Array, Float
from odvff.terms import Sum, Term

UNRESOLVED = 0.01  # share of the variance that sampled functions may leave out without a warning


def random_generator(seed: int | None) -> np.random.Generator:
    """NumPy's generator from a seed, or from the system's randomness."""
    if seed is not None:
        whole(seed, "seed", at_least=0, remedy="give one, or None for a new draw each time")
    return np.random.default_rng(seed)


def joint_samples(mean: Float[Array, " N"], covariance: Float[Array, "N N"], n: int, rng: Any) -> Float[Array, "S N"]:
    """n draws from N(mean, covariance), which may be singular."""
    eigenvalues, Q = np.linalg.eigh((covariance + covariance.T) / 2)
    if len(mean) and eigenvalues[0] < -ROUNDING * max(eigenvalues[-1], 1e-300):
        raise NumericalError(
            f"the covariance of these rows has the eigenvalue {eigenvalues[0]:.3g} below zero (the largest is "
            f"{eigenvalues[-1]:.3g}); the inducing points are too close together: remove some, or raise their `jitter`."
        )
    # rounding leaves eigenvalues just below zero where the covariance is singular
    root = Q * np.sqrt(np.maximum(eigenvalues, 0.0))
    return mean + rng.standard_normal((n, len(mean))) @ root.T


@dataclass(frozen=True)
class Paths:
    """Sampled functions: call with rows X to get their values."""

    terms: Sum  # with the richer features
    weights: Float[Array, "B S"]
    gamma: Float[Array, "G D"] | None
    a_gamma: Float[Array, " G"] | None

    def __call__(self, X: Any) -> Float[Array, "S N"]:
        X = matrix(X, "X")
        values = self.weights.T @ self.terms.Kuf(X)
        if self.gamma is not None:
            values = values + self.terms.covariance(X, self.gamma) @ self.a_gamma
        return values

    def unresolved(self, X: Any) -> Float[Array, " N"]:
        """The prior variance that these paths leave out, row by row."""
        psi = self._factor.solve(self.terms.Kuf(X))
        return residual_variance(self.terms.variances(X), psi)

    def with_unresolved(self, X: Any) -> Float[Array, "K N"]:
        """The values, and below them the prior variance that they leave out, and all of it."""
        return np.concatenate([self(X), self.unresolved(X)[None], self.terms.variances(X)[None]])

    @cached_property
    def _factor(self) -> BlockFactor:
        """The same for every block of rows."""
        return self.terms.Kuu().factor()


def with_detail(rows: Float[Array, "K N"], seed: int | None, advice: str, stacklevel: int) -> Float[Array, "S N"]:
    """Values `with_unresolved` completed: what the functions leave out is drawn for each row on its own."""
    values, unresolved, prior = rows[:-2], rows[-2], rows[-1]
    share = float((unresolved / prior).max())
    if share > UNRESOLVED:
        warnings.warn(
            f"up to {100 * share:.0f} % of the prior variance at these rows is finer than sampled functions resolve, "
            f"or lies outside the box, far from the training rows; it is drawn independently for each row; {advice}.",
            stacklevel=stacklevel,
        )
    # in a stream of its own, as the functions were drawn with this seed too
    rng = np.random.default_rng(None if seed is None else [seed, 1])
    return values + np.sqrt(unresolved) * rng.standard_normal(values.shape)


def draw_paths(q: Any, whitened: Float[Array, "B S"], refinement: int, rng: np.random.Generator) -> Paths:
    """Paths of a posterior from whitened draws m − ψ(γ)a_γ + Rε."""
    fine_terms, weights = [], []
    for term, C, s in zip(q.terms, q.factor.blocks, q.factor.slices, strict=True):
        features = term.features.suited(term.kernel)
        fine = Term(term.kernel, features.refined(refinement), term.columns, term.name)
        positions = features.positions(fine.features)
        C_fine = fine.Kuu().factor()
        noise = rng.standard_normal((C_fine.size, whitened.shape[1]))
        u = C_fine.apply(noise)[positions]
        w = C_fine.solve_transpose(noise)  # K′⁻¹u′ = C′⁻ᵀε′
        w[positions] += C.solve_transpose(whitened[s] - C.solve(u))
        fine_terms.append(fine)
        weights.append(w)
    return Paths(Sum(tuple(fine_terms)), np.concatenate(weights), q.gamma, q.a_gamma)
