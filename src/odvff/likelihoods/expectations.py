"""Expectations under f ~ N(mean, variance), row by row, for our plain noise or any GPJax likelihood.

Where there is no closed form, moments are by Gauss–Hermite quadrature, ∫ g(f) N(f|m,v) df ≈ Σ ω_i g(m + √(2v) ξ_i)/√π,
and E log p by GPJax's own. E p(y|f) may be an integral over a peak much narrower than f is uncertain: Simpson's rule
on ±8 standard deviations, with eight times finer steps around the highest node, and again, and again.
"""

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.kernels import parameter
from odvff.likelihoods.gaussian import GaussianNoise
from odvff.support.arrays import Array, in_double_precision, is_traced
from odvff.support.checks import vector

NODES = 40
REACH, STEPS, WINDOW, LEVELS = 8.0, 128, 8, 4


def expected_log_density(likelihood: Any, y: Array, mean: Array, variance: Array) -> Array:
    """E log p(y_n | f_n) for every row."""
    y = vector(y, "y", size=mean.shape[0])
    noise = _noise(likelihood)
    if noise is not None:
        return noise.expected_log_density(y, mean, variance)
    return _by_gpjax(_functions()[0], likelihood, y, mean, variance)


def log_predictive_density(likelihood: Any, y: Array, mean: Array, variance: Array) -> Array:
    """log E p(y_n | f_n) for every row: how well the model foresaw it."""
    y = vector(y, "y", size=mean.shape[0])
    noise = _noise(likelihood)
    if noise is not None:
        return noise.log_predictive_density(y, mean, variance)
    return _by_gpjax(_functions()[1], likelihood, y, mean, variance)


def predictive_moments(likelihood: Any, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Mean and variance of y, for every row; for 0 and 1 the mean is the probability of 1.

    Infinite where the likelihood has none, as Student's t with two degrees of freedom or fewer.
    """
    noise = _noise(likelihood)
    if noise is not None:
        return mean, variance + noise.variance
    first, second = _by_gpjax(_functions()[2], likelihood, mean, variance)
    return first, second


@in_double_precision
def _noise(likelihood: Any) -> GaussianNoise | None:
    """Plain Gaussian noise, ours or GPJax's."""
    gpjax = sys.modules.get("gpjax")
    if isinstance(likelihood, GaussianNoise):
        return likelihood
    if gpjax is None or not isinstance(likelihood, gpjax.likelihoods.AbstractLikelihood):
        raise InputError(
            f"likelihood must be an odvff.likelihoods.GaussianNoise or one of GPJax's, got {likelihood!r}."
        )
    if isinstance(likelihood, gpjax.likelihoods.AbstractHeteroscedasticLikelihood):
        raise InputError(
            f"{type(likelihood).__name__} has a second process for its noise; fit it with "
            "odvff.inference.sites.fit_sites and `noise_terms`."
        )
    if type(likelihood) is gpjax.likelihoods.Gaussian:
        return GaussianNoise(parameter(likelihood.obs_stddev) ** 2)
    return None


@lru_cache
def _functions() -> tuple[Any, Any, Any]:
    """Compiled once for each kind of likelihood and each number of rows."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    w = (weights / np.sqrt(np.pi))[:, None]

    def at_nodes(mean: Array, variance: Array) -> Array:
        return mean + jnp.sqrt(2 * variance) * nodes[:, None]

    def expected_log(likelihood: Any, y: Array, mean: Array, variance: Array) -> Array:
        return likelihood.expected_log_likelihood(y[:, None], mean[:, None], variance[:, None])

    def log_expected(likelihood: Any, y: Array, mean: Array, variance: Array) -> Array:
        def log_integrand(u: Array) -> Array:
            density = likelihood.link_function(mean + jnp.sqrt(variance) * u).log_prob(y)
            return density - 0.5 * u**2 - 0.5 * np.log(2 * np.pi)

        j = np.arange(STEPS + 1)[:, None]
        simpson = np.where(j % 2, 4.0, 2.0)
        parts, low, width = [], jnp.full_like(mean, -REACH), 2.0 * REACH
        for level in range(LEVELS):
            h = width / STEPS
            values = log_integrand(low + h * j)
            if level == LEVELS - 1:
                weights = jnp.where((j == 0) | (j == STEPS), 1.0, simpson)
            else:
                # leave out the window that the next level looks at more closely; its ends are even nodes
                middle = jnp.clip(2 * jnp.round(jnp.argmax(values, axis=0) / 2), WINDOW, STEPS - WINDOW)
                first, last = middle - WINDOW, middle + WINDOW
                ends = (j == 0) | (j == STEPS) | (j == first) | (j == last)
                weights = jnp.where((j > first) & (j < last), 0.0, jnp.where(ends, 1.0, simpson))
                # a part without any step weighs nothing
                weights = jnp.where(((j == first) & (first == 0)) | ((j == last) & (last == STEPS)), 0.0, weights)
                low, width = low + h * first, 2 * WINDOW * h
            parts.append(jax.scipy.special.logsumexp(values, axis=0, b=weights * h / 3))
        return jax.scipy.special.logsumexp(jnp.stack(parts), axis=0)

    def moments(likelihood: Any, mean: Array, variance: Array) -> Array:
        # Var y = E Var(y|f) + Var E(y|f)
        given = likelihood.link_function(at_nodes(mean, variance))
        first = (w * given.mean).sum(axis=0)
        return first, (w * (given.variance + (given.mean - first) ** 2)).sum(axis=0)

    return eqx.filter_jit(expected_log), eqx.filter_jit(log_expected), eqx.filter_jit(moments)


@in_double_precision
def _by_gpjax(function: Any, likelihood: Any, *rows: Array) -> Any:
    import jax
    import jax.numpy as jnp

    result = function(likelihood, *(jnp.asarray(row) for row in rows))
    return jax.tree.map(lambda r: r if is_traced(r) else np.asarray(r), result)
