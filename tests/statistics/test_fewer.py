"""Statistics of many harmonics hold those of fewer."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odvff import Categorical, Fourier, InputError, Kronecker, Levels, Matern, Separable, Sum, Term
from odvff.statistics import collect
from odvff.statistics.sums import holds, with_fewer_harmonics

HARMONICS = st.lists(st.integers(1, 9), min_size=4, max_size=4)


def terms_with(harmonics, seed):
    """A sum with every kind of term; smoothness and completion are those of the seed."""
    rng = np.random.default_rng(seed)
    kernels = [Matern((0.5, 1.5, 2.5)[i], 0.3) for i in rng.integers(3, size=4)]
    features = [Fourier(n, (-0.1, 1), bool(c)) for n, c in zip(harmonics, rng.integers(2, size=4), strict=True)]
    return Sum(
        [
            *(Term(k, f, [d]) for d, (k, f) in enumerate(zip(kernels[:2], features[:2], strict=True))),
            Term(Categorical(0.7), Levels(3), [3]),
            Term(Separable(tuple(kernels[2:])), Kronecker(tuple(features[2:])), [2, 0]),
        ]
    )


def rows(seed, n=60):
    """Weighted, with two targets, and some outside the box."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-0.2, 1, (n, 3)), rng.integers(-1, 3, n)])
    return X, rng.standard_normal((n, 2)) + 3, rng.integers(0, 4, n).astype(float)


@settings(max_examples=40)
@given(HARMONICS, HARMONICS, st.integers(0, 2**32 - 1))
def test_they_are_those_of_a_pass_with_fewer(one, other, seed):
    many = terms_with(np.maximum(one, other).tolist(), seed)
    fewer = terms_with(np.minimum(one, other).tolist(), seed)
    collected = collect(many, [rows(seed)], engine="product")
    derived, direct = with_fewer_harmonics(collected, many, fewer), collect(fewer, [rows(seed)], engine="product")
    assert np.allclose(derived.moments, direct.moments, rtol=1e-9, atol=1e-9)
    assert (derived.n_rows, derived.n_features, derived.signature) == (
        direct.n_rows,
        direct.n_features,
        direct.signature,
    )
    assert np.array_equal(derived.outside.X, direct.outside.X)
    assert holds(many, fewer)
    assert holds(fewer, many) == (many == fewer)


def test_they_lose_no_digits():
    """Remainders of few harmonics are large and those of many are small: nothing cancels."""
    many, fewer = (Sum([Term(Matern(2.5), Fourier(n, (0, 1)), [0])]) for n in (190, 2))
    X = np.random.default_rng(0).uniform(0, 1, (500, 1))
    derived = with_fewer_harmonics(collect(many, [(X, X[:, 0])], engine="product"), many, fewer)
    phi = fewer.terms[0].canonical().Kuf(X)
    assert np.abs(derived.gram - phi @ phi.T).max() < 1e-11 * 500


def test_the_same_harmonics_are_the_same_statistics():
    terms = terms_with([3, 4, 2, 1], 0)
    statistics = collect(terms, [rows(0)])
    assert with_fewer_harmonics(statistics, terms, terms) is statistics


def test_what_they_do_not_hold_is_refused():
    terms = terms_with([3, 4, 2, 1], 0)
    statistics = collect(terms, [rows(0)])
    with pytest.raises(InputError, match="3 harmonics say nothing of 5"):
        with_fewer_harmonics(statistics, terms, terms_with([5, 4, 2, 1], 0))
    with pytest.raises(InputError, match="give one for each"):
        with_fewer_harmonics(statistics, terms, Sum(terms.terms[:2]))
    with pytest.raises(InputError, match="the statistics are of"):
        with_fewer_harmonics(statistics, terms_with([3, 4, 2, 2], 0), terms)
    other = Sum((replace(terms.terms[0], features=Fourier(2, (0, 2))), *terms.terms[1:]))
    with pytest.raises(InputError, match="do not contain"):
        with_fewer_harmonics(statistics, terms, other)
    column = Sum((replace(terms.terms[0], columns=[1]), *terms.terms[1:]))
    with pytest.raises(InputError, match="do not contain"):
        with_fewer_harmonics(statistics, terms, column)
    rough = Sum(
        (replace(terms.terms[0], kernel=Matern(0.5)), replace(terms.terms[1], kernel=Matern(0.5)), *terms.terms[2:])
    )
    smooth = Sum(
        (replace(terms.terms[0], kernel=Matern(2.5)), replace(terms.terms[1], kernel=Matern(2.5)), *terms.terms[2:])
    )
    with pytest.raises(InputError, match="do not contain"):
        with_fewer_harmonics(collect(rough, [rows(0)]), rough, smooth)
    levels = Sum((*terms.terms[:2], replace(terms.terms[2], features=Levels(2)), terms.terms[3]))
    with pytest.raises(InputError, match="do not contain"):
        with_fewer_harmonics(statistics, terms, levels)
