"""Likelihoods that are written outside the package work in all of it."""

from dataclasses import dataclass

import gpjax as gpx
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from odvff import FileError, Fourier, GaussianNoise, InputError, Matern, ODVFFClassifier, ODVFFRegressor, Term, load
from odvff.inference.sites import fit_sites
from odvff.inference.stochastic.trainer import Trainer
from odvff.likelihoods import LIKELIHOODS, Likelihood, StudentT
from odvff.likelihoods.by_gpjax import FromGPJax
from odvff.model.evaluation import Evaluator
from odvff.report import write_report
from odvff.support.arrays import namespace


@dataclass(frozen=True)
class Laplace(Likelihood):
    name = "laplace"
    mean_is_f = True
    scale: float = 0.5

    def given(self, f):
        return stats.laplace(f, self.scale)


@dataclass(frozen=True)
class NegativeBinomial(Likelihood):
    name = "negative-binomial"
    discrete = tells_level = True
    same_scale = False
    wants = "counts: 0, 1, 2, …"
    shape: float = 1.0

    def given(self, f):
        return stats.nbinom(self.shape, 1 / (1 + np.exp(np.clip(f, -30, 30)) / self.shape))

    def takes(self, y):
        return (y >= 0) & (y == np.floor(y))


@dataclass(frozen=True)
class Cauchit(Likelihood):
    """The link of a Cauchy distribution, for labels."""

    name = "cauchit"
    for_labels = discrete = True
    same_scale = False

    def given(self, f):
        return stats.bernoulli(0.5 + np.arctan(f) / np.pi)


@dataclass(frozen=True)
class Logistic(Likelihood):
    """Its formula traces."""

    name = "logistic"
    scale: float = 0.3

    def given(self, f):
        return stats.logistic(f, self.scale)

    def log_density(self, y, f):
        xp = namespace(y, f, self.scale)
        z = xp.abs(y - f) / self.scale
        return -z - xp.log(self.scale) - 2 * xp.log1p(xp.exp(-z))


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 2))
    return rng, X, np.sin(6 * X[:, 0]) + X[:, 1]


def targets(name):
    rng, X, f = rows()
    if name == "laplace":
        return X, 10 + 3 * f + rng.laplace(0, 0.6, len(f))
    return X, rng.negative_binomial(2.0, 2.0 / (2.0 + np.exp(1 + f))).astype(float)


@pytest.mark.parametrize("own", [Laplace, NegativeBinomial], ids=lambda own: own.name)
def test_one_in_an_estimator(own, tmp_path):
    X, y = targets(own.name)
    model = clone(ODVFFRegressor(likelihood=own(), n_harmonics=4, max_iter=30)).fit(X, y)
    assert isinstance(model.likelihood, own)
    mean, std = model.predict(X, return_std=True)
    assert np.corrcoef(mean, 10 + 3 * rows()[2] if own is Laplace else np.exp(1 + rows()[2]))[0, 1] > 0.9
    learned = model.model_.outputs[0].predictive.likelihood
    if own is Laplace:
        assert abs(learned.scale * model.model_.outputs[0].scale - 0.6) < 0.1
        assert np.allclose(mean, model.predict(X))
    else:
        assert 1.2 < learned.shape < 3.5
    interval = model.predict_interval(X, 0.9)
    inside = np.mean((interval[:, 0] <= y) & (y <= interval[:, 1]))
    assert 0.85 < inside < (0.95 if own is Laplace else 0.99)  # counts come in lumps
    assert np.allclose(model.predict_cdf(X, interval[:, 1]) >= 0.95 - 1e-6, True)
    worse = ODVFFRegressor(likelihood="gaussian", n_harmonics=4).fit(X, y)
    assert model.log_predictive_density(X, y).mean() > worse.log_predictive_density(X, y).mean()
    draws = model.sample_y(X[:50], 400, random_state=1)
    assert np.allclose(draws.mean(axis=1), mean[:50], atol=5 * std[:50].max() / np.sqrt(400))
    evaluator = Evaluator(model.model_)
    evaluator.add(X, y)
    assert 0.9 < evaluator.result().metrics["coverage_95"] < 0.99
    assert own.name in str(model.summary())
    write_report(tmp_path / "report.html", model.model_, evaluator.result())
    assert own.name in (tmp_path / "report.html").read_text()
    model.save(tmp_path / "model.odvff")
    with pytest.raises(FileError, match=rf"has the likelihood '{own.name}', which is none of odvff's.*known="):
        load(tmp_path / "model.odvff")
    again = load(tmp_path / "model.odvff", known=[own])
    assert np.array_equal(again.predict_quantiles(X[:20], [0.1, 0.9]), model.predict_quantiles(X[:20], [0.1, 0.9]))
    assert isinstance(again.likelihood, own)
    assert own.name in repr(again.get_params()["likelihood"].name)


