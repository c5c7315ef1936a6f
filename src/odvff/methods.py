"""The methods by name: each a choice of what carries the covariance (β), what the mean gains (γ), and of inference.

| name  | β                                  | γ      | inference               |
|-------|------------------------------------|--------|-------------------------|
| odvff | Fourier features of every column   | points | collapsed or stochastic |
| vff   | Fourier features of every column   | none   | collapsed or stochastic |
| odvgp | points that see all columns        | points | stochastic              |
| svgp  | points that see all columns        | none   | stochastic              |
| sgpr  | points that see all columns        | none   | collapsed               |
| exact | every row                          | none   | GPJax, up to 5000 rows  |

All for the additive kernel of one Matérn a column and Gaussian noise, all from the same starting values, and all
return the same kind of `Fit`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.checks import matrix, vector, whole
from odvff.errors import InputError
from odvff.features import Fourier, InducingPoints
from odvff.inference import (
    Fit,
    add_inducing,
    choose_harmonics,
    fit_collapsed,
    greedy_points,
    kmeans_points,
    optimal_posterior,
)
from odvff.inference.fit import NOISE, FitWarning, fit_quietly, scale_of, warn_unless_converged
from odvff.kernels import Additive, Matern, matern, parameter
from odvff.likelihoods import GaussianNoise
from odvff.statistics import collect
from odvff.terms import Sum, Term

INFERENCE = {
    "odvff": ("collapsed", "stochastic"),
    "vff": ("collapsed", "stochastic"),
    "odvgp": ("stochastic",),
    "svgp": ("stochastic",),
    "sgpr": ("collapsed",),
    "exact": ("exact",),
}
EXACT_ROWS = 5000
START_ROWS, START_HARMONICS = 2000, 12
JITTER = 1e-6


@dataclass(frozen=True)
class Options:
    """What a method is asked for. Defaults suit a few thousand to a few million rows."""

    smoothness: float = 1.5
    n_harmonics: int | str = "auto"
    completion: bool = True
    n_beta: int = 100  # points that carry the covariance, where β is points
    n_gamma: int | str = "auto"  # points for the mean
    intervals: tuple[tuple[float, float], ...] | None = None  # by default the range of every column
    inference: str = "auto"
    batch_size: int = 500
    n_steps: int = 8000
    learning_rate: float = 0.01
    natural_step: float = 0.1
    cooling: float = 0.25  # the last share of the steps, in which both rates fall to a hundredth
    held_out: float = 0.0  # share of the rows that stochastic training keeps apart and scores
    patience: int | None = None  # steps without a better score after which it stops
    refine: bool = False  # collapsed odvff: move γ and all hyper-parameters together in the end
    max_iter: int = 200
    seed: int = 0


@dataclass(frozen=True)
class Named:
    """A fit by name, and in words what was chosen on the way."""

    fit: Fit
    report: tuple[str, ...]
    scores: tuple[tuple[int, float], ...] = ()  # of stochastic training: (step, mean log density of the held-out rows)


def fit_method(
    method: str,
    X: Any,
    y: Any,
    options: Options | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Named:
    """Fit an additive model to the rows of X and a centred y by the named method.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (300, 1))
    >>> named = fit_method("vff", X, np.sin(6 * X[:, 0]), Options(n_harmonics=8))
    >>> bool(named.fit.noise < 1e-3)
    True
    """
    options = options or Options()
    if method not in INFERENCE:
        raise InputError(f"method must be one of {', '.join(INFERENCE)}, got {method!r}.")
    allowed = INFERENCE[method]
    inference = allowed[0] if options.inference == "auto" else options.inference
    if inference not in allowed:
        raise InputError(f"{method} is fitted by {' or '.join(allowed)} inference, got inference={inference!r}.")
    if not 0 <= options.held_out < 1:
        raise InputError(f"held_out is a share of the rows, from 0 up to 1, got {options.held_out!r}; 0.1 is usual.")
    if not 0 <= options.cooling <= 1:
        raise InputError(f"cooling is a share of the steps, from 0 to 1, got {options.cooling!r}; 0.25 is usual.")
    if options.held_out > 0 and inference != "stochastic":
        raise InputError(f"held_out is for stochastic inference, and {method} is fitted by {inference} inference here.")
    X = matrix(X, "X")
    y = vector(y, "y", size=len(X))
    if len(X) == 0:
        raise InputError("there are no rows to fit to.")
    if not 1e-150 < max(float(np.abs(y).max()), 1e-149) < 1e150:
        raise InputError(f"y goes up to {np.abs(y).max():g}, whose square leaves float64; scale it first.")
    if y.mean() ** 2 > max(y.var(), 1e-300) * 1.0001 and len(y) > 1:
        warnings.warn(
            f"the mean of y is {y.mean():g}, far from zero for its standard deviation of {y.std():g}; centre y, or the "
            "model spends its effects on the level.",
            FitWarning,
            stacklevel=2,
        )
    order = np.random.default_rng(options.seed).permutation(len(X))
    n_held = int(options.held_out * len(X))
    held, rows = order[:n_held], np.sort(order[n_held:])
    held_out = (X[held], y[held]) if n_held else None
    problem = _Problem(X[rows], y[rows], options, progress)
    if method == "exact":
        return problem.exact()
    if method in ("odvff", "vff"):
        terms, report = problem.fourier_terms()
        if inference == "collapsed":
            return problem.collapsed(terms, report, gamma=method == "odvff")
        return problem.stochastic(terms, report, gamma=method == "odvff", held_out=held_out)
    terms = problem.point_terms()
    report = [f"{options.n_beta} inducing points carry the covariance"]
    if inference == "collapsed":
        return problem.sgpr(terms, report)
    return problem.stochastic(terms, report, gamma=method == "odvgp", held_out=held_out)


class _Problem:
    """Data, options and the starting values that all methods share."""

    def __init__(self, X: Any, y: Any, options: Options, progress: Callable[[int, float], None] | None):
        self.X, self.y, self.options, self.progress = X, y, options, progress
        self.intervals = options.intervals or tuple(_range(X[:, d]) for d in range(X.shape[1]))
        if len(self.intervals) != X.shape[1]:
            raise InputError(f"there are {len(self.intervals)} intervals for {X.shape[1]} columns; give one for each.")

    def _terms(self, n_harmonics: int, kernels: list[Matern] | None = None) -> Sum:
        o = self.options
        kernels = kernels or [Matern(o.smoothness)] * len(self.intervals)
        return Sum(
            tuple(
                Term(k, Fourier(n_harmonics, interval, o.completion), (d,))
                for d, (k, interval) in enumerate(zip(kernels, self.intervals, strict=True))
            )
        )

    def start(self) -> tuple[list[Matern], float]:
        """Kernels and noise from a quick fit to a sample of the rows."""
        rows = np.random.default_rng(self.options.seed).permutation(len(self.X))[:START_ROWS]
        terms = self._terms(START_HARMONICS)
        statistics = collect(terms, [(self.X[rows], self.y[rows])])
        fit = fit_quietly(terms, statistics, max_iter=50)
        # extremes of a small sample are no place to start from
        scale = float(self.y.var()) or 1.0
        kernels = []
        for term, (a, b) in zip(fit.terms, self.intervals, strict=True):
            k = matern(term.kernel)
            lengthscale = float(np.clip(k.lengthscale, 0.02 * (b - a), 3 * (b - a)))
            kernels.append(Matern(k.smoothness, lengthscale, float(np.clip(k.variance, 1e-3 * scale, 10 * scale))))
        return kernels, max(fit.noise, 1e-4 * scale)

    def fourier_terms(self) -> tuple[Sum, list[str]]:
        n = self.options.n_harmonics
        if n == "auto":
            chosen = choose_harmonics(self._terms(START_HARMONICS), self.X, self.y, seed=self.options.seed)
            return chosen.terms, [chosen.report]
        return self._terms(whole(n, "n_harmonics", at_least=1, remedy="10 is a good start, or 'auto'")), []

    def point_terms(self) -> Sum:
        """One term with the whole additive kernel, on points that see all columns."""
        kernels, self._noise = self.start()
        Z = kmeans_points(self.X, self.options.n_beta, seed=self.options.seed)
        return Sum((Term(Additive(tuple(kernels)), InducingPoints(Z, JITTER), name="all columns"),))

    def _gamma(self, terms: Sum) -> Any:
        n = self.options.n_gamma
        n = 100 if n == "auto" else whole(n, "n_gamma", at_least=0, remedy="0 is none, or 'auto'")
        return greedy_points(terms, self.X, n, seed=self.options.seed) if n else np.zeros((0, self.X.shape[1]))

    def collapsed(self, terms: Sum, report: list[str], *, gamma: bool) -> Named:
        statistics = collect(terms, [(self.X, self.y)])
        fit = fit_collapsed(terms, statistics, max_iter=self.options.max_iter, progress=self.progress)
        if gamma:
            least = max(2.0, 1e-4 * len(self.X)) if self.options.n_gamma == "auto" else 0.0
            # where β leaves next to nothing out, γ has nothing to add
            if self.options.n_gamma == "auto" and sum(fit.unresolved) * len(self.X) / 2 < least:
                report.append(
                    "no inducing points: the features leave too little of the variance out for them to matter"
                )
            else:
                decoupled = add_inducing(fit, [(self.X, self.y)], self._gamma(fit.terms), least_gain=least)
                fit, report = decoupled.fit, [*report, decoupled.report]
        if self.options.refine and fit.posterior.gamma is not None:
            fit = self._refined(fit, report)
        return Named(fit, tuple(report))

    def _refined(self, fit: Fit, report: list[str]) -> Fit:
        """γ, kernels and noise moved together, from where the two stages ended."""
        from odvff.inference.chunked import ChunkedBound, fit_chunked

        bound = ChunkedBound(fit.terms, fit.noise, self.X, self.y, gamma=fit.posterior.gamma)
        refined = fit_chunked(bound, max_iter=self.options.max_iter, progress=self.progress)
        gain = refined.bound - fit.bound
        report.append(f"moving points and hyper-parameters together raised the bound by {max(gain, 0.0):.3g} nats")
        return refined if gain > 0 else fit

    def stochastic(self, terms: Sum, report: list[str], *, gamma: bool, held_out: tuple[Any, Any] | None) -> Named:
        from odvff.inference.stochastic import Trainer, minibatches

        o = self.options
        if isinstance(terms.terms[0].features, Fourier):
            kernels, self._noise = self.start()
            terms = Sum(tuple(replace(t, kernel=k) for t, k in zip(terms, kernels, strict=True)))
        trainer = Trainer(
            terms,
            GaussianNoise(self._noise),
            len(self.X),
            gamma=self._gamma(terms) if gamma else None,
            learning_rate=o.learning_rate,
            natural_step=o.natural_step,
            cooling=(min(int((1 - o.cooling) * o.n_steps), o.n_steps - 1), o.n_steps) if o.cooling > 0 else None,
        )
        trained = trainer.run(
            minibatches(self.X, self.y, min(o.batch_size, len(self.X)), seed=o.seed),
            o.n_steps,
            held_out=held_out,
            patience=o.patience,
            on_block=self._show,
        )
        last = trained.history[-min(100, len(trained.history)) :]
        report.append(f"trained for {len(trained.history)} steps: {trained.message}")
        noise = float(trained.likelihood.variance)
        finished = trained.message != "interrupted"
        fit = Fit(trained.posterior, noise, float(np.mean(last)), trained.history, finished, trained.message, ())
        return Named(fit, tuple(report), trained.scores)

    def _show(self, checkpoint: Any) -> None:
        if self.progress is not None:
            self.progress(checkpoint.step, float(np.mean(checkpoint.history[-50:])))

    def sgpr(self, terms: Sum, report: list[str]) -> Named:
        from odvff.inference.chunked import ChunkedBound, fit_chunked

        bound = ChunkedBound(terms, self._noise, self.X, self.y)
        return Named(fit_chunked(bound, max_iter=self.options.max_iter, progress=self.progress), tuple(report))

    def exact(self) -> Named:
        """GPJax's exact inference; the posterior is ours, with an inducing point on every row, which is the same."""
        if len(self.X) > EXACT_ROWS:
            raise InputError(
                f"exact inference with {len(self.X)} rows needs {8e-9 * len(self.X) ** 2:.1f} GB and cubic time; it is "
                f"allowed up to {EXACT_ROWS} rows. Use method='odvff', or a sample of the rows."
            )
        kernels, noise = self.start()
        kernel, noise, losses = _exact_by_gpjax(kernels, noise, self.X, self.y, self.options.max_iter)
        noise = max(noise, NOISE[0] * scale_of(float(self.y.mean()), float(self.y.var())))
        q = optimal_posterior([Term(kernel, InducingPoints(self.X), name="all columns")], noise, self.X, self.y)
        done = len(losses) < 2 or losses[-2] - losses[-1] < 1e-5 * max(abs(losses[-1]), 1.0)
        message = "converged" if done else f"the limit of {self.options.max_iter} iterations"
        fit = Fit(q, noise, -losses[-1], tuple(-loss for loss in losses), done, message, ())
        warn_unless_converged(fit, stacklevel=4)
        return Named(fit, ("exact",))


