"""How good predictions and their uncertainty are. What scikit-learn has is scikit-learn's."""

from typing import Any

import numpy as np
from sklearn import metrics as sk

from odvff.errors import InputError
from odvff.likelihoods.gaussian import gaussian_crps
from odvff.support.arrays import Array
from odvff.support.checks import matrix, vector
from odvff.support.shapes import Float, Int

BINS = 10


def rmse(y: Any, mean: Any) -> float:
    """Root mean squared error."""
    mean = _values(mean, "mean")
    return float(sk.root_mean_squared_error(vector(y, "y", size=len(mean)), mean))


def mean_log_density(log_density: Any) -> float:
    """The mean of `log_predictive_density`: higher is better."""
    return float(np.mean(_values(log_density, "log_density")))


def crps_gaussian(y: Any, mean: Any, std: Any) -> float:
    """Mean continuous ranked probability score of Gaussian predictions, in units of y: lower is better."""
    mean = _values(mean, "mean")
    y, std = vector(y, "y", size=len(mean)), vector(std, "std", size=len(mean))
    if not (std > 0).all():
        i = int(np.argmin(std))
        raise InputError(
            f"std must be positive, got {std[i]:g} in row {i}; a prediction without spread has no CRPS here."
        )
    return float(np.mean(gaussian_crps(y, mean, std)))


def crps_samples(y: Any, samples: Any) -> float:
    """The same from draws of y, (N, draws), for any distribution: E|Y − y| − ½E|Y − Y′|."""
    samples = np.sort(matrix(samples, "samples"), axis=1)
    n, m = samples.shape
    y = _values(vector(y, "y", size=n), "y")
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


def pit_histogram(pit: Any, n_bins: int = BINS) -> Float[Array, " K"]:
    """The share of probability integral transforms P(Y ≤ y) in equal bins of [0, 1]: all 1/n_bins if calibrated."""
    pit = _shares(_values(pit, "pit"), "pit")
    return np.histogram(pit, n_bins, (0.0, 1.0))[0] / len(pit)


def calibration_curve(pit: Any, levels: Any = None) -> tuple[Float[Array, " K"], Float[Array, " K"]]:
    """Nominal levels of central intervals, and which share of y lies within: equal if calibrated."""
    pit = _shares(_values(pit, "pit"), "pit")
    levels = np.linspace(0.05, 0.95, 19) if levels is None else _shares(_values(levels, "levels"), "levels")
    inside = np.abs(2 * pit - 1)  # the level of the central interval that y is on the edge of
    return levels, np.array([np.mean(inside <= level) for level in levels])


def log_loss(y: Any, probabilities: Any, classes: Any) -> float:
    """Mean negative log-probability of the labels."""
    codes, probabilities = _classified(y, probabilities, classes)
    return float(sk.log_loss(codes, probabilities, labels=range(probabilities.shape[1])))


def brier_score(y: Any, probabilities: Any, classes: Any) -> float:
    """Mean over rows of Σ_c (p_c − [y = c])²; for two classes half of it, as is usual."""
    codes, probabilities = _classified(y, probabilities, classes)
    hit = codes[:, None] == np.arange(probabilities.shape[1])
    total = float(np.mean(((probabilities - hit) ** 2).sum(axis=1)))
    return total / 2 if probabilities.shape[1] == 2 else total


def expected_calibration_error(y: Any, probabilities: Any, classes: Any, n_bins: int = BINS) -> float:
    """How far the confidence in the most probable class is from how often it is right, bin by bin."""
    codes, probabilities = _classified(y, probabilities, classes)
    best = probabilities.argmax(axis=1)
    confidence, right = probabilities[np.arange(len(best)), best], best == codes
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = np.abs(np.bincount(place, confidence, n_bins) - np.bincount(place, right, n_bins))
    return float(gaps.sum() / len(place))


def roc_auc(y: Any, probabilities: Any, classes: Any) -> float:
    """Area under the ROC curve; for more than two classes the mean over one against the rest."""
    codes, probabilities = _classified(y, probabilities, classes)
    n_classes = probabilities.shape[1]
    absent = [c for c in range(n_classes) if not (codes == c).any()]
    if absent:
        label = np.asarray(classes).tolist()[absent[0]]
        raise InputError(f"y has no row of the class {label!r}, and the area under its ROC curve needs some.")
    scores = probabilities[:, 1] if n_classes == 2 else probabilities
    return float(sk.roc_auc_score(codes, scores, multi_class="ovr", labels=range(n_classes)))


def _values(values: Any, name: str) -> Float[Array, " N"]:
    """A vector that is not empty."""
    return _some(vector(values, name, size=np.size(values)), name)


def _some(rows: Any, name: str) -> Any:
    if len(rows) == 0:
        raise InputError(f"{name} is empty; a mean needs a row or more.")
    return rows


def _intervals(interval: Any) -> Float[Array, "N 2"]:
    interval = _some(matrix(interval, "interval", n_columns=2), "interval")
    crossed = interval[:, 0] > interval[:, 1]
    if crossed.any():
        i = int(np.argmax(crossed))
        raise InputError(
            f"interval has {interval[i, 0]:g} above {interval[i, 1]:g} in row {i}; the lower end comes first."
        )
    return interval


def _classified(y: Any, probabilities: Any, classes: Any) -> tuple[Int[Array, " N"], Float[Array, "N K"]]:
    """Positions of labels among the classes, and the probability of each class at every row."""
    classes, y = np.asarray(classes), np.asarray(y)
    if classes.ndim != 1 or len(classes) < 2 or len(set(classes.tolist())) != len(classes):
        raise InputError(f"classes must be a list of two or more different labels, got {classes.tolist()!r}.")
    probabilities = matrix(probabilities, "probabilities")
    if probabilities.shape[1] != len(classes):
        raise InputError(
            f"probabilities must have a column for each of the {len(classes)} classes, in their order, got shape "
            f"{probabilities.shape}; pass all columns of predict_proba."
        )
    if y.shape != (len(probabilities),):
        raise InputError(f"y must have a label for each of the {len(probabilities)} rows, got shape {y.shape}.")
    _some(y, "y")
    _shares(probabilities, "probabilities")
    if not np.allclose(probabilities.sum(axis=1), 1.0, rtol=0, atol=1e-3):
        i = int(np.argmax(np.abs(probabilities.sum(axis=1) - 1)))
        raise InputError(f"probabilities add up to {probabilities[i].sum():g} in row {i}, and should to 1.")
    places = {label: i for i, label in enumerate(classes.tolist())}
    unknown = next((label for label in y.tolist() if label not in places), None)
    if unknown is not None:
        raise InputError(f"y has the label {unknown!r}, which is none of the classes {classes.tolist()}.")
    return np.array([places[label] for label in y.tolist()]), probabilities


def _shares(values: Float[Array, "*any"], name: str) -> Float[Array, "*any"]:
    """The values, if they lie between 0 and 1."""
    if ((values < 0) | (values > 1)).any():
        raise InputError(f"{name} must lie between 0 and 1, got {values.min():g} to {values.max():g}.")
    return values