def test_one_of_labels_in_a_classifier():
    rng, X, f = rows()
    y = np.where(rng.uniform(size=len(f)) < 0.5 + np.arctan(4 * (f - 1)) / np.pi, "yes", "no")
    model = ODVFFClassifier(likelihood=Cauchit(), n_harmonics=3, max_iter=20).fit(X, y)
    usual = ODVFFClassifier(n_harmonics=3, max_iter=20).fit(X, y)
    assert np.corrcoef(model.predict_proba(X)[:, 1], usual.predict_proba(X)[:, 1])[0, 1] > 0.95
    with pytest.raises(InputError, match="the likelihood 'cauchit' is for classes; use ODVFFClassifier"):
        ODVFFRegressor(likelihood=Cauchit()).fit(X, f)


def test_targets_that_it_does_not_take_are_named():
    X, y = targets("negative-binomial")
    y[7] = -1
    with pytest.raises(InputError, match="y has -1 in row 7; for likelihood='negative-binomial' it must be counts"):
        ODVFFRegressor(likelihood=NegativeBinomial()).fit(X, y)


def terms():
    return [Term(Matern(1.5, 0.3), Fourier(4, (0, 1)), columns=[d]) for d in range(2)]


def test_minibatches_need_formulas_that_trace():
    rng, X, f = rows()
    y = f - f.mean() + rng.logistic(0, 0.2, len(f))
    with pytest.raises(InputError, match="'laplace' is written in NumPy, and stochastic training"):
        Trainer(terms(), Laplace(), len(X))
    trained = Trainer(terms(), Logistic(), len(X), natural_step=0.5, block=50).run([(X, y)] * 300, 300)
    sites = fit_sites(terms(), Logistic(), [(X, y)], train=False)
    assert trained.posterior.elbo(trained.likelihood, X, y) > sites.bound
    assert 0.1 < trained.likelihood.scale < 0.3


MEAN, VARIANCE = np.array([-1.0, 0.3, 2.0]), np.array([0.5, 0.1, 1.2])


@pytest.mark.parametrize("own", LIKELIHOODS, ids=lambda own: own.name)
def test_what_a_class_says_for_itself_is_what_quadrature_says(own):
    """Closed forms, and those that are compiled, against the base class's."""
    likelihood, y = own(), np.array([1.0, 0.0, 1.0])
    y = np.where(likelihood.takes(y), y, 1.0)
    assert np.allclose(likelihood.log_density(y, MEAN), Likelihood.log_density(_bare(likelihood), y, MEAN))
    loose = {"atol": 1e-6}
    if own.name in ("student-t", "probit"):  # a finite number of nodes; GPJax's probit stays from 0 and 1 by 1e-3
        loose = {"atol": 2e-2}
    for name in ("expected_log_density", "log_predictive_density"):
        ours, plain = (f(*a, MEAN, VARIANCE) for f, a in _both(likelihood, name, y))
        assert np.allclose(ours, plain, **loose), name
    for ours, plain in zip(*(f(*a, MEAN, VARIANCE) for f, a in _both(likelihood, "derivatives", y)), strict=True):
        assert np.allclose(ours, plain, atol=5e-2)
    for ours, plain in zip(*(f(*a, MEAN, VARIANCE) for f, a in _both(likelihood, "moments")), strict=True):
        assert np.allclose(ours, plain, **loose)
    assert np.allclose(*(f(*a, MEAN, VARIANCE) for f, a in _both(likelihood, "cdf", y)), atol=1e-5)
    assert own.from_parameters(likelihood.parameters()) == likelihood
    if not own.for_labels:
        q = np.array([0.05, 0.5, 0.99])
        assert np.allclose(*(f(*a, MEAN, VARIANCE) for f, a in _both(likelihood, "quantiles", q)), atol=1e-3)
        draws = likelihood.draw(np.repeat(MEAN, 4000), np.random.default_rng(0)).reshape(3, -1)
        given = likelihood.given(MEAN)
        assert (np.abs(draws.mean(axis=1) - given.mean()) <= np.maximum(0.2, 6 * given.std() / np.sqrt(4000))).all()


