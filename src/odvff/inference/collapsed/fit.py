"""Hyper-parameters by the collapsed bound: L-BFGS-B on statistics, then the posterior in closed form."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.inference.collapsed.blocks import Blocks
from odvff.inference.collapsed.bound import CollapsedBound, Evaluation
from odvff.inference.maximise import maximise
from odvff.inference.notes import ConstantTarget, unfinished_fit
from odvff.policy import Policy
from odvff.posterior import Posterior
from odvff.rows import RowSource
from odvff.statistics import Statistics
from odvff.statistics.basis import signature
from odvff.support.checks import whole
from odvff.support.run import Tell, unheard, warn
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum, Term

# bounds: lengthscales relative to the box; variances and noise relative to the variance of y
LENGTHSCALE = (1e-3, 1e2)
VARIANCE = (1e-8, 1e4)
NOISE = (1e-8, 1e1)
LATEST = 20  # iterations in which a plateau is seen


@dataclass(frozen=True)
class Fit:
    """A fitted model: the posterior of f, the noise variance of y, and how they were found."""

    posterior: Posterior
    noise: float
    bound: float
    history: tuple[float, ...]  # the bound after each iteration
    converged: bool
    message: str
    unresolved: tuple[float, ...]  # for each term: the variance its features leave out, a row, relative to the noise

    @property
    def terms(self) -> Sum:
        """The terms with their fitted kernels."""
        return self.posterior.terms


def fit_collapsed(
    terms: Sum | Iterable[Term],
    statistics: Statistics | RowSource | Iterable[Any],
    *,
    output: int = 0,
    noise: float | None = None,
    known: bool = False,
    n_starts: int = 1,
    max_iter: int = 200,
    tolerance: float = 1e-11,
    precision: float = 1e-4,
    plateau: float = 0.0,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
    tell: Tell = warn,
) -> Fit:
    """Maximise the collapsed bound over all lengthscales, variances and the noise.

    Where all terms have features that are fixed inside a box, their statistics are enough. If some move (inducing
    points), give the rows instead, chunks `(X, y)` or `(X, y, weights)` in a list, or a `RowSource`: they are gone
    through for every evaluation, from the kernels of the terms and `noise` on, and locations are found too.

    The statistics must come from `collect` with the same terms. Centre y (`Statistics.standardised`) unless its mean is
    small. The first start is chosen from the data; with `noise`, the kernels of the terms and this noise variance are
    a choice too, and if they are `known` to be near the optimum, the only one. `n_starts` tries others around it and
    keeps the best. `tolerance` is the relative change of the bound that ends the fit; it also ends where the gradient
    calls for a step of less than `precision` standard errors in every parameter, and where the bound has risen by less
    than `plateau` nats in twenty iterations, as the variances of terms that explain nothing go to zero for ever.
    Interrupting (Ctrl-C) returns the best found so far. What a person should know of the end is told to `tell`.
    """
    terms = Sum.of(terms)
    if not terms.is_fixed:
        from odvff.inference.collapsed.moving import fit_moving

        return fit_moving(terms, statistics, noise, output, max_iter=max_iter, progress=progress, tell=tell)
    if not isinstance(statistics, Statistics):
        raise InputError("terms whose features are fixed are fitted to statistics; pass `collect(terms, chunks)`.")
    n_starts = whole(n_starts, "n_starts", at_least=1, remedy="one start from the data is usually enough")
    _check_statistics(terms, statistics)
    bound = CollapsedBound(terms, statistics, output)
    if not np.isfinite(statistics.moments).all():
        raise InputError("the sums over the rows overflow; scale y (and weights) to numbers near 1 first.")
    if known and noise is None:
        raise InputError(
            "known=True says that the kernels of the terms and `noise` are a good start; give `noise` too."
        )
    scale = scale_of(statistics.mean(output), statistics.variance(output), tell)
    run = _Run(bound, statistics.weight, plateau, progress)
    with one_blas_thread():
        try:
            start = _start(run, scale, noise, known)
            rng = np.random.default_rng(seed)
            starts = [start] + [start + rng.normal(0, 1.5, len(start)) for _ in range(n_starts - 1)]
            for x in starts:
                run.optimise(x, _limits(bound, scale), max_iter, tolerance, precision)
        except KeyboardInterrupt:
            run.message = "interrupted"
        if run.best is None:
            raise KeyboardInterrupt("the fit was interrupted before its first step; there is nothing to return")
        parameters, best = run.best
        posterior = _posterior(terms, bound, parameters, best)
    result = Fit(
        posterior,
        float(np.exp(parameters[-1])),
        best.value,
        tuple(run.history),
        run.message == "converged",
        run.message,
        tuple(float(r) for r in best.residuals / statistics.weight / np.exp(parameters[-1])),
    )
    if not result.converged:
        tell(unfinished_fit(result.message, result.bound))
    return result


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
    return _quietly(
        terms,
        statistics,
        noise=noise,
        known=known,
        max_iter=max_iter,
        tolerance=policy.quick_tolerance,
        precision=policy.fine_precision if statistics.weight <= policy.quick_fine_rows else policy.precision,
    )


def posterior_of(terms: Sum, statistics: Statistics, noise: float) -> Fit:
    """The best posterior for the kernels of the terms and this noise, which stay as they are."""
    return _quietly(terms, statistics, noise=noise, known=True, precision=np.inf)


def _quietly(terms: Sum, statistics: Statistics, **options: Any) -> Fit:
    fit = fit_collapsed(terms, statistics, tell=unheard, **options)
    if fit.message == "interrupted":  # there is more to come than this
        raise KeyboardInterrupt
    return fit


class _Run:
    """The optimiser's view of the bound, which remembers the best."""

    def __init__(
        self, bound: CollapsedBound, weight: float, plateau: float, progress: Callable[[int, float], None] | None
    ):
        self.bound, self.weight, self.plateau, self.progress = bound, weight, plateau, progress
        self.best: tuple[Any, Evaluation] | None = None
        self.history: list[float] = []
        self.message = "no iteration was made"  # of the start that found the best

    def evaluate(self, parameters: Any) -> Evaluation:
        if self.best is not None and np.array_equal(parameters, self.best[0]):
            return self.best[1]
        evaluation = self.bound(parameters)
        if self.best is None or evaluation.value > self.best[1].value or np.isnan(self.best[1].value):
            self.best = (parameters.copy(), evaluation)
        return evaluation

    def value(self, parameters: Any) -> tuple[float, Any]:
        evaluation = self.evaluate(parameters)
        return evaluation.value, evaluation.gradient

    def optimise(self, start: Any, limits: Any, max_iter: int, tolerance: float, precision: float) -> None:
        first = len(self.history)
        flat = False

        def callback() -> None:
            nonlocal flat
            assert self.best is not None
            self.history.append(self.best[1].value)
            if self.progress is not None:
                self.progress(len(self.history), self.history[-1])
            latest = self.history[first:][-LATEST - 1 :]
            flat = len(latest) > LATEST and latest[-1] - latest[0] < self.plateau
            if flat:
                raise StopIteration

        before = -np.inf if self.best is None else self.best[1].value
        start = np.clip(start, limits[:, 0], limits[:, 1])
        result = maximise(
            self.value,
            start,
            limits,
            self.bound.information(self.evaluate(start)),
            weight=self.weight,
            max_iter=max_iter,
            tolerance=tolerance,
            precision=precision,
            callback=callback,
        )
        # an abnormal line search at the end means that rounding is all that is left to gain
        ended = flat or result.success or (result.status == 2 and np.abs(result.jac).max() < 1e-3)
        if self.best is None or self.best[1].value > before:
            limit = f"the limit of {max_iter} iterations" if result.status == 1 else str(result.message)
            self.message = "converged" if ended else limit


