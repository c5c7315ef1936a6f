"""The regressor: in the user's units, for any table, in parts, with weights, and clear when something is wrong."""

import datetime
import inspect
import re
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from sklearn.base import clone

from odvff import InputError, ODVFFClassifier, ODVFFRegressor
from odvff.estimators.regressor import Parts
from odvff.inference import FitWarning
from odvff.rows import CHUNK_ROWS
from odvff.support.run import Run
from odvff.tables import MemorySource, Schema, as_table

matplotlib.use("Agg")
LEVELS = {"red": 0.0, "green": 1.0, "blue": -1.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 700
    frame = pd.DataFrame(
        {
            "dose": rng.uniform(0, 100, n),
            "temperature": rng.normal(20, 5, n),
            "colour": pd.Categorical(rng.choice(list(LEVELS), n)),
            "member": rng.choice([True, False], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "temperature"] = np.nan
    f = np.sin(frame.dose / 15) + ((frame.temperature - 20) / 10).fillna(0.3) + frame.colour.astype(str).map(LEVELS)
    y = 1000 + 50 * (f + 0.7 * frame.member + 0.2 * rng.normal(size=n))
    return frame, y.to_numpy()


@pytest.fixture(scope="module")
def model(data):
    return ODVFFRegressor().fit(*data)


def test_units_are_the_users(data, model):
    X, y = data
    mean, std = model.predict(X, return_std=True)
    assert np.array_equal(mean, model.predict(X))
    assert 9 < np.sqrt(np.mean((y - mean) ** 2)) < 11.5  # the noise is 10
    assert 9.5 < np.median(std) < 12
    interval = model.predict_interval(X, 0.9)
    assert 0.87 < np.mean((interval[:, 0] < y) & (y < interval[:, 1])) < 0.94
    quantiles = model.predict_quantiles(X, [0.05, 0.5, 0.95])
    assert np.allclose(quantiles[:, [0, 2]], interval)
    assert np.allclose(quantiles[:, 1], mean)
    latent, spread = model.predict_latent(X)
    assert np.allclose(latent, mean)
    assert (spread < std).all()
    assert np.allclose(model.log_predictive_density(X, y), stats.norm.logpdf(y, mean, std))
    assert np.allclose(model.predict_cdf(X, y), stats.norm.cdf(y, mean, std))
    assert model.score(X, y) > 0.95


def test_effects_add_up(data, model):
    X, _ = data
    effects = model.effects(X)
    assert list(effects) == ["dose", "temperature", "temperature is missing", "colour", "member"]
    total = model.intercept_ + sum(effect.mean for effect in effects.values())
    assert np.allclose(total, model.predict(X), rtol=0, atol=1e-7)
    assert all(abs(effect.mean.mean()) < 1e-7 for effect in effects.values())
    grid = model.effects()
    assert np.ptp(grid["dose"].values) == pytest.approx(np.ptp(X.dose))
    truth = 50 * np.sin(grid["dose"].values / 15)
    assert np.abs(grid["dose"].mean - (truth - np.mean(50 * np.sin(X.dose / 15)))).max() < 12
    colours = dict(zip(grid["colour"].values, grid["colour"].mean, strict=True))
    assert colours["green"] - colours["blue"] == pytest.approx(100, abs=6)
    inside = (grid["dose"].lower <= grid["dose"].mean) & (grid["dose"].mean <= grid["dose"].upper)
    assert inside.all()


def test_a_column_called_intercept_has_its_effect(data):
    X, y = data[0][["dose", "colour"]].rename(columns={"dose": "intercept"}), data[1]
    for options in ({}, {"likelihood": "student-t", "max_iter": 3}, {"likelihood": "poisson", "max_iter": 3}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FitWarning)
            model = ODVFFRegressor(n_harmonics=3, **options).fit(X, np.round(y))
        effects = model.effects(X)
        assert list(effects) == ["intercept", "colour"]
        total = model.intercept_ + sum(effect.mean for effect in effects.values())
        assert np.allclose(total, model.predict_latent(X)[0], atol=1e-6)


def test_effects_of_three_columns_are_at_rows_alone():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (150, 3)), columns=list("abc")).assign(k=pd.Categorical(["u", "v", "w"] * 50))
    y = X.a * X.b + X.c + (X.k == "u") + 0.1 * rng.normal(size=150)
    model = ODVFFRegressor(structure="separable", n_harmonics=1, n_inducing=0).fit(X, y)
    assert list(model.effects()) == ["k"]
    assert list(model.effects(X)) == ["a × b × c", "k"]
    assert _titles(model.plot_effects()) == _titles(model.plot_effects("k"))
    with pytest.raises(InputError, match="the effect 'a × b × c' depends on 3 columns at once and has no picture"):
        model.plot_effects(["a × b × c"])
    with pytest.raises(InputError, match="no effect to draw: the list of names is empty; leave it out for all"):
        model.plot_effects([])


def test_surfaces_know_their_axes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (100, 2)), columns=["a × b", "c"])
    model = ODVFFRegressor(structure="separable", n_harmonics=2, n_inducing=0).fit(X, X["a × b"] * X["c"])
    axes = model.plot_effects().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a × b", "c")


