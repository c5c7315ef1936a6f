"""Rows of one column replaced by weights at nodes: the same sums of all products of its features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff import Fourier, Matern, Term
from odvff.statistics import by_nufft, collect
from odvff.statistics.nodes import modes_of_nodes, nodes, nodes_pay, powers_in_cells, weights_at_nodes


def both(terms, chunks, **options):
    """Moments by products and by nodes, of entries scaled to 1."""
    product = collect(terms, chunks, engine="product").moments
    d = np.sqrt(np.diag(product))
    return product / np.outer(d, d), collect(terms, chunks, engine="nufft", **options).moments / np.outer(d, d)


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
    for n_threads in (1, 2):
        product, moments = both([term], [chunk], n_threads=n_threads)
        assert np.abs(moments - product).max() < 1e-11


def test_the_error_is_below_the_bound_where_it_is_largest():
    for F in (1, 10, 200):
        for c in (0, 5 * F, 12 * F - 1):  # a row at the edge of a cell, and the highest harmonic
            t = np.array([c / (12 * F)])
            omega = weights_at_nodes(powers_in_cells(t, np.ones((1, 1), dtype=complex), F)).real
            assert np.abs(modes_of_nodes(omega, F)[0] - np.exp(2j * np.pi * t * np.arange(2 * F + 1))).max() < 1e-12


@pytest.mark.parametrize("n_threads", [1, 3, 16])
def test_blocks_of_rows_add_up(monkeypatch, n_threads):
    monkeypatch.setattr(by_nufft, "ROWS_AT_ONCE", 100)
    rng = np.random.default_rng(1)
    X, Y, w = rng.uniform(0.1, 0.7, (3011, 1)), rng.standard_normal((3011, 2)), rng.uniform(0, 2, 3011)
    X[:2, 0] = 0.1, 0.7
    product, moments = both([Term(Matern(1.5), Fourier(5, (0.1, 0.7)), [0])], [(X, Y, w)], n_threads=n_threads)
    assert np.abs(moments - product).max() < 1e-12


def test_rows_that_are_all_the_same_are_no_trouble():
    product, moments = both(
        [Term(Matern(2.5), Fourier(3, (0, 1)), [0])], [(np.full((5000, 1), 0.2718), np.linspace(0, 1, 5000))]
    )
    assert np.abs(moments - product).max() < 1e-11


def test_chunks_with_more_and_with_fewer_rows_than_nodes():
    assert nodes_pay(2, 480)
    assert not nodes_pay(2, 479)
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (779, 1)), rng.standard_normal(779)
    product, moments = both([Term(Matern(1.5), Fourier(2, (0, 1)), [0])], [(X[:300], y[:300]), (X[300:], y[300:])])
    assert np.abs(moments - product).max() < 1e-10