def _start(run: _Run, scale: float, noise_given: float | None, known: bool) -> Any:
    """The best of a few: one lengthscale for all, equal shares of the variance, little or much noise; or as given."""
    blocks = run.bound.blocks
    choices: list[tuple[Any, Any]] = []  # kernels, and variances of noise
    if noise_given is not None:
        given = np.concatenate(blocks.start)
        if known:
            return np.append(given, np.log(noise_given))
        choices.append((given, [noise_given]))
    for lengthscale in (0.1, 0.4, 1.5):
        parts = [[np.log(lengthscale)] * (len(own) - 1) + [np.log(scale / len(blocks.start))] for own in blocks.start]
        choices.append((np.array([p for part in parts for p in part]), [0.1 * scale, 0.5 * scale]))
    candidates = [
        (value, np.append(kernels, np.log(noise)))
        for kernels, noises in choices
        for noise, value in zip(noises, run.bound.values(kernels, noises), strict=True)
    ]
    return max(candidates, key=lambda candidate: candidate[0])[1]


def _limits(bound: CollapsedBound, scale: float) -> Any:
    return np.vstack([kernel_limits(bound.blocks, np.log(VARIANCE) + np.log(scale)), np.log(NOISE) + np.log(scale)])


def kernel_limits(blocks: Blocks, log_variance: Any) -> Any:
    """The least and the largest logarithm of every hyper-parameter of the terms, with those of the variances given."""
    limits: list[Any] = []
    for own in blocks.start:
        limits += [np.log(LENGTHSCALE)] * (len(own) - 1) + [log_variance]
    return np.array(limits)


def _posterior(terms: Sum, bound: CollapsedBound, parameters: Any, best: Evaluation) -> Posterior:
    """The optimal posterior on the user's own features: their whitened coordinates are those of the statistics."""
    return Posterior(terms.with_kernels(bound.terms_at(parameters)), best.mean, best.inverse_root.T)


def _check_statistics(terms: Sum, statistics: Statistics) -> None:
    """Do the statistics belong to these terms?"""
    size = terms.size
    if statistics.n_features != size:
        raise InputError(
            f"the terms have {size} features and the statistics {statistics.n_features}; collect them with these terms."
        )
    expected = signature(terms.canonical)
    if statistics.signature not in ("", expected):
        raise InputError(
            f"the statistics are of {statistics.signature}, and the terms are {expected}; collect them with these."
        )
