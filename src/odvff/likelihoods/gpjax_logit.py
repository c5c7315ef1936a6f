"""The logistic link in the form of GPJax's likelihoods, which lack it."""

from typing import Any

import gpjax as gpx
import jax.numpy as jnp
import numpyro.distributions as npd

from odvff.likelihoods import compiled


class GPJaxLogit(gpx.likelihoods.AbstractLikelihood):  # type: ignore[misc]
    """p(y = 1 | f) = 1/(1 + e^{−f})."""

    def link_function(self, f: Any) -> npd.Distribution:
        """Bernoulli with log-odds f."""
        return npd.BernoulliLogits(f)

    def predict(self, dist: Any) -> npd.Distribution:
        """The probability of 1, averaged over f."""
        mean, variance = dist.mean.ravel(), jnp.diag(dist.covariance_matrix)
        return npd.BernoulliProbs(compiled.evaluate(compiled.moments, self, mean, variance)[0])
