"""How good a fitted model is on labelled rows, chunk by chunk: sums are kept, rows are not.

Everything is added up from one prediction of f a row. What sums cannot give is bounded otherwise: the area under the
ROC curve comes from fine histograms of log-odds, pictures of residuals from a sample of rows that does not depend on
how the rows were cut into chunks.

**Counts** have no density. The probability integral transform of a count y is spread evenly over [P(Y < y), P(Y ≤ y)]
(Czado, Gneiting & Held, 2009), so that it is uniform if the model is right, as it is for numbers.

**CRPS** is a closed form for Gaussian noise; for Student's t and counts it is unbiased, from 200 draws of y a row.
"""

import math
from collections import defaultdict
from typing import Any

import numpy as np
from scipy import special

from odvff.errors import InputError
from odvff.model import metrics, quality
from odvff.model.model import Model
from odvff.model.predictive import Marginals
from odvff.model.quality import Evaluation, Reliability
from odvff.model.task import CLASSIFICATION, REGRESSION
from odvff.rows import row_slices, smallest_keys
from odvff.tables import Table
from odvff.tables.table import plain

DRAWS = 200
BLOCK_ROWS = 4096
STREAM = 0xE7A1  # random numbers of our own: people draw their data with small seeds too
ODDS_BINS, MOST_ODDS = 10_000, 40.0
MOST_AUC = 100
CENTRAL = (0.025, 0.975)  # of 95 %


class Evaluator:
    """Adds up how well a model foresees labelled rows; memory does not grow with their number."""

    def __init__(self, model: Model):
        self._model = model
        self._sums = _Numbers(model) if model.task.classes is None else _Classes(model)

    def add(self, X: Any, y: Any) -> None:
        """The rows of one more chunk, and what was observed there."""
        if len(y) == 0:
            return
        table, y = self._model.table(X), self._model.task.coded(y)
        if table.n_rows != len(y):
            raise InputError(f"X has {table.n_rows} rows and y {len(y)} labels; give one label for each row.")
        self._sums.add(table, y)

    def result(self) -> Evaluation:
        """The evaluation of all rows so far."""
        if not self._sums.n:
            raise InputError("there is nothing to evaluate on: no rows were added; call add(X, y) first.")
        return self._sums.result()


