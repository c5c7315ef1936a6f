"""Fixed features by statistics and moving ones in one collapsed fit: values, gradients, and what comes of it."""

from dataclasses import dataclass, replace

import gpjax as gpx
import numpy as np
import pytest

from odvff import (
    Additive,
    Categorical,
    Fourier,
    InducingPoints,
    InputError,
    Kronecker,
    Levels,
    Matern,
    Separable,
    Sum,
    Term,
    kernels,
)
from odvff.features import FixedFeatures
from odvff.inference import collapsed_bound, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.moving import MovingBound
from odvff.kernels import covariance
from odvff.linalg import Dense, Diagonal
from odvff.rows import MemoryRows
from odvff.statistics import collect
from odvff.support.arrays import namespace
from odvff.support.checks import matrix


def rows(n=200, seed=0, beyond=0.2):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-beyond, 1 + beyond, n), rng.uniform(0, 1, n), rng.integers(0, 3, n)])
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n), rng.uniform(0.5, 2, n)


def every_kind(seed=1):
    rng = np.random.default_rng(seed)
    pair = Separable((Matern(1.5, 0.5), Matern(0.5, 0.6)))
    return Sum(
        [
            Term(Matern(1.5, 0.3), Fourier(4, (0, 1)), [0], "fixed"),
            Term(
                Additive((Matern(1.5, 0.5), Matern(2.5, 0.7, 0.4))), InducingPoints(rng.uniform(0, 1, (6, 2))), [0, 1]
            ),
            Term(gpx.kernels.Periodic(period=0.8), InducingPoints(rng.uniform(0, 1, (4, 1))), [1], "of GPJax"),
            Term(Categorical(0.4), Levels(3), [2], "levels"),
            Term(pair, Kronecker((Fourier(2, (0, 1)), Fourier(1, (0, 1)))), [0, 1], "pair"),
            Term(
                Separable((Matern(0.5, 0.4), Matern(2.5, 0.3))),
                InducingPoints(rng.uniform(0, 1, (3, 2))),
                [0, 1],
                "both",
            ),
        ]
    )


def test_value_and_gradient():
    """Rows in chunks of any size, some outside the boxes: the closed form's bound, and its derivatives."""
    X, y, w = rows()
    terms = every_kind()
    bound = MovingBound(terms, 0.07, lambda: [(X[:77], y[:77], w[:77]), (X[77:], y[77:], w[77:])])
    value, gradient = bound(bound.start)
    at_once = MovingBound(terms, 0.07, lambda: [(X, y, w)])(bound.start)
    assert np.isclose(value, at_once.value, rtol=1e-10)
    assert np.allclose(gradient, at_once.gradient, rtol=1e-6, atol=1e-6 * np.abs(gradient).max())
    plain = MovingBound(terms, 0.07, lambda: [(X, y)])
    assert np.isclose(plain(plain.start)[0], collapsed_bound(terms, 0.07, X, y), rtol=1e-9)
    rng = np.random.default_rng(0)
    for part in (*(np.eye(len(gradient))[:6]), *rng.standard_normal((4, len(gradient)))):
        numeric = (bound(bound.start + 1e-5 * part)[0] - bound(bound.start - 1e-5 * part)[0]) / 2e-5
        assert np.isclose(gradient @ part, numeric, rtol=1e-5, atol=1e-4)


