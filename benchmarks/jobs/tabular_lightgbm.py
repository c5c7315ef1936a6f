"""LightGBM: a model of the mean, and one for each of some quantiles; the number of trees by early stopping.

Intervals are the outer quantiles. Density and CRPS are those of a Gaussian with the mean of the first model and the
variance a + b s², where s is the spread of the row's quantiles, and a and b are most likely on the rows that stopping
looks at: models of single quantiles cross and coincide, so that s alone is nearly 0 for some rows. That, and a density
through the quantiles, were tried first on a split of some tables, and were worse for LightGBM.
"""

from typing import Any

import lightgbm as lgb
import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from tables import asked, gaussian, held_out, measure

LEVELS = np.array([0.025, 0.25, 0.75, 0.975])
TREES, PATIENCE = 1000, 50

split, seed = asked()
X, X_test = split.X, split.X_test
learned, kept = held_out(len(X), seed)


def fit() -> tuple[list[lgb.Booster], Any]:
    rows = lgb.Dataset(X[learned], split.y[learned])
    others = lgb.Dataset(X[kept], split.y[kept], reference=rows)
    objectives = [{"objective": "l2"}, *({"objective": "quantile", "alpha": level} for level in LEVELS)]
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    models = [
        lgb.train({**one, "seed": seed, "verbosity": -1}, rows, TREES, valid_sets=[others], callbacks=[stop])
        for one in objectives
    ]
    mean, *quantiles = (model.predict(X[kept]) for model in models)
    return models, likely_variance(split.y[kept] - mean, spread(np.column_stack(quantiles)))


def spread(quantiles: Any) -> Any:
    """The standard deviation of the Gaussian whose quantiles are nearest."""
    z = ndtri(LEVELS)
    return np.sort(quantiles, axis=1) @ z / (z @ z)  # least squares, as the levels are symmetric


def likely_variance(residuals: Any, s: Any) -> Any:
    """a and b of the variance a + b s²."""

    def loss(logs: Any) -> float:
        a, b = np.exp(logs)
        variance = a + b * s**2
        return float(np.mean(np.log(variance) + residuals**2 / variance))

    starts = np.log([[0.1 * residuals.var(), 1.0], [residuals.var(), 0.01]])
    return np.exp(min((minimize(loss, start, method="Nelder-Mead") for start in starts), key=lambda r: r.fun).x)


def predict(fitted: tuple[list[lgb.Booster], Any]) -> tuple[Any, Any, Any]:
    models, (a, b) = fitted
    mean, *each = (model.predict(X_test) for model in models)
    quantiles = np.column_stack(each)
    return mean, np.sqrt(a + b * spread(quantiles) ** 2), quantiles


def score(prediction: tuple[Any, Any, Any], y: Any) -> dict[str, float]:
    mean, std, quantiles = prediction
    covered = (quantiles[:, 0] <= y) & (y <= quantiles[:, -1])
    return {**gaussian((mean, std), y), "coverage": float(covered.mean())}


measure(split, fit, predict, "lightgbm", score=score)
