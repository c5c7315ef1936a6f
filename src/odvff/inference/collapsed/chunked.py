"""The collapsed bound where features change with hyper-parameters: exact value and gradient, in bounded memory.

γ (for the mean) and inducing points in β give columns that depend on what is optimised, so their statistics must be
taken again for every evaluation. (`moving` does so without γ, and takes the sums of fixed features once.) Two passes
over the rows give the exact gradient with the memory of one chunk: first the sums

    G = Σ w z zᵀ,  g = Σ w z y,  κ = Σ w k(x,x),      z = (ψ(x), k(γ,x) − ψ(γ)ᵀψ(x)),

then the bound's derivatives with respect to these sums, pulled back through each chunk. L-BFGS-B does the rest.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from odvff.errors import InputError
from odvff.inference.collapsed.fit import NOISE
from odvff.inference.stochastic.grouped import whiten
from odvff.inference.stochastic.trainable import Recipe, named_like, take_terms_apart
from odvff.likelihoods import GaussianNoise
from odvff.linalg import Dense
from odvff.posterior import Posterior
from odvff.support.arrays import in_double_precision
from odvff.support.checks import matrix, positive, vector, whole
from odvff.terms import Sum, Term

JITTER = 1e-10
WIDEST = 20.0


class ChunkedBound:
    """The collapsed bound of a Gaussian model on rows in memory, a chunk at a time.

    Parameters are a flat vector: kernels, locations of inducing points (if `train_locations`), log noise, locations
    of γ.
    """

    @in_double_precision
    def __init__(
        self,
        terms: Sum | Iterable[Term],
        noise: float,
        X: Any,
        y: Any,
        *,
        gamma: Any | None = None,
        weights: Any | None = None,
        train_locations: bool = True,
        chunk_rows: int = 4096,
    ):
        terms = Sum.of(terms)
        X = matrix(X, "X")
        y = vector(y, "y", size=len(X))
        w = np.ones(len(X)) if weights is None else vector(weights, "weights", size=len(X))
        if len(X) == 0 or not w.sum() > 0:
            raise InputError("there is no row with a positive weight to fit to.")
        if (w < 0).any():
            raise InputError(f"weights has {w.min():g}; weights count how often a row is there, so from 0 up.")
        self.weight, self.squares = float(w.sum()), float(w @ y**2)
        self.mean = float(w @ y) / self.weight
        self.variance = max(self.squares / self.weight - self.mean**2, 0.0)
        chunk_rows = min(whole(chunk_rows, "chunk_rows", at_least=1, remedy="4096 is a good choice"), len(X))
        self._chunks = list(_padded(X, y, w, chunk_rows))
        self._original = terms
        term_parameters, terms_recipe = take_terms_apart(terms, locations=train_locations)
        noise_parameters, noise_recipe = GaussianNoise(positive(noise, "noise")).take_apart()
        gamma = None if gamma is None or len(gamma) == 0 else jnp.asarray(matrix(gamma, "gamma"))
        tree = {"terms": term_parameters, "noise": noise_parameters, "gamma": gamma if train_locations else None}
        self._fixed = None if train_locations else gamma
        flat, self._unravel = ravel_pytree(tree)
        self.start = np.asarray(flat)
        self._model = _Model(terms_recipe, noise_recipe, terms.Kuu().size)

    @in_double_precision
    def __call__(self, parameters: Any) -> tuple[float, Any]:
        """The bound and its gradient."""
        p = self._unravel(jnp.asarray(parameters))
        value, (gradient, *upstream) = _bound(
            self._model, p, self._fixed, *self._totals(p), (self.weight, self.squares)
        )
        for chunk in self._chunks:
            more = _pull_back(self._model, p, self._fixed, chunk, tuple(upstream))
            gradient = jax.tree.map(jnp.add, gradient, more)
        return float(value), np.asarray(ravel_pytree(gradient)[0])

    @in_double_precision
    def limits(self, scale: float) -> Any:
        """Noise relative to the variance of y, kernels within e^±20 of where they start, points anywhere."""
        start = self._unravel(jnp.asarray(self.start))
        low, high = (jax.tree.map(lambda x, s=sign: jnp.full_like(x, s * np.inf), start) for sign in (-1, 1))
        for tree, sign, noise in ((low, -1, NOISE[0]), (high, 1, NOISE[1])):
            tree["noise"] = jax.tree.map(lambda x, v=noise: jnp.full_like(x, np.log(v * scale)), start["noise"])
            kernels = start["terms"]["kernels"]
            tree["terms"]["kernels"] = jax.tree.map(lambda x, s=sign: x + s * WIDEST, kernels)
        return np.stack([np.asarray(ravel_pytree(tree)[0]) for tree in (low, high)], axis=1)

    def _totals(self, p: Any) -> Any:
        sums = (_chunk_sums(self._model, p, self._fixed, chunk) for chunk in self._chunks)
        return jax.tree.map(lambda *parts: sum(parts), *sums)

    @in_double_precision
    def posterior(self, parameters: Any) -> tuple[Posterior, float]:
        """The optimal posterior at these parameters, and its noise."""
        p = self._unravel(jnp.asarray(parameters))
        terms, noise, gamma = self._model.parts(p, self._fixed)
        G, g, _ = self._totals(p)
        n = self._model.size
        lower = np.linalg.cholesky(np.eye(n) + np.asarray(G)[:n, :n] / float(noise))
        root = np.triu(np.linalg.inv(lower).T)
        solution = np.asarray(self._model.solve(terms, noise, gamma, G, g))
        terms = named_like(terms, self._original)
        return Posterior(terms, solution[:n], root, gamma, None if gamma is None else solution[n:]), float(noise)


@dataclass(frozen=True)
class _Model:
    """What is compiled: the model without its numbers."""

    terms: Recipe
    noise: Recipe
    size: int  # |β|

    def parts(self, p: Any, fixed: Any) -> tuple[Sum, Any, Any]:
        return self.terms(p["terms"]), self.noise(p["noise"]).variance, fixed if p["gamma"] is None else p["gamma"]

    def sums(self, p: Any, fixed: Any, chunk: Any) -> Any:
        """G, g and κ of a chunk."""
        terms, _, gamma = self.parts(p, fixed)
        X, y, w = chunk
        if gamma is None:
            z = whiten(terms, X)
        else:
            n = X.shape[0]
            psi = whiten(terms, jnp.concatenate([X, gamma]))
            z = jnp.concatenate([psi[:, :n], terms.covariance(gamma, X) - psi[:, n:].T @ psi[:, :n]])
        return (z * w) @ z.T, z @ (w * y), w @ terms.variances(X)

    def bound(self, p: Any, G: Any, g: Any, kappa: Any, fixed: Any, totals: Any) -> Any:
        terms, noise, gamma = self.parts(p, fixed)
        weight, squares = totals
        n = self.size
        lower = jnp.linalg.cholesky(jnp.eye(n) + G[:n, :n] / noise)
        mean = self.solve(terms, noise, gamma, G, g)
        return -0.5 * (
            weight * jnp.log(2 * jnp.pi * noise)
            + 2 * jnp.sum(jnp.log(jnp.diagonal(lower)))
            + (squares - g @ mean) / noise
            + (kappa - jnp.trace(G[:n, :n])) / noise
        )

    def solve(self, terms: Sum, noise: Any, gamma: Any, G: Any, g: Any) -> Any:
        """(G + σ² blockdiag(I, K̃))⁻¹ g: m and a_γ. The jitter on K̃ makes the bound lower, never higher."""
        penalty = jnp.eye(self.size)
        if gamma is not None:
            psi_gamma = whiten(terms, gamma)
            K = terms.covariance(gamma, gamma)
            residual = K - psi_gamma.T @ psi_gamma + JITTER * jnp.diag(jnp.diagonal(K))
            penalty = jax.scipy.linalg.block_diag(penalty, residual)
        return Dense(G / noise + penalty, jitter=0.0).solve(g / noise)


@partial(jax.jit, static_argnums=0)
def _chunk_sums(model: _Model, p: Any, fixed: Any, chunk: Any) -> Any:
    return model.sums(p, fixed, chunk)


@partial(jax.jit, static_argnums=0)
def _bound(model: _Model, p: Any, fixed: Any, G: Any, g: Any, kappa: Any, totals: Any) -> Any:
    """The bound, and its derivatives with respect to the parameters and the sums."""
    return jax.value_and_grad(model.bound, argnums=(0, 1, 2, 3))(p, G, g, kappa, fixed, totals)


@partial(jax.jit, static_argnums=0)
def _pull_back(model: _Model, p: Any, fixed: Any, chunk: Any, upstream: Any) -> Any:
    _, back = jax.vjp(lambda p: model.sums(p, fixed, chunk), p)
    return back(upstream)[0]


def _padded(X: Any, y: Any, w: Any, chunk_rows: int) -> Iterable[tuple[Any, Any, Any]]:
    """Chunks of one shape: the last is filled up with rows of no weight, so that nothing is compiled twice."""
    for start in range(0, len(X), chunk_rows):
        rows = slice(start, start + chunk_rows)
        missing = chunk_rows - len(X[rows])
        fill = np.repeat(X[:1], missing, axis=0)
        yield (
            jnp.asarray(np.concatenate([X[rows], fill])),
            jnp.asarray(np.append(y[rows], np.zeros(missing))),
            jnp.asarray(np.append(w[rows], np.zeros(missing))),
        )
