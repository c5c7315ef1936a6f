"""A model answers without its estimator: tables, probabilities, densities of labels, and what it was asked for."""

import numpy as np
import pandas as pd
import pytest

from odvff import InputError, ODVFFClassifier, ODVFFRegressor

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit stopped before it converged"),
    pytest.mark.filterwarnings("ignore:the sites stopped before they converged"),
]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 1, 120), "b": rng.normal(size=120)})
    return X, np.sin(6 * X.a.to_numpy()) + 0.1 * rng.normal(size=120)


def test_numbers(rows):
    X, y = rows
    estimator = ODVFFRegressor(n_harmonics=2, interactions=[("a", "b")], random_state=np.int64(3)).fit(X, y)
    model = estimator.model_
    assert np.array_equal(model.log_density(model.table(X), y), estimator.log_predictive_density(X, y))
    assert (model.task.name, model.task.classes, model.made_by) == ("regression", None, "ODVFFRegressor")
    assert model.named_columns
    assert model.evaluation is None
    assert model.asked["interactions"] == [["a", "b"]]
    assert model.asked["random_state"] == 3
    with pytest.raises(InputError, match="a regression has no classes"):
        model.probabilities(model.table(X))
    with pytest.raises(InputError, match="label is for classes"):
        model.output_of("a")


@pytest.mark.parametrize("labels", [["no", "yes"], [1, 5, 9]])
def test_classes(rows, labels):
    X, y = rows
    y = np.array(labels)[np.digitize(y, [0.0, 0.7][: len(labels) - 1])]
    estimator = ODVFFClassifier(n_harmonics=2, max_iter=3).fit(X, y)
    model = estimator.model_
    table = model.table(X)
    p = model.probabilities(table)
    assert p.shape == (120, len(labels))
    assert np.allclose(p.sum(axis=1), 1)
    assert np.array_equal(p, estimator.predict_proba(X))
    codes = model.task.coded(y)
    assert np.array_equal(np.array(labels)[codes], y)
    assert np.array_equal(model.log_density(table, codes), np.log(p[np.arange(120), codes]))
    assert np.array_equal(model.log_density(table, codes), estimator.log_predictive_density(X, y))
    assert estimator.classes_ is model.task.classes
    assert model.task.known(np.array([labels[0], labels[0]])).all()
    assert [model.output_of(output.label) for output in model.outputs] == list(range(len(model.outputs)))


def test_tables_have_the_columns_of_training(rows):
    X, y = rows
    named, unnamed = (ODVFFRegressor(n_harmonics=2).fit(rows, y).model_ for rows in (X, X.to_numpy()))
    assert not unnamed.named_columns
    assert np.array_equal(unnamed.mean(unnamed.table(X.to_numpy().tolist())), named.mean(named.table(X)))
    with pytest.raises(InputError, match="another order than in training"):
        named.table(X[["b", "a"]])
    with pytest.raises(InputError, match="the columns are not those of training"):
        named.table(X.to_numpy())
    with pytest.raises(InputError, match="missing: 'x1'"):
        unnamed.table(X.to_numpy()[:, :1])