def test_many_rows_are_taken_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (9000, 2))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=9000)
    model = ODVFFRegressor(n_harmonics=6, n_inducing=0).fit(X[:500], y[:500])
    few = model.effects(X[:100])
    sizes, encode = [], Schema.encode
    monkeypatch.setattr(Schema, "encode", lambda self, table: sizes.append(table.n_rows) or encode(self, table))
    effects = model.effects(X)
    assert all(np.allclose(effects[name].std[:100], few[name].std) for name in few)
    draws = model.sample_y(X, 30, random_state=1)
    assert max(sizes) <= 4096
    mean, std = model.predict(X, return_std=True)
    error = (draws.mean(axis=1) - mean) / std * np.sqrt(30)
    assert abs(np.mean(error**2) - 1) < 0.1
    assert np.mean(draws.var(axis=1, ddof=1) / std**2) == pytest.approx(1, abs=0.02)
    # rows share f, as if few of them were drawn jointly
    table, q = as_table(X), model.model_.outputs[0].posterior
    exact = q.covariance(model.model_.schema.encode(table.take(slice(3))))
    together = np.cov(model.model_.samples(table, 400, 3)[:, :3].T)
    assert np.allclose(together, exact, rtol=0, atol=0.25 * exact.max())


def test_what_was_never_seen_has_the_prior_of_its_term(data, model):
    X, _ = data
    X = X.dropna()
    row = X.iloc[[0]]
    new = row.assign(colour=pd.Categorical(["violet"]))
    (effect,) = (model.effects(new)[name] for name in ["colour"])
    prior = {r["term"]: r["std"] for r in model.model_.rows_of_summary()}["colour"]
    assert model.predict_latent(new)[1] > model.predict_latent(row)[1]
    # its own level, and the mean of three levels that it is told against
    assert effect.std[0] == pytest.approx(prior * np.sqrt(1 + 1 / 3), rel=0.01)
    blind = row.assign(dose=np.nan)  # never missing in training
    assert model.predict_latent(blind)[1] > 3 * model.predict_latent(row)[1]
    far = row.assign(dose=1e7)
    assert np.allclose(model.predict_latent(blind), model.predict_latent(far))


def test_the_summary_is_in_the_users_units(model):
    summary = model.summary()
    text, html = str(summary), summary._repr_html_()
    for word in (
        "odvff, collapsed inference",
        "noise std 10",
        "dose",
        "temperature is missing",
        "3 levels",
        "evidence",
    ):
        assert word in text, text
    assert "<table>" in html
    assert "colour" in html
    assert "ODVFFRegressor" in model._repr_html_()
    assert repr(model) == "ODVFFRegressor()"
    rows = {r["term"]: r for r in model.model_.rows_of_summary()}
    assert 5 < rows["dose"]["lengthscales"]["dose"] < 100
    assert sum(r["share"] for r in rows.values()) == pytest.approx(1)


