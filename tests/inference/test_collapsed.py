"""The collapsed bound from statistics: its value, its gradient, and fits with it."""

import os
import signal
import threading
import time
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odvff import (
    Categorical,
    Fourier,
    GaussianNoise,
    InputError,
    Kronecker,
    Levels,
    Matern,
    Posterior,
    Separable,
    Sum,
    Term,
)
from odvff.features import whitening
from odvff.inference import CollapsedBound, FitWarning, collapsed_bound, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.bound import inverse_root_of
from odvff.statistics import collect


def model(rng, completion):
    nu = [float(rng.choice([0.5, 1.5, 2.5])) for _ in range(4)]
    ell = 10 ** rng.uniform(-1.2, 0.8, 4)
    return Sum(
        [
            Term(Matern(nu[0], ell[0], 0.7), Fourier(int(rng.integers(1, 9)), (0, 1), completion), [0]),
            Term(Matern(nu[1], ell[1], 1.2), Fourier(int(rng.integers(1, 9)), (0, 1), not completion), [1]),
            Term(
                Separable((Matern(nu[2], ell[2], 2.0), Matern(nu[3], ell[3]))),
                Kronecker((Fourier(2, (0, 1), completion), Fourier(1, (0, 1)))),
                [1, 2],
            ),
            Term(Categorical(0.5), Levels(3), [3]),
        ]
    )


def data(rng, n, spread=0.1):
    X = np.column_stack([rng.uniform(-spread, 1 + spread, (n, 3)), rng.integers(-1, 3, n)])
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)


def parameters(bound, noise):
    return np.concatenate([*bound.blocks.start, [np.log(noise)]])


def bound_of(terms, X, y, w=None):
    return CollapsedBound(Sum.of(terms), collect(terms, [(X, y, w)]))


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0, 8, whitening.SMALL]))
def test_value_is_the_closed_form_and_gradient_its_derivative(seed, completion, small):
    """With rows inside and outside the box, every kind of term, and columns that count as large: all, some or none."""
    rng = np.random.default_rng(seed)
    terms = model(rng, completion)
    X, y = data(rng, 60)
    bound = bound_of(terms, X, y)
    p = parameters(bound, 0.07)
    direction = rng.standard_normal(len(p))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(whitening, "SMALL", small)
        evaluation = bound(p)
        numeric = (bound(p + 1e-5 * direction).value - bound(p - 1e-5 * direction).value) / 2e-5
    assert np.isclose(evaluation.value, collapsed_bound(terms, 0.07, X, y), rtol=1e-9, atol=1e-7)
    assert np.isclose(evaluation.gradient @ direction, numeric, rtol=1e-5, atol=1e-5)
    assert (evaluation.residuals > -1e-9 * 60).all()


@pytest.mark.parametrize("completion", [True, False])
def test_gradient_equals_automatic_differentiation(completion):
    """JAX through the dense formulas of the user's own features."""
    rng = np.random.default_rng(1)
    terms = model(rng, completion)
    X, y = data(rng, 40)
    bound = bound_of(terms, X, y)
    p = parameters(bound, 0.07)

    def by_jax(p):
        new = []
        for place, term in zip(bound.blocks.places, terms, strict=True):
            values = jnp.exp(p[place])
            if isinstance(term.features, Levels):
                kernel = Categorical(values[0])
            elif isinstance(term.features, Kronecker):
                a, b = term.kernel.factors
                kernel = Separable((Matern(a.smoothness, values[0], values[2]), Matern(b.smoothness, values[1])))
            else:
                kernel = Matern(term.kernel.smoothness, values[0], values[1])
            new.append(Term(kernel, term.features, term.columns))
        model = Sum(new)
        psi = model.Kuu().factor().solve(model.Kuf(X))
        noise = jnp.exp(p[-1])
        lower = jnp.linalg.cholesky(jnp.eye(psi.shape[0]) + psi @ psi.T / noise)
        c = jax.scipy.linalg.solve_triangular(lower, psi @ y, lower=True) / noise
        return -0.5 * (
            len(y) * jnp.log(2 * jnp.pi * noise)
            + 2 * jnp.log(jnp.diagonal(lower)).sum()
            + y @ y / noise
            - c @ c
            + (model.variances(X).sum() - (psi**2).sum()) / noise
        )

    with jax.enable_x64(True):
        value, gradient = jax.jit(jax.value_and_grad(by_jax))(jnp.asarray(p))
        gradient = np.asarray(gradient)
    evaluation = bound(p)
    assert np.isclose(evaluation.value, float(value), rtol=1e-10)
    assert np.allclose(evaluation.gradient, gradient, rtol=1e-7, atol=1e-7 * np.abs(gradient).max())


