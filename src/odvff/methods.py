"""The methods by name: each a choice of what carries the covariance (β), what the mean gains (γ), and of inference.

| name  | β                                          | γ      | inference                      |
|-------|--------------------------------------------|--------|--------------------------------|
| odvff | Fourier features of every numeric column   | points | collapsed, sites or stochastic |
| vff   | Fourier features of every numeric column   | none   | collapsed, sites or stochastic |
| odvgp | points that see all numeric columns        | points | stochastic                     |
| svgp  | points that see all numeric columns        | none   | stochastic                     |
| sgpr  | points that see all numeric columns        | none   | collapsed                      |
| exact | every row                                  | none   | GPJax, up to 5000 rows         |

Columns of levels are in β exactly, whatever the method. Collapsed inference is for Gaussian noise, sites are for other
likelihoods. All start from the same values, and all return the same kind of posterior and history.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.design import Design, NumericPart
from odvff.errors import Argument, FitWarning, InputError
from odvff.fitting import Named, Options, Problem, Start
from odvff.fitting.fits import fit_by_minibatches, fit_by_sites, fit_by_statistics, fit_exactly
from odvff.fitting.starts import exact_start, fourier_start, point_start
from odvff.likelihoods import GaussianNoise, Likelihood
from odvff.policy import Policy
from odvff.rows import MemoryRows, RowSource
from odvff.support.checks import matrix, vector
from odvff.support.progress import Progress, silent
from odvff.support.run import BARE, Run
from odvff.support.threads import one_blas_thread

__all__ = ["INFERENCE", "Named", "Options", "check_method", "choose_terms", "fit_method", "fit_rows", "method_of"]


@dataclass(frozen=True)
class Inference:
    """A way from a start to a fit, for which likelihoods it is, and which limit of the policy it goes up to."""

    fit: Callable[[Problem, Start, bool], Named]
    gaussian: bool = True
    others: bool = False
    limit: Callable[[Policy], int] = lambda policy: policy.most_iterations


@dataclass(frozen=True)
class Method:
    """What carries the covariance, whether the mean gains points, and the inferences, the usual ones first."""

    start: Callable[[Problem], Start]
    gamma: bool
    inferences: dict[str, Inference]
    takes_terms: bool = False  # has it a term for each effect, so that there may be pairs, and others be given?
    on_points: bool = False  # do points carry the covariance?

    def points(self, n: int) -> tuple[int, int]:
        """Of n points, how many are for the mean and how many for the covariance."""
        if self.gamma and self.on_points:
            return n - n // 2, n // 2
        return (n, 0) if self.gamma else (0, n)


COLLAPSED = {"collapsed": Inference(fit_by_statistics)}
SITES = {"sites": Inference(fit_by_sites, gaussian=False, others=True, limit=lambda policy: policy.most_rounds)}
STOCHASTIC = {"stochastic": Inference(fit_by_minibatches, others=True, limit=lambda policy: policy.most_steps)}
METHODS = {
    "odvff": Method(fourier_start, True, COLLAPSED | SITES | STOCHASTIC, takes_terms=True),
    "vff": Method(fourier_start, False, COLLAPSED | SITES | STOCHASTIC, takes_terms=True),
    "odvgp": Method(point_start, True, STOCHASTIC, on_points=True),
    "svgp": Method(point_start, False, STOCHASTIC, on_points=True),
    "sgpr": Method(point_start, False, COLLAPSED, on_points=True),
    "exact": Method(exact_start, False, {"exact": Inference(fit_exactly)}),
}
INFERENCE = {name: tuple(method.inferences) for name, method in METHODS.items()}
GAUSSIAN_NOISE = GaussianNoise()


def fit_method(method: str, X: Any, y: Any, options: Options | None = None, progress: Progress = silent) -> Named:
    """Fit an additive model of numeric columns to the rows of X and a centred y by the named method.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (300, 1))
    >>> named = fit_method("vff", X, np.sin(6 * X[:, 0]), Options(n_harmonics=8))
    >>> bool(named.fit.noise < 1e-3)
    True
    """
    options = options or Options()
    X = matrix(X, "X")
    y = vector(y, "y", size=len(X))
    if len(X) == 0:
        raise InputError("there are no rows to fit to.")
    if not 1e-150 < max(float(np.abs(y).max()), 1e-149) < 1e150:
        raise InputError(f"y goes up to {np.abs(y).max():g}, whose square leaves float64; scale it first.")
    if y.mean() ** 2 > max(y.var(), 1e-300) * 1.0001 and len(y) > 1:
        far = f"the mean of y is {y.mean():g}, far from zero for its standard deviation of {y.std():g}"
        warnings.warn(FitWarning(f"{far}; centre y, or the model spends its effects on the level."), stacklevel=2)
    ranges = zip(X.min(axis=0).tolist(), X.max(axis=0).tolist(), strict=True)
    intervals = options.intervals or tuple((a, b) if b > a else (a - 0.5, b + 0.5) for a, b in ranges)
    if len(intervals) != X.shape[1]:
        raise InputError(f"there are {len(intervals)} intervals for {X.shape[1]} columns; give one for each.")
    design = Design(tuple(NumericPart(d, f"column {d}", interval) for d, interval in enumerate(intervals)))
    return fit_rows(method, MemoryRows(X, y, seed=options.seed), design, options, run=Run(progress))


@one_blas_thread()
def fit_rows(
    method: str,
    rows: RowSource,
    design: Design,
    options: Options,
    *,
    likelihood: Likelihood = GAUSSIAN_NOISE,
    run: Run = BARE,
) -> Named:
    """Fit a design to rows from anywhere; what it has reached, and what is to be said of it, goes to the `run`.

    With Gaussian noise y is centred. With another likelihood, lengthscales and harmonics start from a Gaussian fit to
    its pseudo-targets, numbers that are about as f should be, centred. Their mean says how large an intercept may have
    to be (a term of one level: the same in every row).
    """
    inference = check_method(method, options.inference, gaussian=likelihood.closed_form)
    if not 0 <= options.held_out < 1:
        raise InputError(f"held_out is a share of the rows, from 0 up to 1, got {options.held_out!r}; 0.1 is usual.")
    if not 0 <= options.cooling <= 1:
        raise InputError(f"cooling is a share of the steps, from 0 to 1, got {options.cooling!r}; 0.25 is usual.")
    if options.held_out > 0 and inference != "stochastic":
        raise InputError(f"held_out is for stochastic inference, and {method} is fitted by {inference} inference here.")
    chosen, problem = METHODS[method], Problem(rows, design, options, likelihood, run)
    return chosen.inferences[inference].fit(problem, chosen.start(problem), chosen.gamma)


@one_blas_thread()
def choose_terms(rows: RowSource, design: Design, options: Options) -> Start:
    """The Fourier terms that a fit to these rows would have, and in words how they were chosen."""
    return fourier_start(Problem(rows, design, options, GAUSSIAN_NOISE, BARE))


def method_of(name: str) -> Method:
    """The method of this name."""
    if name not in tuple(METHODS):  # it may be something without a hash
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {name!r}.")
    return METHODS[name]


def check_method(method: str, inference: str, *, gaussian: bool) -> str:
    """The inference of this method, if it has it for such a likelihood."""
    inferences = method_of(method).inferences.items()
    fitting = [name for name, one in inferences if (one.gaussian if gaussian else one.others)]
    if not fitting:
        raise InputError(
            f"method {method!r} is for Gaussian noise; use odvff, vff, odvgp or svgp with this likelihood."
        )
    inference = fitting[0] if inference == "auto" else inference
    if inference not in fitting:
        noise = "" if gaussian else " for this likelihood"
        fitted = f"{method} is fitted by {' or '.join(fitting)} inference{noise}"
        raise InputError(f"{fitted}, got ", Argument("inference", inference), ".")
    return inference
