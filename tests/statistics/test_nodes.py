"""Rows of one column replaced by weights at nodes: the same sums of all products of its features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff import Fourier, Matern, Term
from odvff.statistics import collect
from odvff.statistics.nodes import modes_of_nodes, nodes, nodes_pay, powers_in_cells, weights_at_nodes


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 3))
def test_sums_over_rows_are_sums_over_nodes(seed, F, n_strengths):
    rng = np.random.default_rng(seed)
    t = np.concatenate([[0.0, 1.0], rng.beta(0.5, 0.5, 200)])
    strengths = rng.standard_normal((n_strengths, 202)) + 1j * rng.standard_normal((n_strengths, 202))
    omega = weights_at_nodes(powers_in_cells(t, strengths, F))
    scale = np.abs(strengths).sum()
    harmonics = np.exp(2j * np.pi * np.outer(t, np.arange(2 * F + 1)))
    assert np.abs(modes_of_nodes(omega.real, F) - strengths.real @ harmonics).max() < 1e-12 * scale
    assert np.abs(modes_of_nodes(omega.imag, F) - strengths.imag @ harmonics).max() < 1e-12 * scale
    # anything as smooth as a product of two features: here a polynomial times a harmonic
    cubic = lambda t: (t - 0.3) ** 3 * np.cos(2 * np.pi * F * t)  # noqa: E731
    at_nodes = (omega * cubic(nodes(F))).sum((1, 2))
    assert np.abs(at_nodes - strengths @ cubic(t)).max() < 1e-12 * scale


@pytest.mark.parametrize(
    ("F", "smoothness", "completion"),
    [(1, 0.5, True), (2, 2.5, True), (7, 1.5, False), (30, 0.5, True), (30, 1.5, True), (100, 2.5, True)],
)
@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_by_nodes_equal_those_by_products(F, smoothness, completion, n_outputs, weighted):
    rng = np.random.default_rng(F)
    N = 250 * F + 500
    assert nodes_pay(F, N)
    x = np.concatenate(
        [[-1.0, 2.0], 3 * rng.beta(0.5, 0.5, N - 2) - 1]
    )  # both edges of the box, and many rows near them
    X, Y = np.stack([rng.standard_normal(N), x], 1), rng.standard_normal((N, n_outputs)) * [1.0, 1e4, 1e-3][:n_outputs]
    term = Term(Matern(smoothness, 0.3), Fourier(F, (-1, 2), completion=completion), [1])
    chunk = (X, Y, rng.uniform(0.5, 3, N)) if weighted else (X, Y)
    product = collect([term], [chunk], engine="product").moments
    d = np.sqrt(np.diag(product))
    for n_threads in (1, 2):
        moments = collect([term], [chunk], engine="nufft", n_threads=n_threads).moments
        assert np.abs((moments - product) / np.outer(d, d)).max() < 1e-11


def test_fewer_rows_than_nodes_are_transformed_as_they_are():
    assert not nodes_pay(200, 20_000)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (300, 1)), rng.standard_normal(300)
    few, many = ([Term(Matern(1.5), Fourier(F, (0, 1)), [0])] for F in (1, 2))
    for terms in (few, many):  # on both sides of the limit
        a, b = (collect(terms, [(X, y)], engine=engine).moments for engine in ("product", "nufft"))
        assert np.allclose(a, b, rtol=0, atol=1e-9)
