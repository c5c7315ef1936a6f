"""Averages over f ~ N(mean, variance), row by row, of what a likelihood says at each f.

Smooth ones are by Gauss–Hermite quadrature, ∫ g(f) N(f|m,v) df ≈ Σ ω_i g(m + √(2v) ξ_i)/√π. E p(y|f) may be an
integral over a peak much narrower than f is uncertain: Simpson's rule on ±8 standard deviations, with eight times finer
steps around the highest node, and again, and again. All of it runs on NumPy and traces under JAX.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from odvff.support.arrays import Array, namespace
from odvff.support.shapes import Float

Row = Float[Array, " N"]  # a number for each row
Nodes = Float[Array, "K N"]  # and for each of its nodes

NODES = 40
REACH, STEPS, WINDOW, LEVELS = 8.0, 128, 8, 4
LEAST_VARIANCE = 1e-8  # below, differences of g between nodes have no digits left

_ROOTS, _WEIGHTS = np.polynomial.hermite.hermgauss(NODES)
WEIGHTS = _WEIGHTS / np.sqrt(np.pi)


def nodes(mean: Row, variance: Row) -> Nodes:
    """Nodes of f, whose weights are `WEIGHTS`."""
    return mean + namespace(mean, variance).sqrt(2 * variance) * _ROOTS[:, None]


def derivatives(g: Callable[[Array], Array], mean: Row, variance: Row) -> tuple[Row, Row, Row]:
    """E g(f), and its derivatives E[g u]/√v in the mean and ½E[g (u² − 1)]/v in the variance, with u = (f − m)/√v."""
    value = WEIGHTS @ g(nodes(mean, variance))
    v, u = np.maximum(variance, LEAST_VARIANCE), np.sqrt(2) * _ROOTS[:, None]
    away = g(nodes(mean, v)) - g(mean)  # E u = E[u² − 1] = 0, and a large constant would take the digits
    return value, WEIGHTS @ (away * u) / np.sqrt(v), 0.5 * (WEIGHTS @ (away * (u**2 - 1))) / v


def moments(first: Nodes, second: Nodes) -> tuple[Row, Row]:
    """Mean and variance of y from those at every node: Var y = E Var(y|f) + Var E(y|f)."""
    w = WEIGHTS[:, None]
    mean = (w * first).sum(axis=0)
    return mean, (w * (second + (first - mean) ** 2)).sum(axis=0)


def log_average(g: Callable[[Array], Array], mean: Row, variance: Row) -> Row:
    """log E exp g(f)."""
    xp = namespace(mean, variance)

    def log_integrand(u: Nodes) -> Nodes:
        return g(mean + xp.sqrt(variance) * u) - 0.5 * u**2 - 0.5 * np.log(2 * np.pi)

    j = np.arange(STEPS + 1)[:, None]
    simpson = np.where(j % 2, 4.0, 2.0)
    parts, low, width = [], xp.full_like(mean, -REACH), 2.0 * REACH
    for level in range(LEVELS):
        h = width / STEPS
        values = log_integrand(low + h * j)
        if level == LEVELS - 1:
            weights = xp.where((j == 0) | (j == STEPS), 1.0, simpson)
        else:
            # leave out the window that the next level looks at more closely; its ends are even nodes
            middle = xp.clip(2 * xp.round(xp.argmax(values, axis=0) / 2), WINDOW, STEPS - WINDOW)
            first, last = middle - WINDOW, middle + WINDOW
            ends = (j == 0) | (j == STEPS) | (j == first) | (j == last)
            weights = xp.where((j > first) & (j < last), 0.0, xp.where(ends, 1.0, simpson))
            # a part without any step weighs nothing
            weights = xp.where(((j == first) & (first == 0)) | ((j == last) & (last == STEPS)), 0.0, weights)
            low, width = low + h * first, 2 * WINDOW * h
        parts.append(_log_sum(values, weights * h / 3))
    return _log_sum(xp.stack(parts), None)


def _log_sum(values: Nodes, weights: Any) -> Row:
    """log Σ w e^v along the first axis."""
    if namespace(values) is np:
        from scipy.special import logsumexp
    else:
        from jax.scipy.special import logsumexp
    return logsumexp(values, axis=0, b=weights)
