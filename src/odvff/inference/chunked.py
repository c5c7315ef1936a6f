"""The collapsed bound where features change with hyper-parameters: exact value and gradient, in bounded memory.

Inducing points in β (SGPR) and γ (for the mean) give columns that depend on what is optimised, so their statistics
must be taken again for every evaluation. Two passes over the rows give the exact gradient with the memory of one
chunk: first the sums

    G = Σ w z zᵀ,  g = Σ w z y,  κ = Σ w k(x,x),      z = (ψ(x), k(γ,x) − ψ(γ)ᵀψ(x)),

then the bound's derivatives with respect to these sums, pulled back through each chunk. L-BFGS-B does the rest.
"""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from odvff.arrays import in_double_precision
from odvff.checks import matrix, positive, vector, whole
from odvff.errors import InputError
from odvff.inference.fit import Fit
from odvff.inference.grouped import whiten
from odvff.inference.trainable import take_apart, take_terms_apart
from odvff.likelihoods import GaussianNoise
from odvff.linalg import Dense
from odvff.posterior import Posterior
from odvff.terms import Sum, Term

JITTER = 1e-10


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
        self.weight, self.squares = float(w.sum()), float(w @ y**2)
        chunk_rows = min(whole(chunk_rows, "chunk_rows", at_least=1, remedy="4096 is a good choice"), len(X))
        self._chunks = list(_padded(X, y, w, chunk_rows))
        term_parameters, self._terms = take_terms_apart(terms, locations=train_locations)
        noise_parameters, self._noise = take_apart(GaussianNoise(positive(noise, "noise")))
        self._gamma = None if gamma is None or len(gamma) == 0 else jnp.asarray(matrix(gamma, "gamma"))
        free_gamma = self._gamma if train_locations else None
        tree = {"terms": term_parameters, "noise": noise_parameters, "gamma": free_gamma}
        self.start, self._unravel = ravel_pytree(tree)
        self.start = np.asarray(self.start)
        self.size = terms.Kuu().size
        self._sums = jax.jit(self._chunk_sums)
        self._final = jax.jit(jax.value_and_grad(self._bound, argnums=(0, 1, 2, 3)))
        self._pull = jax.jit(self._pull_back)

    @in_double_precision
    def __call__(self, parameters: Any) -> tuple[float, Any]:
        """The bound and its gradient."""
        p = jnp.asarray(parameters)
        totals = self._totals(p)
        value, (gradient, *upstream) = self._final(p, *totals)
        for chunk in self._chunks:
            gradient = gradient + self._pull(p, *chunk, tuple(upstream))
        return float(value), np.asarray(gradient)

    def _totals(self, p: Any) -> Any:
        return jax.tree.map(lambda *parts: sum(parts), *(self._sums(p, *chunk) for chunk in self._chunks))

    def _parts(self, p: Any) -> tuple[Sum, Any, Any]:
        tree = self._unravel(p)
        gamma = self._gamma if tree["gamma"] is None else tree["gamma"]
        return self._terms(tree["terms"]), self._noise(tree["noise"]).variance, gamma

    def _chunk_sums(self, p: Any, X: Any, y: Any, w: Any) -> Any:
        terms, _, gamma = self._parts(p)
        if gamma is None:
            z = whiten(terms, X)
        else:
            n = X.shape[0]
            psi = whiten(terms, jnp.concatenate([X, gamma]))
            z = jnp.concatenate([psi[:, :n], terms.covariance(gamma, X) - psi[:, n:].T @ psi[:, :n]])
        return (z * w) @ z.T, z @ (w * y), w @ terms.variances(X)

    def _pull_back(self, p: Any, X: Any, y: Any, w: Any, upstream: Any) -> Any:
        _, back = jax.vjp(lambda p: self._chunk_sums(p, X, y, w), p)
        return back(upstream)[0]

    def _bound(self, p: Any, G: Any, g: Any, kappa: Any) -> Any:
        terms, noise, gamma = self._parts(p)
        n = self.size
        lower = jnp.linalg.cholesky(jnp.eye(n) + G[:n, :n] / noise)
        mean = self._solve(terms, noise, gamma, G, g)
        return -0.5 * (
            self.weight * jnp.log(2 * jnp.pi * noise)
            + 2 * jnp.sum(jnp.log(jnp.diagonal(lower)))
            + (self.squares - g @ mean) / noise
            + (kappa - jnp.trace(G[:n, :n])) / noise
        )

    def _solve(self, terms: Sum, noise: Any, gamma: Any, G: Any, g: Any) -> Any:
        """(G + σ² blockdiag(I, K̃))⁻¹ g: m and a_γ. The jitter on K̃ makes the bound lower, never higher."""
        penalty = jnp.eye(self.size)
        if gamma is not None:
            psi_gamma = whiten(terms, gamma)
            K = terms.covariance(gamma, gamma)
            residual = K - psi_gamma.T @ psi_gamma + JITTER * jnp.diag(jnp.diagonal(K))
            penalty = jax.scipy.linalg.block_diag(penalty, residual)
        return Dense(G / noise + penalty, jitter=0.0).solve(g / noise)

    @in_double_precision
    def posterior(self, parameters: Any) -> tuple[Posterior, float]:
        """The optimal posterior at these parameters, and its noise."""
        p = jnp.asarray(parameters)
        terms, noise, gamma = self._parts(p)
        G, g, _ = self._totals(p)
        n = self.size
        lower = np.linalg.cholesky(np.eye(n) + np.asarray(G)[:n, :n] / float(noise))
        root = np.triu(np.linalg.inv(lower).T)
        solution = np.asarray(self._solve(terms, noise, gamma, G, g))
        q = Posterior(terms, solution[:n], root, gamma, None if gamma is None else solution[n:])
        return q, float(noise)


def fit_chunked(
    bound: ChunkedBound, *, max_iter: int = 200, progress: Callable[[int, float], None] | None = None
) -> Fit:
    """Maximise a chunked bound from where it starts; the result is never below the start."""
    best: list[Any] = [-np.inf, bound.start]
    history: list[float] = []

    def loss(p: Any) -> tuple[float, Any]:
        value, gradient = bound(p)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return 1e10, np.zeros_like(p)  # the line search turns back
        if value > best[0]:
            best[:] = [value, p.copy()]
        return -value / bound.weight, -gradient / bound.weight

    def callback(_: Any) -> None:
        history.append(best[0])
        if progress is not None:
            progress(len(history), best[0])

    message = "interrupted"
    try:
        options = {"maxiter": max_iter, "ftol": 1e-10, "gtol": 1e-6}
        with threadpool_limits(1, user_api="blas"):
            result = minimize(loss, bound.start, jac=True, method="L-BFGS-B", callback=callback, options=options)
        flat = result.status == 2 and np.abs(result.jac).max() < 1e-3
        message = "converged" if result.success or flat else str(result.message)
    except KeyboardInterrupt:
        if not np.isfinite(best[0]):
            raise
    q, noise = bound.posterior(best[1])
    return Fit(q, noise, float(best[0]), tuple(history), message == "converged", message, ())


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
