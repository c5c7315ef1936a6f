"""Maximising a bound that goes through the rows for every evaluation: L-BFGS-B from where it starts."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from odvff.errors import NumericalError
from odvff.inference.collapsed.fit import Fit, scale_of
from odvff.inference.notes import unfinished_fit
from odvff.posterior import Posterior
from odvff.support.run import Tell, warn
from odvff.support.threads import one_blas_thread


class PassedBound(Protocol):
    """A bound as a function of a flat vector."""

    start: Any
    weight: float
    mean: float  # of y
    variance: float

    def __call__(self, parameters: Any) -> tuple[float, Any]: ...

    def limits(self, scale: float) -> Any: ...

    def posterior(self, parameters: Any) -> tuple[Posterior, float]: ...


def fit_by_passes(
    bound: PassedBound,
    *,
    max_iter: int = 200,
    progress: Callable[[int, float], None] | None = None,
    tell: Tell = warn,
) -> Fit:
    """Maximise such a bound from where it starts; the result is never below the start."""
    limits = bound.limits(scale_of(bound.mean, bound.variance, tell))
    start = np.clip(bound.start, limits[:, 0], limits[:, 1])
    if not np.isfinite(bound(start)[0]):
        raise NumericalError(
            "the bound is not finite where it starts; inducing points may fall together (raise their `jitter` to "
            "1e-6), or y is of a very different scale (standardise it)."
        )
    best: list[Any] = [-np.inf, bound.start]
    history: list[float] = []

    def loss(p: Any) -> tuple[float, Any]:
        value, gradient = bound(p)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return 1e10, 1e10 * (p - best[1])  # the line search turns back
        if value > best[0]:
            best[:] = [value, p.copy()]
        return -value / bound.weight, -gradient / bound.weight

    def callback(_: Any) -> None:
        history.append(best[0])
        if progress is not None:
            progress(len(history), best[0])

    message = "interrupted"
    try:
        options = {"maxiter": max_iter, "ftol": 1e-10, "gtol": 1e-6}
        with one_blas_thread():
            result = minimize(
                loss, start, jac=True, method="L-BFGS-B", bounds=limits, callback=callback, options=options
            )
        flat = result.status == 2 and np.abs(result.jac).max() < 1e-3
        message = "converged" if result.success or flat else str(result.message)
    except KeyboardInterrupt:
        if not np.isfinite(best[0]):
            raise
    q, noise = bound.posterior(best[1])
    fit = Fit(q, noise, float(best[0]), tuple(history), message == "converged", message, ())
    if not fit.converged:
        tell(unfinished_fit(message, fit.bound))
    return fit