def _exact_by_gpjax(
    kernels: list[Matern], noise: float, X: Any, y: Any, max_iter: int
) -> tuple[Additive, float, list[float]]:
    import equinox as eqx
    import gpjax as gpx
    import jax
    import jax.numpy as jnp

    classes = {0.5: gpx.kernels.Matern12, 1.5: gpx.kernels.Matern32, 2.5: gpx.kernels.Matern52}
    with jax.enable_x64(True):
        parts = [
            classes[k.smoothness](
                active_dims=[d], lengthscale=jnp.asarray(k.lengthscale), variance=jnp.asarray(k.variance)
            )
            for d, k in enumerate(kernels)
        ]
        kernel = parts[0] if len(parts) == 1 else gpx.kernels.SumKernel(kernels=parts)
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
        model = prior * gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(np.sqrt(noise)))
        data = gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None])
        model, history = gpx.fit_scipy(
            model=model,
            objective=eqx.filter_jit(lambda m, d: -gpx.objectives.conjugate_mll(m, d)),
            train_data=data,
            max_iters=max_iter,
            verbose=False,
        )
        fitted = [model.prior.kernel] if len(parts) == 1 else list(model.prior.kernel.kernels)
        plain = [
            Matern(k.smoothness, parameter(f.lengthscale), parameter(f.variance))
            for k, f in zip(kernels, fitted, strict=True)
        ]
        return Additive(tuple(plain)), float(parameter(model.likelihood.obs_stddev)) ** 2, [float(h) for h in history]


def _range(x: Any) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
