"""Pairs of columns that act together: the quick look against dense Gaussians; what is found, refused and limited."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from odvff import InputError
from odvff.design import Design, NumericPart
from odvff.features.kronecker import Product
from odvff.features.levels import Multiple
from odvff.policy import DEFAULT
from odvff.search.pairs import RATIOS, choose_pairs, quick_look

PAIRS = [(0, 1), (0, 2), (1, 2)]


def term_of(pair, n_harmonics):
    design = Design(tuple(NumericPart(d, f"x{d}", (0.0, 1.0)) for d in range(6)))
    return design.pair_term(pair, n_harmonics, 1.5, True)


def chosen(X, r, most=3, weights=None):
    pairs = [(i, j) for i in range(X.shape[1]) for j in range(i)]
    return choose_pairs([(j, i) for i, j in pairs], term_of, (X, r, weights), noise=float(np.var(r)), most=most)


def test_a_quick_look_is_the_evidence_for_levels_of_the_cells():
    rng = np.random.default_rng(0)
    X, r = rng.integers(0, 3, (60, 3)) / 2, rng.normal(size=60)
    weights, noise = rng.integers(1, 4, 60).astype(float), 0.7
    rows = np.repeat(np.arange(60), weights.astype(int))  # a weight counts how often a row is there
    for (i, j), gain in zip(PAIRS, quick_look(PAIRS, (X, r, weights), noise), strict=True):
        same = (X[rows][:, None, [i, j]] == X[rows][:, [i, j]]).all(axis=2)
        without = multivariate_normal(cov=noise * np.eye(len(rows))).logpdf(r[rows])
        gains = [
            multivariate_normal(cov=noise * (np.eye(len(rows)) + ratio * same)).logpdf(r[rows]) - without
            for ratio in RATIOS.ravel()
        ]
        assert gain == pytest.approx(max(gains), rel=1e-9)


def test_a_look_at_some_rows_stands_for_all():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (4000, 3))
    r = np.sin(6 * X[:, 0] * X[:, 1]) + rng.normal(size=4000)
    rows = (X, r, np.ones(4000))
    everything = quick_look(PAIRS, rows, 1.0)
    half = quick_look(PAIRS, rows, 1.0, replace(DEFAULT, look_work=1.0))
    assert np.argmax(everything) == np.argmax(half) == 0
    assert half[0] == pytest.approx(everything[0], rel=0.3)


def test_what_acts_together_is_found_the_strongest_first():
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 1, (3000, 6))
    r = 3 * (X[:, 1] - 0.5) * (X[:, 4] - 0.5) + (X[:, 0] - 0.5) * (X[:, 5] - 0.5) + 0.1 * rng.normal(size=3000)
    found = chosen(X, r)
    assert [term.columns for term in found.terms] == [(1, 4), (0, 5)]
    assert found.noise == pytest.approx(0.01, rel=0.1)
    assert found.report == "columns that act together: x1 × x4, x0 × x5"
    assert [term.columns for term in chosen(X, r, most=1).terms] == [(1, 4)]


def test_noise_has_no_interactions():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        found = chosen(rng.uniform(0, 1, (300, 6)), rng.normal(size=300))
        assert found.terms == ()
        assert found.report == "no pair of columns was found to act together"


def test_pairs_that_are_asked_for_are_taken_whatever_they_bring():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (200, 3))
    found = choose_pairs([(0, 1), (1, 2)], term_of, (X, rng.normal(size=200), None), noise=1.0)
    assert {term.columns for term in found.terms} == {(0, 1), (1, 2)}
    X, pairs = rng.uniform(0, 1, (200, 6)), [(i, j) for j in range(6) for i in range(j)]
    found = choose_pairs(
        pairs, term_of, (X, rng.normal(size=200), None), noise=1.0, policy=replace(DEFAULT, pair_ladder=(12,))
    )
    assert {term.columns for term in found.terms} == set(pairs)
    assert sum(term.Kuu().size for term in found.terms) <= DEFAULT.pair_features


def test_weights_count_rows():
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, (500, 2))
    r = (X[:, 0] - 0.5) * (X[:, 1] - 0.5) + 0.1 * rng.normal(size=500)
    weights = rng.integers(1, 3, 500)
    rows = np.repeat(np.arange(500), weights)
    (a,), (b,) = chosen(X, r, weights=weights.astype(float)).terms, chosen(X[rows], r[rows]).terms
    for left, right in zip(a.kernel.factors, b.kernel.factors, strict=True):
        assert left.lengthscale == pytest.approx(right.lengthscale, rel=1e-3)


def test_harmonics_follow_the_values_of_a_column_and_the_evidence():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (4000, 2))
    X[:, 1] = rng.integers(0, 2, 4000)
    r = np.sin(3 * X[:, 0]) * (X[:, 1] - 0.5) + 0.1 * rng.normal(size=4000)
    (term,) = chosen(X, r).terms
    assert [f.n_harmonics for f in term.features.factors] == [5, 1]
    wild = np.sin(44 * X[:, 0]) * (X[:, 1] - 0.5) + 0.1 * rng.normal(size=4000)
    (term,) = chosen(X, wild).terms
    assert [f.n_harmonics for f in term.features.factors] == [12, 1]


def test_features_are_limited():
    """More pairs have fewer harmonics each, at first; then the strongest get what is left."""
    rng = np.random.default_rng(6)
    X = rng.uniform(0, 1, (2000, 4))
    r = sum((X[:, i] - 0.5) * (X[:, j] - 0.5) for i in range(4) for j in range(i)) + 0.05 * rng.normal(size=2000)
    for features in (DEFAULT.pair_features, 400):
        policy = replace(DEFAULT, pair_features=features)
        for most in (6, None):
            pairs = [(i, j) for j in range(4) for i in range(j)]
            found = choose_pairs(pairs, term_of, (X, r, None), noise=0.01, most=most, policy=policy)
            assert {term.columns for term in found.terms} == set(pairs)
            assert sum(term.Kuu().size for term in found.terms) <= features


def test_more_pairs_than_features_are_refused():
    X = np.random.default_rng(9).uniform(0, 1, (50, 12))
    pairs = [(i, j) for j in range(12) for i in range(j)]
    with pytest.raises(
        InputError, match="interactions asks for 66 joint effects, and a thousand features do for 44 of"
    ):
        choose_pairs(pairs, term_of, (X, X[:, 0], None), noise=1.0)
    with pytest.raises(InputError, match="interactions asks for 45 joint effects"):
        choose_pairs(pairs, term_of, (X, X[:, 0], None), noise=1.0, most=45)
    assert choose_pairs(pairs[:3], term_of, (X, X[:, 0], None), noise=1.0, most=1000).terms == ()


def test_rare_values_are_seen_on_either_side():
    """A column and its mirror image show the same."""
    rng = np.random.default_rng(10)
    X = rng.uniform(0, 1, (3000, 2))
    X[:, 1] = X[:, 1] < 0.1
    r = 3 * (X[:, 0] - 0.5) * X[:, 1] + 0.1 * rng.normal(size=3000)
    rare, mirrored = (
        quick_look([(0, 1)], (Z, r, np.ones(3000)), 0.1)[0] for Z in (X, np.column_stack([X[:, 0], 1 - X[:, 1]]))
    )
    assert rare == pytest.approx(mirrored)
    assert rare > 100
    assert [term.columns for term in chosen(X, r).terms] == [(0, 1)]


def test_rows_that_weigh_nothing_show_nothing():
    weights = np.r_[np.zeros(2000), np.ones(10)]
    X = np.random.default_rng(8).uniform(0, 1, (2010, 3))
    assert not quick_look(PAIRS, (X, X[:, 0], weights), 1.0, replace(DEFAULT, look_work=1.0)).any()


def test_a_product_is_applied_factor_by_factor():
    rng = np.random.default_rng(7)
    A, B, C = (rng.normal(size=(n, n)) for n in (2, 3, 4))
    M = rng.normal(size=(24, 5))
    assert np.allclose(Product((A, B, C)) @ M, np.kron(np.kron(A, B), C) @ M)
    assert np.allclose(Product((C,)) @ M[:4], C @ M[:4])
    assert np.allclose(Product((B, C)) @ M[:12, 0], np.kron(B, C) @ M[:12, 0])
    assert np.allclose(Multiple(2.0) @ M, 2 * M)
    for inverse, n in ((Product((A, B, C)), len(M)), (Product((C,)), 4), (Multiple(2.0), 5)):
        rows = M[:n].T
        assert np.allclose(rows @ inverse.T, (inverse @ rows.T).T)
