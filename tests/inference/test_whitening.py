"""Many columns at once: the same factor as that of each alone, and traces that are derivatives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff.features import Fourier
from odvff.features.orthogonal import OrthogonalFourier
from odvff.inference.whitening import Kind, columns_at
from odvff.kernels import Matern

logs = st.floats(-4, 4)


def term(kind, mu, variance):
    """Features on a box of length 1, and the kernel with this μ."""
    nu = kind.order - 0.5
    fourier = Fourier(kind.n_harmonics, (0.0, 1.0), completion=kind.completed)
    features = OrthogonalFourier(fourier) if kind.completed else fourier
    return features, Matern(nu, np.sqrt(2 * nu) / mu, variance)


@given(
    F=st.integers(1, 12),
    order=st.sampled_from([1, 2, 3]),
    completed=st.booleans(),
    columns=st.lists(st.tuples(logs, logs), min_size=1, max_size=4),
)
def test_inverses_are_those_of_the_structured_factors(F, order, completed, columns):
    kind = Kind(F, order, completed)
    mu, variance = np.exp(np.array(columns)).T
    stack = columns_at(kind, mu, variance)
    for i in range(len(columns)):
        features, kernel = term(kind, mu[i], variance[i])
        C = features.Kuu(kernel).factor()
        assert np.allclose(stack.inverses[i] @ C.dense(), np.eye(kind.size), atol=1e-8)
        expected = C.solve(np.eye(kind.size))
        assert np.allclose(stack.inverses[i], expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("completed", [True, False])
def test_traces_are_derivatives(order, completed):
    rng = np.random.default_rng(order)
    kind, log_mu, variance = Kind(5, order, completed), np.array([-0.5, 0.7, 2.0]), np.array([0.3, 1.0, 4.0])
    root = rng.standard_normal((3, kind.size, kind.size))
    M = root @ np.swapaxes(root, 1, 2)
    stack = columns_at(kind, np.exp(log_mu), variance)

    def grams(shift):
        pairs = [term(kind, m, v) for m, v in zip(np.exp(log_mu + shift), variance, strict=True)]
        return np.stack([features.Kuu(kernel).dense() for features, kernel in pairs])

    h = 1e-5
    # ∂/∂log ℓ = −∂/∂log μ
    rate = -(grams(h) - grams(-h)) / (2 * h)
    expected = [np.trace(C @ dK @ C.T @ m) for C, dK, m in zip(stack.inverses, rate, M, strict=True)]
    assert np.allclose(stack.traces(M), expected, rtol=1e-6)
