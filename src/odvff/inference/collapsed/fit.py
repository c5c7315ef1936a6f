"""Hyper-parameters by the collapsed bound: L-BFGS-B on statistics, then the posterior in closed form."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from odvff.errors import InputError
from odvff.inference.collapsed.bound import Blocks, CollapsedBound
from odvff.inference.maximise import Until, maximise
from odvff.inference.notes import CONVERGED, INTERRUPTED, ConstantTarget, unfinished_fit
from odvff.policy import Policy
from odvff.posterior import Posterior
from odvff.rows import RowSource
from odvff.statistics import Statistics
from odvff.statistics.basis import signature
from odvff.support.arrays import Array
from odvff.support.checks import whole
from odvff.support.progress import silent
from odvff.support.run import Tell, warn
from odvff.support.shapes import Float
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum, Term

if TYPE_CHECKING:  # JAX is imported where it is needed
    from odvff.inference.collapsed.moving import MovingBound

# bounds: lengthscales relative to the box; variances and noise relative to the variance of y
LENGTHSCALE = (1e-3, 1e2)
VARIANCE = (1e-8, 1e4)
NOISE = (1e-8, 1e1)
LATEST = 20  # iterations in which a plateau is seen


@dataclass(frozen=True)
class Fit:
    """A fitted model: the posterior of f with the fitted kernels, the noise variance of y, and how they were found."""

    posterior: Posterior
    noise: float
    bound: float
    history: tuple[float, ...]  # the bound after each iteration
    converged: bool
    message: str
    unresolved: tuple[float, ...]  # for each term: the variance its features leave out, a row, relative to the noise

    @property
    def terms(self) -> Sum:
        return self.posterior.terms


@dataclass(frozen=True)
class Ascent:
    """How a bound is climbed: from how many starts, where it ends, and who hears of it."""

    n_starts: int = 1  # the best of several, the others around the first
    max_iter: int = 200
    tolerance: float = 1e-11  # it ends where the bound changes by less than this, relative to its size
    precision: float = 1e-4  # or where the gradient calls for a step of fewer standard errors in every parameter
    plateau: float = 0.0  # or of less than so many nats in twenty: terms that explain nothing shrink for ever
    seed: int = 0  # of other starts
    progress: Callable[[int, float], None] | None = None  # is called with the number of every iteration and the bound
    tell: Tell = warn  # is told what a person should know of the end

    def __post_init__(self) -> None:
        whole(self.n_starts, "n_starts", at_least=1, remedy="one start from the data is usually enough")


def fit_collapsed(
    terms: Sum | Iterable[Term],
    statistics: Statistics | RowSource | Iterable[Any],
    *,
    output: int = 0,
    noise: float | None = None,
    known: bool = False,
    **ascent: Any,
) -> Fit:
    """Maximise the collapsed bound over all lengthscales, variances and the noise.

    Where all terms have features that are fixed inside a box, their statistics are enough. If some move (inducing
    points), give the rows instead, chunks `(X, y)` or `(X, y, weights)` in a list, or a `RowSource`: they are gone
    through for every evaluation, from the kernels of the terms and `noise` on, and locations are found too; JAX
    compiles and differentiates that.

    The statistics must come from `collect` with the same terms. Centre y (`Statistics.standardised`) unless its mean is
    small. The first start is chosen from the data; with `noise`, the kernels of the terms and this noise variance are
    a choice too, and if they are `known` to be near the optimum, the only one.

    The rest are fields of `Ascent`. Interrupting (Ctrl-C) returns the best found so far.
    """
    terms, how = Sum.of(terms), Ascent(**ascent)
    if known and noise is None:
        raise InputError(
            "known=True says that the kernels of the terms and `noise` are a good start; give `noise` too."
        )
    if not terms.is_fixed:
        from odvff.inference.collapsed.moving import fit_moving

        return fit_moving(terms, statistics, output, noise, how)
    if not isinstance(statistics, Statistics):
        raise InputError("terms whose features are fixed are fitted to statistics; pass `collect(terms, chunks)`.")
    _check_statistics(terms, statistics)
    bound = CollapsedBound(terms, statistics, output)
    scale = scale_of(statistics.mean(output), statistics.variance(output), how.tell)
    limits = np.vstack([kernel_limits(bound.blocks, np.log(VARIANCE) + np.log(scale)), noise_limits(scale)])
    climb = Climb(bound, how)
    with one_blas_thread():
        parameters, best = climb.highest(lambda: _start(bound, scale, noise, known), limits)
        # on the user's own features: their whitened coordinates are those of the statistics
        posterior = Posterior(terms.with_kernels(bound.blocks.at(parameters[:-1])), best.mean, best.inverse_root.T)
    variance = float(np.exp(parameters[-1]))
    return climb.ended(posterior, variance, tuple((best.residuals / statistics.weight / variance).tolist()))


def scale_of(mean: float, variance: float, tell: Tell) -> float:
    """The variance of y; for a constant y, with a note, next to nothing."""
    if variance > 1e-14 * max(mean**2, 1e-300):
        return variance
    tell(ConstantTarget(mean))
    return max(mean**2, 1.0) * 1e-12


def fit_quietly(
    terms: Sum, statistics: Statistics, policy: Policy, max_iter: int, noise: float | None = None, known: bool = False
) -> Fit:
    """A few steps on the way to a choice, where stopping early is the plan and no cause for a warning."""
    precision = policy.fine_precision if statistics.weight <= policy.quick_fine_rows else policy.precision
    until = {"max_iter": max_iter, "tolerance": policy.quick_tolerance, "precision": precision}
    return _quietly(terms, statistics, noise=noise, known=known, **until)


def posterior_of(terms: Sum, statistics: Statistics, noise: float) -> Fit:
    """The best posterior for the kernels of the terms and this noise, which stay as they are."""
    return _quietly(terms, statistics, noise=noise, known=True, precision=np.inf)


def _quietly(terms: Sum, statistics: Statistics, **options: Any) -> Fit:
    fit = fit_collapsed(terms, statistics, tell=silent, **options)
    if fit.message == INTERRUPTED:  # there is more to come than this
        raise KeyboardInterrupt
    return fit


class Climb:
    """The optimiser's view of a bound, which remembers the best."""

    def __init__(self, bound: "CollapsedBound | MovingBound", how: Ascent):
        self._bound, self._how = bound, how
        self._best: Any = None  # parameters, and what the bound says there
        self._history: list[float] = []
        self._message = "no iteration was made"  # of the start that found the best

    def highest(self, first: Callable[[], Any], limits: Any, spread: Any = 1.0) -> tuple[Any, Any]:
        """The best parameters and what the bound says there, from a first start and others around it."""
        try:
            start = first()
            rng = np.random.default_rng(self._how.seed)
            around = [start + spread * rng.normal(0, 1.5, len(start)) for _ in range(self._how.n_starts - 1)]
            for x in (start, *around):
                self._climb(np.clip(x, limits[:, 0], limits[:, 1]), limits)
        except KeyboardInterrupt:
            self._message = INTERRUPTED
        if self._best is None:
            raise KeyboardInterrupt("the fit was interrupted before its first step; there is nothing to return")
        return self._best[0], self._best[1]

    def ended(self, posterior: Posterior, noise: float, unresolved: tuple[float, ...] = ()) -> Fit:
        """The fit, with a note if it did not converge."""
        converged, bound = self._message == CONVERGED, float(self._best[1].value)
        if not converged:
            self._how.tell(unfinished_fit(self._message, bound))
        return Fit(posterior, noise, bound, tuple(self._history), converged, self._message, unresolved)

    def _evaluate(self, parameters: Any) -> Any:
        if self._best is not None and np.array_equal(parameters, self._best[0]):
            return self._best[1]
        found = self._bound(parameters)
        if self._best is None or found.value > self._best[1].value or np.isnan(self._best[1].value):
            self._best = (parameters.copy(), found)
        return found

    def _value(self, parameters: Float[Array, " K"]) -> tuple[float, Float[Array, " K"]]:
        found = self._evaluate(parameters)
        if np.isfinite(found.value) and np.isfinite(found.gradient).all():
            return found.value, found.gradient
        steep = -1e10 * self._bound.weight
        return steep, steep * (parameters - self._best[0])  # the line search turns back

    def _climb(self, start: Any, limits: Any) -> None:
        first, how, flat = len(self._history), self._how, False

        def callback() -> None:
            nonlocal flat
            self._history.append(float(self._best[1].value))
            if how.progress is not None:
                how.progress(len(self._history), self._history[-1])
            latest = self._history[first:][-LATEST - 1 :]
            flat = len(latest) > LATEST and latest[-1] - latest[0] < how.plateau
            if flat:
                raise StopIteration

        before = -np.inf if self._best is None else self._best[1].value
        information = self._bound.information(self._evaluate(start))
        until = Until(how.max_iter, how.tolerance, how.precision, callback)
        result = maximise(self._value, start, limits, information, until, self._bound.weight)
        if self._best[1].value > before:
            # an abnormal line search at the end means that rounding is all that is left to gain
            ended = flat or result.success or (result.status == 2 and np.abs(result.jac).max() < 1e-3)
            limit = f"the limit of {how.max_iter} iterations" if result.status == 1 else str(result.message)
            self._message = CONVERGED if ended else limit


