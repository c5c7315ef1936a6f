"""Numbers that must be right where a careless start or coding makes them wrong in silence."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from odvff import ODVFFClassifier, ODVFFRegressor
from odvff.model import metrics


@pytest.mark.parametrize("effect", [3.0, 30.0])
def test_a_strong_effect_of_missing_values_leaves_the_noise_alone(effect):
    rng = np.random.default_rng(1)
    x, gone = rng.uniform(size=400), rng.random(400) < 0.3
    y = np.where(gone, effect, np.sin(6 * x)) + 0.1 * rng.standard_normal(400)
    X = np.where(gone, np.nan, x)[:, None]
    model = ODVFFRegressor(n_harmonics=8).fit(X[:300], y[:300])
    interval = model.predict_interval(X[300:], 0.9)
    assert 0.8 < metrics.interval_coverage(y[300:], interval) < 0.98
    assert metrics.interval_width(interval) < 0.4  # 0.33 with the true parameters


@pytest.mark.parametrize("harmonics", ["auto", 5])
@pytest.mark.parametrize("rate", [0.2, 5.0, 1000.0, 1e5])
@pytest.mark.parametrize("amplitude", [0.0, 1.0])
def test_counts_of_any_size_find_their_level(rate, amplitude, harmonics):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(300, 1))
    truth = rate * np.exp(amplitude * np.sin(6 * X[:, 0]))
    model = ODVFFRegressor(likelihood="poisson", n_harmonics=harmonics, max_iter=30).fit(X, rng.poisson(truth))
    # about as well as 30 rows tell a rate
    assert np.abs(model.predict(X) / truth - 1).mean() < 0.02 + 1 / np.sqrt(30 * rate)


def test_counts_without_any_variation():
    X = np.linspace(0, 1, 100)[:, None]
    assert np.allclose(ODVFFRegressor(likelihood="poisson").fit(X, np.full(100, 5)).predict(X), 5, rtol=0.01)


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_outliers_do_not_set_the_scale(size):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(300, 1))
    f = np.sin(6 * X[:, 0])
    y = f + 0.1 * rng.standard_normal(300)
    y[rng.permutation(300)[:30]] += size * rng.choice([-1, 1], 30)
    model = ODVFFRegressor(likelihood="student-t", n_harmonics=8).fit(X, y)
    assert metrics.rmse(f, model.predict(X)) < 0.05


def test_classes_without_overlap_need_few_rounds():
    x = np.random.default_rng(0).normal(size=(600, 1))
    model = ODVFFClassifier().fit(x, x[:, 0] > 0.3)
    (output,) = model.model_.outputs
    assert output.converged
    assert len(output.history) < 40
    assert output.posterior.factor.size < 80
    assert model.score(x, x[:, 0] > 0.3) > 0.99


def test_predictions_side_by_side_leave_the_threads_of_blas_as_they_were():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(9000, 1))  # more than a block
    model = ODVFFRegressor(n_harmonics=3, n_inducing=0).fit(X[:200], np.sin(6 * X[:200, 0]))
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(6) as pool:
        for _ in pool.map(lambda _: model.predict(X, return_std=True), range(24)):
            pass
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {2}
