"""`prediction.py MODULE ROWS.npz N STEPS [ARGUMENT…]`: seconds of the prediction of N rows by a model briefly trained.

STEPS is "whole" for a model that is fitted in one go, and the arguments are the model's.
"""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np
from common import report

REPEATS = 5


def main(module: str, path: str, n: int, steps: str, *arguments: str) -> None:
    library = import_module(module)
    rows = np.load(path)
    if steps == "whole":
        model = library.Model(rows["X"], rows["y"], *arguments)
    else:
        model = library.Model(rows["X"], rows["y"], 0)
        model.advance(int(steps))
        model.settle()
    X = np.random.default_rng(0).uniform(0, 1, (n, rows["X"].shape[1]))
    measured = {"mean": _seconds(model.mean, X)}
    if hasattr(model, "predict"):
        measured["both"] = _seconds(model.predict, X)
    report(*library.PACKAGES, rows=n, **measured)


def _seconds(predict: Callable[[Any], Any], X: Any) -> float:
    predict(X[:10_000])  # what is compiled, or done once
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        predict(X)
        times.append(time.perf_counter() - began)
    return median(times)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