def _titles(figure):
    return [axes.get_title() for axes in figure.axes if axes.get_title()]


def test_pictures(model):
    figure = model.plot_effects()
    titles = _titles(figure)
    assert len(titles) == 5
    assert any(title.startswith("dose (") for title in titles)
    with pytest.raises(InputError, match="there is no effect 'weight'; there are dose"):
        model.plot_effects(["weight"])


def test_samples_have_the_moments(data, model):
    X = data[0][:5]
    draws = model.sample_y(X, 4000, random_state=1)
    assert draws.shape == (5, 4000)
    mean, std = model.predict(X, return_std=True)
    assert np.allclose(draws.mean(axis=1), mean, atol=4 * std.max() / np.sqrt(4000))
    assert np.allclose(draws.std(axis=1), std, rtol=0.1)
    assert np.array_equal(draws, model.sample_y(X, 4000, random_state=1))


def test_weights_are_repeats_and_rows_have_no_order(data):
    X, y = data[0][:200], data[1][:200]
    rng = np.random.default_rng(1)
    w = rng.integers(0, 3, len(y))
    weighted = ODVFFRegressor().fit(X, y, sample_weight=w)
    rows = np.repeat(np.arange(len(y)), w)
    repeated = ODVFFRegressor().fit(X.iloc[rows], y[rows])
    shuffled = rng.permutation(rows)
    anyhow = ODVFFRegressor().fit(X.iloc[shuffled], y[shuffled])
    assert np.array_equal(weighted.predict(X), repeated.predict(X))
    assert np.array_equal(weighted.predict(X), anyhow.predict(X))


def test_parts_are_as_good_as_the_whole(data):
    X, y = data[0].dropna(), data[1][data[0].temperature.notna()]
    # the first part has the ends of every column
    ends = {int(f(X[c])) for c in ("dose", "temperature") for f in (np.argmin, np.argmax)}
    order = np.array([*ends, *(i for i in range(len(y)) if i not in ends)])
    X, y = X.iloc[order], y[order]
    at_once = ODVFFRegressor(n_harmonics=6, method="vff").fit(X, y)
    in_parts = ODVFFRegressor(n_harmonics=6, method="vff")
    for rows in (slice(0, 300), slice(300, 310), slice(310, None)):
        in_parts.partial_fit(X.iloc[rows], y[rows])
    assert in_parts.model_.n_rows == len(y)
    assert np.allclose(in_parts.predict(X), at_once.predict(X), rtol=0, atol=1e-3 * y.std())
    assert in_parts.intercept_ == pytest.approx(at_once.intercept_, abs=1e-3 * y.std())
    # the same parts otherwise divided are the same sums
    otherwise = ODVFFRegressor(n_harmonics=6, method="vff")
    for rows in (slice(0, 300), slice(300, None)):
        otherwise.partial_fit(X.iloc[rows], y[rows])
    assert np.allclose(otherwise.predict(X), in_parts.predict(X), rtol=0, atol=1e-3 * y.std())
    assert not hasattr(ODVFFRegressor(likelihood="poisson"), "partial_fit")
    with pytest.raises(InputError, match="n_inducing must be 'auto' or 0, got 5"):
        ODVFFRegressor(n_inducing=5).partial_fit(X, y)
    assert isinstance(in_parts._parts, Parts)
    in_parts.fit(X, y)
    assert not hasattr(in_parts, "_parts")
    with pytest.warns(FitWarning, match="this model was fitted at once or loaded.*the rows before are forgotten"):
        in_parts.partial_fit(X[:50], y[:50])
    assert in_parts.model_.n_rows == 50


