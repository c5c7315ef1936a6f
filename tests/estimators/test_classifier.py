"""The classifier: probabilities that are averages over the posterior, of labels of any kind."""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from odvff import InputError, ODVFFClassifier
from odvff.inference import FitWarning
from odvff.tables import MemorySource, as_table

pytestmark = pytest.mark.filterwarnings("ignore:the sites stopped before they converged")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(-3, 3, 600), "kind": pd.Categorical(rng.choice(["x", "y"], 600))})
    f = 1.5 * np.sin(1.5 * frame.a) + 1.0 * (frame.kind == "x")
    return frame, f.to_numpy(), rng.random(600)


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_probabilities(data, link):
    X, f, u = data
    truth = special.ndtr(f) if link == "probit" else special.expit(f)
    y = np.where(u < truth, "yes", "no")
    model = ODVFFClassifier(likelihood=link, n_harmonics=5).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    p = model.predict_proba(X)
    assert np.allclose(p.sum(axis=1), 1)
    assert np.mean(np.abs(p[:, 1] - truth)) < 0.08
    assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert np.allclose(model.log_predictive_density(X, y), np.log(np.where(y == "yes", p[:, 1], p[:, 0])))
    mean, std = model.predict_latent(X)
    scale = 1.0 if link == "probit" else 1 / 1.7
    averaged = special.ndtr(scale * mean / np.sqrt(1 + (scale * std) ** 2))
    assert np.abs(averaged - p[:, 1]).max() < (0.002 if link == "probit" else 0.02)
    total = model.intercept_ + sum(effect.mean for effect in model.effects(X).values())
    assert np.allclose(total, mean, atol=1e-8)
    assert "intercept" not in model.effects()


@pytest.mark.parametrize(
    "options",
    [
        {"method": "vff", "n_harmonics": 4, "inference": "stochastic"},
        {"method": "svgp", "n_inducing": 15},
        {"method": "odvff", "n_harmonics": 3, "n_inducing": 10, "inference": "stochastic"},
    ],
    ids=lambda o: o["method"],
)
def test_stochastic_training(data, options):
    X, f, u = data
    y = u < special.ndtr(f)
    model = ODVFFClassifier(max_iter=250, batch_size=150, **options).fit(X, y)
    assert model.classes_.tolist() == [False, True]
    assert np.mean(np.abs(model.predict_proba(X)[:, 1] - special.ndtr(f))) < 0.15


def test_more_than_two_classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, (300, 1))
    y = np.array([10, 30, 20])[np.minimum(X[:, 0].astype(int), 2)]
    model = ODVFFClassifier(n_harmonics=4, max_iter=10).fit(X, y)
    assert model.classes_.tolist() == [10, 20, 30]
    p = model.predict_proba(X)
    assert p.shape == (300, 3)
    assert np.allclose(p.sum(axis=1), 1)
    assert np.mean(model.predict(X) == y) > 0.95
    assert set(model.effects(label=20)) == {"x0"}
    with pytest.raises(InputError, match=r"label must be one of \[10, 20, 30\], got None"):
        model.effects()
    assert "class 10" in str(model.summary())
    assert model.intercept_.shape == (3,)
    for i, label in enumerate(model.classes_):
        total = model.intercept_[i] + sum(effect.mean for effect in model.effects(X, label=label).values())
        assert np.allclose(total, model.predict_latent(X, label=label)[0], atol=1e-8)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (pd.Series(["a", pd.NA] * 2, dtype="string"), "Input y contains NaN, first in row 1"),
        (np.array([pd.NA, "a"] * 2, dtype=object), "Input y contains NaN, first in row 0"),
        (pd.to_datetime(["2020-01-01", None] * 2), r"y holds dates or times \(datetime64.*turn them into text"),
        (np.array([pd.NaT, pd.Timestamp("2020-01-01")] * 2, dtype=object), r"y holds dates or times \(Timestamp\)"),
        (np.array([b"a", b"b"] * 2), r"y holds \|S1; labels must be text, booleans or numbers"),
        (np.array([(1,), (2,), (1,), (2,), None], dtype=object)[:4], "y holds tuple objects such as"),
        (np.array(["a", 1] * 2, dtype=object), "y mixes labels of several kinds, such as 'a' and 1; give them one"),
    ],
    ids=str,
)
def test_labels_that_are_none_are_named(labels, message):
    with pytest.raises(InputError, match=message):
        ODVFFClassifier(n_harmonics=2).fit([[0.0], [1.0], [2.0], [3.0]], labels)


def test_objects_are_labels_too(data):
    X = data[0][:40]
    flags = np.array([True, False] * 20, dtype=object)
    model = ODVFFClassifier(n_harmonics=2, max_iter=2).fit(X, flags)
    assert model.classes_.dtype == bool
    counts = pd.Series([1, 2] * 20, dtype="Int64")
    assert ODVFFClassifier(n_harmonics=2, max_iter=2).fit(X, counts).classes_.tolist() == [1, 2]


