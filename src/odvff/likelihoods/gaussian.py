"""Gaussian noise by its plain number: everything is a closed form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from odvff.likelihoods.base import Likelihood
from odvff.likelihoods.quadrature import Row
from odvff.support.arrays import Array, namespace
from odvff.support.checks import positive
from odvff.support.shapes import Float


@dataclass(frozen=True)
class GaussianNoise(Likelihood):
    """y = f(x) + ε, ε ~ N(0, variance)."""

    name = "gaussian"
    closed_form = mean_is_f = True

    variance: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", positive(self.variance, "noise variance"))

    def given(self, f: Array) -> Any:
        from scipy import stats

        return stats.norm(f, np.sqrt(self.variance))

    def log_density(self, y: Row, f: Float[Array, "*K N"]) -> Float[Array, "*K N"]:
        xp = namespace(self.variance, f, y)
        return -0.5 * (xp.log(2 * np.pi * self.variance) + (y - f) ** 2 / self.variance)

    def pseudo_target(self, y: Row) -> Row:
        return y

    def expected_log_density(self, y: Row, mean: Row, variance: Row) -> Row:
        """−½[log 2πσ² + ((y − mean)² + variance)/σ²]."""
        xp = namespace(self.variance, mean, variance, y)
        return -0.5 * (xp.log(2 * np.pi * self.variance) + ((y - mean) ** 2 + variance) / self.variance)

    def derivatives(self, y: Row, mean: Row, variance: Row) -> tuple[Row, Row, Row]:
        """The same, with (y − mean)/σ² and −½/σ²."""
        value = self.expected_log_density(y, mean, variance)
        return value, (y - mean) / self.variance, np.full(len(y), -0.5 / self.variance)

    def log_predictive_density(self, y: Row, mean: Row, variance: Row) -> Row:
        """log N(y | mean, variance + σ²)."""
        xp, total = namespace(self.variance, mean, variance, y), variance + self.variance
        return -0.5 * (xp.log(2 * np.pi * total) + (y - mean) ** 2 / total)

    def moments(self, mean: Row, variance: Row) -> tuple[Row, Row]:
        return mean, variance + self.variance

    def cdf(self, y: Row, mean: Row, variance: Row) -> Row:
        return special.ndtr((y - mean) / np.sqrt(variance + self.variance))

    def quantiles(self, q: Any, mean: Row, variance: Row) -> Float[Array, "N Q"]:
        return mean[:, None] + np.sqrt(variance + self.variance)[:, None] * special.ndtri(q)

    def draw(self, f: Float[Array, "*many"], rng: np.random.Generator) -> Float[Array, "*many"]:
        return f + np.sqrt(self.variance) * rng.standard_normal(f.shape)

    def crps(self, y: Row, mean: Row, variance: Row) -> Row:
        return gaussian_crps(y, mean, np.sqrt(variance + self.variance))

    @property
    def noise_variance(self) -> float:
        return float(self.variance)

    def in_words(self, scale: float) -> str:
        return f"{self.name}, noise std {scale * np.sqrt(self.variance):.4g}"

    def noise_in_words(self, scale: float, shown: Callable[[float], str]) -> str:
        std = shown(scale * np.sqrt(self.variance))
        return f"What it cannot explain is taken as noise with a standard deviation of {std}."


def gaussian_crps(y: Row, mean: Row, std: Row) -> Row:
    """∫ (F(z) − [z ≥ y])² dz = σ[w(2Φ(w) − 1) + 2φ(w) − 1/√π] with w = (y − μ)/σ, row by row."""
    w = (y - mean) / std
    density = np.exp(-0.5 * w**2) / np.sqrt(2 * np.pi)
    return std * (w * (2 * special.ndtr(w) - 1) + 2 * density - 1 / np.sqrt(np.pi))