def test_a_part_is_added_wholly_or_not_at_all(data, monkeypatch):
    X, y = data[0].dropna(), data[1][data[0].temperature.notna()]
    model = ODVFFRegressor(n_harmonics=3, method="vff")

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("odvff.estimators.regressor.fit_collapsed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[:300], y[:300])
    model.partial_fit(X[:300], y[:300])
    before = model.predict(X)
    with monkeypatch.context() as patch:
        patch.setattr("odvff.estimators.regressor.fit_collapsed", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[300:], y[300:])
    with pytest.raises(InputError, match="Input y contains NaN"):
        model.fit(X, np.full(len(y), np.nan))
    assert np.array_equal(model.predict(X), before)
    model.partial_fit(X[300:], y[300:])
    assert model.model_.n_rows == len(y)


def test_parts_bring_nothing_that_the_first_had_not(data):
    X, y = data[0][["dose", "colour"]], data[1]
    first = (X.colour != "blue").to_numpy()
    model = ODVFFRegressor(n_harmonics=3, method="vff").partial_fit(X[first], y[first])
    with pytest.raises(InputError, match="column 'colour' has 'blue' in a later part, which the first part had not"):
        model.partial_fit(X, y)
    with pytest.raises(InputError, match="column 'colour' has a missing label in a later part"):
        model.partial_fit(X[first][:2].assign(colour=pd.Categorical([None, "red"])), y[:2])
    with pytest.raises(InputError, match="column 'dose' misses values in a later part, and none in the first part"):
        model.partial_fit(X[first].assign(dose=np.nan), y[first])
    assert model.model_.n_rows == first.sum()


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
@pytest.mark.parametrize(
    "options",
    [
        {"method": "vff", "n_harmonics": 5},
        {"method": "odvff", "n_harmonics": 3, "n_inducing": 10},
        {"method": "sgpr", "n_inducing": 15, "max_iter": 30},
        {"method": "svgp", "n_inducing": 15, "max_iter": 300, "batch_size": 100},
        {"method": "odvgp", "n_inducing": 20, "max_iter": 300, "batch_size": 100},
        {"method": "vff", "n_harmonics": 4, "inference": "stochastic", "max_iter": 300, "batch_size": 100},
        {"structure": "separable", "n_harmonics": 4},
    ],
    ids=lambda o: "-".join(str(v) for v in o.values()),
)
def test_every_method_takes_the_table(data, options):
    X, y = data
    model = ODVFFRegressor(**options).fit(X, y)
    assert model.score(X, y) > 0.85
    effects = model.effects(X)
    total = model.intercept_ + sum(effect.mean for effect in effects.values())
    assert np.allclose(total, model.predict(X), rtol=0, atol=1e-6 * y.std())
    separable = options.get("structure") == "separable"
    assert ("dose × temperature" in effects) == separable
    assert ("dose" in effects) == (not separable)
    assert "colour" in str(model.summary())


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_exact_is_for_numbers(data):
    X, y = data[0][["dose"]][:80], data[1][:80]
    assert ODVFFRegressor(method="exact", max_iter=20).fit(X, y).predict(X).std() > 10
    with pytest.raises(InputError, match="method 'exact' is for numeric columns, and 'colour' has levels"):
        ODVFFRegressor(method="exact").fit(data[0][["dose", "colour"]][:80], y)


def test_counts():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (600, 1))
    rate = np.exp(3 + np.sin(6 * X[:, 0]))
    y = rng.poisson(rate)
    model = ODVFFRegressor(likelihood="poisson", n_harmonics=5).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.abs(mean / rate - 1).max() < 0.25
    assert np.allclose(std, np.sqrt(mean), rtol=0.2)
    assert model.intercept_ == pytest.approx(np.log(rate).mean(), abs=0.2)
    interval = model.predict_interval(X, 0.9)
    assert np.array_equal(interval, np.round(interval))
    assert 0.88 < np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])) < 0.97
    counts = np.arange(200)
    density = model.log_predictive_density(np.repeat(X[:1], 200, axis=0), counts)
    assert np.exp(density).sum() == pytest.approx(1, abs=1e-5)
    cdf = model.predict_cdf(np.repeat(X[:1], 200, axis=0), counts)
    assert np.allclose(np.cumsum(np.exp(density)), cdf, atol=1e-5)
    assert model.sample_y(X[:3], 7).shape == (3, 7)
    with pytest.raises(InputError, match=r"y has .*5 in row 0; for likelihood='poisson' it must be counts"):
        ODVFFRegressor(likelihood="poisson").fit(X, y + 0.5)


