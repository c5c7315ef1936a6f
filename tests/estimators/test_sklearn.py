"""The estimators are scikit-learn's: its own suite, and what people do with estimators."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from odvff import ODVFFClassifier, ODVFFRegressor

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit stopped before it converged"),
    pytest.mark.filterwarnings("ignore:the sites stopped before they converged"),
    pytest.mark.filterwarnings("ignore:y is constant"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),
]


@pytest.mark.timeout(600)  # fits to a few labels without any pattern take long
@parametrize_with_checks([ODVFFRegressor(), ODVFFClassifier()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0, 1, 240), "b": rng.normal(size=240)})
    y = np.sin(6 * frame.a) + 0.5 * frame.b + 0.1 * rng.normal(size=240)
    return frame, y.to_numpy()


def regressor(**options):
    return ODVFFRegressor(n_harmonics=4, n_inducing=0, **options)


def classifier():
    return ODVFFClassifier(n_harmonics=3, max_iter=5)


def test_model_selection(data):
    X, y = data
    assert cross_val_score(regressor(), X, y, cv=3).min() > 0.9
    search = GridSearchCV(regressor(), {"smoothness": [0.5, 1.5], "n_harmonics": [2, 4]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    assert clone(regressor(smoothness=2.5)).smoothness == 2.5


def test_pipelines(data):
    X, y = data
    scaled = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    assert scaled.score(X, y) > 0.95
    columns = ColumnTransformer([("scaled", StandardScaler(), ["a"]), ("as it is", "passthrough", ["b"])])
    columns.set_output(transform="pandas")
    named = make_pipeline(columns, regressor()).fit(X, y)
    assert list(named[-1].feature_names_in_) == ["scaled__a", "as it is__b"]
    assert named.score(X, y) > 0.95
    exponent = TransformedTargetRegressor(regressor(), func=np.log, inverse_func=np.exp).fit(X, np.exp(y))
    assert exponent.score(X, np.exp(y)) > 0.9


def test_inspection_and_calibration(data):
    X, y = data
    model = regressor().fit(X, y)
    importance = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert (importance.importances_mean > 0.1).all()
    curve = partial_dependence(model, X, ["a"], grid_resolution=11)
    effect = model.effects()["a"]
    shape = np.interp(curve["grid_values"][0], effect.values, effect.mean)
    assert np.allclose(curve["average"][0] - curve["average"][0].mean(), shape - shape.mean(), atol=0.02)
    labels = np.where(y > 0, "up", "down")
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(X, labels)
    assert calibrated.score(X, labels) > 0.9


def test_pickles(data, tmp_path):
    X, y = data
    model = regressor().fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    joblib.dump(model, tmp_path / "model.joblib")
    assert np.array_equal(joblib.load(tmp_path / "model.joblib").predict(X), model.predict(X))
    labels = y > 0
    model = classifier().fit(X, labels)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
