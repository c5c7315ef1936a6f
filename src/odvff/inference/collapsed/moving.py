"""The collapsed bound where features change with hyper-parameters: exact value and gradient, in bounded memory.

Inducing points, in β or for the mean alone (γ), give columns that depend on what is optimised,

    u(x) = (ψ_M(x), k(γ,x) − ψ(γ)ᵀψ(x)),      ψ = (ψ_F, ψ_M) of fixed and of moving features,

so their sums over rows are taken again for every evaluation; those of fixed features φ are taken once. Two passes give
the exact gradient with the memory of a chunk: first

    Σ w u φᵀ,  Σ w u uᵀ,  Σ w u y,  Σ w k_M(x,x),

then the bound's derivatives with respect to these, pulled back through each chunk. Rows are whitened before they are
summed: points that nearly fall together cost digits but once. Whatever it is made of is differentiated by JAX.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from odvff.errors import InputError, NumericalError
from odvff.inference.collapsed.fit import Ascent, Climb, Fit, noise_limits, scale_of
from odvff.inference.traced import Recipe, take_terms_apart, whiten
from odvff.linalg import Dense
from odvff.posterior import Posterior
from odvff.rows import chunks_of
from odvff.statistics import Rows, Statistics, collect
from odvff.statistics.basis import fill_features, outside
from odvff.statistics.collect import weighted_rows
from odvff.support.arrays import Array, in_double_precision
from odvff.support.checks import matrix, positive
from odvff.support.shapes import Float
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum

JITTER = 1e-10
BLOCK_ROWS = 4096
WIDEST = 20.0  # of logarithms of a kernel's numbers, either way
OF_KERNELS, OF_NOISE = 1.0, 2.0  # kinds of parameters; locations are 0

Chunks = Callable[[], Iterable[tuple[Any, ...]]]  # (X, y) or (X, y, weights), as often as they are asked for


class Point(NamedTuple):
    """The bound at some parameters."""

    value: float
    gradient: Any


class MovingBound:
    """The bound as a function of a flat vector: locations of γ, log noise, kernels, and locations of points in β."""

    @in_double_precision
    def __init__(self, terms: Sum, noise: float, rows: Chunks, gamma: Any | None = None):
        self._original, self._rows = terms, rows
        # fixed terms first, in the basis of statistics
        self._order = sorted(range(len(terms)), key=lambda i: not terms.terms[i].features.is_fixed)
        ordered = [terms.terms[i] for i in self._order]
        n_fixed = sum(term.features.is_fixed for term in terms)
        self._fixed = Sum(tuple(ordered[:n_fixed])).canonical if n_fixed else None
        self._places = np.concatenate([np.r_[terms.slices[i]] for i in self._order])
        gamma = None if gamma is None or len(gamma) == 0 else jnp.asarray(matrix(gamma, "gamma"))
        of_terms, recipe = take_terms_apart(Sum((*(self._fixed or ()), *ordered[n_fixed:])))
        tree = {"terms": of_terms, "noise": jnp.log(positive(noise, "noise")), "gamma": gamma}
        self._model = _Model(recipe, n_fixed, terms.size)
        flat, self._unravel = ravel_pytree(tree)
        kinds = {"terms": {"kernels": OF_KERNELS, "points": 0.0}, "noise": OF_NOISE, "gamma": 0.0}
        each = jax.tree.map(lambda kind, part: jax.tree.map(lambda x: jnp.full_like(x, kind), part), kinds, tree)
        self.start, self._kinds = np.asarray(flat), np.asarray(ravel_pytree(each)[0])
        # other starts are around this one in kernels and noise, and at the same locations
        self.spread = np.sign(self._kinds)
        kept = _fixed_sums(self._fixed, rows)
        self.weight = kept.weight
        if not self.weight > 0:
            raise InputError("there is no row with a positive weight to fit to.")
        self.mean, self.variance = kept.mean(), kept.variance()
        beyond = (kept.outside.X, kept.outside.Y[:, 0], kept.outside.weights)
        self._data = (kept.gram, kept.projections(), kept.weight, kept.sum_of_squares(), beyond)

    @in_double_precision
    def __call__(self, parameters: Any) -> Point:
        p = self._unravel(jnp.asarray(parameters))
        value, (gradient, upstream) = _bound(self._model, p, self._totals(p), self._data)
        for block in self._blocks():
            gradient = jax.tree.map(jnp.add, gradient, _pull_back(self._model, p, block, upstream))
        return Point(float(value), np.asarray(ravel_pytree(gradient)[0]))

    def information(self, here: Point) -> Float[Array, " K"]:
        """No row tells more of any parameter than one of the noise."""
        if not np.isfinite(here.value):
            raise NumericalError(
                "the bound is not finite where it starts; inducing points may fall together (raise their `jitter` to "
                "1e-6), or y is of a very different scale (standardise it)."
            )
        return np.full(len(self.start), self.weight)

    def limits(self, log_noise: Float[Array, " 2"]) -> Float[Array, "K 2"]:
        """The least and the largest: of kernels within e^±20 of where they start, of points anywhere."""
        reach = np.where(self._kinds == OF_KERNELS, WIDEST, np.inf)
        limits = np.stack([self.start - reach, self.start + reach], axis=1)
        limits[self._kinds == OF_NOISE] = log_noise
        return limits

    @in_double_precision
    def posterior(self, parameters: Any) -> tuple[Posterior, float]:
        """The optimal posterior at these parameters, and its noise."""
        p = self._unravel(jnp.asarray(parameters))
        at = self._model.at(p)
        G, g, _ = (np.asarray(part) for part in at.joined(self._totals(p), self._data))
        n, noise = len(self._places), float(at.noise)
        solution = np.asarray(at.solve(G, g))
        mean, B = np.empty(n), np.empty((n, n))
        mean[self._places] = solution[:n]
        B[np.ix_(self._places, self._places)] = np.eye(n) + G[:n, :n] / noise
        root = np.triu(np.linalg.inv(np.linalg.cholesky(B)).T)
        terms = list(self._original)
        for i, found in zip(self._order, at.terms, strict=True):
            # on the user's own features: their whitened coordinates are those of the statistics
            features = terms[i].features if terms[i].features.is_fixed else found.features
            terms[i] = replace(terms[i], kernel=found.kernel, columns=found.columns, features=features)
        return Posterior(terms, mean, root, at.gamma, None if at.gamma is None else solution[n:]), noise

    def _totals(self, p: Any) -> Any:
        """The sums of all blocks; there is none where all rows are outside the boxes."""
        n = 0 if self._fixed is None else self._fixed.size
        m = self._model.size - n + (0 if p["gamma"] is None else len(p["gamma"]))
        nothing = (np.zeros((m, n)), np.zeros((m, m)), np.zeros(m), np.zeros(()))
        return reduce(partial(jax.tree.map, jnp.add), (_sums(self._model, p, b) for b in self._blocks()), nothing)

    def _blocks(self) -> Iterator[tuple[Any, ...]]:
        """X, φ, y and w of rows inside the boxes, in few shapes: a block is filled up with rows of no weight."""
        for X, y, w in weighted_rows(self._rows()):
            inside = slice(None) if self._fixed is None else ~outside(self._fixed, X)
            X, y, w = X[inside], y[inside], w[inside]
            size = min(BLOCK_ROWS, 1 << max(len(X) - 1, 0).bit_length())
            for start in range(0, len(X), size):
                x, *rest = (part[start : start + size] for part in (X, y, w))
                missing = size - len(x)
                x = np.concatenate([x, np.repeat(x[:1], missing, axis=0)])
                phi = np.empty((0 if self._fixed is None else self._fixed.size, size))
                if self._fixed is not None:
                    fill_features(self._fixed, x, phi)
                yield jnp.asarray(x), jnp.asarray(phi), *(jnp.pad(part, (0, missing)) for part in rest)


def fit_moving(terms: Sum, rows: Any, output: int, noise: float | None, how: Ascent) -> Fit:
    """Maximise the bound over hyper-parameters and locations, from those of the terms on."""
    if isinstance(rows, Statistics) or output:
        raise InputError(
            "terms whose features move with hyper-parameters are fitted to rows, one output at a time: pass chunks "
            "(X, y) in a list, or a RowSource, in place of statistics."
        )
    chunks = chunks_of(rows)
    if noise is None:
        noise = 0.1 * max(_fixed_sums(None, chunks).variance(), 1e-300)
    try:
        return climb_moving(MovingBound(terms, noise, chunks), how)
    except jax.errors.JAXTypeError as error:
        raise InputError(
            f"one of the terms {', '.join(map(repr, terms.names))} has features or a kernel that are written in NumPy, "
            "and where some features move JAX differentiates all of them; write their Kuu, Kuf and covariance with "
            "odvff.support.arrays.namespace."
        ) from error


def climb_moving(bound: MovingBound, how: Ascent) -> Fit:
    """The fit from where a bound starts; never below that."""
    limits = bound.limits(noise_limits(scale_of(bound.mean, bound.variance, how.tell)))
    climb = Climb(bound, how)
    with one_blas_thread():
        parameters, _ = climb.highest(lambda: bound.start, limits, bound.spread)
    return climb.ended(*bound.posterior(parameters))


def _fixed_sums(fixed: Sum | None, rows: Chunks) -> Statistics:
    """The statistics of the fixed terms; without any those of y alone."""
    if fixed is not None:
        return collect(fixed, rows())
    moments, n_rows, width = np.zeros((2, 2)), 0, 0
    for X, y, w in weighted_rows(rows()):
        Z = np.stack([np.ones(len(y)), y])
        moments, n_rows, width = moments + (Z * w) @ Z.T, n_rows + len(y), X.shape[1]
    return Statistics(moments, 0, n_rows, Rows(np.zeros((0, width)), np.zeros((0, 1)), np.zeros(0)))


@dataclass(frozen=True)
class _Model:
    """What is compiled: the model without its numbers."""

    terms: Recipe
    n_fixed: int  # terms, the first ones
    size: int  # |β|

    def at(self, p: Any) -> "_At":
        terms = self.terms(p["terms"])
        first, rest = terms.terms[: self.n_fixed], terms.terms[self.n_fixed :]
        fixed, moving = (Sum(some) if some else None for some in (first, rest))
        return _At(terms, fixed, moving, jnp.exp(p["noise"]), p["gamma"], self.size)


@dataclass(frozen=True)
class _At:
    """The model at some parameters."""

    terms: Sum
    fixed: Sum | None
    moving: Sum | None
    noise: Any
    gamma: Any
    size: int

    def whitened(self, phi: Any) -> Any:
        """C⁻¹φ of fixed features."""
        return phi if self.fixed is None else self.fixed.Kuu().factor().solve(phi)

    def columns(self, X: Float[Array, "N D"], phi: Float[Array, "F N"]) -> Float[Array, "K N"]:
        """u(x)."""
        if self.gamma is None:
            return self._moving_at(X)
        n = X.shape[0]
        psi = self._moving_at(jnp.concatenate([X, self.gamma]))  # in one go: half as much to compile
        fixed = self.whitened(self._fixed_at(self.gamma)).T @ self.whitened(phi)
        residual = self.terms.covariance(self.gamma, X) - fixed - psi[:, n:].T @ psi[:, :n]
        return jnp.concatenate([psi[:, :n], residual])

    def sums(self, X: Any, phi: Any, y: Any, w: Any) -> Any:
        """Σ w u φᵀ, Σ w u uᵀ, Σ w u y and Σ w k_M(x,x) of a block."""
        u = self.columns(X, phi)
        return (u * w) @ phi.T, (u * w) @ u.T, u @ (w * y), w @ self._variances(X)

    def joined(self, sums: Any, data: Any) -> tuple[Any, Any, Any]:
        """Σ w z zᵀ, Σ w z y and Σ w k(x,x) for z = (ψ_F, u) of all rows, those outside the boxes included."""
        (u_phi, u_u, u_y, moving), (gram, projections, weight, _, beyond) = sums, data
        cross = self.whitened(u_phi.T)
        G = jnp.block([[self.whitened(self.whitened(gram).T), cross], [cross.T, u_u]])
        g = jnp.concatenate([self.whitened(projections), u_y])
        kappa = moving + weight * sum(t.kernel.total_variance for t in self.fixed or ())
        X, y, w = beyond
        if len(X) == 0:
            return G, g, kappa
        phi = self._fixed_at(X)
        z = jnp.concatenate([self.whitened(phi), self.columns(X, phi)])
        return G + (z * w) @ z.T, g + z @ (w * y), kappa + w @ self._variances(X)

    def bound(self, sums: Any, data: Any) -> Any:
        """−½[N log 2πσ² + log|I + G_ββ/σ²| + (yᵀWy − gᵀ(m, a_γ))/σ² + (Σ w k(x,x) − tr G_ββ)/σ²]."""
        (G, g, kappa), weight, squares = self.joined(sums, data), data[2], data[3]
        of_beta = G[: self.size, : self.size]
        lower = jnp.linalg.cholesky(jnp.eye(self.size) + of_beta / self.noise)
        log_det = 2 * jnp.sum(jnp.log(jnp.diagonal(lower)))
        left = squares - g @ self.solve(G, g) + kappa - jnp.trace(of_beta)
        return -0.5 * (weight * jnp.log(2 * jnp.pi * self.noise) + log_det + left / self.noise)

    def solve(self, G: Any, g: Any) -> Any:
        """(G + σ² blockdiag(I, K̃))⁻¹ g: m and a_γ. The jitter on K̃ makes the bound lower, never higher."""
        penalty = jnp.eye(self.size)
        if self.gamma is not None:
            residual = self.columns(self.gamma, self._fixed_at(self.gamma))[-len(self.gamma) :]
            jitter = JITTER * jnp.diag(self.terms.variances(self.gamma))
            penalty = jax.scipy.linalg.block_diag(penalty, residual + jitter)
        return Dense(G / self.noise + penalty, jitter=0.0).solve(g / self.noise)

    def _fixed_at(self, X: Any) -> Any:
        return jnp.zeros((0, len(X))) if self.fixed is None else self.fixed.Kuf(X)

    def _moving_at(self, X: Any) -> Any:
        return jnp.zeros((0, len(X))) if self.moving is None else whiten(self.moving, X)

    def _variances(self, X: Any) -> Any:
        return jnp.zeros(len(X)) if self.moving is None else self.moving.variances(X)


@partial(jax.jit, static_argnums=0)
def _sums(model: _Model, p: Any, block: Any) -> Any:
    return model.at(p).sums(*block)


@partial(jax.jit, static_argnums=0)
def _bound(model: _Model, p: Any, sums: Any, data: Any) -> Any:
    """The bound, and its derivatives with respect to the parameters and the sums."""
    return jax.value_and_grad(lambda p, sums: model.at(p).bound(sums, data), argnums=(0, 1))(p, sums)


@partial(jax.jit, static_argnums=0)
def _pull_back(model: _Model, p: Any, block: Any, upstream: Any) -> Any:
    _, back = jax.vjp(lambda p: model.at(p).sums(*block), p)
    return back(upstream)[0]
