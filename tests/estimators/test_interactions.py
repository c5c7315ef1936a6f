"""Joint effects of pairs of columns: found by default, told apart from those of single columns, saved, and refused."""

import numpy as np
import pandas as pd
import pytest

import odvff
from odvff import ODVFFClassifier, ODVFFRegressor
from odvff.errors import InputError
from odvff.inference import FitWarning
from odvff.posterior.effects import CentredEffects


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (1500, 3)), columns=["width", "height", "depth"])
    y = 10 * np.sin(np.pi * X.width * X.height) + 5 * X.depth + 0.5 * rng.normal(size=1500)
    return X, y


@pytest.fixture(scope="module")
def fitted(rows):
    return ODVFFRegressor(random_state=0).fit(*rows)


def test_they_are_found_by_default_and_pay(rows, fitted):
    X, y = rows
    alone = ODVFFRegressor(interactions=0).fit(X, y)
    assert list(fitted.effects()) == ["width", "height", "depth", "width × height"]
    assert list(alone.effects()) == ["width", "height", "depth"]
    assert np.std(y - fitted.predict(X)) < 0.52 < 1 < np.std(y - alone.predict(X))
    assert "columns that act together: width × height" in str(fitted.summary())


def test_additive_rows_have_none():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (1000, 5))
    model = ODVFFRegressor().fit(X, np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.2 * rng.normal(size=1000))
    assert len(model.effects()) == 5
    assert "no pair of columns was found to act together" in str(model.summary())


