"""L-BFGS-B in which every parameter is counted in its own standard errors.

A log noise variance is known to √(2/N), a log lengthscale to the root of one over a few features: the curvature of a
bound differs by a factor of thousands from one parameter to the next, and an optimiser spends its first twenty
iterations on finding that out. Tell it before: with x = x₀ + z √(w/I), I about the Fisher information of each parameter
by itself and w the weight of all rows, −L/w has a curvature near 1 in every z. And it can be told when to
stop: where ∂L/∂x is less than `precision` √I, it calls for a step of less than that part of a standard error. (Where
parameters trade with each other, or beside a saddle, the optimum may be further away than that: let it be small.)

The first step would be that of Fisher scoring, ∂L/∂x / I, which from afar is a leap into the unknown: z is shortened so
that it changes no parameter by more than `LEAP`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from odvff.support.arrays import Array
from odvff.support.shapes import Float

MEMORY = 20  # pairs of steps and changes of the gradient
LEAP = 1.0  # parameters are logarithms


@dataclass(frozen=True)
class Until:
    """Where an ascent ends."""

    max_iter: int = 200
    tolerance: float = 0.0  # an iteration raises the value (in nats a row) by less than this, relative to its size
    precision: float = 0.0  # the gradient calls for fewer standard errors than this in every parameter
    callback: Callable[[], None] = lambda: None  # after every iteration; it may raise StopIteration


def maximise(
    function: Callable[[Any], tuple[float, Any]],
    start: Float[Array, " K"],
    limits: Float[Array, "K 2"],
    information: Float[Array, " K"],
    until: Until,
    weight: float = 1.0,
) -> OptimizeResult:
    """Maximise a function that returns its value in nats and its gradient; `x` of the result is where it is largest."""
    first = function(start)
    shortened = min(1.0, LEAP / max(float(np.abs(first[1] / information).max()), 1e-300))
    unit = np.sqrt(shortened * weight / information)

    def loss(z: Any) -> tuple[float, Any]:
        value, gradient = function(start + unit * z) if z.any() else first
        return -value / weight, -unit * gradient / weight

    how = {"jac": True, "method": "L-BFGS-B", "callback": lambda _: until.callback()}
    gtol = until.precision * np.sqrt(shortened / weight)
    options = {"maxiter": until.max_iter, "ftol": until.tolerance, "gtol": gtol, "maxcor": MEMORY}
    bounds = (limits - start[:, None]) / unit[:, None]
    result = minimize(loss, np.zeros(len(start)), bounds=bounds, options=options, **how)
    result.jac = result.jac / unit
    result.x = np.clip(start + unit * result.x, limits[:, 0], limits[:, 1])
    return result