def _bare(likelihood):
    """Nothing but `given` and facts."""

    class Bare(Likelihood):
        discrete = likelihood.discrete

        def given(self, f):
            return likelihood.given(f)

    return Bare()


def _both(likelihood, name, *arguments):
    return [(getattr(one, name), arguments) for one in (likelihood, _bare(likelihood))]


def test_derivatives_are_those_of_the_expectation():
    y, h = np.array([1.0, 0.0, 3.0]), 1e-5
    for likelihood in (NegativeBinomial(2.0), Logistic(1.0)):
        _, a, b = likelihood.derivatives(y, MEAN, VARIANCE)
        ends = [likelihood.expected_log_density(y, MEAN + s * h, VARIANCE) for s in (1, -1)]
        assert np.allclose(a, (ends[0] - ends[1]) / (2 * h), atol=1e-5)
        ends = [likelihood.expected_log_density(y, MEAN, VARIANCE + s * h) for s in (1, -1)]
        assert np.allclose(b, (ends[0] - ends[1]) / (2 * h), atol=1e-5)
        tiny = likelihood.derivatives(y, MEAN, np.full(3, 1e-14))[2]
        curvature = [likelihood.log_density(y, MEAN + s * 1e-3) for s in (1, 0, -1)]
        assert np.allclose(tiny, 0.5 * (curvature[0] - 2 * curvature[1] + curvature[2]) / 1e-6, atol=1e-3)


def test_parameters_are_positive():
    with pytest.raises(InputError, match="scale of laplace must be positive"):
        Laplace(-1.0)


def test_gpjax_s_own_in_an_estimator():
    """One that has a twin is that twin; one without has no quantiles, and says what to do."""
    X, y = targets("negative-binomial")
    model, twin = (
        ODVFFRegressor(likelihood=likelihood, n_harmonics=2, max_iter=5).fit(X, y)
        for likelihood in (gpx.likelihoods.Poisson(), "poisson")
    )
    assert np.array_equal(model.predict(X), twin.predict(X))
    two = FromGPJax(gpx.likelihoods.HeteroscedasticGaussian())
    with pytest.raises(InputError, match="quantiles and draws of GPJax's HeteroscedasticGaussian are not known"):
        two.given(MEAN)


def test_noise_of_a_second_process_is_said_by_those_that_have_one():
    for likelihood in (GaussianNoise(0.5), Laplace()):
        with pytest.raises(InputError, match="does not say how its noise follows from a second process"):
            likelihood.variance_of(np.zeros(2), np.ones(2))


def test_facts_have_no_annotation():
    """It would make a parameter of them, which is learned."""
    with pytest.raises(TypeError, match=r"Wrong\.discrete is a fact and no parameter: leave out its annotation"):

        class Wrong(Likelihood):
            discrete: bool = True

            def given(self, f):
                return stats.norm(f)


def test_a_likelihood_called_as_one_of_ours_has_no_place_in_a_file(tmp_path):
    """It would come back as ours."""

    @dataclass(frozen=True)
    class Tighter(StudentT):
        def given(self, f):
            return stats.t(self.degrees_of_freedom, f, self.scale / 2)

    _, X, y = rows()
    model = ODVFFRegressor(likelihood=Tighter(), n_harmonics=2).fit(X, y)
    with pytest.raises(FileError, match=r"Tighter is called 'student-t' in files, as a class of odvff's or none"):
        model.save(tmp_path / "m.odvff")
    assert not list(tmp_path.iterdir())


def test_two_processes_are_for_sites():
    two = gpx.likelihoods.HeteroscedasticGaussian()
    with pytest.raises(InputError, match="has a second process for its noise, which estimators do not have; use odvff"):
        ODVFFRegressor(likelihood=two).fit(*rows()[1:])


def test_what_is_known_are_classes(tmp_path):
    for wrong in ([NegativeBinomial(2.0)], NegativeBinomial(2.0)):
        model = ODVFFRegressor(n_harmonics=2).fit(*rows()[1:])
        model.save(tmp_path / "m.odvff")
        with pytest.raises(InputError, match="known holds NegativeBinomial"):
            load(tmp_path / "m.odvff", known=wrong)
    assert load(tmp_path / "m.odvff", known=NegativeBinomial)
