"""The orthogonal basis spans what the monomial one spans, and statistics in it keep their digits."""

import numpy as np
import pytest
from hypothesis import given

from odvff import Fourier, Matern
from odvff.features.fourier import harmonics
from odvff.features.matern_gram import norms
from odvff.statistics.by_nufft import remainders
from tests.features.test_fourier import problems


@given(problems(max_harmonics=30))
def test_whitened_features_are_those_of_fourier(problem):
    features, k = problem
    a, b = features.interval
    features = Fourier(features.n_harmonics, (a, b))
    orthogonal = features.orthogonal()
    X = np.linspace(a - 0.2 * (b - a), b + 0.2 * (b - a), 20)[:, None]
    psi = features.Kuu(k).factor().solve(features.Kuf(k, X))
    same = orthogonal.Kuu(k).factor().solve(orthogonal.Kuf(k, X))
    assert np.allclose(psi, same, atol=1e-7 * np.sqrt(k.variance))
    inside = np.linspace(a, b, 9)[:, None]
    assert np.allclose(orthogonal.suited(k).inside(inside), orthogonal.Kuf(k, inside), atol=1e-7)


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("F", [1, 7, 100, 500])
def test_basis_is_orthogonal(smoothness, F):
    nodes, weights = np.polynomial.legendre.leggauss(6 * F + 200)
    phi = Fourier(F, (0.0, 1.0), smoothness=smoothness).orthogonal().inside((nodes[:, None] + 1) / 2)
    G = (phi * weights) @ phi.T  # integrals over [0, 1] times 2
    order = int(smoothness + 0.5)
    assert np.allclose(np.diagonal(G), [2.0] + [1.0] * (2 * F + order), atol=1e-6)
    G[-order:, -order:] = np.diag(np.diagonal(G)[-order:])  # remainders are orthogonal to the rest, not to each other
    assert np.abs(G - np.diag(np.diagonal(G))).max() < 1e-6


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("mu", [1e-3, 0.7, 30.0, 2e3])
def test_parts_are_analytic(smoothness, mu):
    """A complex step gives the derivative of every part to rounding."""
    s = int(smoothness + 0.5)
    features = Fourier(6, (0.0, 1.0)).orthogonal()
    exact = features.parts(s, np.complex128(mu + 1e-30j * mu))
    h = 1e-5 * mu
    low, high = features.parts(s, np.float64(mu - h)), features.parts(s, np.float64(mu + h))
    for name in ("diagonal", "U", "c", "t", "V"):
        derivative = getattr(exact, name).imag / (1e-30 * mu)
        numeric = (getattr(high, name) - getattr(low, name)) / (2 * h)
        assert np.allclose(derivative, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max()), name
        assert np.allclose(getattr(exact, name).real, getattr(features.parts(s, np.float64(mu)), name))


def test_doubling_keeps_its_digits():
    t = np.random.default_rng(0).uniform(0, 1, 50)
    m = np.arange(1, 5001)[:, None]
    cycles = m * t
    phase = 2 * np.pi * (cycles - np.round(cycles))
    assert np.abs(harmonics(t, 5000) - np.concatenate([np.cos(phase), np.sin(phase)])).max() < 5000 * 2e-15


def test_matern_of_one_column_from_the_orthogonal_basis():
    k = Matern(1.5, 0.3)
    X = np.random.default_rng(1).uniform(0, 1, (30, 1))
    features = Fourier(300, (0, 1)).orthogonal()
    psi = features.Kuu(k).factor().solve(features.Kuf(k, X))
    assert np.allclose(psi.T @ psi, k.covariance(X, X), atol=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("F", [1, 7, 60, 300])
def test_tabulated_remainders_are_the_features(order, F):
    """Also at the ends of the box; as exact as a small difference of large sums can be."""
    t = np.concatenate([[0.0, 1.0, 0.5, 1e-12, 1 - 1e-12], np.random.default_rng(0).uniform(0, 1, 500)])
    pairs = remainders(t, F, order)
    rows = np.stack([pairs.real, pairs.imag], axis=1).reshape(-1, len(t))
    expected = Fourier(F, (0, 1), smoothness=order - 0.5).orthogonal().inside(t[:, None])[-order:]
    for k in range(order):
        assert np.allclose(rows[k], expected[k], rtol=0, atol=1e-13 + 2e-15 / norms(F, order)[k]), k
    assert (rows[order:] == 0).all()
    assert remainders(t, F, 0).shape == (0, 505)
