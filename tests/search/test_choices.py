"""Choosing harmonics, and adding inducing points for the mean."""

from dataclasses import replace

import numpy as np
import pytest

from odvff import Categorical, Fourier, GaussianNoise, InputError, Kronecker, Levels, Matern, Separable, Sum, Term
from odvff.inference import collapsed_bound, fit_collapsed, optimal_posterior
from odvff.policy import DEFAULT
from odvff.search.harmonics import choose_harmonics
from odvff.search.points import add_inducing, gain_of_a_sample, greedy_points, kmeans_points
from odvff.statistics import collect
from tests.inference.test_collapsed import additive_data


def test_harmonics_grow_where_they_are_needed():
    """A column with fine detail gets many, a straight line few; and what was chosen is said."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 2))
    y = np.sin(70 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(3000)
    terms = [Term(Matern(1.5), Fourier(5, (0, 1)), [d], name) for d, name in enumerate(("fine", "line"))]
    chosen = choose_harmonics(terms, X, y)
    fine, line = (term.features.n_harmonics for term in chosen.terms)
    assert fine >= 20
    assert line <= 8
    assert f"{fine} for fine" in chosen.report
    fit = fit_collapsed(chosen.terms, collect(chosen.terms, [(X, y)]).standardised(y.mean(), 1.0))
    assert max(fit.unresolved) < 0.05
    assert fit.noise < 0.015


def test_limits_are_kept_and_said():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (1000, 2))
    y = np.sin(100 * X[:, 0]) + 0.05 * rng.standard_normal(1000)
    terms = [Term(Matern(0.5), Fourier(5, (0, 1)), [0], "fast")]
    chosen = choose_harmonics(terms, X, y, policy=replace(DEFAULT, most_harmonics=20))
    assert chosen.terms.terms[0].features.n_harmonics == 20
    assert "fast would need more than the limit allows" in chosen.report
    few = choose_harmonics(terms, X, y, policy=replace(DEFAULT, column_features=50))
    assert few.terms.Kuu().size <= 50
    assert "fast would need more" in few.report
    pair = Separable((Matern(0.5), Matern(0.5))), Kronecker((Fourier(1, (0, 1)), Fourier(1, (0, 1))))
    assert "2 × 2 for pair" in choose_harmonics([Term(*pair, [0, 1], "pair")], X[:300], y[:300]).report


@pytest.mark.parametrize("n_rows", [6000, 60_000])
def test_the_order_of_rows_does_not_matter(n_rows):
    """What features leave out is largest at the edges of the box, where the first rows of a sorted table are."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (n_rows, 2))
    y = np.sin(6 * X).sum(axis=1) + 0.2 * rng.standard_normal(n_rows)
    terms = [Term(Matern(1.5), Fourier(5, (0, 1)), [d]) for d in range(2)]
    orders = [np.arange(n_rows), np.argsort(X[:, 0]), np.argsort(np.abs(X[:, 1] - 0.5))]
    chosen = [[t.features.n_harmonics for t in choose_harmonics(terms, X[o], y[o]).terms] for o in orders]
    assert all(0.5 <= n / chosen[0][0] <= 2 for one in chosen for n in one)


def test_rows_that_count_for_nothing_may_come_first():
    X, y = additive_data(np.random.default_rng(3), 6000, 1)
    weights = np.ones(len(X))
    weights[:1500] = 0
    assert choose_harmonics([Term(Matern(1.5), Fourier(5, (0, 1)), [0])], X, y, weights=weights).terms


def test_rows_far_outside_the_box_call_for_no_harmonics():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 1))
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(3000)
    terms = [Term(Matern(1.5), Fourier(5, (0, 1)), [0])]
    usual = choose_harmonics(terms, X, y).terms.terms[0].features.n_harmonics
    X[::100] += 5.0
    wild = choose_harmonics(terms, X, y)
    assert wild.terms.terms[0].features.n_harmonics <= 3 * usual
    assert "would need more" not in wild.report


