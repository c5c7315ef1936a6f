"""Many columns at once: the same factor as that of each alone, and traces that are derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff.features import Fourier
from odvff.features.whitening import SMALL, LowRank, columns_at
from odvff.inference.collapsed.bound import Middle
from odvff.kernels import Matern
from tests.reference.determinant import logdet

logs = st.floats(-4, 4)


def on_unit_box(F, order, completed):
    return Fourier(F, (0.0, 1.0), completed, order - 0.5).orthogonal()


def term(features, mu, variance):
    """Features on a box of length 1, and the kernel with this μ."""
    nu = features.smoothness
    return features, Matern(nu, np.sqrt(2 * nu) / mu, variance)


@given(
    F=st.one_of(st.integers(1, 12), st.just(70)),  # the last is more than a small one
    order=st.sampled_from([1, 2, 3]),
    completed=st.booleans(),
    columns=st.lists(st.tuples(logs, logs), min_size=1, max_size=4),
)
def test_inverses_are_those_of_the_structured_factors(F, order, completed, columns):
    kind = on_unit_box(F, order, completed)
    mu, variance = np.exp(np.array(columns)).T
    stack = columns_at(kind, mu, variance)
    for i in range(len(columns)):
        features, kernel = term(kind, mu[i], variance[i])
        C = features.Kuu(kernel).factor()
        inverse, eye = stack.inverses[i], np.eye(kind.size)
        assert isinstance(inverse, LowRank) == (kind.size > SMALL)
        assert np.allclose(inverse @ C.dense(), eye, atol=1e-8)
        expected = C.solve(eye)
        for made in (inverse @ eye, eye @ inverse, (inverse.T @ eye).T, (eye @ inverse.T).T):
            assert np.allclose(made, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("completed", [True, False])
@pytest.mark.parametrize("F", [1, 5, 70])
def test_traces_are_derivatives(F, order, completed):
    rng = np.random.default_rng(order)
    kind, log_mu, variance = on_unit_box(F, order, completed), np.array([-0.5, 0.7, 2.0]), np.array([0.3, 1.0, 4.0])
    root = rng.standard_normal((3, kind.size, kind.size))
    M = root @ np.swapaxes(root, 1, 2)
    stack = columns_at(kind, np.exp(log_mu), variance)

    def factors(shift):
        pairs = [term(kind, m, v) for m, v in zip(np.exp(log_mu + shift), variance, strict=True)]
        return [features.Kuu(kernel).factor() for features, kernel in pairs]

    def whitened(shift):
        """C⁻¹ K C⁻ᵀ for K a little further on, by structured factors: dense matrices of many harmonics lose digits."""
        roots = [C.solve(D.apply(np.eye(kind.size))) for C, D in zip(factors(0.0), factors(shift), strict=True)]
        return np.stack([root @ root.T for root in roots])

    h = 1e-5
    # ∂/∂log ℓ = −∂/∂log μ
    rate = -(whitened(h) - whitened(-h)) / (2 * h)
    expected = [np.trace(own @ m) for own, m in zip(rate, M, strict=True)]
    assert np.allclose(stack.traces(M)[:, 0], expected, rtol=1e-6)


def test_what_stands_in_the_middle_of_the_gradient_is_multiplied_without_being_made():
    rng = np.random.default_rng(0)
    inverse_root, v, A, X = (rng.standard_normal(shape) for shape in ((9, 5), 5, (5, 5), (5, 3)))
    M = Middle(inverse_root, (inverse_root**2).sum(axis=0), v, A + A.T, 0.3)
    plain = inverse_root.T @ inverse_root - np.eye(5) + np.outer(v, v) + (A + A.T) / 0.3
    assert np.allclose(M.dense(), plain)
    assert np.allclose(M @ X, plain @ X)
    assert np.allclose(M.diagonal(), np.diagonal(plain))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("completed", [True, False])
@pytest.mark.parametrize("F", [4, 300])
@pytest.mark.parametrize("log_mu", [-12.0, 0.0, 12.0])
def test_traces_at_any_lengthscale_are_those_of_the_determinant(order, completed, F, log_mu):
    """With M = I the trace is ∂log|K|/∂log ℓ."""
    kind, h = on_unit_box(F, order, completed), 1e-4

    def log_det(shift):
        features, kernel = term(kind, np.exp(log_mu + shift), 2.0)
        return logdet(features.Kuu(kernel).factor())

    trace = columns_at(kind, np.exp([log_mu]), np.array([2.0])).traces([np.eye(kind.size)])[0, 0]
    expected = -(log_det(h) - log_det(-h)) / (2 * h)
    assert np.isclose(trace, expected, rtol=1e-5, atol=1e-6 * kind.size)
