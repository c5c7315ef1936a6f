"""interpret's ExplainableBoostingRegressor with default arguments, and threads instead of processes.

It has no predictive distribution: ours for it is Gaussian, with the standard deviation of the residuals of a tenth of
the training rows, which it does not learn from.
"""

from typing import Any

import numpy as np
from interpret.glassbox import ExplainableBoostingRegressor
from joblib import parallel_config

from tables import asked, held_out, measure

THREADS = 2

split, seed = asked()
X, X_test = split.X, split.X_test
learned, kept = held_out(len(X), seed)


def fit() -> tuple[ExplainableBoostingRegressor, float]:
    model = ExplainableBoostingRegressor(n_jobs=THREADS, random_state=seed)
    with parallel_config(backend="threading"):  # memory of one process is what is measured
        model.fit(X[learned], split.y[learned])
    return model, float((split.y[kept] - model.predict(X[kept])).std())


def predict(fitted: tuple[ExplainableBoostingRegressor, float]) -> tuple[Any, Any]:
    model, spread = fitted
    return model.predict(X_test), np.full(len(X_test), spread)


measure(split, fit, predict, "interpret-core")