@settings(max_examples=20)
@given(
    st.sampled_from([0.5, 1.5, 2.5]),
    st.floats(-2.9, 1.9),
    st.sampled_from([1, 10, 60, 200]),
    st.sampled_from([1e-6, 0.1]),
)
def test_extreme_hyper_parameters_stay_accurate(smoothness, log_lengthscale, F, noise):
    """Short and long lengthscales, few and many harmonics: the value agrees with the closed form on the same rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (150, 1))
    y = np.sin(9 * X[:, 0])
    terms = Sum([Term(Matern(smoothness, 10**log_lengthscale), Fourier(F, (0, 1)))])
    bound = bound_of(terms, X, y)
    evaluation = bound(parameters(bound, noise))
    exact = collapsed_bound(terms, noise, X, y)
    assert np.isclose(evaluation.value, exact, rtol=1e-7, atol=1e-3)
    assert np.isfinite(evaluation.gradient).all()


def test_weights_are_frequencies_in_the_bound():
    rng = np.random.default_rng(2)
    terms = model(rng, True)
    X, y = data(rng, 40)
    w = rng.integers(0, 4, 40).astype(float)
    repeated = np.repeat(np.arange(40), w.astype(int))
    a, b = bound_of(terms, X, y, w), bound_of(terms, X[repeated], y[repeated])
    p = parameters(a, 0.1)
    assert np.isclose(a(p).value, b(p).value)
    assert np.allclose(a(p).gradient, b(p).gradient)


def test_statistics_that_rounding_made_indefinite_are_mended():
    A = np.diag([3.0, 1.0, -1e-9])
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    A = Q @ A @ Q.T
    inverse_root, log_det = inverse_root_of(1e3 * A, 1e-9)
    S = inverse_root.T @ inverse_root
    assert np.allclose(np.triu(inverse_root, 1), 0, atol=1e-12)
    expected = Q @ np.diag(1 / (1 + 1e12 * np.array([3.0, 1.0, 0.0]))) @ Q.T
    assert np.allclose(S, expected, atol=1e-9)
    assert np.isclose(log_det, np.log1p(3e12) + np.log1p(1e12))


def additive_data(rng, n, D, noise=0.2):
    """Draws from the additive prior with ℓ = 0.1."""
    X = rng.uniform(0, 1, (n, D))
    prior = Posterior([Term(Matern(1.5, 0.1), Fourier(30, (0, 1)))])
    f = sum(prior.paths(1, seed=int(rng.integers(2**31)))(X[:, [d]])[0] for d in range(D))
    return X, f + np.sqrt(noise) * rng.standard_normal(n)


def test_fit_finds_the_truth_and_covers():
    rng = np.random.default_rng(3)
    X, y = additive_data(rng, 9000, 3)
    terms = [Term(Matern(1.5), Fourier(30, (0, 1)), [d]) for d in range(3)]
    shift = y[:6000].mean()
    fit = fit_collapsed(terms, collect(terms, [(X[:6000], y[:6000])]).standardised(shift, 1.0))
    assert fit.converged
    assert abs(fit.noise - 0.2) < 0.02
    mean, variance = fit.posterior.predict(X[6000:])
    total = variance + fit.noise
    error = y[6000:] - shift - mean
    assert abs(np.mean(np.abs(error) < 1.96 * np.sqrt(total)) - 0.95) < 0.015
    density = np.mean(-0.5 * (np.log(2 * np.pi * total) + error**2 / total))
    assert density > -0.5 * np.log(2 * np.pi * np.e * 0.2) - 0.05  # of the noise itself, the best there is
    assert all(a <= b + 1e-9 for a, b in zip(fit.history[:-1], fit.history[1:], strict=True))


def test_fitted_posterior_is_the_optimum():
    """The same as the closed form on all rows, and its ELBO is the bound."""
    rng = np.random.default_rng(4)
    terms = model(rng, True)
    X, y = data(rng, 80)
    fit = fit_collapsed(terms, collect(terms, [(X, y)]), max_iter=300)
    assert np.isclose(fit.posterior.elbo(GaussianNoise(fit.noise), X, y), fit.bound, rtol=1e-7)
    exact = optimal_posterior(fit.terms, fit.noise, X, y)
    assert np.allclose(fit.posterior.mean(X), exact.mean(X), atol=1e-6)
    assert np.allclose(fit.posterior.variance(X), exact.variance(X), atol=1e-6)


def test_more_starts_are_never_worse_and_runs_repeat():
    rng = np.random.default_rng(5)
    X, y = additive_data(rng, 500, 2)
    terms = [Term(Matern(1.5), Fourier(10, (0, 1)), [d]) for d in range(2)]
    statistics = collect(terms, [(X, y)])
    one, several = fit_collapsed(terms, statistics), fit_collapsed(terms, statistics, n_starts=4)
    assert several.bound >= one.bound
    assert fit_collapsed(terms, statistics).bound == one.bound


HOPELESS = ["constant", "duplicated columns", "one row", "few rows", "outlier", "constant column"]


def hopeless_rows(case):
    rng = np.random.default_rng(6)
    n = {"one row": 1, "few rows": 4}.get(case, 60)
    X = rng.uniform(0, 1, (n, 2))
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    if case == "constant":
        y[:] = 3.0
    if case == "duplicated columns":
        X[:, 1] = X[:, 0]
    if case == "outlier":
        y[7] = 1e6
    if case == "constant column":
        X[:, 1] = 0.5
    return X, y


@pytest.mark.parametrize("case", HOPELESS)
def test_hopeless_data_end_with_a_sensible_model(case):
    X, y = hopeless_rows(case)
    terms = [Term(Matern(1.5), Fourier(10, (0, 1)), [d]) for d in range(2)]
    statistics = collect(terms, [(X, y)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = fit_collapsed(terms, statistics.standardised(y.mean(), 1.0))
    mean, variance = fit.posterior.predict(X)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    assert np.isfinite(fit.bound)
    assert all(issubclass(w.category, FitWarning) for w in caught)
    if case in ("constant", "one row"):
        assert any("y is constant" in str(w.message) for w in caught)


def test_interrupting_returns_the_best_so_far():
    rng = np.random.default_rng(7)
    X, y = additive_data(rng, 2000, 5)
    terms = [Term(Matern(1.5), Fourier(20, (0, 1)), [d]) for d in range(5)]
    statistics = collect(terms, [(X, y)])

    def interrupt(iteration, _):
        if iteration == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)

    assert threading.current_thread() is threading.main_thread()
    # a process in the background starts with SIGINT ignored
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.warns(FitWarning, match=r"stopped before it converged \(interrupted\)"):
            fit = fit_collapsed(terms, statistics, progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(fit.history) == 3
    assert np.isfinite(fit.posterior.mean(X[:5])).all()


def test_bad_input_is_named():
    terms = [Term(Matern(1.5), Fourier(2, (0, 1)))]
    statistics = collect(terms, [(np.zeros((3, 1)), np.arange(3.0))])
    with pytest.raises(InputError, match="the terms have 9 features and the statistics 7"):
        fit_collapsed([Term(Matern(1.5), Fourier(3, (0, 1)))], statistics)
    with pytest.raises(InputError, match="n_starts must be a whole number of at least 1, got 0"):
        fit_collapsed(terms, statistics, n_starts=0)
    with pytest.raises(InputError, match="there is no output 2"):
        fit_collapsed(terms, statistics, output=2)
    with pytest.warns(FitWarning, match="stopped before it converged"):
        fit_collapsed(terms, statistics, max_iter=1)
