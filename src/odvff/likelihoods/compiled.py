"""Expectations of GPJax's likelihoods, compiled once for a kind of likelihood: rows come in blocks of one size."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as npd
from jax.flatten_util import ravel_pytree

from odvff.likelihoods import quadrature
from odvff.likelihoods.base import BLOCK_ROWS, Adjustable, Sample, by_process
from odvff.likelihoods.quadrature import Row
from odvff.policy import Policy
from odvff.support.arrays import Array, in_double_precision, is_traced
from odvff.support.modules import take_module_apart

PREDICTED = 1024  # rows in a block; those of a pass over all rows come in larger ones


@eqx.filter_jit  # type: ignore[untyped-decorator]
def expected_log_density(module: Any, y: Row, *moments: Row) -> Row:
    """Given the mean and the variance of each process."""
    return module.expected_log_likelihood(*(row[:, None] for row in (y, *moments)))


@eqx.filter_jit  # type: ignore[untyped-decorator]
def derivatives(module: Any, y: Row, *moments: Row) -> tuple[Row, ...]:
    slopes = jax.grad(lambda moments: expected_log_density(module, y, *moments).sum())(moments)
    return expected_log_density(module, y, *moments), *slopes


@eqx.filter_jit  # type: ignore[untyped-decorator]
@eqx.filter_value_and_grad  # type: ignore[untyped-decorator]
def average_log_density(module: Any, y: Array, weights: Array, means: Array, variances: Array) -> Array:
    """With its gradient in the parameters."""
    return weights @ expected_log_density(module, y, *by_process(means, variances)) / weights.sum()


@eqx.filter_jit  # type: ignore[untyped-decorator]
def log_predictive_density(module: Any, y: Row, mean: Row, variance: Row) -> Row:
    return quadrature.log_average(lambda f: module.link_function(f).log_prob(y), mean, variance)


@eqx.filter_jit  # type: ignore[untyped-decorator]
def moments(module: Any, mean: Row, variance: Row) -> tuple[Row, Row]:
    given = module.link_function(quadrature.nodes(mean, variance))
    return quadrature.moments(given.mean, given.variance)


@in_double_precision
def evaluate(function: Any, module: Any, *rows: Array) -> Any:
    """The function in blocks of one size, so that no number of rows compiles anything anew."""
    numbers = (*rows, *jax.tree.leaves(eqx.filter(module, eqx.is_array)))
    if any(is_traced(value) for value in numbers):
        return function(module, *(jnp.asarray(row) for row in rows))
    n, size, parts = len(rows[0]), BLOCK_ROWS if function is derivatives else PREDICTED, []
    for start in range(0, max(n, 1), size):
        block = [np.asarray(row[start : start + size], dtype=np.float64) for row in rows]
        filled = [np.concatenate([b, np.full(size - len(b), b[-1] if len(b) else 0.5)]) for b in block]
        parts.append(jax.tree.map(np.asarray, function(module, *(jnp.asarray(row) for row in filled))))
    return jax.tree.map(lambda *v: np.concatenate(v)[:n], *parts)


class CompiledAdjustable(Adjustable):
    """A likelihood of one or two processes; its parameters are GPJax's unconstrained ones."""

    @in_double_precision
    def __init__(self, likelihood: Any):
        self._likelihood = likelihood
        tree, self._make = take_module_apart(likelihood.in_gpjax())
        flat, self._unravel = ravel_pytree(tree)
        self.start = np.asarray(flat)

    @in_double_precision
    def _module(self, flat: Any) -> Any:
        return self._make(self._unravel(jnp.asarray(flat)))

    def at(self, flat: Any) -> Any:
        return self._likelihood.of(self._module(flat))

    def _derivatives(self, flat: Any, *rows: Any) -> Any:
        return evaluate(derivatives, self._module(flat), *rows)

    def _loss(self, sample: Sample, policy: Policy) -> tuple[Callable[[Any], Any], bool]:
        @in_double_precision
        def loss(p: Any) -> tuple[float, Any]:
            value, gradient = average_log_density(self._module(p), *sample)
            return -float(value), -np.asarray(ravel_pytree(gradient)[0])

        return loss, True


class GPJaxLogit(gpx.likelihoods.AbstractLikelihood):  # type: ignore[misc]
    """p(y = 1 | f) = 1/(1 + e^{−f}) in the form of GPJax's likelihoods, which lack it."""

    def link_function(self, f: Any) -> npd.Distribution:
        """Bernoulli with log-odds f."""
        return npd.BernoulliLogits(f)

    def predict(self, dist: Any) -> npd.Distribution:
        """The probability of 1, averaged over f."""
        mean, variance = dist.mean.ravel(), jnp.diag(dist.covariance_matrix)
        return npd.BernoulliProbs(evaluate(moments, self, mean, variance)[0])
