"""The parametrisations that the orthogonal one replaced, as reference families.

`Decoupled` (Cheng & Boots 2016, 2017) gives mean and covariance bases of their own; `Hybrid` (Cheng & Boots 2017)
lets the mean use both bases, not made orthogonal. They are here because the paper builds on them, and as a check:
each is the same distribution as a `Posterior` for suitable parameters, and `Hybrid` is that one. `Decoupled` is in
dense algebra, for study and not for large models.

Bases are any features of one `Sum`: `alpha`/`gamma` are inducing points, β are the features of the terms.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.posterior.orthogonal import Posterior
from odvff.support.arrays import Array, cholesky, namespace, solve_triangular
from odvff.support.checks import matrix, numbers, vector
from odvff.support.shapes import Float
from odvff.terms import Sum, Term


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

    def _inner(self) -> tuple[Float[Array, "B B"], Float[Array, "B B"]]:
        """HᵀK_βH and the Cholesky factor of I + HᵀK_βH."""
        G = self.H.T @ (self.terms.Kuu() @ self.H)
        return G, cholesky(np.eye(G.shape[0]) + G)

    def predict(self, X: Any) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        _, lower = self._inner()
        v = solve_triangular(lower, self.H.T @ self.terms.Kuf(X))
        return self.terms.covariance(X, self.alpha) @ self.a, self.terms.variances(X) - (v**2).sum(axis=0)

    def kl(self) -> Float[Array, ""]:
        """½[aᵀK_αa + log|I + HᵀK_βH| − tr(HᵀK_βH (I + HᵀK_βH)⁻¹)]."""
        G, lower = self._inner()
        xp = namespace(G, self.a)
        # tr(G(I+G)⁻¹) = n − ‖L⁻¹‖²
        inverse = solve_triangular(lower, np.eye(G.shape[0]))
        trace = G.shape[0] - (inverse**2).sum()
        quadratic = self.a @ (self.terms.covariance(self.alpha, self.alpha) @ self.a)
        return 0.5 * (quadratic + 2 * xp.sum(xp.log(xp.diagonal(lower))) - trace)


class Hybrid(Posterior):
    """μ = Ψ_γ a_γ + Ψ_β a_β,  Σ as in SVGP: the bases overlap.

    With a_β = C⁻ᵀm and whitened S = R Rᵀ: mean(x) = k(x,γ)a_γ + ψᵀm, and ‖μ‖² = aᵀK_γa + 2aᵀψ(γ)ᵀm + mᵀm.
    """

    def __init__(self, terms: Sum | Iterable[Term], mean: Any, root: Any, gamma: Any, a_gamma: Any):
        super().__init__(terms, mean, root, gamma, a_gamma)
        self.root = namespace(self.root).diag(self.root) if self.root.ndim == 1 else self.root
        self.mean_u = self.mean_u + self._psi_a
        self.weights = self.factor.solve_transpose(self.whitened_weights)

    def orthogonal_mean(self) -> Float[Array, " B"]:
        """The m of the `Posterior` that is the same distribution: m + ψ(γ)a_γ."""
        return self.mean_u
