"""Small models for the report: of every kind, with names that try to break out of the page."""

import numpy as np
import pandas as pd

from odvff import ODVFFClassifier, ODVFFRegressor
from odvff.model.evaluation import Evaluator

EVIL = "</script><img src=x onerror=alert(1)>"
QUOTES = "\"'&<b>%{x}$name"
N = 300


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            EVIL: rng.uniform(0, 10, N),
            "rooms": rng.integers(1, 6, N),
            "level": pd.Categorical(rng.choice(["control", QUOTES, "high"], N)),
            "town": pd.Categorical(rng.choice([f"town {i}" for i in range(30)], N)),
            "smoker": rng.random(N) < 0.3,
        }
    )
    f = np.sin(X[EVIL].to_numpy()) + (X.level == "high").to_numpy() + 0.3 * X.smoker.to_numpy()
    X.loc[::6, EVIL] = np.nan
    return X, f


def evaluated(model, X, y):
    evaluator = Evaluator(model.model_)
    evaluator.add(X, y)
    return model.model_, evaluator.result()


def regressor(likelihood="gaussian"):
    X, f = table()
    rng = np.random.default_rng(1)
    y = rng.poisson(np.exp(f)).astype(float) if likelihood == "poisson" else 10 + 3 * f + rng.standard_normal(N)
    return evaluated(ODVFFRegressor(likelihood=likelihood, n_harmonics=4, max_iter=15).fit(X, y), X, y)


def surface(n_columns=2):
    X, f = table()
    rng = np.random.default_rng(2)
    X = pd.DataFrame({f"axis {i}": rng.uniform(2000, 2001, N) for i in range(n_columns)} | {"level": X.level})
    y = f + X["axis 0"] * (X["axis 1"] - 2000.5)
    return evaluated(ODVFFRegressor(structure="separable", n_harmonics=2, max_iter=10).fit(X, y), X, y)


def classifier(n_classes=3, likelihood="probit"):
    X, f = table()
    names = np.array(["low", EVIL, QUOTES])
    y = names[np.digitize(f, [0.5] if n_classes == 2 else [0.0, 1.0])]
    return evaluated(ODVFFClassifier(likelihood=likelihood, n_harmonics=3, max_iter=6).fit(X, y), X, y)
