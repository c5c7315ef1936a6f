"""Likelihoods: expectations against plain integrals."""

from itertools import pairwise

import gpjax as gpx
import numpy as np
import pytest
from scipy import integrate, stats

from odvff import GaussianNoise, InputError
from odvff.errors import NumericalError
from odvff.likelihoods import expected_log_density, log_predictive_density, predictive_moments
from odvff.likelihoods.compiled import GPJaxLogit
from odvff.likelihoods.logit import Logit
from odvff.likelihoods.poisson import Poisson

MEAN, VARIANCE = np.array([-1.0, 0.3, 2.0]), np.array([0.5, 0.1, 1.2])

# p(y|f) as SciPy has it, and three targets
CASES = {
    "gaussian": (lambda: GaussianNoise(0.3), lambda f: stats.norm(f, np.sqrt(0.3)), [0.1, -0.5, 2.0]),
    "gpjax's gaussian": (
        lambda: gpx.likelihoods.Gaussian(obs_stddev=0.5),
        lambda f: stats.norm(f, 0.5),
        [0.1, -0.5, 2.0],
    ),
    "probit": (lambda: gpx.likelihoods.Bernoulli(), lambda f: stats.bernoulli(stats.norm.cdf(f)), [0.0, 1.0, 1.0]),
    "logit": (lambda: Logit(), lambda f: stats.bernoulli(1 / (1 + np.exp(-f))), [0.0, 1.0, 1.0]),
    "poisson": (lambda: gpx.likelihoods.Poisson(), lambda f: stats.poisson(np.exp(f)), [0.0, 2.0, 7.0]),
    "student-t": (
        lambda: gpx.likelihoods.StudentT(4.0, 0.7),
        lambda f: stats.t(4.0, loc=f, scale=0.7),
        [0.1, -0.5, 2.0],
    ),
}


def average(g, mean, variance):
    sd = np.sqrt(variance)
    value, _ = integrate.quad(lambda f: g(f) * stats.norm(mean, sd).pdf(f), mean - 9 * sd, mean + 9 * sd, epsabs=1e-12)
    return value


@pytest.mark.parametrize("name", CASES)
def test_expectations_are_integrals(name):
    make, given, y = CASES[name]
    likelihood, y = make(), np.array(y)

    def log_density(f, target):
        p = given(f)
        return p.logpmf(target) if hasattr(p, "pmf") else p.logpdf(target)

    rows = list(zip(y, MEAN, VARIANCE, strict=True))
    # a finite number of nodes; and GPJax's probit keeps its probabilities from 0 and 1 by 1e-3
    loose = {"probit": {"atol": 2e-3}, "student-t": {"atol": 1e-4}}.get(name, {"atol": 1e-5})
    expected = [average(lambda f, t=t: log_density(f, t), m, v) for t, m, v in rows]
    if name != "probit":
        assert np.allclose(expected_log_density(likelihood, y, MEAN, VARIANCE), expected, **loose)
    predictive = [np.log(average(lambda f, t=t: np.exp(log_density(f, t)), m, v)) for t, m, v in rows]
    assert np.allclose(log_predictive_density(likelihood, y, MEAN, VARIANCE), predictive, **loose)
    first = [average(lambda f: given(f).mean(), m, v) for _, m, v in rows]
    second = [average(lambda f: given(f).var() + given(f).mean() ** 2, m, v) for _, m, v in rows]
    mean, variance = predictive_moments(likelihood, MEAN, VARIANCE)
    assert np.allclose(mean, first, **loose)
    assert np.allclose(variance, np.array(second) - np.array(first) ** 2, **loose)


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.01, 1e-3])
@pytest.mark.parametrize("variance", [1.0, 0.01])
def test_a_likelihood_narrower_than_the_spread_of_f(scale, variance):
    """The density of y is then nearly that of f; nodes spread over f alone would miss the peak."""
    y, sd = np.array([-2.0, 0.0, 0.7, 3.0]) * np.sqrt(variance), np.sqrt(variance)

    def density(target):
        t, f = stats.t(4.0, loc=target, scale=scale), stats.norm(0, sd)
        inner = target + scale * np.array([-300, -30, -3, 0, 3, 30, 300])
        edges = np.unique(np.clip(np.concatenate([[-9 * sd, 9 * sd], inner]), -9 * sd, 9 * sd))
        pieces = [integrate.quad(lambda x: t.pdf(x) * f.pdf(x), a, b, epsabs=1e-14)[0] for a, b in pairwise(edges)]
        return sum(pieces)

    likelihood = gpx.likelihoods.StudentT(4.0, scale)
    found = log_predictive_density(likelihood, y, np.zeros(4), np.full(4, variance))
    assert np.allclose(found, np.log([density(t) for t in y]), atol=2e-3)


def test_large_counts_with_an_uncertain_rate():
    y = np.array([0.0, 20.0, 400.0])
    found = log_predictive_density(gpx.likelihoods.Poisson(), y, np.full(3, 3.0), np.full(3, 4.0))
    expected = [np.log(average(lambda f, t=t: stats.poisson(np.exp(f)).pmf(t), 3.0, 4.0)) for t in y]
    assert np.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("log_rate", [-3.0, 2.0, 9.0, 31.0, 39.0])
def test_quantiles_of_small_and_large_counts(log_rate):
    outcome, q = Poisson(), np.array([1e-4, 0.05, 0.5, 0.95, 0.9999])
    f, variance = np.array([log_rate]), np.array([1e-24])
    (found,) = outcome.quantiles(q, f, variance)
    rate = np.exp(log_rate)
    expected = stats.poisson.ppf(q, rate) if log_rate < 20 else stats.norm.ppf(q, rate, np.sqrt(rate))
    assert np.allclose(found, expected, rtol=0, atol=0 if log_rate < 20 else 0.01 * np.sqrt(rate))
    assert np.array_equal(outcome.cdf(found, *(np.repeat(v, 5) for v in (f, variance))) >= q - 1e-9, np.full(5, True))


def test_counts_beyond_float64_have_no_quantiles():
    with pytest.raises(NumericalError, match=r"the 0\.95 quantile cannot be found where f is 200 ± 1e-15 \(row 1\)"):
        Poisson().quantiles([0.95], np.array([3.0, 200.0]), np.array([1e-30, 1e-30]))


def test_log_odds_far_out_stay_finite():
    far = np.array([-800.0, 800.0])
    value = expected_log_density(Logit(), np.array([1.0, 0.0]), far, np.array([1e-6, 1e-6]))
    assert np.allclose(value, [-800, -800])


def test_the_logistic_link_in_gpjax_s_own_form():
    """`predict`, which GPJax calls with the distribution of f."""
    import jax
    import lineax

    with jax.enable_x64(True):
        f = gpx.distributions.GaussianDistribution(
            jax.numpy.asarray(MEAN), lineax.DiagonalLinearOperator(jax.numpy.asarray(VARIANCE))
        )
        probability = np.asarray(GPJaxLogit().predict(f).mean)
    assert np.allclose(probability, predictive_moments(Logit(), MEAN, VARIANCE)[0])


def test_what_is_no_likelihood_is_named():
    with pytest.raises(InputError, match=r"likelihood must be an .*Likelihood or one of GPJax's"):
        log_predictive_density("gaussian", MEAN, MEAN, VARIANCE)
