"""Means from tables: those of the features, wherever the rows, and nothing of the tables is kept in copies."""

import copy
import pickle

import numpy as np
import pytest

from odvff import Categorical, Fourier, InputError, Levels, Matern, Posterior, Sum, Term


def posterior(F, smoothness, completion, *others, columns=(0,)):
    term = Term(Matern(smoothness, 0.3), Fourier(F, (-1, 2), completion), columns)
    terms = Sum([term, *others])
    return Posterior(terms, np.random.default_rng(F).normal(size=terms.Kuu().size))


@pytest.mark.parametrize("F", [1, 40, 455])
@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("where", ["inside", "outside", "both", "far"])
def test_means_are_those_of_features(F, smoothness, completion, where):
    q = posterior(F, smoothness, completion)
    rng = np.random.default_rng(1)
    inside = np.concatenate([rng.uniform(-1, 2, 50), [-1.0, 2.0]])
    outside = np.concatenate([rng.uniform(-3, -1, 20), rng.uniform(2, 4, 20)])
    rows = {"inside": inside, "outside": outside, "both": np.concatenate([inside, outside]), "far": [-1e300, 1e300]}
    X = np.reshape(rows[where], (-1, 1))
    expected = q.weights @ q.terms.Kuf(X)
    assert np.abs(q.mean(X) - expected).max() <= 1e-11 * (1 + np.abs(expected).max())
    assert (q.predict(X)[0] == q.mean(X)).all()


def test_levels_are_looked_up():
    q = posterior(3, 1.5, True, Term(Categorical(2.0), Levels(4), [1]))
    X = np.column_stack([np.linspace(-1, 2, 5), [0, 3, -1, 2, 0]])
    assert np.allclose(q.mean(X), q.weights @ q.terms.Kuf(X), rtol=0, atol=1e-13)
    with pytest.raises(InputError, match="code 4 in row 1"):
        q.mean([[0.0, 0.0], [0.0, 4.0]])


@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("predict", ["mean", "predict"])
def test_which_of_several_columns_must_be_said(completion, predict):
    q = posterior(3, 1.5, completion, columns=None)
    with pytest.raises(InputError, match="say which by `columns`"):
        getattr(q, predict)([[0.1, 0.2]])


def test_copies_make_their_own_tables():
    q = posterior(40, 1.5, True)
    X = np.linspace(-2, 3, 9)[:, None]
    before = len(pickle.dumps(q))
    mean, _ = q.mean(X), q.predict(X)
    for other in (pickle.loads(pickle.dumps(q)), copy.deepcopy(q), copy.copy(q)):
        assert (other.mean(X) == mean).all()
    assert len(pickle.dumps(q)) == before