def test_weights_of_zero_leave_rows_out(data):
    X, f, u = data
    y, w = u < special.ndtr(f), np.arange(600) % 2
    options = {"method": "svgp", "n_inducing": 4, "max_iter": 3}
    weighted = ODVFFClassifier(**options).fit(X, y, sample_weight=w)
    without = ODVFFClassifier(**options).fit(X[w > 0], y[w > 0])
    assert np.array_equal(weighted.predict_proba(X), without.predict_proba(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_one_versus_rest(n_classes):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (600, 2)), columns=["a", "b"])
    names = np.array(["red", "green", "blue"][:n_classes])
    labels = names[(X.a * n_classes + 0.2 * rng.standard_normal(600)).clip(0, n_classes - 0.01).astype(int)]
    seen = set()
    model = ODVFFClassifier(likelihood="logit", n_harmonics=6, interactions=0).fit_source(
        MemorySource(as_table(X), labels), progress=lambda step: seen.add(step.stage.partition(": ")[0])
    )
    assert list(model.classes_) == sorted(names)
    assert [output.label for output in model.model_.outputs] == (sorted(names) if n_classes > 2 else ["red"])
    assert {stage for stage in seen if "class" in stage} == {f"class {c}" for c in names if n_classes > 2}
    P = model.predict_proba(X)
    assert P.shape == (600, n_classes)
    assert np.allclose(P.sum(axis=1), 1)
    assert (P > 0).all()
    assert np.mean(model.predict(X) == labels) > 0.85
    # honest: the chance given to the likeliest class is how often it is right
    assert abs(P.max(axis=1).mean() - np.mean(model.predict(X) == labels)) < 0.04
    with pytest.raises(InputError, match="Input y contains NaN, first in row 2"):
        ODVFFClassifier().fit(X[:4], np.array([0.0, 1.0, np.nan, 1.0]))
    with pytest.raises(InputError, match="Input y contains NaN, first in row 1"):
        ODVFFClassifier().fit(X[:3], np.array(["a", None, "b"], dtype=object))
    with pytest.raises(InputError, match="y holds one class only, 'red'"):
        ODVFFClassifier().fit(X, np.full(600, "red"))


@pytest.mark.filterwarnings("default:the sites stopped before they converged")
def test_warnings_are_in_the_words_of_the_estimator(data):
    X, f, u = data
    with pytest.warns(FitWarning, match="Raise `max_iter`"):
        ODVFFClassifier(n_harmonics=2, max_iter=1).fit(X[:100], (u < special.ndtr(f))[:100])


def test_a_joint_effect():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = X[:, 0] * X[:, 1] > 0  # nothing for an additive model
    joint = ODVFFClassifier(structure="separable", n_harmonics=3, max_iter=15).fit(X, y)
    additive = ODVFFClassifier(n_harmonics=3, max_iter=15, interactions=0).fit(X, y)
    assert joint.score(X, y) > 0.95 > 0.75 > additive.score(X, y)
    surface = joint.effects()["x0 × x1"]
    assert surface.kind == "surface"
    assert surface.values.shape == (2500, 2)
    with pytest.raises(
        InputError, match=r"structure='separable' has Fourier features for up to 3 numeric columns, got 4"
    ):
        ODVFFClassifier(structure="separable", n_harmonics=3).fit(np.tile(X, 2), y)


def test_weights_are_repeats(data):
    X, f, u = data
    X, y = X[:80], (u < special.ndtr(f))[:80]
    w = np.random.default_rng(1).integers(0, 3, 80)
    rows = np.repeat(np.arange(80), w)
    options = {"n_harmonics": 3, "max_iter": 6}
    weighted = ODVFFClassifier(**options).fit(X, y, sample_weight=w)
    repeated = ODVFFClassifier(**options).fit(X.iloc[rows], y[rows])
    assert np.array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_bad_input_is_named(data):
    X, _, _ = data
    with pytest.raises(InputError, match=r"y holds one class only, 1 \(.*; check the target column"):
        ODVFFClassifier().fit(X, np.ones(600, dtype=int))
    labels = np.array(["a", None] * 300, dtype=object)
    with pytest.raises(InputError, match="Input y contains NaN, first in row 1; drop such rows"):
        ODVFFClassifier().fit(X, labels)
    with pytest.raises(InputError, match="likelihood must be one of probit, logit, got 'gaussian'"):
        ODVFFClassifier(likelihood="gaussian").fit(X, np.arange(600) % 2)
    with pytest.raises(InputError, match="method 'sgpr' is for Gaussian noise"):
        ODVFFClassifier(method="sgpr").fit(X, np.arange(600) % 2)
    with pytest.raises(InputError, match="10 inducing points for the mean were asked for, and sites have none"):
        ODVFFClassifier(n_inducing=10, n_harmonics=3).fit(X, np.arange(600) % 2)
    model = ODVFFClassifier(n_harmonics=2, max_iter=2).fit(X, np.arange(600) % 2)
    with pytest.raises(InputError, match="y has the label 7, which was not there in training"):
        model.log_predictive_density(X[:2], [0, 7])
    with pytest.raises(InputError, match="with two classes f is that of 1, and 0 is where it is low: leave label out"):
        model.effects(label=0)
    with pytest.raises(InputError, match=r"label must be one of \[0, 1\], got 'foo'"):
        model.effects(label="foo")