def _start(bound: CollapsedBound, scale: float, noise_given: float | None, known: bool) -> Any:
    """The best of a few: one lengthscale for all, equal shares of the variance, little or much noise; or as given."""
    given = np.concatenate(bound.blocks.start)
    if noise_given is not None and known:
        return np.append(given, np.log(noise_given))
    choices = [] if noise_given is None else [(given, [noise_given])]  # kernels, and variances of noise
    for lengthscale in (0.1, 0.4, 1.5):
        kernels = np.full(len(given), np.log(lengthscale))
        kernels[bound.blocks.variances] = np.log(scale / len(bound.blocks.start))
        choices.append((kernels, [0.1 * scale, 0.5 * scale]))
    candidates = [
        (value, np.append(kernels, np.log(noise)))
        for kernels, noises in choices
        for noise, value in zip(noises, bound.values(kernels, noises), strict=True)
    ]
    return max(candidates, key=lambda candidate: candidate[0])[1]


def noise_limits(scale: float) -> Float[Array, " 2"]:
    """The least and the largest logarithm of the noise variance, where y has this variance."""
    return np.log(NOISE) + np.log(scale)


def kernel_limits(blocks: Blocks, log_variance: Float[Array, " 2"]) -> Float[Array, "K 2"]:
    """The same of every hyper-parameter of the terms, with those of the variances given."""
    limits = np.tile(np.log(LENGTHSCALE), (blocks.variances[-1] + 1, 1))
    limits[blocks.variances] = log_variance
    return limits


def _check_statistics(terms: Sum, statistics: Statistics) -> None:
    """Do the statistics belong to these terms?"""
    if statistics.n_features != terms.size:
        raise InputError(
            f"the terms have {terms.size} features and the statistics {statistics.n_features}; collect them with these "
            "terms."
        )
    expected = signature(terms.canonical)
    if statistics.signature not in ("", expected):
        raise InputError(
            f"the statistics are of {statistics.signature}, and the terms are {expected}; collect them with these."
        )
