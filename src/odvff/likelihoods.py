"""Likelihoods: GPJax's, and Gaussian noise by its plain number so that regression needs no JAX."""

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.arrays import Array, in_double_precision, is_traced, namespace
from odvff.checks import positive, vector
from odvff.errors import InputError
from odvff.kernels import parameter


@dataclass(frozen=True)
class GaussianNoise:
    """y = f(x) + ε, ε ~ N(0, variance)."""

    variance: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "noise variance"))

    def expected_log_density(self, y: Array, mean: Array, variance: Array) -> Array:
        """E_{f ~ N(mean, variance)} log N(y | f, σ²) = −½[log 2πσ² + ((y − mean)² + variance)/σ²]."""
        xp = namespace(self.variance, mean, variance, y)
        return -0.5 * (xp.log(2 * np.pi * self.variance) + ((y - mean) ** 2 + variance) / self.variance)


def expected_log_density(likelihood: Any, y: Array, mean: Array, variance: Array) -> Array:
    """E_{f_n ~ N(mean_n, variance_n)} log p(y_n | f_n) for every row, by our plain noise or any GPJax likelihood."""
    y = vector(y, "y", size=mean.shape[0])
    if isinstance(likelihood, GaussianNoise):
        return likelihood.expected_log_density(y, mean, variance)
    return _gpjax_expectation(likelihood, y, mean, variance)


@in_double_precision
def _gpjax_expectation(likelihood: Any, y: Array, mean: Array, variance: Array) -> Array:
    gpjax = sys.modules.get("gpjax")
    if gpjax is None or not isinstance(likelihood, gpjax.likelihoods.AbstractLikelihood):
        raise InputError(
            f"likelihood must be an odvff.likelihoods.GaussianNoise or one of GPJax's, got {likelihood!r}."
        )
    if type(likelihood) is gpjax.likelihoods.Gaussian:
        noise = GaussianNoise(parameter(likelihood.obs_stddev) ** 2)
        return noise.expected_log_density(y, mean, variance)
    import jax.numpy as jnp

    columns = (jnp.asarray(v)[:, None] for v in (y, mean, variance))
    result = likelihood.expected_log_likelihood(*columns)
    return result if is_traced(result) else np.asarray(result)
