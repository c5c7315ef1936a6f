"""The methods by name: all fit the same data, all return the same kind of thing."""

import warnings

import numpy as np
import pytest

from odvff import InputError, Posterior
from odvff.inference import Fit, FitWarning
from odvff.methods import INFERENCE, Options, fit_method
from tests.inference.test_collapsed import HOPELESS, hopeless_rows


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (500, 2))
    y = np.sin(8 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(500)
    y -= y[:400].mean()
    return X[:400], y[:400], X[400:], y[400:]


CASES = [(m, i) for m, inferences in INFERENCE.items() for i in inferences if i != "sites"]


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
@pytest.mark.parametrize(("method", "inference"), CASES)
def test_every_method_predicts_and_covers(data, method, inference):
    X, y, X_test, y_test = data
    options = Options(
        n_harmonics=6,
        n_beta=20,
        n_gamma=10,
        inference=inference,
        n_steps=500,
        batch_size=100,
        learning_rate=0.02,
        max_iter=40,
    )
    named = fit_method(method, X, y, options)
    assert isinstance(named.fit, Fit)
    assert isinstance(named.fit.posterior, Posterior)
    assert len(named.fit.history) > 0
    mean, variance = named.fit.posterior.predict(X_test)
    total = variance + named.fit.noise
    density = np.mean(-0.5 * (np.log(2 * np.pi * total) + (y_test - mean) ** 2 / total))
    assert density > -0.45, (method, density)  # that of the noise alone is −0.215, of a constant −1.1
    assert 0.87 < np.mean(np.abs(y_test - mean) < 1.96 * np.sqrt(total)) <= 1.0
    assert (named.fit.posterior.gamma is not None) == (method in ("odvff", "odvgp"))


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_bounds_are_ordered(data):
    """SGPR and VFF below the exact evidence, ODVFF above VFF."""
    X, y, *_ = data
    options = Options(n_harmonics=6, n_beta=15, n_gamma=15, max_iter=60)
    bounds = {m: fit_method(m, X, y, options).fit.bound for m in ("exact", "sgpr", "vff", "odvff")}
    assert bounds["vff"] <= bounds["odvff"] <= bounds["exact"] + 0.5
    assert bounds["sgpr"] <= bounds["exact"] + 0.5


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_refinement_raises_the_bound_and_says_so(data):
    X, y, *_ = data
    plain, refined = (
        fit_method("odvff", X, y, Options(n_harmonics=2, n_gamma=10, refine=refine, max_iter=30))
        for refine in (False, True)
    )
    assert refined.fit.bound > plain.fit.bound
    assert "raised the bound by" in refined.report[-1]
    assert np.abs(refined.fit.posterior.gamma - plain.fit.posterior.gamma).max() > 1e-4


def test_held_out_rows_are_scored(data):
    X, y, *_ = data
    options = Options(inference="stochastic", n_harmonics=4, n_steps=400, batch_size=50, held_out=0.2, patience=100)
    named = fit_method("vff", X, y, options)
    assert [step for step, _ in named.scores][:2] == [50, 100]
    assert max(score for _, score in named.scores) > named.scores[0][1]
    assert "steps" in named.report[-1]


@pytest.mark.parametrize("method", ["odvff", "sgpr", "svgp"])
@pytest.mark.parametrize("case", HOPELESS)
def test_hopeless_data_end_with_a_sensible_model(method, case):
    X, y = hopeless_rows(case)
    y = y - y.mean()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = fit_method(method, X, y, Options(n_steps=100, n_beta=10, max_iter=20)).fit
    mean, variance = fit.posterior.predict(X)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()
    assert np.isfinite(fit.bound)
    assert fit.noise > 0
    assert all(issubclass(w.category, FitWarning) for w in caught), [str(w.message) for w in caught]
    if case == "constant" and method != "svgp":
        assert any("y is constant" in str(w.message) for w in caught)
        assert fit.noise > 1e-25


def test_auto_says_what_it_chose(data):
    X, y, *_ = data
    named = fit_method("odvff", X, y)
    assert "harmonics chosen" in named.report[0]
    assert "inducing points" in named.report[1]


def test_exact_says_how_it_ended(data):
    X, y, *_ = data
    with pytest.warns(FitWarning, match="the limit of 1 iterations"):
        assert not fit_method("exact", X[:60], y[:60], Options(max_iter=1)).fit.converged


def test_a_target_far_from_zero_is_named(data):
    X, y, *_ = data
    with pytest.warns(FitWarning, match="the mean of y is 1000.*centre y"):
        fit_method("vff", X, y + 1000, Options(n_harmonics=3))
    with pytest.raises(InputError, match=r"y goes up to .*e\+200, whose square leaves float64"):
        fit_method("vff", X, 1e200 * y)


def test_bad_input_is_named(data):
    X, y, *_ = data
    with pytest.raises(InputError, match="held_out is for stochastic inference, and vff is fitted by collapsed"):
        fit_method("vff", X, y, Options(held_out=0.1))
    with pytest.raises(InputError, match="cooling is a share of the steps, from 0 to 1, got 2"):
        fit_method("vff", X, y, Options(cooling=2, inference="stochastic"))
    with pytest.raises(InputError, match="held_out is a share of the rows, from 0 up to 1, got 2"):
        fit_method("vff", X, y, Options(held_out=2, inference="stochastic"))
    with pytest.raises(InputError, match="there are no rows to fit to"):
        fit_method("vff", X[:0], y[:0])
    with pytest.raises(InputError, match="method must be one of odvff, vff, odvgp, svgp, sgpr, exact, got 'gp'"):
        fit_method("gp", X, y)
    with pytest.raises(InputError, match="svgp is fitted by stochastic inference, got inference='collapsed'"):
        fit_method("svgp", X, y, Options(inference="collapsed"))
    with pytest.raises(InputError, match=r"exact inference with 6000 rows needs 0\.3 GB and cubic time"):
        fit_method("exact", np.zeros((6000, 1)), np.zeros(6000))
    with pytest.raises(InputError, match="there are 1 intervals for 2 columns"):
        fit_method("vff", X, y, Options(intervals=((0.0, 1.0),)))
    with pytest.raises(InputError, match="n_harmonics must be a whole number of at least 1"):
        fit_method("vff", X, y, Options(n_harmonics=0))