def test_outliers():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (500, 1))
    f = 100 + 10 * np.sin(6 * X[:, 0])
    y = f + rng.standard_t(2, 500)
    model = ODVFFRegressor(likelihood="student-t", n_harmonics=5).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - f) ** 2)) < 0.5
    quantiles = model.predict_quantiles(X[:3], [0.1, 0.5, 0.9])
    assert np.allclose(quantiles[:, 1], model.predict(X[:3]), atol=1e-6)
    assert np.allclose(model.predict_cdf(X[:3], quantiles[:, 2]), 0.9)

    def density(v):
        return float(np.exp(model.log_predictive_density(X[:1], [v]))[0])

    assert integrate.quad(density, f[0] - 40, f[0] + 40, points=[f[0]], limit=30, epsabs=1e-3)[0] == pytest.approx(
        1, abs=0.01
    )
    assert "student-t" in str(model.summary())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "gp"}, "method must be one of odvff, vff, odvgp, svgp, sgpr, exact, got 'gp'"),
        ({"structure": "tree"}, "structure must be 'additive' or 'separable', got 'tree'"),
        ({"likelihood": "probit"}, "likelihood must be one of gaussian, student-t, poisson, got 'probit'"),
        ({"likelihood": "poisson", "method": "sgpr"}, "method 'sgpr' is for Gaussian noise"),
        (
            {"likelihood": "student-t", "inference": "collapsed"},
            "odvff is fitted by sites or stochastic inference for this",
        ),
        ({"inference": "stochastic", "method": "sgpr"}, "sgpr is fitted by collapsed inference"),
        ({"n_harmonics": np.int64(0)}, "n_harmonics must be a whole number of at least 1, got 0"),
        ({"n_inducing": -1}, "n_inducing must be a whole number of at least 0, got -1"),
        ({"smoothness": 1.0}, r"smoothness must be 0\.5, 1\.5 or 2\.5, got 1\.0"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"random_state": "x"}, "random_state must be a whole number of at least 0, got 'x'"),
        ({"completion": "no"}, "completion must be True or False, got 'no'"),
        ({"method": "vff", "n_inducing": 50}, "method 'vff' has no inducing points to choose, and n_inducing is 50"),
        ({"learning_rate": "x"}, "learning_rate must hold real numbers"),
        ({"natural_step": 2.0}, r"natural_step must be up to 1, got 2\.0; 0\.1 is usual"),
        ({"method": ["odvff"]}, r"method must be a name, such as 'odvff', got \['odvff'\]"),
        ({"inference": 3}, "inference must be a name, such as 'auto', got 3"),
    ],
    ids=lambda v: str(v)[:30],
)
def test_arguments_are_checked(data, options, message):
    with pytest.raises(InputError, match=message):
        ODVFFRegressor(**options).fit(data[0][["dose"]], np.abs(data[1]).round())


