"""Agreement with GPJax at the same parameters, in float64."""

import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from odvff import GaussianNoise, InducingPoints, Matern, Posterior, Term
from odvff.inference import collapsed_bound, optimal_posterior

JITTER = 1e-10
CASES = {
    "Matern12": (gpx.kernels.Matern12, 0.5),
    "Matern32": (gpx.kernels.Matern32, 1.5),
    "Matern52": (gpx.kernels.Matern52, 2.5),
    "RBF": (gpx.kernels.RBF, None),
}


def data(rng, n=30):
    X = rng.uniform(0, 1, (n, 1))
    return X, np.sin(7 * X[:, 0]) + 0.2 * rng.standard_normal(n)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli", "poisson", "student-t"])
def test_svgp_elbo_and_predictions(name, likelihood):
    rng = np.random.default_rng(0)
    X, y = data(rng)
    y = {"gaussian": y, "bernoulli": (y > 0) * 1.0, "poisson": np.floor(np.exp(y)), "student-t": y}[likelihood]
    Z, m = np.linspace(0.03, 0.97, 7)[:, None], rng.standard_normal(7)
    root = np.tril(0.1 * rng.standard_normal((7, 7))) + 0.5 * np.eye(7)
    X_new = np.linspace(-0.2, 1.2, 9)[:, None]
    with jax.enable_x64(True):
        kernel = CASES[name][0](lengthscale=jnp.asarray(0.3), variance=jnp.asarray(1.0))
        noise = {
            "gaussian": lambda: gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(0.4)),
            "bernoulli": gpx.likelihoods.Bernoulli,
            "poisson": gpx.likelihoods.Poisson,
            "student-t": lambda: gpx.likelihoods.StudentT(jnp.asarray(4.0), jnp.asarray(0.4)),
        }[likelihood]()
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel, jitter=JITTER)
        model = gpx.variational_families.WhitenedVariationalGaussian(
            prior * noise, jnp.asarray(Z), jnp.asarray(m)[:, None], jnp.asarray(root)
        )
        batch = gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None])
        elbo = float(gpx.objectives.elbo(model, batch))
        kl = float(model.prior_kl())
        theirs = model.condition(batch)(jnp.asarray(X_new))
        their_mean, their_cov = np.asarray(theirs.mean), np.asarray(theirs.covariance_matrix)
    q = Posterior([Term(kernel, InducingPoints(Z, jitter=JITTER))], m, root)
    assert np.isclose(q.elbo(noise, X, y), elbo, rtol=1e-8)
    assert np.isclose(q.kl(), kl, rtol=1e-8)
    assert np.allclose(q.mean(X_new), their_mean.ravel(), atol=1e-8)
    assert np.allclose(q.covariance(X_new), their_cov, atol=1e-8)
    if CASES[name][1]:  # and from plain numbers
        plain = Posterior([Term(Matern(CASES[name][1], 0.3), InducingPoints(Z, jitter=JITTER))], m, root)
        assert np.isclose(plain.elbo(noise, X, y), elbo, rtol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_exact_gp_predictions(name):
    rng = np.random.default_rng(1)
    X, y = data(rng)
    X_new = np.linspace(-0.2, 1.2, 9)[:, None]
    with jax.enable_x64(True):
        kernel = CASES[name][0](lengthscale=jnp.asarray(0.3), variance=jnp.asarray(1.7))
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel, jitter=1e-12)
        posterior = (prior * gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(0.4))).condition(
            gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None])
        )
        theirs = posterior(jnp.asarray(X_new))
        their_mean, their_cov = np.asarray(theirs.mean), np.asarray(theirs.covariance_matrix)
        evidence = float(posterior.log_marginal_likelihood)
    terms = [Term(kernel, InducingPoints(X))]
    q = optimal_posterior(terms, 0.16, X, y)
    assert np.allclose(q.mean(X_new), their_mean.ravel(), atol=1e-8)
    assert np.allclose(q.covariance(X_new), their_cov, atol=1e-8)
    assert np.isclose(collapsed_bound(terms, 0.16, X, y), evidence, atol=1e-6)


def test_sgpr_bound():
    rng = np.random.default_rng(2)
    X, y = data(rng)
    Z = np.linspace(0, 1, 6)[:, None]
    with jax.enable_x64(True):
        kernel = gpx.kernels.Matern32(lengthscale=jnp.asarray(0.3), variance=jnp.asarray(1.7))
        noise = gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(0.4))
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel, jitter=1e-12)
        model = gpx.variational_families.CollapsedVariationalGaussian(prior * noise, jnp.asarray(Z))
        theirs = float(gpx.objectives.collapsed_elbo(model, gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None])))
    terms = [Term(kernel, InducingPoints(Z))]
    assert np.isclose(collapsed_bound(terms, 0.16, X, y), theirs, rtol=1e-8)
    q = optimal_posterior(terms, 0.16, X, y)
    assert np.isclose(q.elbo(GaussianNoise(0.16), X, y), theirs, rtol=1e-8)
