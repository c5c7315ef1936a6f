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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from odvff.design import Design, NumericPart
from odvff.errors import Argument, FitWarning, InputError
from odvff.features import InducingPoints
from odvff.inference import Fit, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.fit import NOISE, fit_quietly, scale_of
from odvff.inference.notes import unfinished_fit
from odvff.kernels import Categorical
from odvff.likelihoods import GaussianNoise, Likelihood
from odvff.rows import SAMPLE_ROWS, MemoryRows, RowSource
from odvff.search import add_inducing, choose_harmonics, greedy_points, kmeans_points
from odvff.search.harmonics import ALL_ROWS, adjust_harmonics
from odvff.search.pairs import LADDER, Interactions, Pair, choose_pairs
from odvff.search.points import gain_of_a_sample
from odvff.statistics import Statistics, collect
from odvff.statistics.resumable import collect_rows
from odvff.support.checks import matrix, vector, whole
from odvff.support.progress import Progress, Step, silent
from odvff.support.run import BARE, Run
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum, Term

if TYPE_CHECKING:  # JAX is imported where it is needed
    from odvff.inference.sites.fit import SiteFit

INFERENCE = {
    "odvff": ("collapsed", "sites", "stochastic"),
    "vff": ("collapsed", "sites", "stochastic"),
    "odvgp": ("stochastic",),
    "svgp": ("stochastic",),
    "sgpr": ("collapsed",),
    "exact": ("exact",),
}
GAUSSIAN_NOISE = GaussianNoise()
GAUSSIAN = ("collapsed", "exact", "stochastic")
OTHERS = ("sites", "stochastic")
EXACT_ROWS = 5000
START_ROWS, START_HARMONICS = 2000, 12
PROBE_ROWS = SAMPLE_ROWS
PAIR_ROWS = 20_000
MOST_PAIRS = 6  # that are looked for if nobody says how many
WORTH = 1e-3  # nats a row that points must bring if nobody asked for them
ROUGHER = 5  # times more than the prior expects may be left out: functions are rougher in places
TRIAL_ROWS = 5000  # on which that is tried first; few rows show less of it, so half of it will do
JITTER = 1e-6
SITES_TOLERANCE = 1e-4  # nats a row, in the last round
PLATEAU, LEAST_PLATEAU = 1e-4, 0.05  # nats a row, and nats, in twenty iterations: no more is worth the wait
TOLERANCE = 1e-9  # of the bound, in nats a row: a thousandth of a nat in a million rows
# standard errors of a parameter; few rows have saddles where gradients are small, and their iterations are cheap
PRECISION, FINE_PRECISION, FEW_ROWS = 0.03, 1e-3, 5000


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
    interactions: int | str | tuple[tuple[str, str], ...] = 0  # pairs of columns: so many at most, "auto", or by name
    seed: int = 0


@dataclass(frozen=True)
class Named:
    """A fit by name, and in words what was chosen on the way."""

    fit: "Fit | SiteFit"
    report: tuple[str, ...]
    scores: tuple[tuple[int, float], ...] = ()  # of stochastic training: (step, mean log density of the held-out rows)

    @property
    def likelihood(self) -> Likelihood:
        return GaussianNoise(self.fit.noise) if isinstance(self.fit, Fit) else self.fit.likelihood


def fit_method(
    method: str,
    X: Any,
    y: Any,
    options: Options | None = None,
    progress: Progress = silent,
) -> Named:
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
        note = FitWarning(
            f"the mean of y is {y.mean():g}, far from zero for its standard deviation of {y.std():g}; centre y, or the "
            "model spends its effects on the level."
        )
        warnings.warn(note, stacklevel=2)
    intervals = options.intervals or tuple(_range(X[:, d]) for d in range(X.shape[1]))
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
    problem = _Problem(rows, design, options, likelihood, run)
    if method == "exact":
        return problem.exact()
    if method in ("odvff", "vff"):
        terms, report = problem.fourier_terms()
        if inference == "collapsed":
            return problem.collapsed(terms, report, gamma=method == "odvff")
        if inference == "sites":
            return problem.sites(terms, report, gamma=method == "odvff")
        return problem.stochastic(terms, report, gamma=method == "odvff")
    terms = problem.point_terms()
    report = [f"{options.n_beta} inducing points carry the covariance"]
    if inference == "collapsed":
        return problem.sgpr(terms, report)
    return problem.stochastic(terms, report, gamma=method == "odvgp")


