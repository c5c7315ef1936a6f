"""The bound where features move: SGPR, and γ with its locations, exactly and in bounded memory."""

import gpjax as gpx
import numpy as np
import pytest

from odvff import Fourier, GaussianNoise, InducingPoints, InputError, Matern, Sum, Term
from odvff.inference import FitWarning, collapsed_bound, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.fit import Ascent
from odvff.inference.collapsed.moving import MovingBound, climb_moving
from odvff.search import greedy_points
from odvff.search.points import add_inducing
from odvff.statistics import collect


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (150, 2))
    y = np.sin(8 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(150)
    return X, y - y.mean()


def models():
    points = InducingPoints(np.linspace(0.05, 0.95, 4)[:, None], jitter=1e-10)
    return {
        "points": [Term(Matern(1.5, 0.3), points, [0]), Term(Matern(2.5, 0.8), points, [1])],
        "fourier": [Term(Matern(1.5, 0.3), Fourier(2, (0, 1)), [d]) for d in range(2)],
        "mixed": [
            Term(Matern(1.5, 0.3), Fourier(2, (0, 1)), [0]),
            Term(gpx.kernels.RBF(lengthscale=0.5), points, [1]),
        ],
    }


def bound_of(terms, noise, *rows, gamma=None, chunk_rows=1000):
    """The bound of rows that come in chunks."""
    starts = range(0, len(rows[0]), chunk_rows)
    return MovingBound(
        Sum(terms), noise, lambda: [tuple(part[i : i + chunk_rows] for part in rows) for i in starts], gamma
    )


@pytest.mark.parametrize("name", ["points", "fourier", "mixed"])
@pytest.mark.parametrize("with_gamma", [True, False])
def test_value_and_gradient(data, name, with_gamma):
    """The value of the closed form, and the gradient of finite differences, whatever the chunks."""
    X, y = data
    terms, gamma = models()[name], X[:3] if with_gamma else None
    bound = bound_of(terms, 0.2, X, y, gamma=gamma, chunk_rows=64)
    value, gradient = bound(bound.start)
    assert np.isclose(value, collapsed_bound(terms, 0.2, X, y, gamma), rtol=1e-6)
    direction = np.random.default_rng(1).standard_normal(len(gradient))
    numeric = (bound(bound.start + 1e-5 * direction)[0] - bound(bound.start - 1e-5 * direction)[0]) / 2e-5
    assert np.isclose(gradient @ direction, numeric, rtol=1e-4, atol=1e-4)
    whole = bound_of(terms, 0.2, X, y, gamma=gamma)(bound.start)
    assert np.isclose(whole[0], value, rtol=1e-10)
    assert np.allclose(whole[1], gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())
    q, noise = bound.posterior(bound.start)
    exact = optimal_posterior(terms, 0.2, X, y, gamma)
    assert np.isclose(noise, 0.2)
    assert np.allclose(q.mean(X), exact.mean(X), atol=1e-5)
    assert np.allclose(q.variance(X), exact.variance(X), atol=1e-6)


def test_weights_are_frequencies(data):
    X, y = data
    w = np.random.default_rng(2).integers(0, 3, 150).astype(float)
    rows = np.repeat(np.arange(150), w.astype(int))
    terms = models()["points"]
    a = bound_of(terms, 0.2, X, y, w, gamma=X[:2])
    b = bound_of(terms, 0.2, X[rows], y[rows], gamma=X[:2])
    assert np.isclose(a(a.start)[0], b(b.start)[0])


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_sgpr_moves_its_points_and_rises(data):
    X, y = data
    bound = bound_of(models()["points"], 0.5, X, y)
    fit = climb_moving(bound, Ascent(max_iter=60))
    assert fit.bound > bound(bound.start)[0] + 5
    assert np.isclose(fit.posterior.elbo(GaussianNoise(fit.noise), X, y), fit.bound, rtol=1e-6)
    assert not np.allclose(fit.terms.terms[0].features.locations, models()["points"][0].features.locations)
    assert all(a <= b for a, b in zip(fit.history[:-1], fit.history[1:], strict=True))


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_joint_refinement_of_gamma_never_loses_evidence(data):
    X, y = data
    terms = models()["fourier"]
    fit = fit_collapsed(terms, collect(terms, [(X, y)]))
    two_stage = add_inducing(fit, [(X, y)], greedy_points(fit.terms, X, 6)).fit
    bound = bound_of(two_stage.terms, two_stage.noise, X, y, gamma=two_stage.posterior.gamma)
    refined = climb_moving(bound, Ascent(max_iter=40))
    assert fit.bound <= two_stage.bound <= refined.bound + 1e-4


def test_how_it_ended_is_said(data):
    X, y = data
    with pytest.warns(FitWarning, match="stopped before it converged"):
        assert not climb_moving(bound_of(models()["points"], 0.2, X, y), Ascent(max_iter=1)).converged
    with pytest.warns(FitWarning, match="y is constant"):
        fit = climb_moving(bound_of(models()["points"], 0.2, X, np.zeros(len(X))), Ascent(max_iter=50))
    assert 1e-21 < fit.noise < 1e-10


def test_bad_input_is_named(data):
    X, y = data
    with pytest.raises(InputError, match="weights has -1 in row 149; weights count how often a row is there"):
        bound_of(models()["points"], 0.2, X, y, np.append(np.ones(149), -1))
    with pytest.raises(InputError, match="no row with a positive weight"):
        bound_of(models()["points"], 0.2, X, y, np.zeros(150))
    with pytest.raises(InputError, match="noise must be positive"):
        bound_of(models()["points"], -1.0, X, y)
