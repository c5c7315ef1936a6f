"""Terms that users give: over columns by name, in their units, with effects, intervals, a report and a file."""

import json
import warnings
from dataclasses import dataclass

import gpjax as gpx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import odvff
from odvff import (
    Additive,
    Fourier,
    InducingPoints,
    InputError,
    Kronecker,
    Matern,
    ODVFFClassifier,
    ODVFFRegressor,
    Separable,
    Term,
)
from odvff.kernels import Kernel, covariance
from odvff.kernels.reading import kernel_words
from odvff.model.evaluation import Evaluator
from odvff.model.file import TermReader
from odvff.posterior.effects import CentredEffects, centre_of
from odvff.report import render
from odvff.support.arrays import namespace
from tests.features.test_foreign import Legendre


@dataclass(frozen=True)
class Cosine(Kernel):
    """A kernel of a researcher: all functions a cos ωx + b sin ωx of one frequency."""

    learned = ("variance",)

    frequency: float
    variance: float = 1.0

    def covariance(self, X, Z):
        return self.variance * namespace(X, Z, self.variance).cos(self.frequency * (X - Z.T))

    def variances(self, X):
        return self.variance * np.ones(len(X))


def table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "dose": rng.uniform(-20, 80, n),
            "age": rng.uniform(20, 90, n),
            "kind": pd.Categorical(rng.choice(["a", "b"], n)),
        }
    )
    frame.loc[:30, "age"] = np.nan
    y = 10 + 3 * np.sin(frame.dose / 15) + 0.05 * frame.age.fillna(60) + (frame.kind == "b")
    return frame, (y + 0.3 * rng.standard_normal(n)).to_numpy()


def own():
    return [
        Term(Matern(1.5, 20.0), Legendre(14, (-20.0, 80.0)), "dose"),
        Term(Matern(2.5, 40.0), Fourier(4, (20.0, 90.0)), ["age"]),
        Term(odvff.Categorical(), odvff.Levels(2), ["kind"], "the kind"),
    ]


def test_features_from_outside_are_effects_with_intervals_a_report_and_a_file(tmp_path):
    X, y = table()
    model = ODVFFRegressor(terms=own()).fit(X, y)
    assert set(model.effects()) == {"dose", "age", "the kind", "age is missing"}
    new, seen = table(300, seed=1)
    interval = model.predict_interval(new)
    assert 0.9 < np.mean((interval[:, 0] < seen) & (seen < interval[:, 1])) < 0.99
    assert np.sqrt(np.mean((model.predict(new) - seen) ** 2)) < 0.34
    effects = model.effects(new)
    total = model.intercept_ + sum(effect.mean for effect in effects.values())
    assert np.allclose(total, model.predict(new))
    assert effects["dose"].values.max() > 60  # in its own units
    lengthscale = {row["term"]: row["lengthscales"] for row in model.model_.rows_of_summary()}["dose"]["dose"]
    assert 3 < lengthscale < 500
    evaluator = Evaluator(model.model_)
    evaluator.add(new, seen)
    assert "the kind" in render(model.model_, evaluator.result())
    assert model.sample_y(new.iloc[:5], 3).shape == (5, 3)
    model.save(tmp_path / "m")
    with pytest.raises(odvff.FileError, match=r"has the features 'legendre'.*load\(path, known=\[…\]\)"):
        odvff.load(tmp_path / "m")
    again = odvff.load(tmp_path / "m", known=[Legendre])
    assert np.array_equal(again.predict(new, return_std=True), model.predict(new, return_std=True))
    assert [term.columns for term in again.terms] == [("dose",), ("age",), ("kind",)]
    assert np.allclose(clone(again).fit(X, y).predict(new), model.predict(new), atol=0.01)


