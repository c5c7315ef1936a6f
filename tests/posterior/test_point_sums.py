"""Sums of kernels at points: those of the kernel matrix, for any number of points, anywhere."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from odvff import Categorical, Fourier, Kronecker, Levels, Matern, Separable, Sum, Term
from odvff.kernels.point_sums import MOST_LOOKS, LevelSum, MaternSum, Places
from odvff.posterior.fast import point_sum

places = st.lists(st.sampled_from([-2.0, 0.0, 0.1, 0.3, 0.30000001, 1.0, 7.5, 1e6]), min_size=1, max_size=12)


@given(
    points=places,
    at=places,
    smoothness=st.sampled_from([0.5, 1.5, 2.5]),
    log_lengthscale=st.floats(-12, 6),
    seed=st.integers(0, 1000),
)
def test_a_sum_of_maternals_is_that_of_the_matrix(points, at, smoothness, log_lengthscale, seed):
    kernel = Matern(smoothness, np.exp(log_lengthscale), 1.7)
    g, x = np.array(points), np.array(at)
    a = np.random.default_rng(seed).normal(size=len(g))
    expected = kernel.covariance(x[:, None], g[:, None]) @ a
    assert np.allclose(MaternSum.of(kernel, g, a)(x), expected, rtol=1e-9, atol=1e-9 * np.abs(a).sum())


anywhere = st.lists(
    st.floats(-1e300, 1e300) | st.floats(0, 1) | st.sampled_from([0.0, 0.3, np.nextafter(0.3, 1), 1.0]),
    min_size=1,
    max_size=40,
)


@given(points=anywhere, at=anywhere)
def test_places_are_those_of_a_search(points, at):
    g, x = np.sort(points), np.array([*at, *points])
    assert np.array_equal(Places.among(g)(x), np.searchsorted(g, x, side="right"))


def test_places_need_few_looks_at_points_that_are_spread_and_a_search_at_those_that_crowd():
    rng = np.random.default_rng(0)
    spread, crowd = np.sort(rng.uniform(0, 1, 300)), np.sort(rng.lognormal(0, 8, 300))
    assert Places.among(spread).looks <= MOST_LOOKS < Places.among(crowd).looks
    for g in (spread, crowd):
        x = np.concatenate([g, np.nextafter(g, -1), rng.uniform(-1, 2, 1000)])
        assert np.array_equal(Places.among(g)(x), np.searchsorted(g, x, side="right"))


def test_levels_have_a_sum_each():
    one = LevelSum.of(Categorical(2.0), np.array([1.0, 0.0, 1.0]), np.array([0.5, 1.0, 0.25]))
    assert np.allclose(one(np.array([0.0, 1.0, 2.0, -1.0])), [2.0, 1.5, 0.0, 0.0])


def test_a_sum_of_terms_adds_them():
    rng = np.random.default_rng(0)
    pair = Kronecker((Fourier(2, (0, 1)), Fourier(2, (0, 1))))
    terms = Sum(
        [
            Term(Matern(1.5, 0.3, 2.0), Fourier(3, (0, 1)), [0]),
            Term(Matern(2.5, 0.1), Fourier(3, (0, 1)), [1]),
            Term(Categorical(0.5), Levels(3), [2]),
            Term(Separable((Matern(1.5, 0.3), Matern(0.5, 0.8))), pair, [0, 1]),
        ]
    )
    X, gamma = (np.column_stack([rng.uniform(-0.2, 1.2, (n, 2)), rng.integers(-1, 3, n)]) for n in (50, 9))
    a = rng.normal(size=9)
    assert np.allclose(point_sum(terms, gamma, a)(X), terms.covariance(X, gamma) @ a)