def test_a_level_is_no_interaction():
    """With hardly any noise the mean of a sample of the rows stands out; it belongs to no pair."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 1, (60_000, 3))
    model = ODVFFRegressor().fit(X, X.sum(axis=1) + 0.01 * rng.normal(size=60_000))
    assert len(model.effects()) == 3


def test_more_than_six_of_them():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (3000, 5))
    y = sum(X[:, i] * X[:, j] for j in range(5) for i in range(j)) + 0.1 * rng.normal(size=3000)
    assert len(ODVFFRegressor().fit(X, y).effects()) == 5 + 6
    for n_harmonics in ("auto", 12):
        model = ODVFFRegressor(n_harmonics=n_harmonics, interactions=10).fit(X, y)
        assert len(model.effects()) == 5 + 10
        assert np.std(y - model.predict(X)) < 0.11


def test_no_rows_have_no_effects(rows, fitted):
    assert all(
        effect.mean.shape == (0,) for effect in fitted.model_.effects(odvff.tables.as_table(rows[0].head(0))).values()
    )


@pytest.mark.parametrize("n_inducing", [0, 20])
def test_effects_and_intercept_add_up_to_the_prediction(rows, n_inducing):
    X, y = rows
    model = ODVFFRegressor(n_inducing=n_inducing, n_harmonics=4, interactions=2).fit(X, y)
    elsewhere = X.head(50) * 1.3 - 0.1  # outside of the box too
    total = model.intercept_ + sum(effect.mean for effect in model.effects(elsewhere).values())
    assert np.allclose(total, model.predict(elsewhere), atol=1e-9)


@pytest.mark.parametrize("n_inducing", [0, 20])
def test_a_pair_is_told_apart_from_its_columns(rows, n_inducing):
    X, y = rows
    model = ODVFFRegressor(n_inducing=n_inducing, n_harmonics=4, interactions=[("width", "height")]).fit(X, y)
    # over the values of the one column, at any value of the other, the joint effect is zero
    for one, other in (("width", "height"), ("height", "width")):
        at = X.copy()
        at[one] = 0.3
        assert abs(model.effects(at)["width × height"].mean.mean()) < 1e-9
        # and what is left over is the effect of the column
        at = pd.DataFrame({"width": [0.8], "height": [0.8], "depth": [0.0]})
        alone = model.effects(at)[one].mean[0]
        averaged = X.assign(**{one: 0.8, "depth": 0.0})
        by_rows = model.effects(averaged)
        assert np.allclose(by_rows[one].mean, alone)
        together = by_rows[one].mean + by_rows[other].mean + by_rows["width × height"].mean
        assert together.mean() == pytest.approx(alone, abs=1e-9)


def test_bands_are_those_of_the_function_that_is_told(rows):
    """The variance of an effect from the joint posterior of all features, by the definition: f at rows, averaged."""
    X, y = rows
    X, y = X.head(60), y.head(60)
    with pytest.warns(FitWarning, match="stopped"):
        model = ODVFFRegressor(n_harmonics=3, interactions=[("width", "height")], max_iter=3).fit(X, y)
    o = model.model_.outputs[0]
    q, coded = o.posterior, X.to_numpy()
    coded = (coded - coded.min(axis=0)) / np.ptp(coded, axis=0)
    at = np.array([0.2, 0.7, 0.5])
    C, S = q.factor, q.root @ q.root.T
    psi = C.solve(q.terms.Kuf(np.tile(at, (60, 1))))[:, 0]

    def features(columns):
        """ψ of the pair, with these columns at their values and the others all over the rows; columns independent."""
        x = [[at[0]] if 0 in columns else coded[:, 0], [at[1]] if 1 in columns else coded[:, 1]]
        grid = np.stack([a.ravel() for a in np.meshgrid(*x)] + [np.zeros(len(x[0]) * len(x[1]))], axis=1)
        return C.solve(q.terms.Kuf(grid))[C.slices[3]].mean(axis=1)

    own = psi[C.slices[0]] - C.solve(q.terms.Kuf(coded))[C.slices[0]].mean(axis=1)
    main = np.zeros(len(psi))
    main[C.slices[0]], main[C.slices[3]] = own, features({0}) - features(set())
    pair = np.zeros(len(psi))
    pair[C.slices[3]] = features({0, 1}) - features({0}) - features({1}) + features(set())
    for p, functional in ((0, main), (3, pair)):
        effects = CentredEffects(q, o.centre, 3)
        mean, variance = effects.at(p, at[None])
        part = effects.parts[p]
        left = part.variances(at[None])[0] - (psi[C.slices[p]] ** 2).sum()
        assert mean[0] == pytest.approx(q.whitened_weights @ functional, rel=1e-9)
        assert variance[0] == pytest.approx(functional @ S @ functional + left, rel=1e-7)


def test_they_are_given_by_name_or_number(rows):
    X, y = rows
    by_name = ODVFFRegressor(interactions=[("depth", "width")], n_harmonics=3).fit(X, y)
    assert list(by_name.effects())[3:] == ["width × depth"]
    by_number = ODVFFRegressor(interactions=[(2, 0)], n_harmonics=3).fit(X.to_numpy(), y)
    assert list(by_number.effects())[3:] == ["x0 × x2"]
    assert np.allclose(by_name.predict(X), by_number.predict(X.to_numpy()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"interactions": -1}, "interactions must be a whole number of at least 0, got -1; 0 is none"),
        ({"interactions": "all"}, "interactions must be a whole number"),
        ({"interactions": ["width"]}, r"a list of pairs of columns such as \[\('width', 'height'\)\], got \['width'\]"),
        ({"interactions": [("width", "mass")]}, "interactions names 'mass', which is no column; there are width"),
        ({"interactions": [("width", 7)]}, "interactions names 7, which is neither the name nor the position"),
        ({"interactions": [("width", "width")]}, r"\('width', 'width'\), which is no pair"),
        ({"interactions": [("width", "depth"), ("depth", "width")]}, "was there before"),
        ({"interactions": [("width", "kind")]}, "the column 'kind', which is not one of the numeric columns: width"),
        ({"interactions": 2, "method": "svgp"}, "it is for method 'odvff' or 'vff' with structure='additive'"),
        ({"interactions": 2, "structure": "separable"}, "and these are 'odvff' and 'separable'"),
    ],
)
def test_what_cannot_be_is_said(rows, arguments, message):
    X, y = rows
    X = X.head(100).assign(kind=pd.Categorical(["a", "b"] * 50))
    with pytest.raises(InputError, match=message):
        ODVFFRegressor(**arguments).fit(X, y.head(100))


def test_saved_and_loaded_they_are_the_same_to_the_bit(rows, tmp_path):
    X, y = rows
    model = ODVFFRegressor(n_harmonics=4, n_inducing=10, interactions=[("width", "height")]).fit(X, y)
    model.save(tmp_path / "m.odvff")
    loaded = odvff.load(tmp_path / "m.odvff")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.interactions == [["width", "height"]]
    for name, effect in model.effects(X).items():
        assert np.array_equal(effect.mean, loaded.effects(X)[name].mean)
        assert np.array_equal(effect.std, loaded.effects(X)[name].std)
    again = loaded.fit(X, y)  # a list of lists, as JSON has it, is as good
    assert np.array_equal(again.predict(X), model.predict(X))


def test_in_parts_they_are_those_of_the_first_one(rows):
    X, y = rows
    model = ODVFFRegressor().partial_fit(X.head(1000), y.head(1000)).partial_fit(X.tail(500), y.tail(500))
    assert "width × height" in model.effects()
    assert np.std(y - model.predict(X)) < 0.52


def test_missing_values_and_categories_beside_them():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.uniform(0, 1, (2000, 2)), columns=["a", "b"])
    X["kind"] = pd.Categorical(rng.choice(["u", "v"], 2000))
    y = 3 * X.a * X.b + (X.kind == "u") + 0.1 * rng.normal(size=2000)
    X.loc[:100, "a"] = np.nan
    model = ODVFFRegressor().fit(X, y)
    assert list(model.effects()) == ["a", "b", "a is missing", "kind", "a × b"]
    total = model.intercept_ + sum(effect.mean for effect in model.effects(X).values())
    assert np.allclose(total, model.predict(X), atol=1e-9)
    assert model.plot_effects() is not None


def test_other_likelihoods_have_them_too():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (1500, 3))
    labels = X[:, 0] * X[:, 1] + 0.02 * rng.normal(size=1500) > 0
    model = ODVFFClassifier().fit(X, labels)
    assert "x0 × x1" in model.effects()
    assert model.score(X, labels) > 0.9
    counts = rng.poisson(np.exp(1 + 2 * X[:, 0] * X[:, 1]))
    model = ODVFFRegressor(likelihood="poisson").fit(X, counts)
    assert list(model.effects())[3:] == ["x0 × x1"]


def test_minibatches_take_those_that_are_asked_for(rows):
    X, y = rows
    few = {"inference": "stochastic", "max_iter": 150, "n_harmonics": 3, "n_inducing": 10}
    assert list(ODVFFRegressor(**few).fit(X, y).effects()) == ["width", "height", "depth"]
    model = ODVFFRegressor(interactions=1, **few).fit(X, y)
    assert "width × height" in model.effects()
    assert np.std(y - model.predict(X)) < 0.7


def test_columns_that_would_share_a_name_have_no_joint_effect(rows):
    X, y = rows
    X = X.rename(columns={"depth": "width × height"})
    assert list(ODVFFRegressor().fit(X, y).effects()) == ["width", "height", "width × height"]


def test_joint_effects_that_would_share_a_name(rows):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.uniform(0, 1, (500, 4)), columns=["a", "b × c", "a × b", "c"])
    y = 5 * X["a"] * X["b × c"] + 5 * X["a × b"] * X["c"] + 0.1 * rng.normal(size=500)
    model = ODVFFRegressor(n_harmonics=3).fit(X, y)
    assert list(model.effects())[4:] == ["a × b × c"]
    with pytest.raises(InputError, match="two effects would be called 'a × b × c'; rename one of the columns"):
        ODVFFRegressor(n_harmonics=3, interactions=[("a", "b × c"), ("c", "a × b")]).fit(X, y)


def test_small_tables_have_few_features():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (40, 2))
    model = ODVFFRegressor(interactions=[(0, 1)]).fit(X, np.sin(25 * X[:, 0]) + 3 * X[:, 0] * X[:, 1])
    assert model.model_.outputs[0].posterior.factor.size < 400
