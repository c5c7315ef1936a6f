"""Dual sites: the same optimum as natural gradients, from statistics."""

import gpjax as gpx
import numpy as np
import pytest

from odvff import Fourier, GaussianNoise, InputError, Matern, NumericalError, Term
from odvff.inference import collapsed_bound, optimal_posterior
from odvff.inference.sites import fit_sites
from odvff.inference.stochastic import Trainer
from tests.inference.test_stochastic import LIKELIHOODS


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.05, 1.05, (800, 2))  # some rows outside the box
    f = 2 * np.sin(8 * X[:, 0]) + X[:, 1] ** 2
    targets = {
        "probit": (f + rng.standard_normal(800) > 0) * 1.0,
        "poisson": rng.poisson(np.exp(0.5 * f)) * 1.0,
        "student-t": f + 0.3 * rng.standard_t(3, 800),
        "logit": (rng.uniform(size=800) < 1 / (1 + np.exp(-2 * f))) * 1.0,
    }
    return X, f, targets


def terms():
    return [Term(Matern(1.5, 0.3, 1.0), Fourier(4, (0, 1)), [d]) for d in range(2)]


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_sites_reach_the_optimum_of_natural_gradients(data, name):
    """For fixed hyper-parameters, to 1e-4 in the bound; GPJax's probit and Student-t are not log-concave everywhere."""
    X, _, targets = data
    y, likelihood = targets[name], LIKELIHOODS[name]()
    sites = fit_sites(terms(), likelihood, [(X[:300], y[:300]), (X[300:], y[300:])], train=False, tolerance=1e-10)
    assert sites.converged
    assert all(a <= b + 1e-6 for a, b in zip(sites.history[:-1], sites.history[1:], strict=True))
    assert np.isclose(sites.posterior.elbo(likelihood, X, y), sites.bound, atol=1e-5)
    trainer = Trainer(terms(), likelihood, 800, natural_step=0.5, ramp=1, learning_rate=1e-13, block=30)
    trained = trainer.run([(X, y)] * 90, 90)
    assert np.isclose(trained.posterior.elbo(likelihood, X, y), sites.bound, atol=1e-4)
    assert np.allclose(trained.posterior.mean(X), sites.posterior.mean(X), atol=1e-3)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_hyper_parameters_are_trained_between_passes(data, name):
    X, f, targets = data
    y, likelihood = targets[name], LIKELIHOODS[name]()
    fixed = fit_sites(terms(), likelihood, [(X, y)], train=False)
    seen = []
    trained = fit_sites(terms(), likelihood, [(X, y)], progress=lambda n, elbo: seen.append((n, elbo)))
    assert trained.converged
    assert trained.bound > fixed.bound + 1
    assert [elbo for _, elbo in seen] == list(trained.history[1:])
    assert len(trained.history) < 30
    assert np.corrcoef(trained.posterior.mean(X), f)[0, 1] > 0.9
    # no single hyper-parameter would raise it further
    for d in range(2):
        for factor in (0.9, 1.1):
            moved = list(trained.terms)
            k = moved[d].kernel
            moved[d] = Term(
                Matern(k.smoothness, factor * k.lengthscale, k.variance), moved[d].features, moved[d].columns
            )
            assert fit_sites(moved, likelihood, [(X, y)], train=False, tolerance=1e-8).bound < trained.bound + 0.01


def test_gaussian_sites_are_the_closed_form(data):
    X, _, targets = data
    y = targets["student-t"]
    sites = fit_sites(terms(), GaussianNoise(0.2), [(X, y)], train=False)
    assert np.isclose(sites.bound, collapsed_bound(terms(), 0.2, X, y), rtol=1e-8)
    assert np.allclose(sites.posterior.mean(X), optimal_posterior(terms(), 0.2, X, y).mean(X), atol=1e-7)
    assert len(sites.history) <= 3


def test_bad_input_is_named(data):
    X, _, targets = data
    with pytest.raises(InputError, match="there are no rows to fit to"):
        fit_sites(terms(), GaussianNoise(), [(np.zeros((0, 2)), np.zeros(0))])
    with pytest.raises(InputError, match=r"y must have shape \(800,\)"):
        fit_sites(terms(), GaussianNoise(), [(X, np.zeros(3))])
    with pytest.raises(InputError, match="max_rounds must be a whole number of at least 1"):
        fit_sites(terms(), GaussianNoise(), [(X, targets["probit"])], max_rounds=0)
    with pytest.raises(
        NumericalError, match="the expected log-likelihood is not finite; the likelihood may not suit y"
    ):
        fit_sites(terms(), gpx.likelihoods.Poisson(), [(X, np.full(800, -1.5))])