def test_all_that_is_wrong_comes_in_one_message(data):
    X, y = data[0][["dose"]], data[1]
    wrong = {"structure": "tree", "max_iter": 0, "likelihood": "probit", "natural_step": 2}
    with pytest.raises(InputError) as caught:
        ODVFFRegressor(**wrong).fit(X, y)
    assert str(caught.value) == (
        "4 arguments cannot be used so:"
        "\n- structure must be 'additive' or 'separable', got 'tree'."
        "\n- max_iter must be a whole number of at least 1, got 0; leave it out for a good choice."
        "\n- natural_step must be up to 1, got 2; 0.1 is usual."
        "\n- likelihood must be one of gaussian, student-t, poisson, got 'probit'."
    )
    with pytest.raises(InputError, match=r"(?s)sgpr is fitted by .*got inference='sites'.*interactions=2 adds joint"):
        ODVFFRegressor(method="sgpr", inference="sites", interactions=2).fit(X, y)


def test_arguments_are_in_the_signature_and_in_the_docstring():
    for made, likelihood in ((ODVFFRegressor, "gaussian"), (ODVFFClassifier, "probit")):
        signature = inspect.signature(made)
        assert signature.parameters["likelihood"].default == made().likelihood == likelihood
        assert set(signature.parameters) == set(made().get_params())
        assert list(signature.parameters).index("likelihood") == 7
        for name in signature.parameters:
            assert f"\n{name} : " in inspect.getdoc(made)
    assert "poisson" not in ODVFFClassifier.__doc__


def test_notes_of_fits_side_by_side_are_not_mixed_up():
    """Each fit hears its own alone, also in threads."""
    X, fitted = np.linspace(0, 1, 30)[:, None], ODVFFRegressor(n_harmonics=2)

    def notes(level):
        found = []
        clone(fitted)._fit(MemorySource(as_table(X), np.full(30, level)), Run(tell=found.append))
        return [str(note).partition(",")[0] for note in found]

    with ThreadPoolExecutor(2) as pool:
        heard = list(pool.map(notes, (7.0, -3e5, 0.0)))
    assert heard == [["y is constant (7)"], ["y is constant (-300000)"], ["y is constant (0)"]]


def test_bad_input_is_named(data, model):
    X, y = data
    fit = ODVFFRegressor(n_harmonics=3).fit
    gap = y.copy()
    gap[3] = np.nan
    with pytest.raises(InputError, match="Input y contains NaN, first in row 3; drop such rows, or fill them in"):
        fit(X, gap)
    with pytest.raises(ValueError, match=r"Found input variables with inconsistent numbers of samples: \[700, 5\]"):
        fit(X, y[:5])
    with pytest.raises(InputError, match=r"column 'dose' has inf in row 0: Input X contains infinity"):
        fit(X.assign(dose=np.inf), y)
    with pytest.raises(InputError, match="column 'when' holds dates or times"):
        fit(X.assign(when=pd.Timestamp("2020-01-01")), y)
    with pytest.raises(InputError, match="the columns are in another order than in training"):
        model.predict(X[X.columns[::-1]])
    with pytest.raises(InputError, match=r"the columns are not those of training \(missing: 'dose'; new: 'Dose'\)"):
        model.predict(X.rename(columns={"dose": "Dose"}))
    with pytest.raises(InputError, match=r"sample_weight has -1 in row 0; weights count how often a row is there"):
        fit(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="Sample weights must contain at least one non-zero number"):
        fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(InputError, match=r"coverage must be below 1, got 95; 0\.95 is usual"):
        model.predict_interval(X, 95)
    with pytest.raises(InputError, match="quantiles are asked for by numbers between 0 and 1"):
        model.predict_quantiles(X, [50])
    with pytest.raises(InputError, match="takes no weights"):
        ODVFFRegressor(inference="stochastic", n_harmonics=3).fit(X, y, sample_weight=np.full(len(y), 2.0))
    with pytest.warns(FitWarning, match=r"y is constant \(7\)") as caught:
        constant = fit(X, np.full(len(y), 7.0))
    assert len(caught) == 1
    assert np.allclose(constant.predict(X), 7.0)
    with pytest.raises(InputError, match="label is for classes, which a regression has not, got 'red'"):
        model.effects(label="red")
    one_heavy = np.r_[np.ones(CHUNK_ROWS), 2e6]  # in a chunk of its own; on average they are small
    line = np.linspace(0, 1, len(one_heavy))
    accepted = ODVFFRegressor(n_harmonics=1).fit(
        line[:, None], np.random.default_rng(0).normal(line), sample_weight=one_heavy
    )
    assert accepted.model_.n_rows == len(one_heavy)
    for large in (1e7, 1e306):
        message = f"weights count how often a row is there, and these are {re.escape(f'{large:.3g}')} on average"
        with pytest.raises(InputError, match=message):
            fit(X, y, sample_weight=np.full(len(y), large))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])), r"y holds dates or times \(datetime64.*turn them"),
        (pd.to_timedelta([1, 2], unit="D"), r"y holds dates or times \(timedelta64"),
        ([datetime.date(2020, 1, 1), None], r"y holds dates or times \(date\); turn them into numbers"),
        (np.array([1.0, None], dtype=object), "Input y contains NaN, first in row 1; drop such rows"),
        (np.array([1.0, np.nan], dtype=object), "Input y contains NaN, first in row 1; drop such rows"),
        (pd.Series([1, pd.NA], dtype="Int64"), "Input y contains NaN, first in row 1; drop such rows"),
        (["1.5", "high"], r"y holds 'high' \(str\), which is no number; convert it, or use ODVFFClassifier"),
        ([1e305, 0.0], r"y has 1e\+305 in row 0, whose differences leave float64; divide y by a power of ten"),
    ],
    ids=str,
)
def test_targets_that_are_no_numbers_are_named(y, message):
    with pytest.raises(InputError, match=message):
        ODVFFRegressor(n_harmonics=2).fit([[0.0], [1.0]], y)


