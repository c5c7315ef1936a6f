"""Dual sites: the same optimum as natural gradients, from statistics."""

import warnings

import gpjax as gpx
import jax
import numpy as np
import pytest

from odvff import Fourier, GaussianNoise, InputError, Matern, NumericalError, Term
from odvff.inference import FitWarning, collapsed_bound, fit_collapsed, optimal_posterior
from odvff.inference.sites.fit import fit_sites
from odvff.inference.stochastic.trainer import Trainer
from odvff.likelihoods import expected_log_density
from odvff.statistics import collect
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


def test_parameters_of_the_likelihood_are_trained(data):
    X, f, _ = data
    rng = np.random.default_rng(3)
    heavy = fit_sites(terms(), gpx.likelihoods.StudentT(10.0, 1.0), [(X, f + 0.3 * rng.standard_t(3, 800))])
    with jax.enable_x64(True):
        scale, df = (
            float(gpx.parameters.val(p))
            for p in (heavy.likelihood.module.scale, heavy.likelihood.module.degrees_of_freedom)
        )
    assert abs(scale - 0.3) < 0.06
    assert 2 < df < 5
    y = f + 0.3 * rng.standard_normal(800)
    gaussian = fit_sites(terms(), GaussianNoise(1.0), [(X, y)], tolerance=1e-9, max_rounds=200)
    collapsed = fit_collapsed(terms(), collect(terms(), [(X, y)]))
    assert abs(gaussian.bound - collapsed.bound) < 0.05
    assert abs(gaussian.likelihood.variance / collapsed.noise - 1) < 0.01


def test_noise_that_depends_on_the_row():
    """GPJax's heteroscedastic Gaussian: the second process finds the noise, and intervals cover everywhere."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 2))
    sd = np.exp(-2 + 2 * X[:, 0])
    y = np.sin(8 * X[:, 0]) + X[:, 1] + sd * rng.standard_normal(2000)
    transform = gpx.likelihoods.LogNormalTransform()
    likelihood = gpx.likelihoods.HeteroscedasticGaussian(noise_transform=transform)
    fit = fit_sites(terms(), likelihood, [(X, y - y.mean())], noise_terms=terms())
    assert fit.converged
    assert all(a <= b + 1e-5 for a, b in zip(fit.history[:-1], fit.history[1:], strict=True))
    mean, variance = fit.predictive_moments(X)
    assert np.mean(np.abs(np.log(np.sqrt(variance) / sd))) < 0.1
    covered = np.abs(y - y.mean() - mean) < 1.96 * np.sqrt(variance)
    for third in (X[:, 0] < 1 / 3, np.abs(X[:, 0] - 0.5) < 1 / 6, X[:, 0] > 2 / 3):
        assert 0.92 < covered[third].mean() < 0.98
    # one noise for all rows has less evidence
    assert fit.bound > fit_sites(terms(), GaussianNoise(0.3), [(X, y - y.mean())]).bound + 100
    with pytest.raises(InputError, match="has a second process for its noise; give its terms as `noise_terms`"):
        fit_sites(terms(), likelihood, [(X, y)])
    with pytest.raises(InputError, match="`noise_terms` are for a heteroscedastic likelihood, got GaussianNoise"):
        fit_sites(terms(), GaussianNoise(), [(X, y)], noise_terms=terms())
    with pytest.raises(InputError, match="has a second process for its noise; fit it with"):
        expected_log_density(likelihood, y, y, y**2)


@pytest.mark.parametrize("level", [20.0, 1000.0])
def test_large_counts(level):
    """Far from the prior: the first full step would overshoot to e^1000."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (5000, 2))
    f = np.log(level) + 0.5 * np.sin(8 * X[:, 0])
    fit = fit_sites(terms(), gpx.likelihoods.Poisson(), [(X, rng.poisson(np.exp(f)) * 1.0)])
    assert fit.converged
    assert np.abs(fit.posterior.mean(X) - f).max() < 0.1