def test_fixed_terms_are_what_columns_would_have_called_for():
    """The same features given as terms in units, and made from columns, are one model."""
    X, y = table()
    low, high = X.dose.min(), X.dose.max()
    given = ODVFFRegressor(terms=[Term(Matern(), Fourier(6, (low, high)), "dose")]).fit(X[["dose"]], y)
    made = ODVFFRegressor(n_harmonics=6, n_inducing=0).fit(X[["dose"]], y)
    assert np.allclose(given.predict(X[["dose"]]), made.predict(X[["dose"]]), atol=2e-3)


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_inducing_points_of_any_kernel_beside_fourier_features(tmp_path):
    """The paper's mixed model: a periodic kernel on points, and a Matérn one by statistics."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0, 30, (300, 1)), axis=0)
    y = np.sin(2 * np.pi * X[:, 0] / 3) + 0.1 * X[:, 0] + 0.1 * rng.standard_normal(300)
    season = Term(
        gpx.kernels.Periodic(period=3.0, active_dims=[0]), InducingPoints(np.linspace(0, 3, 12)[:, None]), ["x0"]
    )
    trend = Term(Matern(2.5, 20.0), Fourier(3, (0.0, 30.0)), ["x0"], "trend")
    model = ODVFFRegressor(terms=[Term(season.kernel, season.features, ["x0"], "season"), trend], max_iter=60).fit(X, y)
    effects = model.effects(X)
    assert np.std(effects["season"].mean) > 0.5
    assert np.corrcoef(effects["trend"].mean, X[:, 0])[0, 1] > 0.98
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.13
    assert "season" in str(model.summary())
    model.save(tmp_path / "m")
    again = odvff.load(tmp_path / "m")
    assert np.allclose(again.predict(X), model.predict(X), rtol=0, atol=1e-12)
    assert str(again.summary()) == str(model.summary())


def test_kernels_of_gpjax_in_files():
    X = np.linspace(0, 3, 7)[:, None]
    for kernel in (
        gpx.kernels.Periodic(period=2.0, lengthscale=0.7, variance=1.3),
        gpx.kernels.Periodic() * gpx.kernels.Matern32(active_dims=[0], lengthscale=0.4),
        gpx.kernels.RationalQuadratic(alpha=0.5) + gpx.kernels.Linear(variance=0.3) * gpx.kernels.RBF(active_dims=[0]),
    ):
        words = json.loads(json.dumps(kernel_words(kernel)))
        again = TermReader((), {}, 1, 1)._kernel(words)
        assert np.allclose(covariance(again, X, X), covariance(kernel, X, X), atol=1e-13)
    with pytest.raises(odvff.FileError, match="ArcCosine has no place in a file"):
        kernel_words(gpx.kernels.ArcCosine())
    with pytest.raises(odvff.FileError, match="give a list of columns"):
        kernel_words(gpx.kernels.RBF(active_dims=slice(0, 1)))
    with pytest.raises(odvff.FileError, match="the kernel 'RFF' of GPJax, which files do not hold"):
        TermReader((), {}, 1, 1)._kernel({"kind": "gpjax", "name": "RFF"})


def test_a_kernel_from_outside_has_effects_and_a_file(tmp_path):
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"t": rng.uniform(0, 10, 200)})
    y = np.cos(2.0 * X.t) + 0.1 * rng.standard_normal(200)
    terms = [Term(Cosine(2.0), InducingPoints([[0.0], [0.7]]), "t")]
    model = ODVFFRegressor(terms=terms).fit(X, y)
    assert np.abs(model.predict(X) - np.cos(2.0 * X.t)).max() < 0.1
    assert set(model.effects()) == {"t"}
    model.save(tmp_path / "m")
    with pytest.raises(odvff.FileError, match="has the kernel 'cosine'"):
        odvff.load(tmp_path / "m")
    again = odvff.load(tmp_path / "m", known=[Cosine])
    assert np.array_equal(again.predict(X), model.predict(X))
    assert str(again.summary()) == str(model.summary())


def test_pairs_and_classes_and_parts():
    X, y = table()
    pair = Term(
        Separable((Matern(1.5, 20.0), Matern(1.5, 30.0))),
        Kronecker((Fourier(3, (-20.0, 80.0)), Fourier(3, (20.0, 90.0)))),
        ["dose", "age"],
    )
    classes = ODVFFClassifier(terms=[pair]).fit(X, y > np.median(y))
    assert set(classes.effects(X)) == {"dose × age", "age is missing"}
    assert classes.score(X, y > np.median(y)) > 0.85
    parts = ODVFFRegressor(terms=own()[1:2]).partial_fit(X.iloc[:250], y[:250]).partial_fit(X.iloc[250:], y[250:])
    at_once = ODVFFRegressor(terms=own()[1:2], n_inducing=0).fit(X, y)
    there = X.iloc[40:]  # what stands in for missing values is that of the first part
    assert np.allclose(parts.predict(there), at_once.predict(there), atol=0.05)


def test_parts_start_from_the_kernels_that_were_given():
    X, y = table()
    learned = ODVFFRegressor(terms=own(), n_inducing=0).fit(X, y).model_.outputs[0].posterior.terms
    known = [Term(fitted.kernel, t.features, t.columns, t.name) for fitted, t in zip(learned, own(), strict=False)]
    at_once, in_parts, elsewhere = (ODVFFRegressor(terms=t, n_inducing=0, max_iter=1) for t in (known, known, own()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step is no fit
        at_once.fit(X, y)
        elsewhere.partial_fit(X, y)
        for rows in (slice(0, 250), slice(250, None)):
            in_parts.partial_fit(X.iloc[rows], y[rows])
    first, second, other = (model.model_.outputs[0].bound for model in (at_once, in_parts, elsewhere))
    assert second == pytest.approx(first, abs=1.0)
    assert second > other + 50


def test_effects_of_one_name_are_told_apart():
    X = pd.DataFrame(np.random.default_rng(0).uniform(0, 1, (150, 2)), columns=["x", "z"])
    y = np.sin(6 * X.x) + X.z
    both = Additive((Matern(1.5, 0.5), Matern(1.5, 0.5)))
    points = Term(both, InducingPoints(X.to_numpy()[:6]), ["x", "z"], "points")
    model = ODVFFRegressor(terms=[Term(Matern(), Fourier(4, (0, 1)), "x"), points], max_iter=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        effects = model.fit(X, y).effects(X)
    assert set(effects) == {"x", "points: x", "z"}
    assert np.allclose(model.intercept_ + sum(e.mean for e in effects.values()), model.predict(X))


def test_a_class_that_is_called_as_one_of_ours_is_not_saved(tmp_path):
    class Levels(odvff.Levels):
        pass

    X, y = table(80)
    model = ODVFFRegressor(terms=[Term(odvff.Categorical(), Levels(2), "kind")]).fit(X, y)
    with pytest.raises(odvff.FileError, match="Levels is called 'levels' in files, as a class of odvff's"):
        model.save(tmp_path / "m")


def test_what_cannot_be_is_named():
    X, y = table(60)
    for terms, message in (
        (3, "terms must be a list of odvff.Term, got 3"),
        ([], "terms must be a list"),
        ([Term(Matern(), Fourier(2, (0, 1)))], "says no columns; give their names"),
        ([Term(Matern(), Fourier(2, (0, 1)), "weight")], "terms names 'weight', which is no column"),
        (own()[:1] * 2, "two terms are called 'dose'"),
    ):
        with pytest.raises(InputError, match=message):
            ODVFFRegressor(terms=terms).fit(X, y)
    for ignored in ({"n_harmonics": 4}, {"interactions": [("dose", "age")]}):
        with pytest.raises(InputError, match=f"{next(iter(ignored))} is for effects of columns"):
            ODVFFRegressor(terms=own(), **ignored).fit(X, y)
    with pytest.raises(InputError, match="terms are for method 'odvff' or 'vff'"):
        ODVFFRegressor(method="svgp", terms=own()).fit(X, y)
    with pytest.raises(InputError, match="names its columns, dose, and these rows have no names"):
        odvff.Posterior(own()[:1]).mean(np.zeros((1, 1)))


@pytest.mark.parametrize("order", [("dose", "kind"), ("kind", "dose")])
def test_a_number_and_a_category_together_have_a_grid_of_values_and_labels(tmp_path, order):
    X, y = table()
    scales = {"dose": Matern(1.5, 20.0), "kind": Matern(0.5, 1.0)}
    points = np.array([[dose, kind] for dose in (-20.0, 5.0, 30.0, 55.0, 80.0) for kind in (0.0, 1.0)])
    kernel = Separable(tuple(scales[name] for name in order))
    term = Term(kernel, InducingPoints(points[:, [("dose", "kind").index(name) for name in order]]), order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ODVFFRegressor(terms=[term, own()[1]], max_iter=10).fit(X, y)
    name = " × ".join(order)
    effect = model.effects()[name]
    assert effect.kind == "mixed"
    assert effect.mean.shape == effect.std.shape == (100,)
    assert set(effect.values[:, order.index("kind")]) == {"a", "b"}
    assert effect.values[:, order.index("dose")].min() == X.dose.min()
    rows = pd.DataFrame(effect.values, columns=list(order)).astype({"dose": float}).assign(age=50.0)
    at_rows = model.effects(rows[list(X.columns)])[name]
    assert np.allclose(at_rows.mean, effect.mean)
    assert np.array_equal(at_rows.values, effect.values)
    with pytest.raises(InputError, match="depends on 2 columns at once and has no picture"):
        model.plot_effects(name)
    assert model.plot_effects() is not None
    evaluator = Evaluator(model.model_)
    evaluator.add(X, y)
    assert "depends on 2 columns at once" in render(model.model_, evaluator.result())
    model.save(tmp_path / "m")
    again = odvff.load(tmp_path / "m").effects()[name]
    assert np.array_equal(again.mean, effect.mean)


def test_levels_of_a_column_of_numbers_have_a_grid_of_their_codes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"rooms": rng.integers(0, 4, 200), "x": rng.uniform(0, 1, 200)})
    y = np.array([0.0, 2.0, 1.0, -1.0])[X.rooms] + X.x + 0.1 * rng.standard_normal(200)
    terms = [Term(odvff.Categorical(), odvff.Levels(4), "rooms"), Term(Matern(), Fourier(3, (0.0, 1.0)), "x")]
    model = ODVFFRegressor(terms=terms).fit(X, y)
    effect = model.effects()["rooms"]
    assert effect.values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert effect.mean.argsort().tolist() == [3, 0, 2, 1]
    assert np.allclose(model.effects(X)["rooms"].mean, effect.mean[X.rooms])
    assert model.plot_effects() is not None
    evaluator = Evaluator(model.model_)
    evaluator.add(X, y)
    assert "rooms" in render(model.model_, evaluator.result())


@pytest.mark.parametrize("inference", ["collapsed", "stochastic"])
def test_a_product_of_gpjax_may_read_the_columns_in_any_order(inference):
    """Told apart from its columns, as the same pair in the order of its columns is."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (150, 2)), columns=["x", "z"]).assign(z=lambda frame: 10 * frame.z)
    y = np.sin(6 * X.x) * X.z / 5 + X.z / 10 + 0.1 * rng.standard_normal(150)
    alone = [Term(Matern(1.5, 0.5), Fourier(3, (0.0, 1.0)), "x"), Term(Matern(1.5, 5.0), Fourier(2, (0.0, 10.0)), "z")]
    x, z = Fourier(3, (0.0, 1.0)), Fourier(2, (0.0, 10.0))
    turned = gpx.kernels.Matern32(lengthscale=5.0, active_dims=[1]) * gpx.kernels.Matern32(
        lengthscale=0.5, active_dims=[0]
    )
    pairs = [
        Term(Separable((Matern(1.5, 0.5), Matern(1.5, 5.0))), Kronecker((x, z)), ["x", "z"], "pair"),
        Term(turned, Kronecker((z, x)), ["x", "z"], "pair"),
    ]
    found = []
    for pair in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ODVFFRegressor(terms=[*alone, pair], inference=inference, n_inducing=0, max_iter=40).fit(X, y)
        effects = model.effects(X)
        assert np.allclose(model.intercept_ + sum(e.mean for e in effects.values()), model.predict(X))
        assert abs(model.effects(X.assign(x=0.3))["pair"].mean.mean()) < 1e-9  # over z, at any x
        assert abs(model.effects(X.assign(z=4.0))["pair"].mean.mean()) < 1e-9
        assert model.effects()["pair"].kind == "surface"
        found.append(effects["pair"].mean)
    if inference == "collapsed":
        assert np.allclose(*found, atol=0.02)