@pytest.mark.parametrize(("frequency", "error"), [(200, 0.0), (3, 1e-10)])
def test_statistics_of_all_rows_are_those_of_the_choice(frequency, error, monkeypatch):
    """They stand for another pass: to the bit where they were collected so, to rounding where they are of fewer."""
    passes = []
    monkeypatch.setattr(
        "odvff.search.harmonics.collect",
        lambda terms, chunks: passes.append(Sum.of(terms).Kuu().size) or collect(terms, chunks, engine="product"),
    )
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (5000, 1))
    y = np.sin(frequency * X[:, 0]) + 0.1 * rng.standard_normal(5000)
    chosen = choose_harmonics(
        [Term(Matern(1.5), Fourier(5, (0, 1)), [0])], X, y, policy=replace(DEFAULT, most_harmonics=40)
    )
    assert (chosen.terms.Kuu().size < passes[-1]) == (error > 0)
    again = collect(chosen.terms, [(X, y)], engine="product")
    assert chosen.statistics is not None
    assert np.abs(chosen.statistics.moments - again.moments).max() <= error * len(X)
    assert chosen.statistics.signature == again.signature


def test_statistics_of_a_sample_are_not_those_of_all():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (50_001, 1))
    y = np.sin(200 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))
    assert (
        choose_harmonics(
            [Term(Matern(1.5), Fourier(5, (0, 1)), [0])], X, y, policy=replace(DEFAULT, most_harmonics=40)
        ).statistics
        is None
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_term_can_be_among_them(weighted):
    """Many rows, some of them outside the box: the statistics are those of another pass."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-0.02, 1, (6000, 3)), rng.integers(0, 3, 6000)])
    y = np.sin(20 * X[:, 0]) * X[:, 1] + X[:, 3] + 0.1 * rng.standard_normal(6000)
    weights = rng.integers(1, 3, 6000).astype(float) if weighted else None
    terms = Sum(
        [
            Term(Matern(1.5), Fourier(5, (0, 1)), [0]),
            Term(Categorical(1.0), Levels(3), [3]),
            Term(Separable((Matern(1.5), Matern(1.5))), Kronecker((Fourier(2, (0, 1)), Fourier(2, (0, 1)))), [0, 1]),
        ]
    )
    chosen = choose_harmonics(terms, X, y, weights=weights)
    again = collect(chosen.terms, [(X, y) if weights is None else (X, y, weights)], engine="product")
    assert chosen.statistics is not None
    assert np.abs(chosen.statistics.moments - again.moments).max() < 1e-6 * len(X)
    only_levels = choose_harmonics(Sum((terms.terms[1],)), X, y, weights=weights)
    assert "none" in only_levels.report


def test_levels_have_none():
    X = np.random.default_rng(0).integers(0, 3, (50, 1))
    chosen = choose_harmonics([Term(Categorical(), Levels(3))], X, X[:, 0] * 1.0)
    assert "there is no Fourier term" in chosen.report


@pytest.fixture
def fitted():
    rng = np.random.default_rng(2)
    X, y = additive_data(rng, 600, 2)
    y = y - y.mean()
    terms = [Term(Matern(1.5), Fourier(4, (0, 1)), [d]) for d in range(2)]
    return X, y, fit_collapsed(terms, collect(terms, [(X, y)]))


@pytest.mark.parametrize("points", ["greedy", "kmeans"])
def test_inducing_points_are_the_closed_form_in_one_pass(fitted, points):
    X, y, fit = fitted
    gamma = greedy_points(fit.terms, X, 20) if points == "greedy" else kmeans_points(X, 20)
    assert gamma.shape[1] == 2
    w = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    for weights in (None, w):
        rows = np.arange(len(X)) if weights is None else np.repeat(np.arange(len(X)), w.astype(int))
        chunks = [(X[:100], y[:100]), (X[100:], y[100:])]
        if weights is not None:
            chunks = [(a, b, w[s]) for (a, b), s in zip(chunks, (slice(0, 100), slice(100, None)), strict=True)]
        if weights is not None:
            fit = fit_collapsed(fit.terms, collect(fit.terms, chunks))
        result = add_inducing(fit, chunks, gamma)
        with_gamma = collapsed_bound(fit.terms, fit.noise, X[rows], y[rows], gamma)
        without = collapsed_bound(fit.terms, fit.noise, X[rows], y[rows])
        assert np.isclose(result.gain, with_gamma - without, atol=1e-4)
        assert result.gain > 0
        exact = optimal_posterior(fit.terms, fit.noise, X[rows], y[rows], gamma)
        assert np.allclose(result.fit.posterior.mean(X), exact.mean(X), atol=1e-5)
        if weights is None:
            assert np.isclose(result.fit.posterior.elbo(GaussianNoise(fit.noise), X, y), result.fit.bound, atol=1e-3)
    assert f"{len(gamma)} inducing points for the mean raise the bound by" in result.report


def test_points_that_bring_nothing_are_left_out(fitted):
    X, y, fit = fitted
    result = add_inducing(fit, [(X, y)], greedy_points(fit.terms, X, 5), least_gain=1e6)
    assert result.fit is fit
    assert "no inducing points: 5 of them would raise the bound by" in result.report
    many = [Term(t.kernel, Fourier(2000, (0, 1)), t.columns) for t in fit.terms]
    assert len(greedy_points(Sum(many), X, 5)) <= 5
    assert add_inducing(fit, [(X, y)], np.zeros((0, 2))).gain == 0.0
    blurred = add_inducing(replace(fit, noise=1e-25), [(X, y)], greedy_points(fit.terms, X, 20))
    assert blurred.gain == 0.0
    assert blurred.report == "no inducing points: with so little noise float64 cannot tell them apart"


def test_greedy_beats_random_points(fitted):
    X, y, fit = fitted
    rng = np.random.default_rng(3)
    greedy = add_inducing(fit, [(X, y)], greedy_points(fit.terms, X, 15)).gain
    random = np.mean([add_inducing(fit, [(X, y)], rng.uniform(0, 1, (15, 2))).gain for _ in range(5)])
    assert greedy > 0.7 * random  # it looks at X alone, so it need not win on y, but must not fail


def test_bad_input_is_named(fitted):
    X, y, fit = fitted
    with pytest.raises(InputError, match="n_points must be a whole number of at least 1, got 0"):
        greedy_points(fit.terms, X, 0)
    with pytest.raises(InputError, match="got 1 parts"):
        add_inducing(fit, [(X,)], X[:2])
    once = add_inducing(fit, [(X, y)], X[:5]).fit
    with pytest.raises(InputError, match="the fit has inducing points already"):
        add_inducing(once, [(X, y)], X[:5])
    with pytest.raises(InputError, match="X has 600 rows and y has 5; they must agree"):
        add_inducing(fit, [(X, y[:5])], X[:2])


def test_a_sample_foretells_what_points_bring():
    rng = np.random.default_rng(6)
    X = rng.uniform(0, 1, (6000, 2))
    y = np.sin(40 * X[:, 0]) + np.cos(9 * X[:, 1]) + 0.2 * rng.standard_normal(6000)
    terms = [Term(Matern(1.5), Fourier(5, (0, 1)), [d]) for d in range(2)]  # too few for forty radians
    fit = fit_collapsed(terms, collect(terms, [(X, y)]))
    gamma = greedy_points(fit.terms, X, 40)
    of_all = add_inducing(fit, [(X, y)], gamma).gain / 6000
    of_few = gain_of_a_sample(fit, (X[:1500], y[:1500], None), gamma) / 1500
    assert of_all > 0.05
    assert 0.5 * of_all < of_few < 1.5 * of_all  # few rows show less of it