@pytest.mark.parametrize("scale", [1e160, 1e-200, 1e296])
def test_any_unit_of_y_will_do(data, scale):
    X, y = data[0][["dose", "colour"]], data[1] - 1000
    plain, scaled = (ODVFFRegressor(n_harmonics=4, method="vff").fit(X, s * y) for s in (1.0, scale))
    assert np.allclose(scaled.predict(X) / scale, plain.predict(X), rtol=0, atol=1e-3 * y.std())
    assert np.allclose(scaled.predict(X, return_std=True)[1] / scale, plain.predict(X, return_std=True)[1], rtol=1e-3)


def test_weights_of_zero_leave_rows_out_for_every_method(data):
    X, y = data[0][["dose"]][:60], data[1][:60]
    w = np.arange(60) % 2
    options = {"n_inducing": 4, "max_iter": 3, "batch_size": 10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        for method in ("svgp", "odvgp", "exact"):
            chosen = {"max_iter": 3} if method == "exact" else options
            weighted = ODVFFRegressor(method, **chosen).fit(X, y, sample_weight=w)
            without = ODVFFRegressor(method, **chosen).fit(X[w > 0], y[w > 0])
            assert np.array_equal(weighted.predict(X), without.predict(X))


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_more_features_than_rows_are_told(data):
    X, y = data[0][["dose"]][:20], data[1][:20]
    with pytest.warns(FitWarning, match="n_harmonics=600 makes 1,201 features for 20 rows, which takes long"):
        ODVFFRegressor("vff", n_harmonics=600, max_iter=1).fit(X, y)


def test_no_jax_for_gaussian_tables():
    code = """
        import sys, numpy as np, odvff
        assert "sklearn" not in sys.modules
        X = np.random.default_rng(0).uniform(0, 1, (200, 2))
        model = odvff.ODVFFRegressor().fit(X, np.sin(6 * X[:, 0]))
        model.predict(X, return_std=True), model.effects(), str(model.summary()), model.predict_interval(X)
        assert "jax" not in sys.modules, "jax was imported"
        assert "matplotlib" not in sys.modules, "matplotlib was imported"
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
