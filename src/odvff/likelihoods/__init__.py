"""Likelihoods: GPJax's, and what it lacks.

- `GaussianNoise`: Gaussian noise by its plain number, so that regression needs no JAX;
- `odvff.likelihoods.logit.Logit`: the logistic link for 0 and 1 (GPJax's `Bernoulli` is the probit link).

Three things are asked of a likelihood, all under f ~ N(mean, variance) row by row: E log p(y|f), which inference
climbs; log E p(y|f), which scores; and the mean and variance of y, which people read.
"""

from odvff.likelihoods.expectations import expected_log_density, log_predictive_density, predictive_moments
from odvff.likelihoods.gaussian import GaussianNoise

__all__ = ["GaussianNoise", "expected_log_density", "log_predictive_density", "predictive_moments"]
