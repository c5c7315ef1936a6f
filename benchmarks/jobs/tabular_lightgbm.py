"""LightGBM: a model of the mean, and one for each of some quantiles; the number of trees by early stopping.

Intervals are the outer quantiles. Density and CRPS are those of a Gaussian with the mean of the first model and the
standard deviation that fits the quantiles best: quantiles of models of their own cross and coincide, and a density
through all of them is far worse.
"""

from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.special import ndtri
from tables import asked, gaussian, held_out, measure, numbers

LEVELS = np.array([0.025, 0.25, 0.75, 0.975])
TREES, PATIENCE = 1000, 50
NARROWEST = 1e-3  # standard deviation, in those of y

split, seed = asked()
X, X_test = numbers(split, one_hot=False)
learned, kept = held_out(len(X), seed)


def fit() -> list[lgb.Booster]:
    rows = lgb.Dataset(X[learned], split.y[learned])
    others = lgb.Dataset(X[kept], split.y[kept], reference=rows)
    objectives = [{"objective": "l2"}, *({"objective": "quantile", "alpha": level} for level in LEVELS)]
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    return [
        lgb.train({**one, "seed": seed, "verbosity": -1}, rows, TREES, valid_sets=[others], callbacks=[stop])
        for one in objectives
    ]


def predict(models: list[lgb.Booster]) -> tuple[Any, Any]:
    mean, *quantiles = (model.predict(X_test) for model in models)
    return mean, np.column_stack(quantiles)


def score(prediction: tuple[Any, Any], y: Any) -> dict[str, float]:
    mean, quantiles = prediction
    z = ndtri(LEVELS)
    std = np.maximum(quantiles @ z / (z @ z), NARROWEST)  # least squares, as the levels are symmetric
    covered = (quantiles[:, 0] <= y) & (y <= quantiles[:, -1])
    return {**gaussian((mean, std), y), "coverage": float(covered.mean())}


measure(split, fit, predict, "lightgbm", score=score)
