"""A table for jobs: rows to learn from and to test on, the same for every library, and what is measured on them."""

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import report, scores

LOGARITHM = ("sgemmProd",)  # the target spans three orders of magnitude


@dataclass(frozen=True)
class Split:
    """Nine tenths to learn from and a tenth to test on; targets have mean 0 and deviation 1 in the former."""

    train: pd.DataFrame
    y: Any
    test: pd.DataFrame
    y_test: Any


def asked() -> tuple[Split, int]:
    """The split that the command line of a job asks for, by its file and seed, and the seed; its third is a limit."""
    path, seed, seconds = sys.argv[1:]
    # of processor time: how long a job takes depends on who else uses the machine, how much there is to do does not
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 60))
    return read(Path(path), int(seed)), int(seed)


def read(path: Path, seed: int) -> Split:
    table = pd.read_parquet(path)
    y = table.pop("y").to_numpy(dtype=np.float64)
    y = np.log(y) if path.stem in LOGARITHM else y
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.sort(order[len(y) // 10 :]), np.sort(order[: len(y) // 10])
    y = (y - y[train].mean()) / y[train].std()
    return Split(table.iloc[train], y[train], table.iloc[test], y[test])


def numbers(split: Split, one_hot: bool) -> tuple[Any, Any]:
    """Both tables as matrices. Categories become a column a level, or codes for trees; numbers stay what they are."""
    known = {name: pd.Index(column.unique()) for name, column in split.train.items() if _is_category(column)}

    def columns(name: Any, column: pd.Series) -> list[Any]:
        if name not in known:
            return [column.to_numpy(dtype=np.float64)]
        codes = known[name].get_indexer(column)  # −1 for a level that was not seen
        return [1.0 * (codes == k) for k in range(len(known[name]))] if one_hot else [1.0 * codes]

    def matrix(table: pd.DataFrame) -> Any:
        return np.column_stack([one for name, column in table.items() for one in columns(name, column)])

    return matrix(split.train), matrix(split.test)


def _is_category(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def standardised(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Columns of mean 0 and deviation 1 in the first matrix; one that is constant there stays constant."""
    middle, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread == 0] = 1.0
    return (X - middle) / spread, (X_test - middle) / spread


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
        columns=split.train.shape[1],
        fit=fitted - began,
        processor=worked,
        predict=ended - fitted,
        **score(prediction, split.y_test),
    )
