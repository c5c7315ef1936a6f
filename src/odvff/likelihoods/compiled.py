"""Expectations of GPJax's likelihoods, compiled once for a kind of likelihood: rows come in blocks of one size."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

from odvff.likelihoods import quadrature
from odvff.likelihoods.adjustable import BLOCK_ROWS, Adjustable, Sample, reach
from odvff.policy import Policy
from odvff.support.arrays import Array, in_double_precision, is_traced

PADDED = 1024


@eqx.filter_jit  # type: ignore[untyped-decorator]
def expected_log(module: Any, y: Array, mean: Array, variance: Array) -> Array:
    return module.expected_log_likelihood(y[:, None], mean[:, None], variance[:, None])


@eqx.filter_jit  # type: ignore[untyped-decorator]
def derivatives(module: Any, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
    a, b = jax.grad(lambda m, v: expected_log(module, y, m, v).sum(), argnums=(0, 1))(mean, variance)
    return expected_log(module, y, mean, variance), a, b


@eqx.filter_jit  # type: ignore[untyped-decorator]
def log_expected(module: Any, y: Array, mean: Array, variance: Array) -> Array:
    return quadrature.log_average(lambda f: module.link_function(f).log_prob(y), mean, variance)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def moments(module: Any, mean: Array, variance: Array) -> tuple[Array, Array]:
    given = module.link_function(quadrature.nodes(mean, variance))
    return quadrature.moments(given.mean, given.variance)


@in_double_precision
def evaluate(function: Any, module: Any, *rows: Array) -> Any:
    """The function in blocks of one size, so that no number of rows compiles anything anew."""
    numbers = (*rows, *jax.tree.leaves(eqx.filter(module, eqx.is_array)))
    if any(is_traced(value) for value in numbers):
        return function(module, *(jnp.asarray(row) for row in rows))
    n, parts = len(rows[0]), []
    for start in range(0, max(n, 1), PADDED):
        block = [np.asarray(row[start : start + PADDED], dtype=np.float64) for row in rows]
        filled = [np.concatenate([b, np.full(PADDED - len(b), b[-1] if len(b) else 0.5)]) for b in block]
        values = function(module, *(jnp.asarray(row) for row in filled))
        parts.append(jax.tree.map(np.asarray, values))
    return jax.tree.map(lambda *v: np.concatenate(v)[:n], *parts)


class CompiledAdjustable(Adjustable):
    """A likelihood of one or two processes; its parameters are GPJax's unconstrained ones."""

    @in_double_precision
    def __init__(self, likelihood: Any):
        self._likelihood = likelihood
        tree, self._recipe = likelihood.take_apart()
        flat, self._unravel = ravel_pytree(tree)
        self.start = np.asarray(flat)

    @in_double_precision
    def at(self, flat: Any) -> Any:
        return self._recipe(self._unravel(jnp.asarray(flat)))

    @in_double_precision
    def expectations(self, flat: Any, y: Any, w: Any, means: Any, variances: Any) -> tuple[float, Any, Any]:
        n = len(y)
        missing = BLOCK_ROWS - n  # rows of no weight, so that one shape is compiled
        y, w = np.pad(y, (0, missing), mode="edge"), np.pad(w, (0, missing))
        means, variances = (np.pad(v, ((0, 0), (0, missing)), mode="edge") for v in (means, variances))
        value, (a, b) = _differentiated(self._recipe, self._unravel(jnp.asarray(flat)), y, w, means, variances)
        return float(value), np.asarray(a)[:, :n], np.asarray(b)[:, :n]

    @in_double_precision
    def improve(self, flat: Any, sample: Sample, policy: Policy) -> Any:
        if len(flat) == 0:
            return flat
        rows = tuple(jnp.asarray(part) for part in sample)

        def loss(p: Any) -> tuple[float, Any]:
            value, gradient = _in_parameters(self._recipe, self._unravel(jnp.asarray(p)), *rows)
            return -float(value), -np.asarray(ravel_pytree(gradient)[0])

        return minimize(loss, flat, jac=True, method="L-BFGS-B", bounds=reach(flat), options={"maxiter": 10}).x


def _total(recipe: Any, p: Any, y: Any, w: Any, means: Any, variances: Any) -> Any:
    likelihood = recipe(p)
    if means.shape[0] == 1:
        return w @ likelihood.expected_log_density(y, means[0], variances[0])
    columns = (v[:, None] for v in (y, means[0], variances[0], means[1], variances[1]))
    return w @ likelihood.in_gpjax().expected_log_likelihood(*columns)


@partial(jax.jit, static_argnums=0)
def _differentiated(recipe: Any, p: Any, y: Any, w: Any, means: Any, variances: Any) -> Any:
    return jax.value_and_grad(partial(_total, recipe), argnums=(3, 4))(p, y, w, means, variances)


@partial(jax.jit, static_argnums=0)
def _in_parameters(recipe: Any, p: Any, y: Any, w: Any, means: Any, variances: Any) -> Any:
    return jax.value_and_grad(lambda p: _total(recipe, p, y, w, means, variances) / w.sum())(p)
