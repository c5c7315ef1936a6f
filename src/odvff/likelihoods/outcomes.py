"""The distribution of y at given marginals of f: moments, distribution function, quantiles, densities and draws.

With f ~ N(m, v), row by row, y is a mixture of p(y|f). For Gaussian noise that is Gaussian again; otherwise averages
over f are by Gauss–Hermite quadrature, ∫ g(f) N(f|m,v) df ≈ Σ ω_i g(m + √(2v) ξ_i)/√π, and quantiles by bisection.
Student's t is also scaled to the user's units, y = shift + scale·(standardised y).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from odvff.errors import InputError, NumericalError
from odvff.likelihoods.expectations import log_predictive_density, predictive_moments
from odvff.likelihoods.named import CLASSIFICATION, make_likelihood

NODES, BISECTIONS = 40, 80
LARGEST_LOG_RATE = 700.0  # whose exponential float64 holds
QUANTILE_SLACK = 1e-3  # of distribution functions of rates so large that counts cannot be told apart
PADDED = 1024


@dataclass(frozen=True)
class Outcome:
    """How y follows from f: a likelihood by name, with its parameters and units."""

    likelihood: str
    parameters: dict[str, float]
    shift: float = 0.0
    scale: float = 1.0

    def moments(self, mean: Any, variance: Any) -> tuple[Any, Any]:
        """Mean and standard deviation of y; for 0 and 1 the mean is the probability of 1."""
        if self.likelihood == "gaussian":
            return self.shift + self.scale * mean, self.scale * np.sqrt(variance + self.parameters["variance"])
        first, second = _padded(predictive_moments, self._made(), mean, variance)
        return self.shift + self.scale * first, self.scale * np.sqrt(second)

    def log_density(self, y: Any, mean: Any, variance: Any) -> Any:
        """log p(y), row by row; of counts and of 0 and 1 it is a log-probability."""
        z = (y - self.shift) / self.scale
        if self.likelihood == "gaussian":
            total = variance + self.parameters["variance"]
            return -0.5 * (np.log(2 * np.pi * total) + (z - mean) ** 2 / total) - np.log(self.scale)
        return _padded(log_predictive_density, self._made(), z, mean, variance)[0] - np.log(self.scale)

    def cdf(self, y: Any, mean: Any, variance: Any) -> Any:
        """P(Y ≤ y), row by row."""
        z = (y - self.shift) / self.scale
        if self.likelihood == "gaussian":
            return special.ndtr((z - mean) / np.sqrt(variance + self.parameters["variance"]))
        f, weights = _nodes(mean, variance)
        return weights @ self._cdf_given(z, f)

    def quantiles(self, q: Any, mean: Any, variance: Any) -> Any:
        """Quantiles of y for every row and every q, (N, len(q))."""
        q = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if not ((q > 0) & (q < 1)).all():
            raise InputError(
                f"quantiles are asked for by numbers between 0 and 1, got {q.tolist()}; 0.5 is the median."
            )
        if self.likelihood == "gaussian":
            spread = np.sqrt(variance + self.parameters["variance"])[:, None]
            z = mean[:, None] + spread * special.ndtri(q)
        elif self.likelihood in CLASSIFICATION:
            raise InputError("classes have no quantiles; use predict_proba.")
        else:
            z = np.stack([self._quantile(float(p), mean, variance) for p in q], axis=1)
        return self.shift + self.scale * z

    def draw(self, f: Any, rng: np.random.Generator) -> Any:
        """y for sampled f of any shape."""
        p = self.parameters
        if self.likelihood == "gaussian":
            z = f + np.sqrt(p["variance"]) * rng.standard_normal(f.shape)
        elif self.likelihood == "student-t":
            z = f + p["scale"] * rng.standard_t(p["degrees_of_freedom"], f.shape)
        else:
            z = rng.poisson(np.exp(np.minimum(f, 40.0))).astype(np.float64)
        return self.shift + self.scale * z

    def _made(self) -> Any:
        return make_likelihood(self.likelihood, **self.parameters)

    def _cdf_given(self, z: Any, f: Any) -> Any:
        if self.likelihood == "student-t":
            return special.stdtr(self.parameters["degrees_of_freedom"], (z - f) / self.parameters["scale"])
        return np.where(z < 0, 0.0, special.pdtr(np.maximum(np.floor(z), 0.0), np.exp(np.minimum(f, LARGEST_LOG_RATE))))

    def _quantile(self, q: float, mean: Any, variance: Any) -> Any:
        f, weights = _nodes(mean, variance)
        # every component's quantile brackets the mixture's
        if self.likelihood == "student-t":
            at = self.parameters["scale"] * stats.t.ppf(q, self.parameters["degrees_of_freedom"])
            low, high = f.min(axis=0) + at, f.max(axis=0) + at
        else:
            rates = np.exp(np.minimum(f, LARGEST_LOG_RATE))
            low, high = _around(q, rates.min(axis=0))[0], _around(q, rates.max(axis=0))[1]
        whole = self.likelihood == "poisson"
        for _ in range(BISECTIONS):
            middle = np.floor((low + high) / 2) if whole else (low + high) / 2
            above = weights @ self._cdf_given(middle, f) >= q
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        reached = weights @ self._cdf_given(high, f)
        if not (reached >= q - QUANTILE_SLACK).all():
            i = int(np.argmin(np.where(np.isnan(reached), -1.0, reached)))
            raise NumericalError(
                f"the {q:g} quantile cannot be found where f is {mean[i]:g} ± {np.sqrt(variance[i]):g} (row {i}): the "
                "distribution leaves float64 there; scale the target, or leave such rows out."
            )
        return high


def _around(q: float, rate: Any) -> tuple[Any, Any]:
    """Numbers below and at or above the q-th quantile of a Poisson distribution.

    It is about λ + z√λ + (z² − 1)/6, with z that of the normal distribution; the margins hold at any rate.
    """
    z = special.ndtri(q)
    centre, margin = rate + z * np.sqrt(rate), z**2 + 10.0
    return np.maximum(np.floor(centre - margin), -1.0), np.ceil(centre + margin)


def _nodes(mean: Any, variance: Any) -> tuple[Any, Any]:
    """Nodes of f, (nodes, N), and their weights."""
    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    return mean + np.sqrt(2 * variance) * nodes[:, None], weights / np.sqrt(np.pi)


def _padded(function: Any, likelihood: Any, *rows: Any) -> tuple[Any, ...]:
    """The function in blocks of one size, so that no number of rows compiles anything anew."""
    n, parts = len(rows[0]), []
    for start in range(0, max(n, 1), PADDED):
        block = [row[start : start + PADDED] for row in rows]
        filled = [np.concatenate([b, np.full(PADDED - len(b), b[-1] if len(b) else 0.5)]) for b in block]
        values = function(likelihood, *filled)
        values = values if isinstance(values, tuple) else (values,)
        parts.append([np.asarray(v)[: len(block[0])] for v in values])
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
