"""How good a fitted model is on labelled rows, chunk by chunk: sums are kept, rows are not.

Everything is added up from one prediction of f a row. What sums cannot give is bounded otherwise: the area under the
ROC curve comes from fine histograms of log-odds, pictures of residuals from a sample of rows that does not depend on
how the rows were cut into chunks.

**Counts** have no density. The probability integral transform of a count y is spread evenly over [P(Y < y), P(Y ≤ y)]
(Czado, Gneiting & Held, 2009), so that it is uniform if the model is right, as it is for numbers.

**CRPS** is a closed form for Gaussian noise; for Student's t and counts it is unbiased, from 200 draws of y a row.
"""

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from scipy import special
from sklearn.utils.validation import column_or_1d

from odvff.errors import FileError, InputError
from odvff.model import metrics
from odvff.support.words import number, whole

REGRESSION, CLASSIFICATION = "regression", "classification"
LEVELS = (*(round(0.05 * i, 2) for i in range(1, 20)), 0.99)
COVERAGE = 0.95
PIT_BINS = 20
SAMPLE_ROWS = 3000
BANDS, QUANTILES = 12, (0.05, 0.25, 0.5, 0.75, 0.95)
RELIABILITY_BINS = 10
MOST_RELIABILITY, MOST_CONFUSION, MOST_AUC = 10, 20, 100
ODDS_BINS, MOST_ODDS = 10_000, 40.0
DRAWS = 200
BLOCK_ROWS = 4096
STREAM = 0xE7A1  # random numbers of our own: people draw their data with small seeds too

METRICS = {
    REGRESSION: (
        "rmse",
        "mae",
        "r2",
        "mean_log_density",
        "crps",
        "coverage_95",
        "width_95",
        "rmse_of_the_mean",
    ),
    CLASSIFICATION: ("accuracy", "log_loss", "brier", "ece", "auc", "accuracy_of_the_commonest"),
}


