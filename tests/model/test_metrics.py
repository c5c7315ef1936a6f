"""Metrics against their definitions."""

import numpy as np
import pytest
from scipy import integrate, stats

from odvff import InputError
from odvff.model import metrics


def test_crps_is_the_integral():
    y, mean, std = np.array([0.3, -2.0]), np.array([0.0, 1.0]), np.array([1.0, 0.5])

    def score(v, given):
        below, above = (lambda z: given.cdf(z) ** 2), (lambda z: given.sf(z) ** 2)
        return integrate.quad(below, -20, v)[0] + integrate.quad(above, v, 20)[0]

    by_hand = [score(v, stats.norm(m, s)) for v, m, s in zip(y, mean, std, strict=True)]
    assert np.isclose(metrics.crps_gaussian(y, mean, std), np.mean(by_hand), rtol=1e-6)
    draws = mean[:, None] + std[:, None] * np.random.default_rng(0).standard_normal((2, 20_000))
    assert np.isclose(metrics.crps_samples(y, draws), np.mean(by_hand), rtol=0.01)


def test_crps_of_samples_leaves_out_pairs_of_a_draw_with_itself():
    rng = np.random.default_rng(0)
    samples, y = rng.normal(size=(3, 5)), np.zeros(3)
    pairs = np.abs(samples[:, :, None] - samples[:, None]).sum(axis=(1, 2)) / (5 * 4)
    assert np.isclose(metrics.crps_samples(y, samples), np.mean(np.abs(samples).mean(axis=1) - pairs / 2))


def test_intervals_and_calibration():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50_000)
    interval = np.tile([-1.96, 1.96], (len(y), 1))
    assert abs(metrics.interval_coverage(y, interval) - 0.95) < 0.005
    assert np.isclose(metrics.interval_width(interval), 3.92)
    pit = stats.norm.cdf(y)
    assert np.allclose(metrics.pit_histogram(pit), 0.1, atol=0.006)
    levels, shares = metrics.calibration_curve(pit)
    assert np.allclose(levels, shares, atol=0.01)
    assert np.isclose(metrics.rmse([1.0, 2.0], [0.0, 0.0]), np.sqrt(2.5))


def test_classes():
    p = np.array([[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]])
    y, classes = np.array(["a", "b", "b"]), ["a", "b"]
    assert np.isclose(metrics.log_loss(y, p, classes), -np.mean(np.log([0.8, 0.6, 0.1])))
    assert np.isclose(metrics.brier_score(y, p, classes), np.mean([0.04, 0.16, 0.81]))
    assert np.isclose(metrics.expected_calibration_error(y, p, classes), (0.2 + 0.4 + 0.9) / 3)
    assert metrics.roc_auc(y, p, classes) == 0.5
    three = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    assert metrics.roc_auc([0, 1, 2], three, [0, 1, 2]) == 1.0
    assert np.isclose(metrics.brier_score([0, 1, 2], three, [0, 1, 2]), np.mean([0.14, 0.06, 0.24]))


def test_classes_may_come_in_any_order():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 40)
    y, classes = rng.choice(["a", "b", "c"], 40), np.array(["a", "b", "c"])
    order = [2, 0, 1]
    for metric in (metrics.log_loss, metrics.brier_score, metrics.expected_calibration_error, metrics.roc_auc):
        assert np.isclose(metric(y, p[:, order], classes[order]), metric(y, p, classes))
        two = p[:, :2] / p[:, :2].sum(axis=1, keepdims=True)
        assert np.isclose(metric(y == "a", two[:, ::-1], [False, True]), metric(y == "a", two, [True, False]))
    hits = p[np.arange(40), np.searchsorted(classes, y)]
    assert np.isclose(metrics.log_loss(y, p[:, order], classes[order]), -np.mean(np.log(hits)))


P = [[0.8, 0.2], [0.4, 0.6], [0.9, 0.1]]


@pytest.mark.parametrize(
    ("y", "p", "classes", "message"),
    [
        (["a"], P, ["a", "b"], r"y must have a label for each of the 3 rows, got shape \(1,\)"),
        (["a", "b", "z"], P, ["a", "b"], r"y has the label 'z', which is none of the classes \['a', 'b'\]"),
        (["a", "b", "a"], [[0.8], [0.4], [0.9]], ["a", "b"], r"a column for each of the 2 classes.*\(3, 1\)"),
        (["a", "b", "a"], [[1.8, -0.8]] * 3, ["a", "b"], "probabilities must lie between 0 and 1, got -0.8 to 1.8"),
        (["a", "b", "a"], [[0.3, 0.3]] * 3, ["a", "b"], "probabilities add up to 0.6 in row 0, and should to 1"),
        ([], np.zeros((0, 2)), ["a", "b"], "y is empty; a mean needs a row or more"),
        (["a", "a", "a"], P, ["a", "a"], r"classes must be a list of two or more different labels, got \['a', 'a'\]"),
    ],
)
@pytest.mark.parametrize("metric", ["log_loss", "brier_score", "expected_calibration_error", "roc_auc"])
def test_labels_and_probabilities_go_together(metric, y, p, classes, message):
    with pytest.raises(InputError, match=message):
        getattr(metrics, metric)(y, p, classes)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="std must be positive, got 0 in row 1"):
        metrics.crps_gaussian([0.0, 1.0], [0.0, 1.0], [1.0, 0.0])
    with pytest.raises(InputError, match="std must be positive, got -1 in row 0"):
        metrics.crps_gaussian([0.0], [0.0], [-1.0])
    with pytest.raises(InputError, match="interval has 2 above 1 in row 1; the lower end comes first"):
        metrics.interval_coverage([0.0, 0.0], [[0.0, 1.0], [2.0, 1.0]])
    with pytest.raises(InputError, match="y has no row of the class 'b'"):
        metrics.roc_auc(["a", "a", "a"], P, ["a", "b"])
    for metric in (metrics.mean_log_density, metrics.pit_histogram, metrics.calibration_curve, metrics.interval_width):
        with pytest.raises(InputError, match=r"is empty; a mean needs a row or more"):
            metric(np.zeros((0, 2)) if metric is metrics.interval_width else [])
    with pytest.raises(InputError, match=r"y must have shape \(2,\), got \(1,\)"):
        metrics.rmse([0.0], [0.0, 1.0])
    with pytest.raises(InputError, match="pit must lie between 0 and 1, got -1 to 2"):
        metrics.pit_histogram([-1.0, 2.0])
    with pytest.raises(InputError, match="samples must hold two draws or more of every row, got 1"):
        metrics.crps_samples([0.0], [[1.0]])