@pytest.mark.parametrize("scale", [1e5, 1e-4])
def test_units_do_not_matter(data, scale):
    X, _, targets = data
    y = targets["student-t"]
    one = fit_sites(terms(), GaussianNoise(0.2), [(X, y)], tolerance=1e-8)
    other = fit_sites(terms(), GaussianNoise(0.2), [(X, scale * y)], tolerance=1e-8)
    assert np.isclose(other.bound + 800 * np.log(scale), one.bound, atol=0.05)
    assert np.isclose(other.likelihood.variance, scale**2 * one.likelihood.variance, rtol=0.01)


def test_many_rows_converge():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (60_000, 2))
    y = np.sin(8 * X[:, 0]) + 0.3 * rng.standard_normal(60_000)
    fit = fit_sites(terms(), GaussianNoise(1.0), [(X, y)])
    assert fit.converged
    assert abs(fit.bound - fit_collapsed(terms(), collect(terms(), [(X, y)])).bound) < 0.5


def test_weights_are_frequencies(data):
    X, _, targets = data
    y = targets["probit"]
    w = np.arange(800) % 3 * 1.0
    likelihood = gpx.likelihoods.Bernoulli()
    weighted = fit_sites(terms(), likelihood, [(X, y, w)])
    repeated = fit_sites(terms(), likelihood, [(np.repeat(X, w.astype(int), 0), np.repeat(y, w.astype(int)))])
    assert np.isclose(weighted.bound, repeated.bound, rtol=1e-6)
    assert np.allclose(weighted.posterior.mean(X), repeated.posterior.mean(X), atol=1e-4)


def test_hopeless_and_interrupted_fits_end(data):
    """One class only, one row, a constant column, an interruption: a model without NaN, or a warning."""
    X, _, targets = data
    probit = gpx.likelihoods.Bernoulli()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)  # ever larger, ever surer: it may well not converge
        same = fit_sites(terms(), probit, [(X, np.ones(800))])
    assert np.isfinite(same.bound)
    assert (same.predictive_moments(X)[0] > 0.9).all()
    one = fit_sites(terms(), gpx.likelihoods.Poisson(), [(X[:1], np.array([3.0]))])
    assert np.isfinite(one.predictive_moments(X)).all()
    flat = fit_sites(terms(), probit, [(np.column_stack([X[:, 0], np.full(800, 0.5)]), targets["probit"])])
    assert np.isfinite(flat.predictive_moments(X)).all()
    wild = targets["student-t"].copy()
    wild[:3] = 1e6
    robust = fit_sites(terms(), LIKELIHOODS["student-t"](), [(X, wild)], train=False)
    assert np.abs(robust.posterior.mean(X)).max() < 10

    def interrupt(n, elbo):
        if n == 2:
            raise KeyboardInterrupt

    with pytest.warns(FitWarning, match=r"stopped before they converged \(interrupted\)"):
        part = fit_sites(terms(), probit, [(X, targets["probit"])], progress=interrupt)
    assert part.message == "interrupted"
    assert len(part.history) == 3
    with pytest.warns(FitWarning, match="the limit of 2 rounds"):
        fit_sites(terms(), probit, [(X, targets["probit"])], max_rounds=2)


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
    with pytest.raises(InputError, match="X has 800 rows and y has 3; they must agree"):
        fit_sites(terms(), GaussianNoise(), [(X, np.zeros(3))])
    with pytest.raises(InputError, match="max_rounds must be a whole number of at least 1"):
        fit_sites(terms(), GaussianNoise(), [(X, targets["probit"])], max_rounds=0)
    with pytest.raises(
        NumericalError, match="the expected log-likelihood is not finite; the likelihood may not suit y"
    ):
        fit_sites(terms(), gpx.likelihoods.Poisson(), [(X, np.full(800, -1.5))])