class _Numbers:
    """Sums for numbers and counts."""

    def __init__(self, model: Model):
        self._model, self._predictive = model, model.outputs[0].predictive
        self.n = 0
        self._mean = self._spread = 0.0  # of y: its mean, and Σ(y − mean)²
        self._sums: dict[str, float] = defaultdict(float)
        self._levels, self._pit = np.zeros(len(quality.LEVELS)), np.zeros(quality.PIT_BINS)
        # generators give the same numbers however rows are cut into chunks, as long as they come in order
        self._keys, self._normals, self._draws = (np.random.default_rng([seed, STREAM]) for seed in range(3))
        self._sample = np.zeros((5, 0))  # key, mean and variance of f, mean of y, standardised residual

    def add(self, table: Table, y: Any) -> None:
        f = self._model.latent(table)
        for s in row_slices(len(y), BLOCK_ROWS):
            self._add(y[s], f.at(s))

    def _add(self, y: Any, f: Marginals) -> None:
        predictive, n = self._predictive, len(y)
        mean, std = predictive.moments(f)
        residual = y - mean
        # Chan's update of the spread, which loses no digit to a large mean
        gap, total = float(y.mean()) - self._mean, self.n + n
        self._spread += float(((y - y.mean()) ** 2).sum()) + gap**2 * self.n * n / total
        self._mean, self.n = self._mean + gap * n / total, total
        above = np.clip(predictive.cdf(y, f), 0.0, 1.0)
        below = np.clip(predictive.cdf(y - 1, f), 0.0, 1.0) if predictive.likelihood.discrete else above
        self._calibrate(below, above)
        of_rows = {
            "squared": residual**2,
            "absolute": np.abs(residual),
            "log_density": predictive.log_density(y, f),
            "within": (above >= CENTRAL[0]) & (below <= CENTRAL[1]),
            "std": std,
        }
        for name, values in of_rows.items():
            self._sums[name] += float(values.sum())
        self._sums["crps"] += n * self._crps(y, f)
        rows = np.stack([self._keys.random(n), *f, mean, residual / np.maximum(std, 1e-300)])
        sample = np.concatenate([self._sample, rows], axis=1)
        self._sample = sample[:, smallest_keys(sample[0], quality.SHOWN_RESIDUALS)]

    def _crps(self, y: Any, f: Marginals) -> float:
        closed = self._predictive.crps(y, f)
        if closed is not None:
            return float(closed.mean())
        at = f.mean[:, None] + np.sqrt(f.variance)[:, None] * self._normals.standard_normal((len(y), DRAWS))
        return metrics.crps_samples(y, self._predictive.draw(at, self._draws))

    def _calibrate(self, below: Any, above: Any) -> None:
        """Counts within central intervals and in bins, of transforms spread evenly from `below` to `above`."""
        levels = np.asarray(quality.LEVELS)
        if below is above:
            self._levels += (np.abs(2 * above - 1)[:, None] <= levels).sum(axis=0)
            self._pit += np.histogram(above, quality.PIT_BINS, (0.0, 1.0))[0]
        else:
            self._levels += _mass(below, above, (1 + levels) / 2) - _mass(below, above, (1 - levels) / 2)
            self._pit += np.diff(_mass(below, above, np.linspace(0.0, 1.0, quality.PIT_BINS + 1)))

    def result(self) -> Evaluation:
        mean_of = {name: total / self.n for name, total in self._sums.items()}
        values = {
            "rmse": np.sqrt(mean_of["squared"]),
            "mae": mean_of["absolute"],
            "r2": 1 - self._sums["squared"] / self._spread if self._spread > 0 else np.nan,
            "mean_log_density": mean_of["log_density"],
            "crps": mean_of["crps"],
            "coverage_95": mean_of["within"],
            "width_95": self._width(mean_of["std"]),
            "rmse_of_the_mean": np.sqrt(self._spread / self.n),
        }
        mean, residual = self._sample[3:, np.isfinite(self._sample[3:]).all(axis=0)]
        return Evaluation(
            REGRESSION,
            self.n,
            _defined(values),
            tuple((level, _share(count / self.n)) for level, count in zip(quality.LEVELS, self._levels, strict=True)),
            tuple(_share(count / self.n) for count in self._pit),
            tuple(zip(mean.tolist(), residual.tolist(), strict=True)),
            _bands(mean, residual),
        )

    def _width(self, std: float) -> float:
        """Of 95 % intervals; unless noise is Gaussian on the sample of rows, as their quantiles are by bisection."""
        if self._predictive.likelihood.closed_form:
            return std * float(np.diff(special.ndtri(CENTRAL))[0])
        return metrics.interval_width(self._predictive.quantiles(CENTRAL, Marginals(*self._sample[1:3])))


