"""Tables as hostile as people's, in memory, through the estimators."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from odvff import ODVFFClassifier, ODVFFRegressor, load
from tests.hostile.laws import close, equal, finite, lawful, nothing_left, refused

MOST_ROWS, MOST_COLUMNS = 2000, 60
NAMES = (
    "x",
    "y",
    "mean",
    "intercept",
    "a b",
    "ü",
    "",
    "x is missing",
    "x × y",
    "<b>",
    "=1+1",
    "\x9b31m",
    "1",
    "0.5",
    "nan",
)

# columns of n rows


def _scaled(rng, n):
    return rng.standard_normal(n) * 10.0 ** rng.integers(-250, 250)


def _with_gaps(rng, n):
    x = rng.uniform(0, 1, n)
    x[rng.random(n) < rng.choice([0.01, 0.5, 0.99, 1.0])] = np.nan
    return x


def _offset(rng, n):
    """Differences of a few units in the last place."""
    return 10.0 ** rng.integers(0, 16) + rng.uniform(0, 1, n)


def _objects(rng, n):
    kinds = (lambda: "text", lambda: 3, lambda: 2.5, lambda: True, lambda: None, lambda: Decimal("1.5"), lambda: b"b")
    some = rng.integers(0, len(kinds), rng.integers(1, 4))
    return np.array([kinds[rng.choice(some)]() for _ in range(n)], dtype=object)


def _dates(rng, n):
    days = rng.integers(0, 5000, n)
    if rng.random() < 0.5:
        return np.datetime64("2001-01-01") + days.astype("timedelta64[D]")
    return np.array([datetime.date(2001, 1, 1) + datetime.timedelta(int(d)) for d in days], dtype=object)


COLUMNS = {
    "even": lambda rng, n: rng.uniform(0, 1, n),
    "normal": lambda rng, n: rng.normal(5, 3, n),
    "heavy": lambda rng, n: rng.standard_cauchy(n),
    "skewed": lambda rng, n: rng.lognormal(0, 3, n),
    "constant": lambda rng, n: np.full(n, rng.choice([0.0, 1.0, -7.5, 1e-300, 1e300])),
    "nearly constant": lambda rng, n: np.where(np.arange(n) == 0, 1.0, 0.0),
    "offset": _offset,
    "three levels": lambda rng, n: rng.integers(-1, 2, n).astype(float),
    "whole": lambda rng, n: rng.integers(-(2**62), 2**62, n),
    "scaled": _scaled,
    "sorted": lambda rng, n: np.sort(rng.uniform(0, 1, n)),
    "gaps": _with_gaps,
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.1, np.inf, 1.0),
    "truth": lambda rng, n: rng.random(n) < 0.5,
    "levels": lambda rng, n: pd.Categorical(rng.integers(0, rng.choice([2, 20, n + 1]), n).astype(str)),
    "text": lambda rng, n: rng.choice(["a", "b", "ü", "", "NA", "=1", "a" * 300], n).astype(object),
    "objects": _objects,
    "dates": _dates,
    "durations": lambda rng, n: rng.integers(0, 9, n).astype("timedelta64[s]"),
    "nullable": lambda rng, n: pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
    "masked": lambda rng, n: np.ma.masked_array(
        np.where(np.arange(n) % 3, 1.0 * np.arange(n), 1e6), np.arange(n) % 3 == 0
    ),
}
PLAIN = ("even", "normal", "three levels", "sorted", "skewed", "heavy", "nearly constant", "offset", "gaps", "constant")


def _noise(rng, n):
    return rng.standard_normal(n)


TARGETS = {
    "sine": lambda rng, x: np.sin(6 * x) + 0.1 * _noise(rng, len(x)),
    "exact": lambda rng, x: x,
    "step": lambda rng, x: (x > 0.5) * 1.0,
    "noise": lambda rng, x: _noise(rng, len(x)),
    "constant": lambda rng, x: np.full(len(x), rng.choice([0.0, 3.0, 1e9])),
    "outliers": lambda rng, x: x + np.where(rng.random(len(x)) < 0.05, 1e3, 0.1) * _noise(rng, len(x)),
    "large": lambda rng, x: (x + _noise(rng, len(x))) * 10.0 ** rng.integers(100, 300),
    "small": lambda rng, x: (x + _noise(rng, len(x))) * 10.0 ** rng.integers(-300, -100),
    "counts": lambda rng, x: rng.poisson(np.exp(2 * x)).astype(float),
    "far counts": lambda rng, x: rng.poisson(np.exp(9 * x)).astype(float),
    "gaps": lambda rng, x: np.where(rng.random(len(x)) < 0.1, np.nan, x),
}
LABELS = {
    "two": lambda rng, x: np.where(x + 0.3 * _noise(rng, len(x)) > 0.5, "b", "a"),
    "apart": lambda rng, x: x > 0.5,
    "rare": lambda rng, x: (np.arange(len(x)) == 0).astype(int),
    "several": lambda rng, x: np.digitize(x + 0.1 * _noise(rng, len(x)), [0.2, 0.5, 0.8]),
    "one": lambda rng, x: np.zeros(len(x)),
    "wild": lambda rng, x: np.array(["", " ", "ü" * 50, "<b>"], dtype=object)[rng.integers(0, 4, len(x))],
    "huge": lambda rng, x: rng.integers(2**63, 2**64, 2, dtype=np.uint64)[(x > 0.5).astype(int)],
}


@dataclass
class Case:
    """A table, a target and what is asked of a model."""

    columns: dict[str, Any]
    y: Any
    classifies: bool
    options: dict[str, Any]
    weights: Any = None
    form: str = "pandas"
    notes: list[str] = field(default_factory=list)

    @property
    def n(self):
        return len(self.y)

    @property
    def entries(self):
        return self.n * max(len(self.columns), 1)

    def table(self, **changed):
        """The columns in the form of some library."""
        columns = self.columns | changed
        if self.form == "numpy":
            return np.column_stack([np.asarray(v, dtype=float) for v in columns.values()])
        frame = pd.DataFrame(columns)
        if self.form == "polars":
            return pl.from_pandas(frame)
        return pa.Table.from_pandas(frame, preserve_index=False) if self.form == "arrow" else frame

    def estimator(self):
        return (ODVFFClassifier if self.classifies else ODVFFRegressor)(**self.options)


def _size(rng, most):
    return int(np.exp(rng.uniform(0, np.log(most))))


def make(rng):
    """A case; half of them are of columns that models can be made of, so that there is something to ask a model."""
    n, tame = _size(rng, MOST_ROWS), rng.random() < 0.6
    n = max(n, 12) if tame else n
    kinds = PLAIN if tame else tuple(COLUMNS)
    n_columns = min(_size(rng, MOST_COLUMNS), max(1, 20_000 // n))
    columns = {}
    for i in range(n_columns):
        name = f"x{i}" if tame or rng.random() < 0.8 else str(rng.choice(NAMES))
        columns[name] = COLUMNS[str(rng.choice(kinds))](rng, n)
    first = next(iter(columns.values()))
    x = rng.uniform(0, 1, n)
    if isinstance(first, np.ndarray) and first.dtype == float and np.isfinite(first).all() and np.ptp(first) > 0:
        x = (first - first.min()) / max(float(np.ptp(first)), 1e-300)
        x = x if np.isfinite(x).all() else rng.uniform(0, 1, n)
    classifies = rng.random() < 0.3
    targets = LABELS if classifies else TARGETS
    kind = str(rng.choice(list(targets)))
    options = {"n_harmonics": "auto" if rng.random() < 0.3 else int(rng.integers(1, 8))}
    if rng.random() < 0.5:
        options["interactions"] = 0
    if not classifies and rng.random() < 0.25:
        options["likelihood"] = str(rng.choice(["student-t", "poisson"] if "counts" in kind else ["student-t"]))
    if rng.random() < 0.1:
        options["smoothness"] = float(rng.choice([0.5, 2.5]))
    weights = rng.integers(0, 3, n).astype(float) if rng.random() < 0.2 else None
    if not tame and rng.random() < 0.1:
        weights = rng.choice([-1.0, np.nan, 0.0, 1e300, 0.5], n)
    forms = ["pandas", "numpy", "polars", "arrow"] if tame else ["pandas", "pandas", "polars", "arrow"]
    return Case(columns, targets[kind](rng, x), classifies, options, weights, str(rng.choice(forms)))


def answers(model, X, classifies):
    """All numbers that a model says of rows."""
    if classifies:
        return [model.predict_proba(X)]
    mean, std = model.predict(X, return_std=True)
    return [mean, std, model.predict_interval(X)]


def check(rng, folder):
    """Make a case, fit it, and see whether the laws hold."""
    case = make(rng)
    try:
        with lawful("making the table"):
            X = case.table()
    except Exception:  # the other library refuses it
        return "no table"
    try:
        with lawful("fit"):
            model = case.estimator().fit(X, case.y, case.weights)
    except Exception as error:
        if refused(error):
            return "refused"
        raise
    with lawful("predict"):
        said = answers(model, X, case.classifies)
        finite("a prediction", *said)
        for effect in model.effects().values() if len(model.model_.outputs) == 1 else ():
            finite("an effect", effect.mean, effect.std)
        finite("the intercept", model.intercept_)
        finite("a log density", model.log_predictive_density(X, case.y))
        model.summary()
    with lawful("save and load"):
        place = folder / "m.odvff"
        model.save(place)
        for here, there in zip(answers(load(place), X, case.classifies), said, strict=True):
            equal("loads what it saved", here, there)
        nothing_left(folder, {place})
    with lawful("threads"), ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: answers(model, X, case.classifies), range(4)):
            for here, there in zip(other, said, strict=True):
                equal("threads agree", here, there)
    with lawful("other words for the same table"):
        _same_in_other_words(case, rng, said)
    return "model"


def _same_in_other_words(case, rng, said):
    """One of: repeats for weights, rows in another order, a mirrored column, another unit of y, a constant column."""
    spread = 1.0 if case.classifies else float(np.std(np.asarray(case.y, dtype=float))) or 1.0
    mean = said[0]
    if case.weights is not None and not (case.weights % 1).any() and (case.weights >= 0).all():
        rows = np.repeat(np.arange(case.n), case.weights.astype(int))
        twice = Case(
            {k: pd.Series(v).iloc[rows].array for k, v in case.columns.items()},
            case.y[rows], case.classifies, case.options, None, case.form,
        )  # fmt: skip
        other = twice.estimator().fit(twice.table(), twice.y)
        equal("weights are repeats", answers(other, case.table(), case.classifies)[0], mean)
        return
    choice = str(rng.choice(["order", "mirror", "unit", "constant"]))
    if choice == "order":
        rows = rng.permutation(case.n)
        mixed = Case(
            {k: pd.Series(v).iloc[rows].array for k, v in case.columns.items()},
            case.y[rows], case.classifies, case.options,
            None if case.weights is None else case.weights[rows], case.form,
        )  # fmt: skip
        other = mixed.estimator().fit(mixed.table(), mixed.y, mixed.weights)
        equal("rows in any order", answers(other, case.table(), case.classifies)[0], mean)
    elif choice == "unit" and not case.classifies and case.options.get("likelihood") != "poisson":
        scaled = case.estimator().fit(case.table(), 1024.0 * case.y, case.weights)
        close("units of y", scaled.predict(case.table()) / 1024.0, mean, 1e-9 * spread)
    elif choice == "mirror":
        name = next(iter(case.columns))
        values = case.columns[name]
        if isinstance(values, np.ndarray) and values.dtype == float:
            table = case.table(**{name: -values})
            other = case.estimator().fit(table, case.y, case.weights)
            close("a mirrored column", answers(other, table, case.classifies)[0], mean, 0.02 * spread)
    elif choice == "constant":
        table = case.table(**{"constant too": np.full(case.n, 3.0)})
        other = case.estimator().fit(table, case.y, case.weights)
        close("constant columns change nothing", answers(other, table, case.classifies)[0], mean, 1e-6 * spread)