@dataclass(frozen=True)
class Reliability:
    """Of one class, in equal bins of its probability: mean probability, observed share, rows; no empty bins."""

    label: Any
    bins: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class Evaluation:
    """How good predictions were, as plain numbers. A metric that is not defined for these rows is not there."""

    task: str  # "regression" or "classification"
    n_rows: int
    metrics: dict[str, float]
    # of numbers and counts
    calibration: tuple[tuple[float, float], ...] = ()  # level of central intervals, share of rows within
    pit: tuple[float, ...] = ()  # share of rows in equal bins of P(Y ≤ y)
    residuals: tuple[tuple[float, float], ...] = ()  # mean of y, residual in standard deviations; of a sample
    residual_bands: tuple[tuple[float, ...], ...] = ()  # mean of y, then QUANTILES of residuals of rows about there
    # of classes
    labels: tuple[Any, ...] = ()
    reliability: tuple[Reliability, ...] = ()  # of the commonest classes; of two just the second
    confusion: tuple[tuple[int, ...], ...] = ()  # rows of a class (down) that were taken for a class (across)

    def to_words(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_words(cls, words: Any) -> "Evaluation":
        """The inverse of `to_words`, with every value checked."""
        if not isinstance(words, dict) or set(words) != {field.name for field in fields(cls)}:
            raise FileError("the evaluation in the file is damaged: it has not the entries that it should have.")
        try:
            return _checked(words)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FileError(f"the evaluation in the file is damaged: {str(error)[:200]}.") from error


class Evaluator:
    """Adds up how well a fitted estimator foresees labelled rows; memory does not grow with their number."""

    def __init__(self, estimator: Any):
        estimator._model()  # is it fitted?
        self._sums: _Numbers | _Classes = _Classes(estimator) if hasattr(estimator, "classes_") else _Numbers(estimator)

    def add(self, X: Any, y: Any) -> None:
        """The rows of one more chunk, and what was observed there."""
        if len(y):
            self._sums.add(X, y)

    def result(self) -> Evaluation:
        """The evaluation of all rows so far."""
        if not self._sums.n:
            raise InputError("there is nothing to evaluate on: no rows were added; call add(X, y) first.")
        return self._sums.result()


class _Numbers:
    """Sums for numbers and counts."""

    def __init__(self, estimator: Any):
        self._estimator, self._outcome = estimator, estimator._model().outputs[0].outcome
        self.n = 0
        self._mean = self._spread = 0.0  # of y: its mean, and Σ(y − mean)²
        self._sums = dict.fromkeys(("squared", "absolute", "log_density", "crps", "within", "width"), 0.0)
        self._levels, self._pit = np.zeros(len(LEVELS)), np.zeros(PIT_BINS)
        # generators give the same numbers however rows are cut into chunks, as long as they come in order
        self._keys, self._normals, self._draws = (np.random.default_rng([seed, STREAM]) for seed in range(3))
        self._sample = np.zeros((5, 0))  # key, mean and variance of f, mean of y, standardised residual

    def add(self, X: Any, y: Any) -> None:
        model, table, y = self._estimator._seen_with_targets(X, y)
        f, variance = model.latent(table)
        for start in range(0, len(y), BLOCK_ROWS):
            s = slice(start, start + BLOCK_ROWS)
            self._add(y[s], f[s], variance[s])

    def _add(self, y: Any, f: Any, variance: Any) -> None:
        outcome, n, sums = self._outcome, len(y), self._sums
        mean, std = outcome.moments(f, variance)
        residual = y - mean
        # Chan's update of the spread, which loses no digit to a large mean
        gap, total = float(y.mean()) - self._mean, self.n + n
        self._spread += float(((y - y.mean()) ** 2).sum()) + gap**2 * self.n * n / total
        self._mean, self.n = self._mean + gap * n / total, total
        sums["squared"] += float((residual**2).sum())
        sums["absolute"] += float(np.abs(residual).sum())
        sums["log_density"] += float(outcome.log_density(y, f, variance).sum())
        sums["crps"] += n * self._crps(y, mean, std, f, variance)
        above = np.clip(outcome.cdf(y, f, variance), 0.0, 1.0)
        below = np.clip(outcome.cdf(y - 1, f, variance), 0.0, 1.0) if outcome.likelihood == "poisson" else above
        self._calibrate(below, above)
        low, high = (1 - COVERAGE) / 2, (1 + COVERAGE) / 2
        sums["within"] += float(((above >= low) & (below <= high)).sum())
        if outcome.likelihood == "gaussian":
            sums["width"] += float((std * (special.ndtri(high) - special.ndtri(low))).sum())
        rows = np.stack([self._keys.random(n), f, variance, mean, residual / np.maximum(std, 1e-300)])
        sample = np.concatenate([self._sample, rows], axis=1)
        self._sample = sample[:, np.argsort(sample[0], kind="stable")[:SAMPLE_ROWS]]

    def _crps(self, y: Any, mean: Any, std: Any, f: Any, variance: Any) -> float:
        if self._outcome.likelihood == "gaussian":
            return metrics.crps_gaussian(y, mean, std)
        at = f[:, None] + np.sqrt(variance)[:, None] * self._normals.standard_normal((len(y), DRAWS))
        return metrics.crps_samples(y, self._outcome.draw(at, self._draws))

    def _calibrate(self, below: Any, above: Any) -> None:
        """Counts within central intervals and in bins, of transforms spread evenly from `below` to `above`."""
        if below is above:
            self._levels += (np.abs(2 * above - 1)[:, None] <= np.asarray(LEVELS)).sum(axis=0)
            self._pit += np.histogram(above, PIT_BINS, (0.0, 1.0))[0]
            return
        levels = np.asarray(LEVELS)
        self._levels += _mass(below, above, (1 + levels) / 2) - _mass(below, above, (1 - levels) / 2)
        self._pit += np.diff(_mass(below, above, np.linspace(0.0, 1.0, PIT_BINS + 1)))

    def result(self) -> Evaluation:
        n, sums = self.n, self._sums
        values = {
            "rmse": np.sqrt(sums["squared"] / n),
            "mae": sums["absolute"] / n,
            "r2": 1 - sums["squared"] / self._spread if self._spread > 0 else np.nan,
            "mean_log_density": sums["log_density"] / n,
            "crps": sums["crps"] / n,
            "coverage_95": sums["within"] / n,
            "width_95": self._width(),
            "rmse_of_the_mean": np.sqrt(self._spread / n),
        }
        mean, residual = self._sample[3:, np.isfinite(self._sample[3:]).all(axis=0)]
        return Evaluation(
            REGRESSION,
            n,
            _defined(values),
            tuple((level, _share(count / n)) for level, count in zip(LEVELS, self._levels, strict=True)),
            tuple(_share(count / n) for count in self._pit),
            tuple((float(m), float(r)) for m, r in zip(mean, residual, strict=True)),
            _bands(mean, residual),
        )

    def _width(self) -> float:
        """Of 95 % intervals; unless noise is Gaussian on the sample of rows, as their quantiles are by bisection."""
        if self._outcome.likelihood == "gaussian":
            return self._sums["width"] / self.n
        q = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
        return metrics.interval_width(self._outcome.quantiles(q, self._sample[1], self._sample[2]))


class _Classes:
    """Sums for classes."""

    def __init__(self, estimator: Any):
        self._estimator = estimator
        self._labels = tuple(_plain(label) for label in estimator.classes_)
        self._codes = {label: code for code, label in enumerate(self._labels)}
        k = len(self._labels)
        self.n = 0
        self._log_loss = self._brier = 0.0
        self._counts = np.zeros(k, dtype=np.int64)
        self._right = 0
        self._confidence = np.zeros((2, RELIABILITY_BINS))  # of the chosen class: Σ probability, Σ right
        self._reliability = np.zeros((k, 3, RELIABILITY_BINS))  # Σ probability, Σ hit, rows
        self._confusion = np.zeros((k, k) if k <= MOST_CONFUSION else (0, 0), dtype=np.int64)
        self._curves = [] if k > MOST_AUC else [1] if k == 2 else list(range(k))
        self._odds = np.zeros((len(self._curves), 2, ODDS_BINS), dtype=np.int64)

    def add(self, X: Any, y: Any) -> None:
        codes = self._coded(y)
        p = self._estimator.predict_proba(X)
        if len(p) != len(codes):
            raise InputError(f"X has {len(p)} rows and y {len(codes)} labels; give one label for each row.")
        n, k = p.shape
        rows, eps = np.arange(n), np.finfo(np.float64).eps
        hit = np.zeros((n, k))
        hit[rows, codes] = 1.0
        best = p.argmax(axis=1)
        self.n += n
        self._counts += np.bincount(codes, minlength=k)
        self._log_loss -= float(np.log(np.clip(p[rows, codes], eps, 1.0)).sum())
        self._brier += float(((p - hit) ** 2).sum())
        self._right += int((best == codes).sum())
        place = _bin(p, RELIABILITY_BINS)
        self._confidence += _binned(place[rows, best], p[rows, best], best == codes)
        for c in range(k):
            self._reliability[c, :2] += _binned(place[:, c], p[:, c], hit[:, c])
            self._reliability[c, 2] += np.bincount(place[:, c], minlength=RELIABILITY_BINS)
        if self._confusion.size:
            np.add.at(self._confusion, (codes, best), 1)
        for i, c in enumerate(self._curves):
            # in log-odds, where probabilities of rare classes are as far apart as those of common ones
            odds = np.clip(special.logit(p[:, c]), -MOST_ODDS, MOST_ODDS)
            at = _bin((odds + MOST_ODDS) / (2 * MOST_ODDS), ODDS_BINS)
            for side in (0, 1):
                self._odds[i, side] += np.bincount(at[codes == c] if side else at[codes != c], minlength=ODDS_BINS)

    def _coded(self, y: Any) -> Any:
        """Positions of labels among the classes."""
        y = column_or_1d(y)
        try:
            found, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise InputError(
                "y mixes labels that have no order, or misses some; give it one type, and drop those rows."
            ) from error
        for label in found.tolist():
            if label not in self._codes:
                raise InputError(f"y has the label {label!r}, which was not there in training; drop such rows.")
        return np.array([self._codes[label] for label in found.tolist()])[codes]

    def result(self) -> Evaluation:
        n, k = self.n, len(self._labels)
        values = {
            "accuracy": self._right / n,
            "log_loss": self._log_loss / n,
            "brier": self._brier / n / (2 if k == 2 else 1),
            "ece": np.abs(self._confidence[0] - self._confidence[1]).sum() / n,
            "auc": self._auc(),
            "accuracy_of_the_commonest": self._counts.max() / n,
        }
        chosen = [1] if k == 2 else np.sort(np.argsort(-self._counts, kind="stable")[:MOST_RELIABILITY]).tolist()
        return Evaluation(
            CLASSIFICATION,
            n,
            _defined(values),
            labels=self._labels,
            reliability=tuple(Reliability(self._labels[c], _shares(*self._reliability[c])) for c in chosen),
            confusion=tuple(tuple(row) for row in self._confusion.tolist()),
        )

    def _auc(self) -> float:
        """The area under the ROC curve; for more classes the mean over those that are there, against the rest."""
        areas = []
        for no, yes in self._odds:
            pairs = float(no.sum()) * float(yes.sum())
            if pairs:
                # a row of the class beats those of others below its bin, and half of those within
                areas.append(float(yes @ (np.cumsum(no) - 0.5 * no)) / pairs)
        return float(np.mean(areas)) if areas else np.nan


def _mass(below: Any, above: Any, edges: Any) -> Any:
    """How many rows lie under each edge, if a row is spread evenly from `below` to `above`."""
    width = np.maximum(above - below, 1e-12)[:, None]
    return np.clip((edges - below[:, None]) / width, 0.0, 1.0).sum(axis=0)


def _bands(mean: Any, residual: Any) -> tuple[tuple[float, ...], ...]:
    """Quantiles of residuals in bins of about equally many rows, from the lowest prediction to the highest."""
    order = np.argsort(mean, kind="stable")
    bins = np.array_split(order, max(1, min(BANDS, len(order) // 20)))
    return tuple(
        (float(mean[rows].mean()), *(float(q) for q in np.quantile(residual[rows], QUANTILES)))
        for rows in bins
        if len(rows)
    )


def _bin(share: Any, n_bins: int) -> Any:
    return np.clip((share * n_bins).astype(np.int64), 0, n_bins - 1)


def _binned(place: Any, probability: Any, hit: Any) -> Any:
    return np.stack([np.bincount(place, w, RELIABILITY_BINS) for w in (probability, hit)])


def _shares(probability: Any, hit: Any, rows: Any) -> tuple[tuple[float, float, int], ...]:
    return tuple((_share(p / n), _share(h / n), int(n)) for p, h, n in zip(probability, hit, rows, strict=True) if n)


def _share(value: float) -> float:
    """Between 0 and 1, which rounding may leave by a bit."""
    return float(np.clip(value, 0.0, 1.0))


def _defined(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if np.isfinite(value)}


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


# reading


def _checked(words: dict[str, Any]) -> Evaluation:
    task = words["task"]
    if task not in METRICS:
        raise ValueError(f"{str(task)[:40]!r} is no task")
    values = words["metrics"]
    if not isinstance(values, dict) or not set(values) <= set(METRICS[task]):
        raise ValueError("its metrics are not those of the task")
    labels = tuple(_label(v) for v in _list(words["labels"]))
    places = {(type(v) is bool, v) for v in labels}
    if len(places) != len(labels) or (task == CLASSIFICATION) != (len(labels) > 1):
        raise ValueError("its labels do not go with the task")
    evaluation = Evaluation(
        task,
        whole(words["n_rows"], at_least=1),
        {name: number(value) for name, value in values.items()},
        tuple(_pair(v, _proportion, _proportion) for v in _list(words["calibration"], len(LEVELS))),
        tuple(_proportion(v) for v in _list(words["pit"], PIT_BINS)),
        tuple(_pair(v, number, number) for v in _list(words["residuals"], SAMPLE_ROWS)),
        tuple(_band(v) for v in _list(words["residual_bands"], BANDS)),
        labels,
        tuple(_reliability(v, labels) for v in _list(words["reliability"], MOST_RELIABILITY)),
        tuple(tuple(whole(n) for n in _list(row)) for row in _list(words["confusion"], MOST_CONFUSION)),
    )
    if any(len(row) != len(labels) for row in evaluation.confusion) or len(evaluation.confusion) not in (
        0,
        len(labels),
    ):
        raise ValueError("its confusion counts are not those of the labels")
    sizes = (len(evaluation.calibration), len(evaluation.pit))
    if sizes != ((len(LEVELS), PIT_BINS) if task == REGRESSION else (0, 0)):
        raise ValueError("its calibration does not go with the task")
    return evaluation


def _list(value: Any, most: int | None = None) -> list[Any]:
    if not isinstance(value, list | tuple) or (most is not None and len(value) > most):
        raise ValueError(f"{str(value)[:40]!r} is no list, or too long a one")
    return list(value)


def _pair(value: Any, first: Any, second: Any) -> tuple[float, float]:
    a, b = _list(value)
    return first(a), second(b)


def _band(value: Any) -> tuple[float, ...]:
    numbers = tuple(number(v) for v in _list(value))
    if len(numbers) != 1 + len(QUANTILES):
        raise ValueError("a band of residuals has the wrong length")
    return numbers


def _reliability(value: Any, labels: tuple[Any, ...]) -> Reliability:
    if not isinstance(value, dict) or set(value) != {"label", "bins"}:
        raise ValueError("a reliability table has not the entries that it should have")
    label = _label(value["label"])
    if label not in labels:
        raise ValueError(f"{str(label)[:40]!r} is no label")
    bins = []
    for one in _list(value["bins"], RELIABILITY_BINS):
        p, share, rows = _list(one)
        bins.append((_proportion(p), _proportion(share), whole(rows)))
    return Reliability(label, tuple(bins))


def _label(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    if not isinstance(value, str | bool | int):
        raise ValueError(f"{str(value)[:40]!r} is no label")
    return value


def _proportion(value: Any) -> float:
    share = number(value)
    if not 0 <= share <= 1:
        raise ValueError(f"{share:g} is no share: not between 0 and 1")
    return share
