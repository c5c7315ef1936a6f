"""The logistic link for 0 and 1, in the form of GPJax's likelihoods."""

from typing import Any

import gpjax as gpx
import jax.numpy as jnp
import numpyro.distributions as npd

from odvff.likelihoods.expectations import predictive_moments


class Logit(gpx.likelihoods.AbstractLikelihood):  # type: ignore[misc]
    """p(y = 1 | f) = 1/(1 + e^{−f}).

    >>> from odvff.likelihoods import predictive_moments
    >>> import numpy as np
    >>> probability, _ = predictive_moments(Logit(), np.array([0.0, 2.0]), np.array([1.0, 0.0]))
    >>> probability.round(4)
    array([0.5   , 0.8808])
    """

    def link_function(self, f: Any) -> npd.Distribution:
        """Bernoulli with log-odds f."""
        return npd.BernoulliLogits(f)

    def predict(self, dist: Any) -> npd.Distribution:
        """The probability of 1, averaged over f."""
        probability, _ = predictive_moments(self, dist.mean.ravel(), jnp.diag(dist.covariance_matrix))
        return npd.BernoulliProbs(probability)
