"""Counts about their rate, whose logarithm is f."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from odvff.likelihoods.by_gpjax import ByGPJax
from odvff.likelihoods.quadrature import Nodes, Row
from odvff.support.arrays import Array
from odvff.support.shapes import Bool, Float

LARGEST_LOG_RATE = 700.0  # whose exponential float64 holds
LARGEST_DRAWN = 40.0


@dataclass(frozen=True)
class Poisson(ByGPJax):
    """p(y|f) = λ^y e^{−λ}/y!, λ = e^f."""

    name = "poisson"
    theirs = "Poisson"
    discrete = tells_level = True
    same_scale = False
    wants = "counts: 0, 1, 2, …"
    unexplained = "Counts scatter about their rate as Poisson counts do; effects are on the logarithm of the rate."
    suits = "counts; effects are on the log scale"

    def given(self, f: Array) -> Any:
        from scipy import stats

        return stats.poisson(_rate(f))

    def log_density(self, y: Row, f: Float[Array, "*K N"]) -> Float[Array, "*K N"]:
        return y * f - _rate(f) - special.gammaln(y + 1)

    def takes(self, y: Any) -> Bool[Array, " N"]:
        return (y >= 0) & (y == np.floor(y))

    def pseudo_target(self, y: Row) -> Row:
        return np.log(y + 0.5)

    def cdf_given(self, y: Row, f: Nodes) -> Nodes:
        return np.where(y < 0, 0.0, special.pdtr(np.maximum(np.floor(y), 0.0), _rate(f)))

    def around(self, q: float, f: Nodes) -> tuple[Row, Row]:
        """It is about λ + z√λ + (z² − 1)/6, z the quantile of the normal distribution; margins hold at any rate."""
        z, rate = special.ndtri(q), _rate(f)
        low, high = rate.min(axis=0), rate.max(axis=0)
        margin = z**2 + 10.0
        low, high = low + z * np.sqrt(low) - margin, high + z * np.sqrt(high) + margin
        return np.maximum(np.floor(low), -1.0), np.ceil(high)

    def draw(self, f: Float[Array, "*many"], rng: np.random.Generator) -> Float[Array, "*many"]:
        return np.asarray(rng.poisson(np.exp(np.minimum(f, LARGEST_DRAWN))), dtype=np.float64)

    def effects_in_words(self, target: str) -> tuple[str, str]:
        adds = "What each column adds to the logarithm of the rate: 0.1 more is about 10 % more."
        return "effect on the log rate", adds


def _rate(f: Array) -> Array:
    return np.exp(np.minimum(f, LARGEST_LOG_RATE))
