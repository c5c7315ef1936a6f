"""Gaussian noise by its plain number, so that regression needs no JAX."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.support.arrays import Array, namespace
from odvff.support.checks import positive


@dataclass(frozen=True)
class GaussianNoise:
    """y = f(x) + ε, ε ~ N(0, variance)."""

    variance: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "noise variance"))

    def expected_log_density(self, y: Array, mean: Array, variance: Array) -> Array:
        """E_{f ~ N(mean, variance)} log N(y | f, σ²) = −½[log 2πσ² + ((y − mean)² + variance)/σ²]."""
        xp = namespace(self.variance, mean, variance, y)
        return -0.5 * (xp.log(2 * np.pi * self.variance) + ((y - mean) ** 2 + variance) / self.variance)

    def log_predictive_density(self, y: Array, mean: Array, variance: Array) -> Array:
        """log N(y | mean, variance + σ²)."""
        xp, total = namespace(self.variance, mean, variance, y), variance + self.variance
        return -0.5 * (xp.log(2 * np.pi * total) + (y - mean) ** 2 / total)
