"""The paper's one-dimensional figure: SGPR, VFF and ODVFF with |β| = 21 and 181 and |β| + |γ| = 200.

Data from a Matérn-3/2 process with ℓ = 0.1 and noise variance 0.15, none of it in [0.45, 0.55]. Each method chooses
lengthscale, variance and noise by its own collapsed bound, then predicts 500 new rows.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from odvff import Fourier, InducingPoints, Matern, Posterior, Term
from odvff.inference import collapsed_bound, optimal_posterior

OUTPUT = Path(__file__).parent / "output"
LENGTHSCALE, NOISE, GAP = 0.1, 0.15, (0.45, 0.55)
N_TRAIN, N_TEST, TOTAL = 800, 500, 200
BOX = (0.0, 1.0)

Model = Callable[[Matern], list[Term]]


def draw_data(seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training rows outside the gap, test rows everywhere, one draw of the process."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(*BOX, N_TRAIN)
    x = x[(x < GAP[0]) | (x > GAP[1])]
    X = np.concatenate([x, np.sort(rng.uniform(*BOX, N_TEST))])[:, None]
    K = Matern(1.5, LENGTHSCALE).covariance(X, X)
    f = np.linalg.cholesky(K + 1e-10 * np.eye(len(X))) @ rng.standard_normal(len(X))
    y = f + np.sqrt(NOISE) * rng.standard_normal(len(X))
    n = len(x)
    return X[:n], y[:n], X[n:], y[n:]


def fit(model: Model, X: Any, y: Any, gamma: Any) -> tuple[Posterior, float, np.ndarray]:
    """Hyper-parameters by the collapsed bound, then the optimal posterior."""

    def loss(log_parameters: np.ndarray) -> float:
        lengthscale, variance, noise = np.exp(log_parameters)
        return -collapsed_bound(model(Matern(1.5, lengthscale, variance)), noise, X, y, gamma)

    start = np.log([0.2, y.var(), 0.3 * y.var()])
    best = minimize(loss, start, method="L-BFGS-B", bounds=[(np.log(1e-3), np.log(1e3))] * 3)
    lengthscale, variance, noise = np.exp(best.x)
    return optimal_posterior(model(Matern(1.5, lengthscale, variance)), noise, X, y, gamma), noise, np.exp(best.x)


def methods(size: int) -> dict[str, tuple[Model, np.ndarray | None]]:
    """The three methods with |β| = size: what carries the covariance, and γ."""
    # the completed basis of a Matérn-3/2 has 2F + 1 + 2 features
    fourier = Fourier((size - 3) // 2, BOX)
    points = InducingPoints(np.linspace(*BOX, size)[:, None])
    gamma = np.linspace(*BOX, TOTAL - size)[:, None]
    return {
        "SGPR": (lambda k: [Term(k, points)], None),
        "VFF": (lambda k: [Term(k, fourier)], None),
        "ODVFF": (lambda k: [Term(k, fourier)], gamma),
    }


def main() -> None:
    X, y, X_test, y_test = draw_data()
    grid = np.linspace(-0.15, 1.15, 400)[:, None]
    figure, axes = plt.subplots(3, 2, figsize=(11, 8), sharex=True, sharey=True, layout="constrained")
    print(f"{len(X)} training rows from a Matérn-3/2 process, none in {GAP}; {N_TEST} test rows\n")
    print("  |β|  |γ|  method   lengthscale  noise   RMSE   log density  coverage of 95 %   seconds")
    for column, size in enumerate((21, 181)):
        for row, (name, (model, gamma)) in enumerate(methods(size).items()):
            began = time.perf_counter()
            q, noise, (lengthscale, _, _) = fit(model, X, y, gamma)
            seconds = time.perf_counter() - began
            mean, variance = q.predict(X_test)
            total = variance + noise
            rmse = np.sqrt(np.mean((y_test - mean) ** 2))
            density = np.mean(-0.5 * (np.log(2 * np.pi * total) + (y_test - mean) ** 2 / total))
            coverage = np.mean(np.abs(y_test - mean) < ndtri(0.975) * np.sqrt(total))
            n_gamma = 0 if gamma is None else len(gamma)
            print(
                f"  {size:3d}  {n_gamma:3d}  {name:6s}  {lengthscale:11.3f}  {noise:5.3f}  {rmse:.4f}  {density:11.4f}"
                f"  {coverage:16.3f}  {seconds:8.1f}"
            )
            draw(axes[row, column], name, size, X, y, grid, q, noise)
    figure.suptitle("One column, no data in the shaded gap; the box of the Fourier features is [0, 1]")
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "figure-1d.png"
    figure.savefig(path, dpi=130)
    print(f"\nthe picture is in {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")


def draw(ax: Any, name: str, size: int, X: Any, y: Any, grid: Any, q: Posterior, noise: float) -> None:
    mean, variance = q.predict(grid)
    for label, spread, alpha in (("95 % for y", variance + noise, 0.15), ("95 % for f", variance, 0.35)):
        width = ndtri(0.975) * np.sqrt(spread)
        ax.fill_between(grid[:, 0], mean - width, mean + width, color="C0", alpha=alpha, lw=0, label=label)
    ax.plot(X[:, 0], y, ".", color="0.45", ms=2, label="data")
    ax.plot(grid[:, 0], mean, color="C0", lw=1.5, label="mean")
    ax.axvspan(*GAP, color="C1", alpha=0.12, lw=0)
    ax.set_title(f"{name}, |β| = {size}", fontsize=10)
    if (name, size) == ("SGPR", 21):
        ax.legend(loc="upper right", fontsize=7, ncols=2)


if __name__ == "__main__":
    main()
