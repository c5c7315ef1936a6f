"""Predictions by the fast features: those of the plain formulas, whatever the terms, wherever the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff import Categorical, Fourier, InducingPoints, Kronecker, Levels, Matern, Posterior, Separable, Sum, Term
from odvff.posterior import fast


def some_terms(rng, n_fourier, completion, smoothness, F):
    """Columns 0 and 1 are also read together, column 2 is a column of levels."""
    scale = lambda: float(np.exp(rng.normal()))  # noqa: E731
    terms = [
        Term(Matern(smoothness, scale(), scale()), Fourier(F + (d == 1), (-1, 2), completion), [d]) for d in (0, 1)
    ]
    terms = terms[:n_fourier]
    terms.append(Term(Categorical(scale()), Levels(3), [2]))
    pair = Kronecker((Fourier(2, (-1, 2), completion), Fourier(3, (-2, 2), completion)))
    terms.append(Term(Separable((Matern(smoothness, scale()), Matern(1.5, scale(), scale()))), pair, [0, 1]))
    return Sum(terms)


def plain(q, X):
    """The formulas as they stand, with features that depend on the kernel."""
    psi = q.factor.solve(q.terms.Kuf(X))
    mean = q.whitened_weights @ psi
    if q.gamma is not None:
        mean = mean + q.terms.covariance(X, q.gamma) @ q.a_gamma
    R = np.diag(q.root) if q.root.ndim == 1 else q.root
    return mean, q.terms.variances(X) - (psi**2).sum(axis=0) + ((R.T @ psi) ** 2).sum(axis=0)


@given(
    seed=st.integers(0, 10_000),
    n_fourier=st.integers(0, 2),
    completion=st.booleans(),
    smoothness=st.sampled_from([0.5, 1.5, 2.5]),
    F=st.sampled_from([1, 4, 40]),
    root=st.sampled_from(["lower", "upper", "diagonal"]),
    n_rows=st.sampled_from([0, 1, 7, 200]),
    outside=st.booleans(),
)
def test_they_are_those_of_the_formulas(seed, n_fourier, completion, smoothness, F, root, n_rows, outside):
    rng = np.random.default_rng(seed)
    terms = some_terms(rng, n_fourier, completion, smoothness, F)
    n = terms.Kuu().size
    R = np.tril(rng.normal(size=(n, n))) / np.sqrt(n) + np.eye(n)
    R = {"lower": R, "upper": R.T, "diagonal": np.diagonal(R)}[root]
    X = np.column_stack([rng.uniform(-1, 2, (n_rows, 2)), rng.integers(-1, 3, n_rows)])
    if outside and n_rows:
        X[rng.integers(0, n_rows, 3), rng.integers(0, 2, 3)] += 3.5
    gamma = np.column_stack([rng.uniform(-1, 2, (3, 2)), [0, 1, 2]])
    q = Posterior(terms, rng.normal(size=n), R, gamma, rng.normal(size=3))
    mean, variance = plain(q, X)
    scale = 1 + np.abs(mean).max(initial=0)
    assert np.allclose(q.predict(X)[0], mean, rtol=0, atol=1e-8 * scale)
    assert np.allclose(q.predict(X)[1], variance, rtol=1e-8, atol=1e-8 * terms.variances(X).max(initial=1))
    assert np.allclose(q.mean(X), mean, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("n_rows", [1, 4096, 5000])
def test_many_rows_are_those_one_by_one(n_rows, monkeypatch):
    """Several blocks, the last one shorter, rows outside in some of them."""
    rng = np.random.default_rng(0)
    terms = Sum([Term(Matern(1.5, 0.3), Fourier(5, (0, 1)), [d]) for d in range(2)])
    monkeypatch.setattr(fast, "BLOCK_ENTRIES", 300 * terms.Kuu().size)
    q = Posterior(terms, rng.normal(size=terms.Kuu().size), np.full(terms.Kuu().size, 0.5))
    X = rng.uniform(0, 1, (n_rows, 2))
    X[::371] += 0.7
    mean, variance = plain(q, X)
    assert np.allclose(q.predict(X), (mean, variance), rtol=1e-10, atol=1e-10)
    assert np.allclose(q.mean(X), mean, rtol=1e-10, atol=1e-10)


def test_a_mixed_model_has_no_fast_features():
    points = Term(Matern(1.5, 0.3), InducingPoints([[0.2], [0.7]]), [0])
    q = Posterior([Term(Matern(1.5, 0.5), Fourier(3, (0, 1)), [0]), points])
    assert not q.terms.is_fixed
    assert np.allclose(q.predict([[0.4]])[1], 2.0)
