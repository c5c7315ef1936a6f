"""Samples of f: jointly exact for a few rows, and as functions that can be evaluated at any number of them.

q(f) is the law of ψ(x)ᵀ(m + Rε) + [k(x,γ) − ψ(x)ᵀψ(γ)]a_γ + r(x), where r ~ GP(0, k − ψᵀψ) is what the features
leave to the prior. A path needs r as a function. The features φ stand among richer ones φ′ (more harmonics, more
points), so draw u′ ~ N(0, K′), of which u = u′[positions] is a part, and take

    r(x) = φ′(x)ᵀ K′⁻¹ u′ − φ(x)ᵀ K⁻¹ u,        Cov r = ψ′ᵀψ′ − ψᵀψ.

The rest, k − ψ′ᵀψ′, is what a path does not resolve; `Paths.unresolved` tells how much that is.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odvff.errors import NumericalError
from odvff.linalg import BlockFactor
from odvff.posterior.residual import ROUNDING, residual_variance
from odvff.support.arrays import Array
from odvff.support.checks import matrix, whole
from odvff.terms import Sum, Term


def random_generator(seed: int | None) -> np.random.Generator:
    """NumPy's generator from a seed, or from the system's randomness."""
    if seed is not None:
        whole(seed, "seed", at_least=0, remedy="give one, or None for a new draw each time")
    return np.random.default_rng(seed)


def joint_samples(mean: Array, covariance: Array, n_samples: int, rng: np.random.Generator) -> Array:
    """Draws from N(mean, covariance), of shape (n_samples, N); the covariance may be singular."""
    eigenvalues, Q = np.linalg.eigh((covariance + covariance.T) / 2)
    if len(mean) and eigenvalues[0] < -ROUNDING * max(eigenvalues[-1], 1e-300):
        raise NumericalError(
            f"the covariance of these rows has the eigenvalue {eigenvalues[0]:.3g} below zero (the largest is "
            f"{eigenvalues[-1]:.3g}); the inducing points are too close together: remove some, or raise their `jitter`."
        )
    # rounding leaves eigenvalues just below zero where the covariance is singular
    root = Q * np.sqrt(np.maximum(eigenvalues, 0.0))
    return mean + rng.standard_normal((n_samples, len(mean))) @ root.T


@dataclass(frozen=True)
class Paths:
    """Sampled functions: call with rows X to get their values, of shape (n_samples, N)."""

    terms: Sum  # with the richer features
    weights: Array  # (|β′|, n_samples)
    gamma: Array | None
    a_gamma: Array | None

    def __call__(self, X: Array) -> Array:
        X = matrix(X, "X")
        values = self.weights.T @ self.terms.Kuf(X)
        if self.gamma is not None:
            values = values + self.terms.covariance(X, self.gamma) @ self.a_gamma
        return values

    def unresolved(self, X: Array) -> Array:
        """The prior variance that these paths leave out, row by row."""
        psi = self._factor.solve(self.terms.Kuf(X))
        return residual_variance(self.terms.variances(X), psi)

    @cached_property
    def _factor(self) -> BlockFactor:
        """The same for every block of rows."""
        return self.terms.Kuu().factor()


def draw_paths(
    terms: Sum,
    factor: BlockFactor,
    whitened: Array,
    gamma: Array | None,
    a_gamma: Array | None,
    refinement: int,
    rng: np.random.Generator,
) -> Paths:
    """Paths from whitened draws m − ψ(γ)a_γ + Rε, of shape (|β|, n_samples), one column for each."""
    fine_terms, weights = [], []
    for term, C, s in zip(terms, factor.blocks, factor.slices, strict=True):
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
    return Paths(Sum(tuple(fine_terms)), np.concatenate(weights), gamma, a_gamma)
