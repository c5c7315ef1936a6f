"""How good predictions and their uncertainty are. What scikit-learn has is scikit-learn's."""

from typing import Any

import numpy as np
from scipy import special
from sklearn import metrics as sk

from odvff.checks import matrix, vector
from odvff.errors import InputError

BINS = 10


def rmse(y: Any, mean: Any) -> float:
    """Root mean squared error."""
    return float(sk.root_mean_squared_error(y, mean))


def mean_log_density(log_density: Any) -> float:
    """The mean of `log_predictive_density`: higher is better."""
    return float(np.mean(log_density))


def crps_gaussian(y: Any, mean: Any, std: Any) -> float:
    """Mean continuous ranked probability score of Gaussian predictions, in units of y: lower is better.

    ∫ (F(z) − [z ≥ y])² dz = σ[w(2Φ(w) − 1) + 2φ(w) − 1/√π] with w = (y − μ)/σ.
    """
    mean = vector(mean, "mean", size=np.size(mean))
    y, std = vector(y, "y", size=len(mean)), vector(std, "std", size=len(mean))
    w = (y - mean) / std
    density = np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi)
    return float(np.mean(std * (w * (2 * special.ndtr(w) - 1) + 2 * density - 1 / np.sqrt(np.pi))))


def crps_samples(y: Any, samples: Any) -> float:
    """The same from draws of y, (N, draws), for any distribution: E|Y − y| − ½E|Y − Y′|."""
    samples = np.sort(matrix(samples, "samples"), axis=1)
    n, m = samples.shape
    y = vector(y, "y", size=n)
    if m < 2:
        raise InputError(f"samples must hold two draws or more of every row, got {m}.")
    # of sorted draws Σ_{i<j} (z_j − z_i) = Σ_i (2i − m + 1) z_i, and E|Y − Y′| leaves out pairs of a draw with itself
    spread = samples @ (2 * np.arange(m) - m + 1.0) / (m * (m - 1))
    return float(np.mean(np.abs(samples - y[:, None]).mean(axis=1) - spread))


def interval_coverage(y: Any, interval: Any) -> float:
    """Which share of y lies within intervals (N, 2)."""
    interval = _intervals(interval)
    y = vector(y, "y", size=len(interval))
    return float(np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])))


def interval_width(interval: Any) -> float:
    """Mean width of intervals (N, 2), in units of y."""
    interval = _intervals(interval)
    return float(np.mean(interval[:, 1] - interval[:, 0]))


def pit_histogram(pit: Any, n_bins: int = BINS) -> Any:
    """The share of probability integral transforms P(Y ≤ y) in equal bins of [0, 1]: all 1/n_bins if calibrated."""
    pit = _probabilities(pit, "pit")
    return np.histogram(pit, n_bins, (0.0, 1.0))[0] / max(len(pit), 1)


def calibration_curve(pit: Any, levels: Any = None) -> tuple[Any, Any]:
    """Nominal levels of central intervals, and which share of y lies within: equal if calibrated."""
    pit = _probabilities(pit, "pit")
    levels = np.linspace(0.05, 0.95, 19) if levels is None else _probabilities(levels, "levels")
    inside = np.abs(2 * pit - 1)  # the level of the central interval that y is on the edge of
    return levels, np.array([np.mean(inside <= level) for level in levels])


def log_loss(y: Any, probabilities: Any, classes: Any) -> float:
    """Mean negative log-probability of the labels."""
    return float(sk.log_loss(y, probabilities, labels=list(classes)))


def brier_score(y: Any, probabilities: Any, classes: Any) -> float:
    """Mean over rows of Σ_c (p_c − [y = c])²; for two classes half of it, as is usual."""
    probabilities, classes = matrix(probabilities, "probabilities"), np.asarray(classes)
    hit = np.asarray(y)[:, None] == classes
    total = float(np.mean(((probabilities - hit) ** 2).sum(axis=1)))
    return total / 2 if len(classes) == 2 else total


def expected_calibration_error(y: Any, probabilities: Any, classes: Any, n_bins: int = BINS) -> float:
    """How far the confidence in the most probable class is from how often it is right, bin by bin."""
    probabilities, classes = matrix(probabilities, "probabilities"), np.asarray(classes)
    best = probabilities.argmax(axis=1)
    confidence, right = probabilities[np.arange(len(best)), best], classes[best] == np.asarray(y)
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    weights = np.bincount(place, minlength=n_bins)
    gaps = np.abs(np.bincount(place, confidence, n_bins) - np.bincount(place, right, n_bins))
    return float(gaps.sum() / max(weights.sum(), 1))


def roc_auc(y: Any, probabilities: Any, classes: Any) -> float:
    """Area under the ROC curve; for more than two classes the mean over one against the rest."""
    probabilities, classes = matrix(probabilities, "probabilities"), np.asarray(classes)
    if len(classes) == 2:
        return float(sk.roc_auc_score(np.asarray(y) == classes[1], probabilities[:, 1]))
    return float(sk.roc_auc_score(y, probabilities, multi_class="ovr", labels=classes))


def _intervals(interval: Any) -> Any:
    return matrix(interval, "interval", n_columns=2)


def _probabilities(values: Any, name: str) -> Any:
    values = vector(values, name, size=np.size(values))
    if ((values < 0) | (values > 1)).any():
        raise InputError(f"{name} must lie between 0 and 1, got {values.min():g} to {values.max():g}.")
    return values
