"""What sites need of a likelihood: expectations with their derivatives, and its own parameters.

Of one process f, or of two (GPJax's heteroscedastic Gaussian): marginals come as arrays of shape (processes, N).
Compiled once for a kind of likelihood, as all blocks of rows are filled up to one length.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

from odvff.errors import InputError
from odvff.inference.stochastic.trainable import Recipe, take_apart
from odvff.likelihoods import GaussianNoise, expected_log_density
from odvff.support.arrays import Array, in_double_precision

BLOCK_ROWS = 4096
NEARLY = 1e-6  # the variance of what is as good as known


class SiteLikelihood:
    """A likelihood of one or two processes, its parameters as a flat vector."""

    @in_double_precision
    def __init__(self, likelihood: Any, n_latents: int):
        _check_processes(likelihood, n_latents)
        tree, self.recipe = take_apart(likelihood)
        flat, self._unravel = ravel_pytree(tree)
        self.start = np.asarray(flat)

    @in_double_precision
    def likelihood(self, flat: Any) -> Any:
        return self.recipe(self._unravel(jnp.asarray(flat)))

    @in_double_precision
    def expectations(self, flat: Any, y: Any, w: Any, means: Any, variances: Any) -> tuple[float, Any, Any]:
        """Σ w E log p, and its derivatives with respect to all means and variances, each of shape (processes, N)."""
        n = len(y)
        missing = BLOCK_ROWS - n  # rows of no weight, so that one shape is compiled
        y, w = np.pad(y, (0, missing), mode="edge"), np.pad(w, (0, missing))
        means, variances = (np.pad(v, ((0, 0), (0, missing)), mode="edge") for v in (means, variances))
        value, (a, b) = _differentiated(self.recipe, self._unravel(jnp.asarray(flat)), y, w, means, variances)
        return float(value), np.asarray(a)[:, :n], np.asarray(b)[:, :n]

    @property
    def takes_real_numbers(self) -> bool:
        """Is y on the scale of f? Then f should start on the scale of y."""
        import gpjax.likelihoods as gl

        kinds = (GaussianNoise, gl.Gaussian, gl.StudentT, gl.HeteroscedasticGaussian)
        return isinstance(self.likelihood(self.start), kinds)

    def first_guess(self, flat: Any, sample: tuple[Any, ...]) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Mean and variance of f at rows with targets y, given the variance of its prior: where the first sites are.

        Counts tell their own level: from a constant one, a step as long as they call for would overshoot by far. For
        other likelihoods it is the constant, of a few dozen, that suits the rows best.
        """
        import gpjax.likelihoods as gl

        if isinstance(self.likelihood(self.start), gl.Poisson):
            return lambda y, variance: (np.log(y + 0.5), np.full(len(y), NEARLY))
        level = self._level(flat, sample)
        return lambda y, variance: (np.full(len(y), level), variance)

    def _level(self, flat: Any, sample: tuple[Any, ...]) -> float:
        if self.takes_real_numbers:
            return 0.0
        few = slice(0, BLOCK_ROWS)
        y, w = sample[0][few], sample[1][few]
        nearly = np.full((1, len(y)), NEARLY)
        candidates = np.append(np.linspace(-10, 10, 41), np.log(np.maximum(y.mean(), 1e-3)))
        values = [self.expectations(flat, y, w, np.full((1, len(y)), c), nearly)[0] for c in candidates]
        return float(candidates[np.nanargmax(values)]) if np.isfinite(values).any() else 0.0

    @in_double_precision
    def improve(self, flat: Any, sample: tuple[Any, ...]) -> Any:
        """Parameters of the likelihood for the marginals of the sample."""
        if len(flat) == 0:
            return flat
        rows = tuple(jnp.asarray(part) for part in sample)

        def loss(p: Any) -> tuple[float, Any]:
            value, gradient = _in_parameters(self.recipe, self._unravel(jnp.asarray(p)), *rows)
            return -float(value), -np.asarray(ravel_pytree(gradient)[0])

        bounds = [(p - 8.0, p + 8.0) for p in flat]
        return minimize(loss, flat, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 10}).x


def _check_processes(likelihood: Any, n_latents: int) -> None:
    import gpjax

    two = isinstance(likelihood, gpjax.likelihoods.AbstractHeteroscedasticLikelihood)
    if two and n_latents == 1:
        raise InputError(
            f"{type(likelihood).__name__} has a second process for its noise; give its terms as `noise_terms`."
        )
    if not two and n_latents == 2:
        raise InputError(
            f"`noise_terms` are for a heteroscedastic likelihood, got {type(likelihood).__name__}; leave them out, or "
            "use gpjax.likelihoods.HeteroscedasticGaussian."
        )


def _total(recipe: Recipe, p: Any, y: Any, w: Any, means: Any, variances: Any) -> Any:
    likelihood = recipe(p)
    if means.shape[0] == 1:
        return w @ expected_log_density(likelihood, y, means[0], variances[0])
    columns = (v[:, None] for v in (y, means[0], variances[0], means[1], variances[1]))
    return w @ likelihood.expected_log_likelihood(*columns)


@partial(jax.jit, static_argnums=0)
def _differentiated(recipe: Recipe, p: Any, y: Any, w: Any, means: Any, variances: Any) -> Any:
    return jax.value_and_grad(partial(_total, recipe), argnums=(3, 4))(p, y, w, means, variances)


@partial(jax.jit, static_argnums=0)
def _in_parameters(recipe: Recipe, p: Any, y: Any, w: Any, means: Any, variances: Any) -> Any:
    return jax.value_and_grad(lambda p: _total(recipe, p, y, w, means, variances) / w.sum())(p)


@in_double_precision
def noise_variance(likelihood: Any, mean: Array, variance: Array) -> Array:
    """E σ²(g)."""
    return np.asarray(likelihood.noise_statistics(jnp.asarray(mean), jnp.asarray(variance)).variance)
