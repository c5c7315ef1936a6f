"""A table for jobs: rows to learn from and to test on, the same for every library, and what is measured on them."""

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from common import report, scores

LOGARITHM = ("sgemmProd",)  # the target spans three orders of magnitude


@dataclass(frozen=True)
class Split:
    """Nine tenths to learn from and a tenth to test on; targets have mean 0 and deviation 1 in the former."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    deviation: float  # of the targets of the former, in their own unit


def asked() -> tuple[Split, int]:
    """The split that the command line of a job asks for, by its file and seed, and the seed; its third is a limit."""
    path, seed, seconds = sys.argv[1:]
    # of processor time: how long a job takes depends on who else uses the machine, how much there is to do does not
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 60))
    return read(Path(path), int(seed)), int(seed)


def read(path: Path, seed: int) -> Split:
    """All columns are numbers, and all libraries get them as one matrix: nothing else is kept in memory."""
    file = pq.ParquetFile(path)
    y = file.read(["y"])["y"].to_numpy().astype(np.float64)
    y = np.log(y) if path.stem in LOGARITHM else y
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.sort(order[len(y) // 10 :]), np.sort(order[: len(y) // 10])
    deviation = float(y[train].std())
    y = (y - y[train].mean()) / deviation
    names = [name for name in file.schema_arrow.names if name != "y"]
    X, X_test = (np.empty((len(rows), len(names))) for rows in (train, test))
    for d, name in enumerate(names):
        column = file.read([name])[name].to_numpy()
        X[:, d], X_test[:, d] = column[train], column[test]
    return Split(X, y[train], X_test, y[test], deviation)


def standardised(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Columns of mean 0 and deviation 1 in the first matrix, in place; one that is constant there stays constant."""
    for x, x_test in zip(X.T, X_test.T, strict=True):
        middle, spread = x.mean(), x.std() or 1.0
        for values in (x, x_test):
            values -= middle
            values /= spread
    return X, X_test


def held_out(n: int, seed: int) -> tuple[Any, Any]:
    """Nine tenths of the training rows, and a tenth for libraries that stop or measure their residuals by some."""
    order = np.random.default_rng([seed, 1]).permutation(n)
    return order[n // 10 :], order[: n // 10]


def gaussian(prediction: tuple[Any, Any], y: Any) -> dict[str, float]:
    """Scores of means and standard deviations."""
    mean, std = prediction
    return scores(mean, np.square(std), y)


def measure(
    split: Split,
    fit: Callable[[], Any],
    predict: Callable[[Any], Any],
    *packages: str,
    score: Callable[[Any, Any], dict[str, float]] = gaussian,
) -> None:
    """Fit, predict the test rows, and report scores, seconds of both, and those that processors worked for the fit."""
    began, worked = time.perf_counter(), time.process_time()
    model = fit()
    fitted, worked = time.perf_counter(), time.process_time() - worked
    prediction = predict(model)
    ended = time.perf_counter()
    report(
        *packages,
        rows=len(split.y) + len(split.y_test),
        columns=split.X.shape[1],
        deviation=split.deviation,
        fit=fitted - began,
        processor=worked,
        predict=ended - fitted,
        **score(prediction, split.y_test),
    )