def test_points_for_the_mean_beside_every_kind():
    """With γ, and rows outside the boxes: the closed form's bound, its derivatives and its posterior."""
    X, y, _ = rows(120)
    terms, gamma = every_kind(), rows(3, seed=5, beyond=0.0)[0]
    bound = MovingBound(terms, 0.07, lambda: [(X[:50], y[:50]), (X[50:], y[50:])], gamma)
    value, gradient = bound(bound.start)
    assert np.isclose(value, collapsed_bound(terms, 0.07, X, y, gamma), rtol=1e-6)
    levels = [2, 5, 8]  # of γ, whose numbers come first: they stay what they are
    assert (gradient[levels] == 0).all()
    for part in np.random.default_rng(0).standard_normal((4, len(gradient))):
        part[levels] = 0
        numeric = (bound(bound.start + 1e-5 * part)[0] - bound(bound.start - 1e-5 * part)[0]) / 2e-5
        assert np.isclose(gradient @ part, numeric, rtol=1e-4, atol=1e-3)
    (q, noise), best = bound.posterior(bound.start), optimal_posterior(terms, 0.07, X, y, gamma)
    assert np.isclose(noise, 0.07)
    assert np.allclose(q.mean(X), best.mean(X), atol=1e-5)
    assert np.allclose(q.variance(X), best.variance(X), atol=1e-6)


class Averages(InducingPoints):
    """Means of f at a point and a little further on: features of one's own that change with the kernel and move."""

    def Kuu(self, kernel):
        both = self.locations, self.locations + 0.1
        return Dense(sum(covariance(kernel, a, b) for a in both for b in both) / 4, 1e-10)

    def Kuf(self, kernel, X):
        return (covariance(kernel, self.locations, X) + covariance(kernel, self.locations + 0.1, X)) / 2


def test_moving_features_of_ones_own():
    """What is differentiated is what they say, not the covariance at their locations."""
    X, y, _ = rows(80, beyond=0.0)
    terms = [Term(Matern(2.5, 0.4), Averages(np.linspace(0, 0.9, 5)[:, None]), [0])]
    bound = MovingBound(Sum(terms), 0.1, lambda: [(X, y)])
    value, gradient = bound(bound.start)
    assert np.isclose(value, collapsed_bound(terms, 0.1, X, y), rtol=1e-9)
    for part in np.eye(len(gradient)):
        numeric = (bound(bound.start + 1e-5 * part)[0] - bound(bound.start - 1e-5 * part)[0]) / 2e-5
        assert np.isclose(gradient @ part, numeric, rtol=1e-5, atol=1e-4)
    assert fit_collapsed(terms, [(X, y)], max_iter=50).bound > value


def test_other_starts_and_plateaus():
    """What says how a bound of fixed features is climbed says it here too."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (100, 1))
    y = np.sin(20 * X[:, 0]) + 0.1 * rng.standard_normal(100)
    term, heard = Term(Matern(2.5, 5.0), InducingPoints(np.linspace(0, 1, 12)[:, None]), [0]), []
    few = fit_collapsed([term], [(X, y)], noise=1.0, max_iter=40, tell=heard.append)
    more = fit_collapsed([term], [(X, y)], noise=1.0, max_iter=40, n_starts=3, seed=1, tell=heard.append)
    assert more.bound >= few.bound
    assert len(more.history) > len(few.history)
    ended = fit_collapsed([term], [(X, y)], noise=1.0, max_iter=400, plateau=1e3)
    assert ended.converged
    assert len(ended.history) == 21


def test_one_fit_of_fixed_and_moving_terms_from_a_source_of_rows():
    """The paper's periodic and Matérn model: what repeats is told from what does not, beyond the rows too."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, (400, 1))
    y = np.sin(2 * np.pi * X[:, 0] / 2.0) + 0.2 * X[:, 0] - 1.0 + 0.1 * rng.standard_normal(400)
    season = gpx.kernels.Periodic(period=2.1)
    terms = [
        Term(season, InducingPoints(np.linspace(0, 2, 9)[:, None]), [0], "season"),
        Term(Matern(2.5, 8.0), Fourier(3, (0.0, 14.0)), [0], "trend"),
    ]
    fit = fit_collapsed(terms, MemoryRows(X, y), noise=0.05, max_iter=100)
    assert fit.converged
    assert 0.08 < np.sqrt(fit.noise) < 0.12
    new = np.linspace(10, 13, 50)[:, None]  # seasons are foreseen
    effects = fit.posterior.effects(new)
    assert np.abs(effects.mean[:, 0] - np.sin(2 * np.pi * new[:, 0] / 2.0)).max() < 0.35
    start = MovingBound(Sum(terms), 0.05, MemoryRows(X, y).chunks)
    assert fit.bound > start(start.start)[0] + 100
    assert np.isclose(fit.bound, collapsed_bound(fit.terms, fit.noise, X, y), rtol=1e-6)


