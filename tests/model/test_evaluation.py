"""Evaluation in chunks: what everything at once gives, whatever the chunks; and words that are checked."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sk

from odvff import FileError, InputError, ODVFFClassifier, ODVFFRegressor
from odvff.model import metrics
from odvff.model.evaluation import BLOCK_ROWS, Evaluation, Evaluator
from odvff.model.quality import LEVELS, PIT_BINS, SHOWN_RESIDUALS

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit stopped before it converged"),
    pytest.mark.filterwarnings("ignore:the sites stopped before they converged"),
]

N = 400


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(0, 1, N), "c": pd.Categorical(rng.choice(["x", "y"], N))})
    f = np.sin(6 * X.a.to_numpy()) + (X.c == "x").to_numpy()
    return X, f, rng


@pytest.fixture(scope="module", params=["gaussian", "student-t", "poisson"])
def numbers(request, rows):
    X, f, _ = rows
    rng = np.random.default_rng(1)
    y = rng.poisson(np.exp(f)).astype(float) if request.param == "poisson" else 1e4 + f + 0.3 * rng.normal(size=N)
    return ODVFFRegressor(likelihood=request.param, n_harmonics=4, max_iter=20).fit(X, y), X, y


@pytest.fixture(scope="module", params=[2, 3])
def classes(request, rows):
    X, f, _ = rows
    y = np.array(["low", "high", "between"])[np.digitize(f, [0.4] if request.param == 2 else [0.0, 1.0])]
    flip = np.random.default_rng(2).random(N) < 0.1
    y = np.where(flip, y[::-1], y)
    return ODVFFClassifier(n_harmonics=4, max_iter=10).fit(X, y), X, y


def evaluate(model, X, y, cuts=()):
    evaluator = Evaluator(model.model_)
    for part in np.split(np.arange(len(y)), cuts):
        evaluator.add(X.iloc[part], y[part])
    return evaluator.result()


def test_numbers_are_those_of_everything_at_once(numbers):
    model, X, y = numbers
    found = evaluate(model, X, y)
    mean, std = model.predict(X, return_std=True)
    interval = model.predict_interval(X, 0.95)
    expected = {
        "rmse": metrics.rmse(y, mean),
        "mae": sk.mean_absolute_error(y, mean),
        "r2": sk.r2_score(y, mean),
        "mean_log_density": model.log_predictive_density(X, y).mean(),
        "coverage_95": metrics.interval_coverage(y, interval),
        "width_95": metrics.interval_width(interval),
        "rmse_of_the_mean": y.std(),
    }
    for name, value in expected.items():
        assert np.isclose(found.metrics[name], value, rtol=1e-8), name
    draws = model.sample_y(X, 1000)
    by_draws = metrics.crps_samples(y, draws)
    assert np.isclose(found.metrics["crps"], by_draws, rtol=0.02)
    if model.likelihood == "gaussian":
        assert np.isclose(found.metrics["crps"], metrics.crps_gaussian(y, mean, std), rtol=1e-10)
    if model.likelihood != "poisson":
        pit = np.clip(model.predict_cdf(X, y), 0, 1)
        assert np.allclose(found.pit, metrics.pit_histogram(pit, PIT_BINS))
        assert np.allclose([share for _, share in found.calibration], metrics.calibration_curve(pit, LEVELS)[1])
    assert np.isclose(sum(found.pit), 1)
    assert found.n_rows == len(found.residuals) == N
    assert set(found.residuals) == set(zip(mean.tolist(), ((y - mean) / std).tolist(), strict=True))
    assert len(found.residual_bands) == 12
    assert all(band[1] <= band[2] <= band[3] <= band[4] <= band[5] for band in found.residual_bands)


def test_counts_are_calibrated_though_they_have_no_density():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 1))
    y = rng.poisson(np.exp(np.sin(6 * X[:, 0]) - 1)).astype(float)  # mostly 0 and 1
    model = ODVFFRegressor(likelihood="poisson", n_harmonics=4, max_iter=20).fit(X, y)
    evaluator = Evaluator(model.model_)
    evaluator.add(X, y)
    found = evaluator.result()
    assert np.allclose(found.pit, 1 / PIT_BINS, atol=0.015)
    assert np.allclose([share - level for level, share in found.calibration], 0, atol=0.03)
    assert found.metrics["coverage_95"] >= 0.94  # an interval of whole numbers holds more than it must


def test_classes_are_those_of_everything_at_once(classes):
    model, X, y = classes
    found, p, labels = evaluate(model, X, y), model.predict_proba(X), model.classes_
    expected = {
        "accuracy": sk.accuracy_score(y, model.predict(X)),
        "log_loss": metrics.log_loss(y, p, labels),
        "brier": metrics.brier_score(y, p, labels),
        "ece": metrics.expected_calibration_error(y, p, labels),
        "accuracy_of_the_commonest": np.unique(y, return_counts=True)[1].max() / N,
    }
    for name, value in expected.items():
        assert np.isclose(found.metrics[name], value, rtol=1e-8), name
    assert np.isclose(found.metrics["auc"], metrics.roc_auc(y, p, labels), atol=2e-4)
    assert found.labels == tuple(labels.tolist())
    assert np.array_equal(found.confusion, sk.confusion_matrix(y, model.predict(X), labels=labels))
    assert [r.label for r in found.reliability] == (["low"] if len(labels) == 2 else labels.tolist())
    for one in found.reliability:
        c = labels.tolist().index(one.label)
        place = np.minimum((10 * p[:, c]).astype(int), 9)
        by_hand = [
            (p[place == b, c].mean(), (y[place == b] == one.label).mean(), (place == b).sum()) for b in np.unique(place)
        ]
        assert np.allclose(one.bins, by_hand)


def same(one, other):
    assert one.metrics.keys() == other.metrics.keys()
    for name in one.metrics:
        assert np.isclose(one.metrics[name], other.metrics[name], rtol=1e-9), name
    for name in ("calibration", "pit", "residuals", "residual_bands", "confusion"):
        assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-7, atol=1e-9), name
    for a, b in zip(one.reliability, other.reliability, strict=True):
        assert a.label == b.label
        assert np.allclose(a.bins, b.bins)


@pytest.mark.parametrize("cuts", [(1,), (100, 101, 350), range(40, N, 40)])
def test_any_chunks_give_the_same(numbers, classes, cuts):
    for model, X, y in (numbers, classes):
        same(evaluate(model, X, y), evaluate(model, X, y, list(cuts)))


def test_memory_is_bounded_and_the_sample_does_not_depend_on_chunks(rows):
    X, y, _ = rows
    model = ODVFFRegressor(n_harmonics=2).fit(X, y)
    times = (BLOCK_ROWS + 2000) // N
    X, y = pd.concat([X] * times, ignore_index=True), np.tile(y, times)
    one, other = evaluate(model, X, y), evaluate(model, X, y, [17, 3000, 5003])
    assert len(one.residuals) == SHOWN_RESIDUALS
    same(one, other)


def test_arrays_empty_chunks_and_constant_targets():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (200, 2))
    model = ODVFFRegressor(n_harmonics=2).fit(X, X[:, 0])
    evaluator = Evaluator(model.model_)
    with pytest.raises(InputError, match="no rows were added"):
        evaluator.result()
    evaluator.add(X[:0], [])
    evaluator.add(X, np.ones(200))
    found = evaluator.result()
    assert "r2" not in found.metrics
    assert found.metrics["rmse_of_the_mean"] == 0
    signs = ODVFFClassifier(n_harmonics=2, max_iter=5).fit(X, X[:, 0] > 0.5)
    evaluator = Evaluator(signs.model_)
    evaluator.add(X, np.ones(200, dtype=bool))
    assert "auc" not in evaluator.result().metrics
    assert evaluator.result().labels == (False, True)


def test_wrong_labels_and_lengths_are_named(classes):
    model, X, y = classes
    evaluator = Evaluator(model.model_)
    with pytest.raises(InputError, match="y has the label 'new', which was not there in training"):
        evaluator.add(X, np.where(np.arange(N) == 3, "new", y))
    with pytest.raises(InputError, match="y has the label 1, which was not there"):
        evaluator.add(X, np.ones(N, dtype=int))
    with pytest.raises(InputError, match="mixes labels"):
        evaluator.add(X, np.where(np.arange(N) == 3, None, y.astype(object)))
    with pytest.raises(InputError, match="X has 400 rows and y 10 labels"):
        evaluator.add(X, y[:10])
    with pytest.raises(InputError, match="no rows were added"):  # nothing of a refused chunk is kept
        evaluator.result()


def test_words_there_and_back(numbers, classes):
    for model, X, y in (numbers, classes):
        found = evaluate(model, X, y)
        words = json.loads(json.dumps(found.to_words(), allow_nan=False))
        assert Evaluation.from_words(words) == found


FORGED = [
    lambda w: w.pop("pit"),
    lambda w: w.update(more=1),
    lambda w: w.update(task="clustering"),
    lambda w: w.update(task=["regression"]),
    lambda w: w.update(task="classification"),
    lambda w: w.update(n_rows=0),
    lambda w: w.update(n_rows=True),
    lambda w: w.update(n_rows="many"),
    lambda w: w["metrics"].update(rmse="small"),
    lambda w: w["metrics"].update(rmse=float("nan")),
    lambda w: w["metrics"].update(beauty=1.0),
    lambda w: w.update(metrics=[]),
    lambda w: w["calibration"].pop(),
    lambda w: w["calibration"].__setitem__(0, [0.1, 1.5]),
    lambda w: w["calibration"].__setitem__(0, [0.1]),
    lambda w: w.update(pit=None),
    lambda w: w["residuals"].extend([[0.0, 0.0]] * 4000),
    lambda w: w["residuals"].__setitem__(0, ["a", 1.0]),
    lambda w: w["residual_bands"].__setitem__(0, [1.0]),
    lambda w: w.update(labels=["a", "b"]),
    lambda w: w.update(confusion=[[1]]),
]
FORGED_CLASSES = [
    lambda w: w.update(labels=["a"]),
    lambda w: w.update(labels=[{}, "b"]),
    lambda w: w["labels"].__setitem__(0, w["labels"][1]),
    lambda w: w["confusion"].pop(),
    lambda w: w["confusion"][0].append(1),
    lambda w: w["confusion"][0].__setitem__(0, -1),
    lambda w: w["reliability"].__setitem__(0, {"label": w["labels"][0]}),
    lambda w: w["reliability"][0].update(label="somebody"),
    lambda w: w["reliability"][0].update(bins=[[0.5, 0.5]]),
    lambda w: w["reliability"][0].update(bins=[[0.5, 2.0, 1]]),
    lambda w: w["reliability"][0].update(bins="many"),
    lambda w: w.update(pit=[0.5]),
]


@pytest.fixture(scope="module")
def words(rows):
    X, f, _ = rows
    number = ODVFFRegressor(n_harmonics=2).fit(X, f)
    label = ODVFFClassifier(n_harmonics=2, max_iter=3).fit(X, f > 0)
    found = evaluate(number, X, f), evaluate(label, X, f > 0)
    return [json.loads(json.dumps(one.to_words())) for one in found]


@pytest.mark.parametrize(("which", "forge"), [(0, f) for f in FORGED] + [(1, f) for f in FORGED_CLASSES])
def test_forged_words_are_refused(words, which, forge):
    forged = copy.deepcopy(words[which])
    forge(forged)
    with pytest.raises(FileError, match="the evaluation in the file is damaged"):
        Evaluation.from_words(forged)


@pytest.mark.parametrize("nothing", [None, [], "words", {}])
def test_words_that_are_none(nothing):
    with pytest.raises(FileError, match="damaged"):
        Evaluation.from_words(nothing)
