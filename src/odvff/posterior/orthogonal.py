"""The orthogonally decoupled posterior: one family that holds SVGP, VFF, ODVGP and ODVFF.

With K_β = C Cᵀ, ψ(x) = C⁻¹φ(x), whitened q(u) = N(m, S) and S = R Rᵀ:

    mean(x) = ψᵀm + [k(x,γ) − ψ(x)ᵀψ(γ)] a_γ
    var(x)  = k(x,x) − ψᵀψ + ψᵀSψ
    KL      = ½[tr S − log|S| − |β| + mᵀm] + ½ a_γᵀ [K_γ − ψ(γ)ᵀψ(γ)] a_γ

| method     | features of the terms (β)       | gamma (γ)       |
|------------|---------------------------------|-----------------|
| SVGP, SGPR | inducing points                 | none            |
| VFF        | Fourier                         | none            |
| ODVGP      | inducing points                 | inducing points |
| ODVFF      | Fourier, or Fourier with points | inducing points |
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.likelihoods import expected_log_density
from odvff.posterior.fast import FastFeatures, curves, point_sum
from odvff.posterior.residual import residual_variance, unexplained
from odvff.posterior.samples import Paths, draw_paths, joint_samples, random_generator, with_detail
from odvff.support.arrays import Array, is_traced, namespace
from odvff.support.checks import matrix, numbers, untraced, vector, whole
from odvff.support.shapes import Float
from odvff.terms import Sum, Term

JOINT_ROWS = 1000
REFINEMENT = 16
STRIPS, NARROWEST_STRIP = 8, 48  # of a triangular product


@dataclass(frozen=True)
class Effects:
    """The posterior of every f_t, and of their sum, at N rows; `covariance`, if asked for, adds up to its variance."""

    names: tuple[str, ...]
    mean: Float[Array, "N T"]
    variance: Float[Array, "N T"]
    total_mean: Float[Array, " N"]
    total_variance: Float[Array, " N"]
    covariance: Float[Array, "N T T"] | None = None


class Posterior:
    """q(f) for a sum of terms.

    Parameters
    ----------
    terms : the model, a `Sum` or a list of `Term`.
    mean : m, the whitened mean of q(u), (|β|,). Zero by default.
    root : R, a triangular root of the whitened covariance S = R Rᵀ, (|β|, |β|), or (|β|,) for a diagonal one. Ones by
        default: the prior.
    gamma : γ, inducing points that carry the mean only, (|γ|, D), or None.
    a_gamma : their coefficients, (|γ|,). Zero by default.

    >>> from odvff.features import Fourier
    >>> from odvff.kernels import Matern
    >>> prior = Posterior([Term(Matern(1.5, 0.2), Fourier(5, (0, 1)))])
    >>> mean, variance = prior.predict([[0.3], [0.9]])
    >>> mean, variance
    (array([0., 0.]), array([1., 1.]))
    """

    def __init__(
        self, terms: Sum | Iterable[Term], mean: Any = None, root: Any = None, gamma: Any = None, a_gamma: Any = None
    ):
        self.terms = Sum.of(terms)
        self.factor = self.terms.Kuu().factor()
        n = self.factor.size
        self.mean_u = np.zeros(n) if mean is None else _own(vector(mean, "mean", size=n))
        self.root = np.ones(n) if root is None else _own(_triangular(root, n))
        self.gamma, self.a_gamma = _checked_gamma(self.terms, gamma, a_gamma)
        # mean(x) = φᵀC⁻ᵀ(m − ψ(γ)a_γ) + k(x,γ)a_γ: one vector of weights for all rows to come
        self._psi_a = np.zeros(n)  # ψ(γ)a_γ
        if self.gamma is not None:
            self._psi_a = self.factor.solve(self.terms.Kuf(self.gamma)) @ self.a_gamma
        self.weights = self.factor.solve_transpose(self.whitened_weights)

    def __repr__(self) -> str:
        points = "no γ" if self.gamma is None else f"|γ|={len(self.gamma)}"
        return f"Posterior({len(self.terms)} terms, |β|={self.factor.size}, {points})"

    def __getstate__(self) -> dict[str, Any]:
        """Without what predictions keep to be fast: a copy makes it anew."""
        made = {name for name in vars(self) if isinstance(getattr(Posterior, name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in made}

    @property
    def whitened_weights(self) -> Float[Array, " B"]:
        """m − ψ(γ)a_γ: the part of the mean that is in β."""
        return self.mean_u - self._psi_a

    def mean(self, X: Any) -> Float[Array, " N"]:
        """E f(x), row by row; of terms of one column in a time that grows neither with |β| nor with |γ|."""
        X = matrix(X, "X")
        return self._with_points(X, self._curves(X) if self._is_fast(X) else self.weights @ self.terms.Kuf(X))

    def variance(self, X: Any) -> Float[Array, " N"]:
        """Var f(x), row by row."""
        return self.predict(X)[1]

    def predict(self, X: Any) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Mean and variance of f (not of y: a likelihood adds its noise)."""
        X = matrix(X, "X")
        # ‖Rᵀψ‖² is positive by construction; the rest is positive in exact arithmetic
        if not self._is_fast(X):
            phi = self.terms.Kuf(X)
            psi = self.factor.solve(phi)
            variance = residual_variance(self.terms.variances(X), psi) + (self._root_transpose(psi) ** 2).sum(axis=0)
            return self._with_points(X, self.weights @ phi), variance
        explained, kept = np.empty((2, len(X)))
        psi = np.empty(0)
        for rows, phi in self._fast.blocks(X):
            psi = self._fast.whiten(phi, psi if psi.shape == phi.shape else np.empty_like(phi))
            explained[rows] = np.einsum("ij,ij->j", psi, psi)
            spread = self._root_transpose(psi)
            kept[rows] = np.einsum("ij,ij->j", spread, spread)
        # the mean as `mean` has it, to the bit
        return self._with_points(X, self._curves(X)), unexplained(self.terms.variances(X), explained) + kept

    def _with_points(self, X: Float[Array, "N D"], mean: Float[Array, " N"]) -> Float[Array, " N"]:
        """The mean of β, and what γ adds to it."""
        if self.gamma is None:
            return mean
        if any(is_traced(v) for v in (X, self.weights, self.gamma, self.a_gamma)):
            return mean + self.terms.covariance(X, self.gamma) @ self.a_gamma
        return mean + self._points(X)

    @cached_property
    def _points(self) -> Callable[[Any], Any]:
        return point_sum(self.terms, self.gamma, self.a_gamma)

    def _is_fast(self, X: Float[Array, "N D"]) -> bool:
        return self.terms.is_fixed and not any(is_traced(v) for v in (X, self.root, self.weights))

    @cached_property
    def _fast(self) -> FastFeatures:
        return FastFeatures(self.terms)

    @cached_property
    def _curves(self) -> Callable[[Any], Any]:
        return curves(self._fast, self._fast.factor.solve_transpose(self.whitened_weights))

    @cached_property
    def _is_upper(self) -> bool:
        return bool(np.triu(self.root, 1).any())

    def _root_transpose(self, psi: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """Rᵀψ."""
        if self.root.ndim == 1:
            return self.root[:, None] * psi
        if namespace(self.root, psi) is not np:
            return self.root.T @ psi
        # strip by strip without the zeros: nearly half the work, and unlike SciPy's triangular product it lets other
        # threads run meanwhile
        product, n = np.empty_like(psi), len(psi)
        strip = max(NARROWEST_STRIP, -(-n // STRIPS))
        for start in range(0, n, strip):
            own = slice(start, start + strip)
            rows = slice(0, start + strip) if self._is_upper else slice(start, n)
            np.matmul(self.root[rows, own].T, psi[rows], out=product[own])
        return product

    def covariance(self, X: Any, Z: Any = None) -> Float[Array, "N M"]:
        """Cov(f(X), f(Z)); Z = X by default."""
        psi_X = self.factor.solve(self.terms.Kuf(X))
        psi_Z = psi_X if Z is None else self.factor.solve(self.terms.Kuf(Z))
        # k(x,z) − ψ(x)ᵀψ(z) + ψ(x)ᵀSψ(z)
        residual = self.terms.covariance(X, X if Z is None else Z) - psi_X.T @ psi_Z
        return residual + self._root_transpose(psi_X).T @ self._root_transpose(psi_Z)

    def kl(self) -> Float[Array, ""]:
        """KL[q(f) ‖ p(f)]."""
        xp = namespace(self.root, self.mean_u, self.weights)
        diagonal = self.root if self.root.ndim == 1 else xp.diagonal(self.root)
        log_det_S = 2 * xp.sum(xp.log(xp.abs(diagonal)))
        kl = 0.5 * (xp.sum(self.root**2) - log_det_S - self.factor.size + xp.sum(self.mean_u**2))
        if self.gamma is not None:
            quadratic = self.a_gamma @ (self.terms.covariance(self.gamma, self.gamma) @ self.a_gamma)
            kl = kl + 0.5 * (quadratic - xp.sum(self._psi_a**2))
        return kl

    def elbo(self, likelihood: Any, X: Any, y: Any, n_rows: Any = None) -> Float[Array, ""]:
        """(N/B) Σ_batch E_q log p(y|f) − KL: the evidence lower bound of N = `n_rows` rows from a batch of B of them.

        The likelihood is a `GaussianNoise` or one of GPJax's. By default the batch is the whole data set.
        """
        X = matrix(X, "X")
        B = X.shape[0]
        if B == 0:
            raise InputError("X has no rows; an ELBO needs at least one.")
        if n_rows is not None:
            whole(n_rows, "n_rows", at_least=B, remedy=f"a batch of {B} rows stands for at least as many in all")
        mean, variance = self.predict(X)
        expectation = expected_log_density(likelihood, y, mean, variance).sum()
        return (B if n_rows is None else n_rows) / B * expectation - self.kl()

    def sample(self, X: Any, n_samples: Any = 1, *, seed: Any = None, method: str = "auto") -> Float[Array, "S N"]:
        """Joint samples of f at the rows of X.

        "exact" costs O(N³); "pathwise" is linear in N, draws detail that its functions do not resolve independently for
        each row, and warns if that is more than 1 % of the variance; "auto" is exact up to 1000 rows.
        """
        X = matrix(X, "X")
        if method not in ("auto", "exact", "pathwise"):
            raise InputError(f"method must be 'auto', 'exact' or 'pathwise', got {method!r}.")
        untraced("sample", X, self.weights, self.root, instead="sample outside the transformed function")
        n_samples = whole(n_samples, "n_samples", at_least=1, remedy="ask for one or more")
        if method == "exact" or (method == "auto" and len(X) <= JOINT_ROWS):
            return joint_samples(self.mean(X), self.covariance(X), n_samples, random_generator(seed))
        rows = self.paths(n_samples, seed=seed).with_unresolved(X)
        return with_detail(rows, seed, "for joint samples there, pass fewer rows with method='exact'", stacklevel=3)

    def paths(self, n_samples: int = 1, *, seed: int | None = None, refinement: int = REFINEMENT) -> Paths:
        """Sampled functions that can be evaluated anywhere; `refinement` times the features resolve their detail."""
        untraced("paths", self.weights, self.root, instead="draw them outside the transformed function")
        n_samples = whole(n_samples, "n_samples", at_least=1, remedy="ask for one or more")
        rng = random_generator(seed)
        noise = rng.standard_normal((self.factor.size, n_samples))
        spread = self.root[:, None] * noise if self.root.ndim == 1 else self.root @ noise
        return draw_paths(self, self.whitened_weights[:, None] + spread, refinement, rng)

    def effects(self, X: Any, *, covariance: bool = False) -> Effects:
        """Mean and variance of each f_t and of their sum, row by row."""
        X = matrix(X, "X")
        root = np.diag(self.root) if self.root.ndim == 1 else self.root
        means, residuals, projected = [], [], []
        for term, s, C in zip(self.terms, self.factor.slices, self.factor.blocks, strict=True):
            phi = term.Kuf(X)
            psi = C.solve(phi)
            mean = self.weights[s] @ phi
            means.append(mean if self.gamma is None else mean + term.covariance(X, self.gamma) @ self.a_gamma)
            residuals.append(residual_variance(term.variances(X), psi))
            projected.append(root[s].T @ psi)  # R_tᵀψ_t: inner products of these are the covariances
        xp = namespace(*means, *residuals, *projected)
        mean, residual = xp.stack(means, axis=1), xp.stack(residuals, axis=1)
        explained = xp.stack([(p**2).sum(axis=0) for p in projected], axis=1)
        total = residual.sum(axis=1) + (sum(projected) ** 2).sum(axis=0)
        full = None
        if covariance:
            P = xp.stack(projected)  # (T, |β|, N)
            full = xp.einsum("tbn,sbn->nts", P, P) + residual[:, :, None] * np.eye(len(self.terms))
        return Effects(self.terms.names, mean, residual + explained, mean.sum(axis=1), total, full)


def _triangular(root: Any, n: int) -> Float[Array, " B *B"]:
    root = numbers(root, "root")
    if root.shape not in ((n, n), (n,)):
        raise InputError(f"root must have shape ({n}, {n}), or ({n},) for a diagonal, got {root.shape}.")
    if is_traced(root):
        return root
    if not np.isfinite(root).all():
        raise InputError("root contains NaN or infinite entries.")
    diagonal = root if root.ndim == 1 else np.diagonal(root)
    if root.ndim == 2 and np.triu(root, 1).any() and np.tril(root, -1).any():
        raise InputError(
            "root must be triangular, so that log|S| is read off its diagonal; take a Cholesky factor of S."
        )
    if not diagonal.all():
        raise InputError("root has a zero on its diagonal, so S is singular and the KL infinite.")
    return root


def _own(array: Float[Array, "*K"]) -> Float[Array, "*K"]:
    """A copy, so that nobody else's changes reach us."""
    return array if is_traced(array) else array.copy()


def _checked_gamma(terms: Sum, gamma: Any, a_gamma: Any) -> tuple[Array | None, Array | None]:
    if gamma is None:
        if a_gamma is not None:
            raise InputError("a_gamma was given without gamma; pass the inducing points too.")
        return None, None
    gamma = matrix(gamma, "gamma")
    for term in terms:
        term.select(gamma, "gamma")
    if gamma.shape[0] == 0:
        return None, None
    a_gamma = np.zeros(gamma.shape[0]) if a_gamma is None else vector(a_gamma, "a_gamma", size=gamma.shape[0])
    return _own(gamma), _own(a_gamma)
