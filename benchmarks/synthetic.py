"""The synthetic rows of the paper: an additive function of Matérn-3/2 processes, ℓ = 0.1, noise variance 0.2."""

from dataclasses import dataclass
from typing import Any

import numpy as np

LENGTHSCALE, NOISE = 0.1, 0.2
TRAIN_ROWS, TEST_ROWS = 50_000, 20_000


@dataclass(frozen=True)
class Rows:
    """Uniform inputs in [0,1]^D, y = Σ_d f_d(x_d) + ε with Var f_d = 1; y is centred on the training rows."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def additive_rows(D: int, n_train: int = TRAIN_ROWS, n_test: int = TEST_ROWS, seed: int = 0) -> Rows:
    """Training and test rows of one draw of the function."""
    rng = np.random.default_rng([seed, D])
    n = n_train + n_test
    X = rng.uniform(0, 1, (n, D))
    f = sum(matern32_path(X[:, d], LENGTHSCALE, 1.0, rng) for d in range(D))
    y = f + np.sqrt(NOISE) * rng.standard_normal(n)
    y = y - y[:n_train].mean()
    return Rows(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def matern32_path(x: Any, lengthscale: float, variance: float, rng: np.random.Generator) -> Any:
    """A Matérn-3/2 process at any points, exactly and in linear time: its state (f, f′/λ) is Markov along sorted x.

    Over a distance h the state moves by e^{−λh} [[1+λh, λh], [−λh, 1−λh]] and gains the rest of its stationary
    covariance σ²I.
    """
    order = np.argsort(x)
    h = np.sqrt(3) / lengthscale * np.diff(x[order], prepend=-np.inf)
    with np.errstate(invalid="ignore"):
        decay = np.where(np.isfinite(h), np.exp(-h), 0.0)
        h = np.where(np.isfinite(h), h, 0.0)
    A = decay[:, None, None] * np.stack([np.stack([1 + h, h], -1), np.stack([-h, 1 - h], -1)], -2)
    Q = np.eye(2) - A @ A.transpose(0, 2, 1)
    # a tiny step adds next to nothing: eigenvalues of rounding size are none
    values, vectors = np.linalg.eigh(Q)
    kicks = np.einsum("nij,nj->ni", vectors, np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal((len(x), 2)))
    state, path = np.zeros(2), np.empty(len(x))
    for i in range(len(x)):
        state = A[i] @ state + kicks[i]
        path[i] = state[0]
    f = np.empty(len(x))
    f[order] = np.sqrt(variance) * path
    return f


@dataclass(frozen=True)
class Scores:
    """Mean log density, RMSE and coverage of 95 % intervals on the test rows."""

    log_density: float
    rmse: float
    coverage: float

    def __str__(self) -> str:
        return f"log density {self.log_density:.4f}, RMSE {self.rmse:.4f}, coverage {self.coverage:.4f}"


def scores(mean: Any, variance: Any, y: Any) -> Scores:
    """Scores of Gaussian predictions of y."""
    error = y - mean
    density = -0.5 * (np.log(2 * np.pi * variance) + error**2 / variance)
    inside = np.abs(error) <= 1.959963984540054 * np.sqrt(variance)
    return Scores(float(density.mean()), float(np.sqrt((error**2).mean())), float(inside.mean()))