class _Classes:
    """Sums for classes."""

    def __init__(self, model: Model):
        self._model = model
        self._labels = tuple(plain(label) for label in model.task.classes)
        k = len(self._labels)
        self.n = 0
        self._log_loss = self._brier = 0.0
        self._counts = np.zeros(k, dtype=np.int64)
        self._confidence = np.zeros((2, quality.RELIABILITY_BINS))  # of the chosen class: Σ probability, Σ right
        self._reliability = np.zeros((3, k, quality.RELIABILITY_BINS))  # Σ probability, Σ hit, rows
        self._confusion = np.zeros((k, k) if k <= quality.MOST_CONFUSION else (0, 0), dtype=np.int64)
        self._curves = np.arange(0 if k > MOST_AUC else k)[1 if k == 2 else 0 :]
        self._odds = np.zeros((2, len(self._curves), ODDS_BINS), dtype=np.int64)  # of others, of the class

    def add(self, table: Table, codes: Any) -> None:
        p = self._model.probabilities(table)
        n, k = p.shape
        rows, eps = np.arange(n), np.finfo(np.float64).eps
        hit = codes[:, None] == np.arange(k)
        best = p.argmax(axis=1)
        self.n += n
        self._counts += np.bincount(codes, minlength=k)
        self._log_loss -= float(np.log(np.clip(p[rows, codes], eps, 1.0)).sum())
        self._brier += float(((p - hit) ** 2).sum())
        place, classes = _bin(p, quality.RELIABILITY_BINS), np.arange(k)
        for total, weights in zip(self._confidence, (p[rows, best], best == codes), strict=True):
            total += _sums_at((place[rows, best],), total.shape, weights)
        for total, weights in zip(self._reliability, (p, hit, None), strict=True):
            total += _sums_at((classes, place), total.shape, weights)
        if self._confusion.size:
            self._confusion += _sums_at((codes, best), self._confusion.shape)
        # in log-odds, where probabilities of rare classes are as far apart as those of common ones
        odds = np.clip(special.logit(p[:, self._curves]), -MOST_ODDS, MOST_ODDS)
        at = _bin((odds + MOST_ODDS) / (2 * MOST_ODDS), ODDS_BINS)
        sides = hit[:, self._curves].astype(np.intp)
        self._odds += _sums_at((sides, classes[: len(self._curves)], at), self._odds.shape)

    def result(self) -> Evaluation:
        n, k = self.n, len(self._labels)
        confidence, right = self._confidence
        values = {
            "accuracy": right.sum() / n,
            "log_loss": self._log_loss / n,
            "brier": self._brier / n / (2 if k == 2 else 1),
            "ece": np.abs(confidence - right).sum() / n,
            "auc": self._auc(),
            "accuracy_of_the_commonest": self._counts.max() / n,
        }
        commonest = np.argsort(-self._counts, kind="stable")[: quality.MOST_RELIABILITY]
        chosen = [1] if k == 2 else sorted(commonest.tolist())
        return Evaluation(
            CLASSIFICATION,
            n,
            _defined(values),
            labels=self._labels,
            reliability=tuple(Reliability(self._labels[c], _shares(*self._reliability[:, c])) for c in chosen),
            confusion=tuple(tuple(row) for row in self._confusion.tolist()),
        )

    def _auc(self) -> float:
        """The area under the ROC curve; for more classes the mean over those that are there, against the rest."""
        no, yes = self._odds
        pairs = no.sum(axis=1).astype(float) * yes.sum(axis=1)
        # a row of the class beats those of others below its bin, and half of those within
        won = (yes * (np.cumsum(no, axis=1) - 0.5 * no)).sum(axis=1)
        there = pairs > 0
        return float(np.mean(won[there] / pairs[there])) if there.any() else np.nan


def _mass(below: Any, above: Any, edges: Any) -> Any:
    """How many rows lie under each edge, if a row is spread evenly from `below` to `above`."""
    width = np.maximum(above - below, 1e-12)[:, None]
    return np.clip((edges - below[:, None]) / width, 0.0, 1.0).sum(axis=0)


def _bands(mean: Any, residual: Any) -> tuple[tuple[float, ...], ...]:
    """Quantiles of residuals in bins of about equally many rows, from the lowest prediction to the highest."""
    order = np.argsort(mean, kind="stable")
    bins = np.array_split(order, max(1, min(quality.BANDS, len(order) // 20))) if len(order) else []
    return tuple((float(mean[at].mean()), *np.quantile(residual[at], quality.QUANTILES).tolist()) for at in bins)


def _bin(share: Any, n_bins: int) -> Any:
    return np.clip((share * n_bins).astype(np.int64), 0, n_bins - 1)


def _sums_at(places: tuple[Any, ...], shape: tuple[int, ...], weights: Any = None) -> Any:
    """How many rows (or how much weight) there are at each place of an array."""
    flat = np.ravel_multi_index(np.broadcast_arrays(*places), shape).ravel()
    return np.bincount(flat, None if weights is None else weights.ravel(), math.prod(shape)).reshape(shape)


def _shares(probability: Any, hit: Any, rows: Any) -> tuple[tuple[float, float, int], ...]:
    return tuple((_share(p / n), _share(h / n), int(n)) for p, h, n in zip(probability, hit, rows, strict=True) if n)


def _share(value: float) -> float:
    """Between 0 and 1, which rounding may leave by a bit."""
    return float(np.clip(value, 0.0, 1.0))


def _defined(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if np.isfinite(value)}
