"""A likelihood whose parameters move, as a flat vector: what sites ask of it, and where their first guess is.

Marginals come as arrays of shape (processes, N), a block of rows at a time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from odvff.policy import Policy

BLOCK_ROWS = 4096
NEARLY = 1e-6  # the variance of what is as good as known
FURTHEST = 8.0  # of logarithms of parameters, in one go

Sample = tuple[Any, ...]  # y, weights, means and variances


class Adjustable:
    """A likelihood on NumPy; its parameters are positive, and move by their logarithms."""

    def __init__(self, likelihood: Any):
        self._likelihood = likelihood
        self.start = np.log(np.array(list(likelihood.parameters().values()), dtype=np.float64))

    def at(self, flat: Any) -> Any:
        """The likelihood with these parameters."""
        values = np.exp(flat).tolist()
        return type(self._likelihood)(**dict(zip(self._likelihood.parameters(), values, strict=True)))

    def expectations(self, flat: Any, y: Any, w: Any, means: Any, variances: Any) -> tuple[float, Any, Any]:
        """Σ w E log p, and its derivatives with respect to all means and variances, each of shape (processes, N)."""
        value, *slopes = self._derivatives(flat, y, *by_process(means, variances))
        return float(w @ value), w * np.stack(slopes[::2]), w * np.stack(slopes[1::2])

    def _derivatives(self, flat: Any, *rows: Any) -> Any:
        return self.at(flat).derivatives(*rows)

    def improve(self, flat: Any, sample: Sample, policy: Policy) -> Any:
        """Parameters of the likelihood for the marginals of the sample."""
        if len(flat) == 0:
            return flat
        loss, has_gradient = self._loss(sample, policy)
        reach = [(p - FURTHEST, p + FURTHEST) for p in flat]
        return minimize(loss, flat, jac=has_gradient, method="L-BFGS-B", bounds=reach, options={"maxiter": 10}).x

    def _loss(self, sample: Sample, policy: Policy) -> tuple[Callable[[Any], Any], bool]:
        """−E log p on average, as a function of parameters, and whether it comes with its gradient."""
        some = slice(None, None, -(-len(sample[0]) // policy.likelihood_rows))
        y, w, means, variances = (part[..., some] for part in sample)
        return lambda p: -float(w @ self.at(p).expected_log_density(y, means[0], variances[0]) / w.sum()), False

    def first_guess(self, flat: Any, sample: Sample) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Mean and variance of f at rows with targets y, given the variance of its prior: where the first sites are.

        Counts tell their own level: from a constant one, a step as long as they call for would overshoot by far. For
        other likelihoods it is the constant, of a few dozen, that suits the rows best.
        """
        if self._likelihood.tells_level:
            return lambda y, variance: (self._likelihood.pseudo_target(y), np.full(len(y), NEARLY))
        level = 0.0 if self._likelihood.same_scale else self._level(flat, sample)
        return lambda y, variance: (np.full(len(y), level), variance)

    def _level(self, flat: Any, sample: Sample) -> float:
        y, w = (part[:BLOCK_ROWS] for part in sample[:2])
        nearly = np.full((1, len(y)), NEARLY)
        candidates = np.append(np.linspace(-10, 10, 41), np.log(np.maximum(y.mean(), 1e-3)))
        values = [self.expectations(flat, y, w, np.full((1, len(y)), c), nearly)[0] for c in candidates]
        return float(candidates[np.nanargmax(values)]) if np.isfinite(values).any() else 0.0


def by_process(means: Any, variances: Any) -> list[Any]:
    """The mean and the variance of each process in turn."""
    return [rows for pair in zip(means, variances, strict=True) for rows in pair]