@one_blas_thread()
def choose_terms(rows: RowSource, design: Design, options: Options) -> tuple[Sum, list[str]]:
    """The Fourier terms that a fit to these rows would have, and in words how they were chosen."""
    return _Problem(rows, design, options, GAUSSIAN_NOISE, BARE).fourier_terms()


def check_method(method: str, inference: str, *, gaussian: bool) -> str:
    """The inference of this method, if it has it for such a likelihood."""
    if method not in INFERENCE:
        raise InputError(f"method must be one of {', '.join(INFERENCE)}, got {method!r}.")
    fitting = [i for i in INFERENCE[method] if i in (GAUSSIAN if gaussian else OTHERS)]
    if not fitting:
        raise InputError(
            f"method {method!r} is for Gaussian noise; use odvff, vff, odvgp or svgp with this likelihood."
        )
    inference = fitting[0] if inference == "auto" else inference
    if inference not in fitting:
        noise = "" if gaussian else " for this likelihood"
        raise InputError(
            f"{method} is fitted by {' or '.join(fitting)} inference{noise}, got ",
            Argument("inference", inference),
            ".",
        )
    return inference


class _Problem:
    """Rows, design, options and the starting values that all methods share."""

    def __init__(
        self,
        rows: RowSource,
        design: Design,
        options: Options,
        likelihood: Likelihood,
        run: Run,
    ):
        self.rows, self.design, self.options = rows, design, options
        self.progress, self.journal, self.tell = run.progress, run.journal, run.tell
        self.likelihood = likelihood
        self._statistics: Statistics | None = None  # of all rows and the terms chosen, if they are there already
        self._noise: float | None = None  # where a first look found the kernels of the terms
        self._level = 0.0  # of f, where targets are on another scale

    def _terms(self, n_harmonics: int, design: Design | None = None) -> Sum:
        return (design or self.design).fourier_terms(n_harmonics, self.options.smoothness, self.options.completion)

    def _sample(self, n_rows: int) -> tuple[Any, Any, Any]:
        """Rows by chance, with centred targets on the scale of f."""
        X, y, weights = self.rows.sample(n_rows)
        if self.likelihood.closed_form:
            return X, y, weights
        f = self.likelihood.pseudo_target(y)
        self._level = float(np.average(f, weights=weights))
        return X, f - self._level, weights

    def _with_level(self, terms: Sum) -> Sum:
        """The terms with an intercept that can reach the level of f: a fit to centred targets has no use for one."""
        if self.likelihood.closed_form:
            return terms
        wide = Categorical(max(1.0, self._level**2))
        constants = self.design.constants
        return Sum(tuple(replace(t, kernel=wide) if t.name in constants else t for t in terms))

    def start(self) -> tuple[Sum, float]:
        """Terms with an effect for each column, and noise, from a quick fit to a sample of the rows."""
        X, y, weights = self._sample(START_ROWS)
        terms = self._terms(START_HARMONICS, self.design.alone)
        fit = fit_quietly(terms, collect(terms, [(X, y, weights)]), max_iter=50)
        scale = float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)) or 1.0
        started = Sum(tuple(_moderate(term, scale) for term in fit.terms))
        return self._with_level(started), max(fit.noise, 1e-4 * scale)

    def fourier_terms(self) -> tuple[Sum, list[str]]:
        """Terms with an effect of every column, and of pairs of columns if asked for; in words how they were chosen."""
        if self.design.own:
            return self._own_terms()
        n, found = self.options.n_harmonics, Interactions((), 0.0, "")
        pairs, most = self._pairs()
        if n != "auto":
            n = whole(n, "n_harmonics", at_least=1, remedy="10 is a good start, or 'auto'")
            terms = self._terms(n)
            if pairs:
                rows = self._sample(ALL_ROWS if self._are_few() else PAIR_ROWS)
                statistics = collect(terms, [rows])
                fit = fit_quietly(terms, statistics, max_iter=50)
                ladder = tuple(dict.fromkeys(min(n, rung) for rung in LADDER))
                found = self._interactions(fit, self._shuffled(rows), pairs, most, ladder)
                terms, self._noise = fit.terms, found.noise if found.terms else fit.noise
                if self.likelihood.closed_form and self._are_few() and not found.terms:
                    self._statistics = statistics
            if not self.likelihood.closed_form:
                terms = self._started(terms)[0]
            return Sum((*terms, *found.terms)), [found.report] if pairs else []
        X, y, weights = self._sample(ALL_ROWS if self._are_few() else PROBE_ROWS)
        self.progress(Step("choosing harmonics", 0, unit="tries"))
        least = self.likelihood.least_noise
        chosen = choose_harmonics(
            self._terms(START_HARMONICS), X, y, weights=weights, least_noise=least, seed=self.options.seed
        )
        terms, self._noise, report = chosen.terms, chosen.fit.noise, [chosen.report]
        if self.likelihood.closed_form and self._are_few():
            self._statistics = chosen.statistics
        if pairs:
            rows = self._shuffled((X, y, weights))
            found = self._interactions(chosen.fit, rows, pairs, most, LADDER)
            report.append(found.report)
        if found.terms:
            chosen = adjust_harmonics(Sum((*terms, *found.terms)), found.noise, rows, least_noise=least)
            terms, self._noise, report[0] = chosen.terms, chosen.fit.noise, chosen.report
            self._statistics = None
        return self._with_level(terms), report

    def _own_terms(self) -> tuple[Sum, list[str]]:
        """Terms that a user gave: their kernels are one of the starts."""
        _, y, weights = self._sample(START_ROWS)
        self._noise = 0.1 * (float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)) or 1.0)
        terms = self.design.fourier_terms(START_HARMONICS, self.options.smoothness, self.options.completion)
        return self._with_level(terms), ["terms as they were given"]

    def _are_few(self) -> bool:
        """So few rows that harmonics are chosen by a look at all of them."""
        return self.rows.n_rows <= ALL_ROWS

    def _pairs(self) -> tuple[list[Pair], int | None]:
        """Pairs of columns that may act together, and how many of them to choose; None is all."""
        wanted = self.options.interactions
        if isinstance(wanted, tuple):
            return self.design.named_pairs(wanted), None
        most = MOST_PAIRS if isinstance(wanted, str) else wanted
        return (self.design.pairs(), most) if most and not self.design.joint else ([], 0)

    def _shuffled(self, rows: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """As many rows as interactions are looked for in, in an order of chance: the first of them are a sample too."""
        return MemoryRows(*rows).at(np.random.default_rng(self.options.seed).permutation(len(rows[0]))[:PAIR_ROWS])

    def _interactions(
        self, fit: Fit, rows: tuple[Any, Any, Any], pairs: list[Pair], most: int | None, ladder: tuple[int, ...]
    ) -> Interactions:
        """Joint effects in what a fit with an effect for each column leaves over."""
        X, y, weights = rows
        self.progress(Step("looking for interactions", 0, unit="pairs"))

        def term_of(pair: Pair, n_harmonics: tuple[int, int]) -> Term:
            return self.design.pair_term(pair, n_harmonics, self.options.smoothness, self.options.completion)

        residuals = y - fit.posterior.mean(X)
        residuals -= np.average(residuals, weights=weights)  # a fit to centred targets: a level is no interaction
        return choose_pairs(pairs, term_of, X, residuals, weights=weights, noise=fit.noise, most=most, ladder=ladder)

    def _started(self, terms: Sum) -> tuple[Sum, float]:
        """Fourier terms with the starting values of their columns."""
        fitted, noise = self.start()
        return self.design.started(terms, fitted), noise

    def point_terms(self) -> Sum:
        """One term with the whole kernel of the numeric columns, on points that see all of them."""
        fitted, self._noise = self.start()
        columns = [part.column for part in self.design.numeric]
        if not columns:
            raise InputError(
                "inducing points need numeric columns, and there is none; use ",
                Argument("method", "odvff"),
                " or 'vff'.",
            )
        X = self.rows.sample(PROBE_ROWS)[0][:, columns]
        Z = kmeans_points(X, self.options.n_beta, seed=self.options.seed)
        return self.design.point_terms(Z, fitted, JITTER)

    def _gamma(self, terms: Sum) -> Any:
        n = self.options.n_gamma
        n = 100 if n == "auto" else whole(n, "n_gamma", at_least=0, remedy="0 is none, or 'auto'")
        X = self.rows.sample(PROBE_ROWS)[0]
        return greedy_points(terms, X, n, seed=self.options.seed) if n else np.zeros((0, X.shape[1]))

    def collapsed(self, terms: Sum, report: list[str], *, gamma: bool) -> Named:
        if not terms.is_fixed:  # some features change with hyper-parameters: rows are gone through for each
            return self.sgpr(terms, report)
        statistics = self._statistics
        if statistics is None:
            statistics = collect_rows(terms, self.rows, self.journal, self.progress)
        else:
            self.progress(Step("adding up", statistics.n_rows, self.rows.n_rows))  # as has been done
        fit = fit_collapsed(
            terms,
            statistics,
            noise=self._noise,
            known=self._noise is not None and not self.design.own,  # from a fit to a sample
            max_iter=self.options.max_iter,
            tolerance=TOLERANCE,
            precision=FINE_PRECISION if self.rows.n_rows <= FEW_ROWS else PRECISION,
            plateau=max(LEAST_PLATEAU, PLATEAU * statistics.weight),
            progress=self._iteration,
            tell=self.tell,
        )
        if gamma:
            fit = self._with_inducing(fit, statistics.weight, report)
        if self.options.refine and fit.posterior.gamma is not None:
            fit = self._refined(fit, report)
        return Named(fit, tuple(report))

    def _with_inducing(self, fit: Fit, weight: float, report: list[str]) -> Fit:
        """The fit with points for its mean; where their number is left to us, just if they pay."""
        if self.options.n_gamma == 0:
            report.append("no inducing points, as was asked for")
            return fit
        if self.options.n_gamma != "auto":
            decoupled = add_inducing(fit, self.rows.chunks(), self._gamma(fit.terms))
            report.append(decoupled.report)
            return decoupled.fit
        least = max(2.0, WORTH * weight)
        if sum(fit.unresolved) * weight / 2 < least / ROUGHER:
            report.append("no inducing points: the features leave too little of the variance out for them to matter")
            return fit
        self.progress(Step("trying points", 0, unit="rows"))
        points = self._gamma(fit.terms)
        if self.rows.n_rows > 2 * TRIAL_ROWS:  # a pass with points is slow: try it on a sample first
            few = self.rows.sample(TRIAL_ROWS)
            gain = gain_of_a_sample(fit, few, points) / (TRIAL_ROWS if few[2] is None else float(few[2].sum()))
            if gain < WORTH / 2:
                report.append(
                    f"no inducing points: {len(points)} of them would raise the bound by about {gain:.1g} nats a row, "
                    f"says a sample of {TRIAL_ROWS:,}, which is less than {WORTH:g}"
                )
                return fit
        decoupled = add_inducing(fit, self.rows.chunks(), points, least_gain=least)
        report.append(decoupled.report)
        return decoupled.fit

    def _refined(self, fit: Fit, report: list[str]) -> Fit:
        """γ, kernels and noise moved together, from where the two stages ended."""
        from odvff.inference.collapsed.chunked import ChunkedBound, fit_chunked

        X, y, weights = self.rows.everything()
        bound = ChunkedBound(fit.terms, fit.noise, X, y, gamma=fit.posterior.gamma, weights=weights)
        refined = fit_chunked(bound, max_iter=self.options.max_iter, progress=self._iteration, tell=self.tell)
        gain = refined.bound - fit.bound
        report.append(f"moving points and hyper-parameters together raised the bound by {max(gain, 0.0):.3g} nats")
        return refined if gain > 0 else fit

    def sites(self, terms: Sum, report: list[str], *, gamma: bool) -> Named:
        from odvff.inference.sites.fit import fit_sites

        if gamma:
            if self.options.n_gamma not in ("auto", 0):
                raise InputError(
                    f"{self.options.n_gamma} inducing points for the mean were asked for, and sites have none; use ",
                    Argument("inference", "stochastic"),
                    ", or leave the number to 'auto'.",
                )
            report.append("no inducing points: sites need none")
        rounds = self.options.max_iter
        fit = fit_sites(
            terms,
            self.likelihood,
            self.rows,
            rescale=False,  # the kernels come from a first look
            max_rounds=rounds,
            tolerance=SITES_TOLERANCE,
            progress=lambda n, elbo: self.progress(Step("rounds of sites", n, rounds, "rounds", elbo)),
            journal=self.journal,
            tell=self.tell,
        )
        return Named(fit, tuple(report))

    def stochastic(self, terms: Sum, report: list[str], *, gamma: bool) -> Named:
        from odvff.inference.sites.fit import SiteFit
        from odvff.inference.stochastic.checkpoint import load_checkpoint, save_checkpoint
        from odvff.inference.stochastic.trainer import Checkpoint, Trainer, minibatches

        o = self.options
        X, y, weights = self.rows.everything()
        if weights is not None:
            raise InputError("stochastic inference takes no weights; repeat the rows, or use collapsed inference.")
        order = np.random.default_rng(o.seed).permutation(len(X))
        n_held = int(o.held_out * len(X))
        held, kept = order[:n_held], np.sort(order[n_held:])
        if terms.is_fixed and not self.design.own:
            terms, self._noise = self._started(terms)
        trainer = Trainer(
            terms,
            GaussianNoise(self._noise) if self.likelihood.closed_form else self.likelihood,
            len(kept),
            gamma=self._gamma(terms) if gamma else None,
            learning_rate=o.learning_rate,
            natural_step=o.natural_step,
            cooling=(min(int((1 - o.cooling) * o.n_steps), o.n_steps - 1), o.n_steps) if o.cooling > 0 else None,
        )
        place = self.journal.path("training")

        def after(checkpoint: Checkpoint) -> None:
            estimate = float(np.mean(checkpoint.history[-50:]))
            self.progress(Step("training", checkpoint.step, o.n_steps, "steps", estimate))
            if place is not None and self.journal.due():
                place.parent.mkdir(parents=True, exist_ok=True)
                save_checkpoint(place, trainer, checkpoint)

        resume = load_checkpoint(place, trainer) if place is not None and place.exists() else None
        first = 0 if resume is None else resume.step
        trained = trainer.run(
            minibatches(X[kept], y[kept], min(o.batch_size, len(kept)), seed=o.seed, first=first),
            o.n_steps,
            resume=resume,
            held_out=(X[held], y[held]) if n_held else None,
            patience=o.patience,
            on_block=after,
        )
        bound = float(np.mean(trained.history[-min(100, len(trained.history)) :]))
        report.append(f"trained for {len(trained.history)} steps: {trained.message}")
        ended = (bound, trained.history, trained.message != "interrupted", trained.message)
        if self.likelihood.closed_form:
            fit: Fit | SiteFit = Fit(trained.posterior, float(trained.likelihood.variance), *ended, ())
        else:
            fit = SiteFit(trained.posterior, trained.likelihood, *ended)
        return Named(fit, tuple(report), trained.scores)

    def _iteration(self, n: int, bound: float) -> None:
        self.progress(Step("fitting", n, None, "iterations", bound))

    def sgpr(self, terms: Sum, report: list[str]) -> Named:
        from odvff.inference.collapsed.chunked import ChunkedBound, fit_chunked

        X, y, weights = self.rows.everything()
        bound = ChunkedBound(terms, self._noise, X, y, weights=weights)
        fit = fit_chunked(bound, max_iter=self.options.max_iter, progress=self._iteration, tell=self.tell)
        return Named(fit, tuple(report))

    def exact(self) -> Named:
        """GPJax's exact inference; the posterior is ours, with an inducing point on every row, which is the same."""
        if self.rows.n_rows > EXACT_ROWS:
            n = self.rows.n_rows
            raise InputError(
                f"exact inference with {n} rows needs {8e-9 * n**2:.1f} GB and cubic time; it is allowed up to "
                f"{EXACT_ROWS} rows. Use ",
                Argument("method", "odvff"),
                ", or a sample of the rows.",
            )
        if self.design.levels:
            raise InputError(
                f"method 'exact' is for numeric columns, and {self.design.levels[0].name!r} has levels; use ",
                Argument("method", "odvff"),
                ", in which levels are exact, or leave the column out.",
            )
        from odvff.inference.exact import fit_exact

        X, y, weights = self.rows.everything()
        if weights is not None:
            raise InputError(
                "method 'exact' takes no weights; repeat the rows, or use ", Argument("method", "odvff"), "."
            )
        fitted, noise = self.start()
        (term,) = self.design.point_terms(X[:1], fitted, JITTER)
        kernel, noise, losses = fit_exact(term.kernel, noise, X, y, self.options.max_iter)
        noise = max(noise, NOISE[0] * scale_of(float(y.mean()), float(y.var()), self.tell))
        q = optimal_posterior([replace(term, kernel=kernel, features=InducingPoints(X))], noise, X, y)
        done = len(losses) < 2 or losses[-2] - losses[-1] < 1e-5 * max(abs(losses[-1]), 1.0)
        message = "converged" if done else f"the limit of {self.options.max_iter} iterations"
        fit = Fit(q, noise, -losses[-1], tuple(-loss for loss in losses), done, message, ())
        if not done:
            self.tell(unfinished_fit(message, fit.bound))
        return Named(fit, ("exact",))


def _moderate(term: Term, scale: float) -> Term:
    """The term without the extremes of a small sample, which are no place to start from."""
    features: Any = term.features
    *ratios, variance = np.exp(features.parameters(term.kernel))
    moderate = [*np.clip(ratios, 0.02, 3.0), np.clip(variance, 1e-3 * scale, 10 * scale)]
    return replace(term, kernel=features.kernel_at(term.kernel, np.log(moderate)))


def _range(x: Any) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
