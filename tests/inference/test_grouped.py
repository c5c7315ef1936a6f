"""Terms of one shape whitened together give what they give one by one."""

import gpjax as gpx
import jax
import numpy as np
import pytest

from odvff import Categorical, Fourier, InducingPoints, Levels, Matern, Sum, Term
from odvff.inference.traced import whiten


def mixed_terms(scale):
    """Three shapes of Fourier terms in no order, other boxes, rows outside them, a GPJax kernel, points and levels."""
    return Sum(
        [
            Term(Matern(1.5, 0.3 * scale, 2.0), Fourier(3, (0, 1)), [0]),
            Term(Matern(2.5, 0.4 * scale, 0.5), Fourier(3, (-1, 2)), [1]),
            Term(Matern(1.5, 0.7 * scale, 1.5), Fourier(3, (0.2, 0.7)), [2]),
            Term(Categorical(0.7), Levels(3), [3]),
            Term(Matern(1.5, 0.2 * scale), Fourier(3, (0, 1), completion=False), [0], "plain"),
            Term(Matern(0.5, 0.3 * scale), InducingPoints([[0.1], [0.5], [0.8]]), [1], "points"),
            Term(gpx.kernels.Matern32(active_dims=[1], lengthscale=0.5), Fourier(3, (0, 2)), [0, 2], "gpjax"),
        ]
    )


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(-0.3, 1.3, (40, 3)), rng.integers(0, 3, 40)])


def test_together_is_as_one_by_one(X):
    terms = mixed_terms(1.0)
    expected = terms.Kuu().factor().solve(terms.Kuf(X))
    with jax.enable_x64(True):
        assert np.allclose(whiten(terms, X), expected, atol=1e-12)
        compiled = jax.jit(lambda scale, X: whiten(mixed_terms(scale), X))
        assert np.allclose(compiled(1.0, X), expected, atol=1e-12)


def test_gradients_too(X):
    weights = np.random.default_rng(1).standard_normal((mixed_terms(1.0).Kuu().size, 40))

    def together(scale):
        return (weights * whiten(mixed_terms(scale), X)).sum()

    def one_by_one(scale):
        terms = mixed_terms(scale)
        return (weights * terms.Kuu().factor().solve(terms.Kuf(X))).sum()

    with jax.enable_x64(True):
        gradient = float(jax.jit(jax.grad(together))(1.0))
    difference = (one_by_one(1 + 1e-5) - one_by_one(1 - 1e-5)) / 2e-5
    assert np.isclose(gradient, difference, rtol=1e-6)
