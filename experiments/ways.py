"""Three ways to fit the same model to the same rows, so that a reader sees what each brings.

| way        | basis                                              | training                                         |
|------------|----------------------------------------------------|--------------------------------------------------|
| paper      | harmonics alone, on a box 10 % wider on both sides | minibatches, constant rates                      |
| stochastic | completed                                          | minibatches, rates that fall in the last quarter |
| collapsed  | completed, as many harmonics as the data call for  | statistics in one pass, the collapsed bound      |

All start from the same first look at a sample of the rows, the noise included.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.synthetic import scores

from odvff.errors import FitWarning
from odvff.methods import Options, fit_method

# what |β| may count, and so many harmonics make 2F + 1 functions of each of D columns, at most |β|
HARMONICS: dict[str, Callable[[int, int], int]] = {
    "of every column": lambda beta, D: (beta - 1) // 2,
    "of every column, its constant apart": lambda beta, D: beta // 2,
    "of all columns together": lambda beta, D: max(1, round((beta / D - 1) / 2)),
}
WAYS = ("paper", "stochastic", "collapsed")
MARGIN = 0.1


@dataclass(frozen=True)
class Sizes:
    """|β|, |γ| and the schedule; for SVGP and SGPR all functions are points."""

    beta: int
    gamma: int
    steps: int
    batch: int
    counted: str = "of every column"  # a key of HARMONICS


def fit_and_score(
    way: str, method: str, sizes: Sizes, train: tuple[Any, Any], test: tuple[Any, Any], seed: int
) -> dict[str, Any]:
    """Log density, RMSE and coverage on the test rows, of y standardised by the training rows."""
    X, y = train
    shift, scale = float(y.mean()), float(y.std())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        fit: Any = fit_method(method, X, (y - shift) / scale, _options(way, method, sizes, X, seed)).fit
    mean, variance = _predicted(fit, test[0])
    result = scores(mean, variance + fit.noise, (test[1] - shift) / scale)
    return {
        "log_density": result.log_density,
        "rmse": result.rmse,
        "coverage": result.coverage,
        "noise": float(fit.noise),
        "scale": scale,
        "features": int(fit.posterior.factor.size),
        "points": 0 if fit.posterior.gamma is None else len(fit.posterior.gamma),
        "ended": fit.message,
    }


def _predicted(fit: Any, X: Any, block: int = 8192) -> tuple[Any, Any]:
    parts = [fit.posterior.predict(X[start : start + block]) for start in range(0, len(X), block)]
    mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
    return mean, variance


def _options(way: str, method: str, sizes: Sizes, X: Any, seed: int) -> Options:
    if way == "collapsed":
        return Options(n_beta=sizes.beta + sizes.gamma, seed=seed)
    everything = sizes.beta + sizes.gamma
    return Options(
        inference="stochastic",
        n_harmonics=HARMONICS[sizes.counted](sizes.beta, X.shape[1]),
        completion=way != "paper",
        intervals=_boxes(X, MARGIN if way == "paper" else 0.0),
        n_beta=everything if method == "svgp" else sizes.beta,
        n_gamma=sizes.gamma,
        batch_size=sizes.batch,
        n_steps=sizes.steps,
        cooling=0.0 if way == "paper" else 0.25,
        seed=seed,
    )


def _boxes(X: Any, margin: float) -> tuple[tuple[float, float], ...]:
    low, high = X.min(axis=0), X.max(axis=0)
    more = np.where(high > low, margin * (high - low), 0.5)
    return tuple((float(a), float(b)) for a, b in zip(low - more, high + more, strict=True))
