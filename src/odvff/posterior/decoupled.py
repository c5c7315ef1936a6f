"""The parametrisations that the orthogonal one replaced, as reference families.

`Decoupled` (Cheng & Boots 2016, 2017) gives mean and covariance bases of their own; `Hybrid` (Cheng & Boots 2017)
lets the mean use both bases, not made orthogonal. They are here because the paper builds on them, and as a check:
each is the same distribution as a `Posterior` for suitable parameters, and `Hybrid` answers by it. `Decoupled` is in
dense algebra, for study and not for large models.

Bases are any features of one `Sum`: `alpha`/`gamma` are inducing points, β are the features of the terms.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from odvff.errors import InputError
from odvff.posterior.orthogonal import Posterior
from odvff.support.arrays import Array, cholesky, namespace, solve_triangular
from odvff.support.checks import matrix, numbers, vector
from odvff.terms import Sum


@dataclass(frozen=True, eq=False)
class Decoupled:
    """μ = Ψ_α a,  Σ = (I + Ψ_β B Ψ_βᵀ)⁻¹ = I − Ψ_β (B⁻¹ + K_β)⁻¹ Ψ_βᵀ  with B = H Hᵀ.

    mean(x) = k(x,α)a,  var(x) = k(x,x) − φᵀH(I + HᵀK_βH)⁻¹Hᵀφ.
    """

    terms: Sum
    alpha: Array  # (|α|, D)
    a: Array  # (|α|,)
    H: Array  # (|β|, |β|)

    def __post_init__(self) -> None:
        terms = Sum.of(self.terms)
        n = terms.Kuu().size
        alpha = matrix(self.alpha, "alpha")
        H = numbers(self.H, "H")
        if H.shape != (n, n):
            raise InputError(f"H must have shape ({n}, {n}), a side for each feature, got {H.shape}.")
        for name, value in (("terms", terms), ("alpha", alpha), ("a", vector(self.a, "a", size=len(alpha))), ("H", H)):
            object.__setattr__(self, name, value)

    def _inner(self) -> tuple[Array, Array]:
        """HᵀK_βH and the Cholesky factor of I + HᵀK_βH."""
        G = self.H.T @ (self.terms.Kuu() @ self.H)
        return G, cholesky(np.eye(G.shape[0]) + G)

    def predict(self, X: Array) -> tuple[Array, Array]:
        _, lower = self._inner()
        v = solve_triangular(lower, self.H.T @ self.terms.Kuf(X))
        return self.terms.covariance(X, self.alpha) @ self.a, self.terms.variances(X) - (v**2).sum(axis=0)

    def kl(self) -> Array:
        """½[aᵀK_αa + log|I + HᵀK_βH| − tr(HᵀK_βH (I + HᵀK_βH)⁻¹)]."""
        G, lower = self._inner()
        xp = namespace(G, self.a)
        # tr(G(I+G)⁻¹) = n − ‖L⁻¹‖²
        inverse = solve_triangular(lower, np.eye(G.shape[0]))
        trace = G.shape[0] - (inverse**2).sum()
        quadratic = self.a @ (self.terms.covariance(self.alpha, self.alpha) @ self.a)
        return 0.5 * (quadratic + 2 * xp.sum(xp.log(xp.diagonal(lower))) - trace)


@dataclass(frozen=True, eq=False)
class Hybrid:
    """μ = Ψ_γ a_γ + Ψ_β a_β,  Σ as in SVGP: the bases overlap.

    With a_β = C⁻ᵀm and whitened S = R Rᵀ: mean(x) = k(x,γ)a_γ + ψᵀm, and ‖μ‖² = aᵀK_γa + 2aᵀψ(γ)ᵀm + mᵀm.
    """

    terms: Sum
    mean: Array  # m, (|β|,)
    root: Array  # R, triangular; a diagonal one may be given as its diagonal
    gamma: Array
    a_gamma: Array

    def __post_init__(self) -> None:
        # the checks are those of the posterior that this is a special case of
        q = Posterior(self.terms, self.mean, self.root, self.gamma, self.a_gamma)
        root = namespace(q.root).diag(q.root) if q.root.ndim == 1 else q.root
        own = {"terms": q.terms, "mean": q.mean_u, "root": root, "gamma": q.gamma, "a_gamma": q.a_gamma}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def predict(self, X: Array) -> tuple[Array, Array]:
        return self._orthogonal.predict(X)

    def kl(self) -> Array:
        return self._orthogonal.kl()

    def orthogonal_mean(self) -> Array:
        """The m of the `Posterior` that is the same distribution: m + ψ(γ)a_γ."""
        psi = self.terms.Kuu().factor().solve(self.terms.Kuf(self.gamma))
        return self.mean + psi @ self.a_gamma

    @cached_property
    def _orthogonal(self) -> Posterior:
        return Posterior(self.terms, self.orthogonal_mean(), self.root, self.gamma, self.a_gamma)