def test_locations_move_to_where_they_are_needed():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (300, 1))
    y = np.where(X[:, 0] > 0.7, np.sin(40 * X[:, 0]), 0.0) + 0.05 * rng.standard_normal(300)
    start = np.linspace(0, 1, 8)[:, None]
    term = Term(Matern(2.5, 0.1), InducingPoints(start), [0])
    fit = fit_collapsed([term], [(X, y)], max_iter=150)
    there = fit.terms.terms[0].features.locations[:, 0]
    assert np.sum(there > 0.65) > np.sum(start > 0.65)
    assert fit.bound > collapsed_bound([term], 0.1, X, y) + 50


def test_what_cannot_be_is_named():
    X, y, _ = rows(50)
    terms = every_kind()
    with pytest.raises(InputError, match="are fitted to rows, one output at a time"):
        fit_collapsed(terms, collect([terms.terms[0]], [(X, y)]))
    with pytest.raises(InputError, match=r"are fitted to statistics; pass `collect\(terms, chunks\)`"):
        fit_collapsed([terms.terms[0]], [(X, y)])


@dataclass(frozen=True)
class Sines(FixedFeatures):
    """Eigenfunctions of the Laplacian on [−half, half] (Solin & Särkkä), which hold an array."""

    roots: np.ndarray
    half: float = 2.0

    @property
    def size(self):
        return len(self.roots)

    @property
    def boxes(self):
        return ((-self.half, self.half),)

    def fill(self, X, out):
        out[:] = np.sin(self.roots[:, None] * (X[:, 0] + self.half)) / np.sqrt(self.half)

    def Kuf(self, kernel, X):
        X = matrix(X, "X")
        return namespace(X).sin(self.roots[:, None] * (X[:, 0] + self.half)) / np.sqrt(self.half)

    def Kuu(self, kernel):
        k = kernels.matern(kernel)
        return Diagonal((k.rate**2 + self.roots**2) ** 2 / (4 * k.rate**3 * k.variance))


class OnNumPy(Sines):
    def Kuu(self, kernel):
        return Diagonal(np.asarray(super().Kuu(kernel).d, dtype=np.float64))


def test_features_that_hold_an_array_beside_points():
    X, y, _ = rows(80, beyond=0.0)
    roots = np.pi * np.arange(1, 9) / 4.0
    points = Term(Matern(2.5, 0.4), InducingPoints(np.linspace(0, 0.9, 5)[:, None]), [1])
    terms = [Term(Matern(1.5, 0.5), Sines(roots), [0]), points]
    fit = fit_collapsed(terms, [(X, y)], noise=0.1, max_iter=5, tell=lambda note: None)
    assert fit.bound >= collapsed_bound(terms, 0.1, X, y)
    with pytest.raises(InputError, match="are written in NumPy, and where some features move JAX differentiates all"):
        fit_collapsed([replace(terms[0], features=OnNumPy(roots)), points], [(X, y)], noise=0.1, max_iter=2)


def test_all_rows_outside_the_boxes():
    X, y, _ = rows(60, beyond=0.0)
    points = Term(Matern(2.5, 0.4), InducingPoints(np.linspace(0, 0.9, 5)[:, None]), [1])
    terms = [Term(Matern(1.5, 0.5), Fourier(3, (5.0, 6.0)), [0]), points]
    bound = MovingBound(Sum(terms), 0.1, lambda: [(X, y)])
    assert np.isclose(bound(bound.start).value, collapsed_bound(terms, 0.1, X, y), rtol=1e-9)
