"""The settings and starting values that all SVGP jobs share, so that they differ by their library alone.

The sizes are those of the paper; the rates are those of the tutorials of all three libraries.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

POINTS, BATCH = 100, 500
NATURAL_RATE, ADAM_RATE = 0.1, 0.01


@dataclass(frozen=True)
class Start:
    """What a user who has seen the table would begin with."""

    Z: Any  # inducing points
    lengthscale: float  # of every column
    variance: float  # of every column's kernel
    noise: float  # variance


def start(X: Any, y: Any, seed: int, n_points: int = POINTS) -> Start:
    """Points from the rows, a third of a column's range, and a tenth of the variance of y for the noise."""
    rng = np.random.default_rng(seed)
    D, spread = X.shape[1], float(y.var())
    Z = X[rng.choice(len(X), n_points, replace=False)].copy()
    return Start(Z, float(np.ptp(X, axis=0).mean()) / 3, 0.9 * spread / D, 0.1 * spread)