def test_parts_of_a_turned_product_are_those_of_the_straight_one():
    rng = np.random.default_rng(1)
    X, x, z = np.column_stack([rng.uniform(0, 1, 40), rng.uniform(0, 10, 40)]), Fourier(3, (0, 1)), Fourier(2, (0, 10))
    alone = [Term(Matern(1.5, 0.5), x, [0]), Term(Matern(1.5, 5.0), z, [1])]
    turned = gpx.kernels.Matern32(lengthscale=5.0, active_dims=[1]) * gpx.kernels.Matern32(
        lengthscale=0.5, active_dims=[0]
    )
    straight = Term(Separable((Matern(1.5, 0.5), Matern(1.5, 5.0))), Kronecker((x, z)), [0, 1], "pair")
    n_x, n_z = x.suited(Matern()).size, z.suited(Matern()).size
    n = n_x + n_z
    m = rng.standard_normal(n + n_x * n_z)
    m_turned = np.concatenate([m[:n], m[n:].reshape(n_x, n_z).T.ravel()])
    gamma, a = X[:3], rng.standard_normal(3)
    posteriors = [
        odvff.Posterior([*alone, straight], m, gamma=gamma, a_gamma=a),
        odvff.Posterior([*alone, Term(turned, Kronecker((z, x)), [0, 1], "pair")], m_turned, gamma=gamma, a_gamma=a),
    ]
    one, other = (CentredEffects(q, centre_of(q, X, None), 2) for q in posteriors)
    assert np.isclose(one.level(), other.level())
    for p in range(3):
        assert np.allclose(one.at(p, X), other.at(p, X))
