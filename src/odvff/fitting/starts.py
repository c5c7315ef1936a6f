"""Where fits begin: Fourier terms, with harmonics and pairs of columns as rows call for them, points, or every row."""

from dataclasses import replace

import numpy as np

from odvff.design import Design
from odvff.errors import Argument, InputError
from odvff.fitting.problem import Problem, Start
from odvff.inference.collapsed.fit import Fit, fit_quietly
from odvff.kernels import Categorical
from odvff.policy import Policy
from odvff.rows import Chunk, MemoryRows
from odvff.search import kmeans_points
from odvff.search.harmonics import adjust_harmonics, choose_harmonics
from odvff.search.pairs import Interactions, Pair, choose_pairs
from odvff.statistics import collect
from odvff.support.checks import whole
from odvff.support.progress import Step
from odvff.terms import Sum, Term

POINT_JITTER = 1e-6  # of the covariance of points that carry it
Wanted = tuple[list[Pair], int | None]  # pairs of columns that may act together, and how many of them; None is all


def fourier_start(problem: Problem) -> Start:
    """Terms with an effect of every column, and of pairs of columns if asked for; or those that a user gave."""
    policy = problem.policy
    if problem.design.own:  # their kernels are one of the starts
        sample = problem.sample(policy.start_rows)
        terms = _with_level(problem, problem.fourier_terms(policy.start_harmonics), sample.level)
        return Start(terms, policy.own_noise * sample.scale, report=("terms as they were given",))
    n = problem.options.n_harmonics
    if n == "auto":
        return _with_chosen(problem)
    return _with_given(problem, whole(n, "n_harmonics", at_least=1, remedy="10 is a good start, or 'auto'"))


def point_start(problem: Problem) -> Start:
    """One term with the whole kernel of the numeric columns, on points that see all of them."""
    fitted, noise = first_look(problem)
    columns = [part.column for part in problem.design.numeric]
    if not columns:
        raise InputError(
            "inducing points need numeric columns, and there is none; use ", Argument("method", "odvff"), " or 'vff'."
        )
    options, policy = problem.options, problem.policy
    X, *_ = problem.rows.sample(policy.sample_rows)
    Z = kmeans_points(X[:, columns], options.n_beta, seed=options.seed, policy=policy)
    report = (f"{options.n_beta} inducing points carry the covariance",)
    return Start(problem.design.point_terms(Z, fitted, POINT_JITTER), noise, report=report)


def exact_start(problem: Problem) -> Start:
    """One term with the whole kernel, of rows that are few enough, and numbers."""
    n, most, instead = problem.rows.n_rows, problem.policy.exact_rows, Argument("method", "odvff")
    if n > most:
        needed = f"exact inference with {n} rows needs {8e-9 * n**2:.1f} GB and cubic time"
        raise InputError(f"{needed}; it is allowed up to {most} rows. Use ", instead, ", or a sample of the rows.")
    if problem.design.levels:
        unfit = f"method 'exact' is for numeric columns, and {problem.design.levels[0].name!r} has levels"
        raise InputError(f"{unfit}; use ", instead, ", in which levels are exact, or leave the column out.")
    X, _, weights = problem.rows.everything()
    if weights is not None:
        raise InputError("method 'exact' takes no weights; repeat the rows, or use ", instead, ".")
    fitted, noise = first_look(problem)
    return Start(problem.design.point_terms(X[:1], fitted, POINT_JITTER), noise, report=("exact",))


def first_look(problem: Problem) -> tuple[Sum, float]:
    """Terms with an effect for each column, and noise, by a quick fit to a sample of the rows."""
    policy, sample = problem.policy, problem.sample(problem.policy.start_rows)
    alone = Design(problem.design.numeric, problem.design.levels)
    terms = problem.fourier_terms(policy.start_harmonics, alone)
    fit = fit_quietly(terms, collect(terms, [sample.rows]), policy, policy.quick_iterations)
    moderate = Sum(tuple(_moderate(term, sample.scale, policy) for term in fit.terms))
    return _with_level(problem, moderate, sample.level), max(fit.noise, policy.start_noise * sample.scale)


def started(problem: Problem, start: Start) -> Start:
    """Fourier terms with the kernels of a first look at their columns."""
    fitted, noise = first_look(problem)
    return replace(start, terms=problem.design.started(start.terms, fitted), noise=noise, known=True)


def _with_level(problem: Problem, terms: Sum, level: float) -> Sum:
    """The terms with an intercept that can reach the level of f: a fit to centred targets has no use for one."""
    if problem.likelihood.closed_form:
        return terms
    wide, constants = Categorical(max(1.0, level**2)), {p.name for p in problem.design.levels if p.n_levels == 1}
    return Sum(tuple(replace(t, kernel=wide) if t.name in constants else t for t in terms))


def _moderate(term: Term, scale: float, policy: Policy) -> Term:
    """The term without the extremes of a small sample, which are no place to start from."""
    features = term.fixed
    *ratios, variance = np.exp(features.parameters(term.kernel))
    least, most = policy.start_variances
    moderate = [*np.clip(ratios, *policy.start_lengthscales), np.clip(variance, least * scale, most * scale)]
    return replace(term, kernel=features.kernel_at(term.kernel, np.log(moderate)))


def _with_given(problem: Problem, n: int) -> Start:
    """Terms with n harmonics in every column."""
    policy, terms, is_gaussian = problem.policy, problem.fourier_terms(n), problem.likelihood.closed_form
    wanted = _wanted_pairs(problem)
    if not wanted[0]:
        return Start(terms) if is_gaussian else started(problem, Start(terms))
    sample = problem.sample(policy.whole_rows if problem.is_small else policy.pair_rows)
    statistics = collect(terms, [sample.rows])
    fit = fit_quietly(terms, statistics, policy, policy.quick_iterations)
    ladder = tuple(dict.fromkeys(min(n, rung) for rung in policy.pair_ladder))
    limited = replace(problem, options=replace(problem.options, policy=replace(policy, pair_ladder=ladder)))
    found = _interactions(limited, fit, _shuffled(problem, sample.rows), wanted)
    of_all = statistics if is_gaussian and problem.is_small and not found.terms else None
    start = Start(fit.terms, found.noise if found.terms else fit.noise, True, of_all, (found.report,))
    start = start if is_gaussian else started(problem, start)
    return replace(start, terms=Sum((*start.terms, *found.terms)))


def _with_chosen(problem: Problem) -> Start:
    """Terms with as many harmonics as the rows call for."""
    policy, likelihood = problem.policy, problem.likelihood
    sample = problem.sample(policy.whole_rows if problem.is_small else policy.sample_rows)
    wanted = _wanted_pairs(problem)
    problem.run.progress(Step("choosing harmonics", 0, unit="tries"))
    X, y, weights = sample.rows
    chosen = choose_harmonics(
        problem.fourier_terms(policy.start_harmonics),
        X,
        y,
        weights=weights,
        least_noise=likelihood.least_noise,
        seed=problem.options.seed,
        policy=policy,
    )
    statistics = chosen.statistics if likelihood.closed_form and problem.is_small else None
    report: tuple[str, ...] = ()
    if wanted[0]:
        rows = _shuffled(problem, sample.rows)
        found = _interactions(problem, chosen.fit, rows, wanted)
        report = (found.report,)
        if found.terms:
            both = Sum((*chosen.terms, *found.terms))
            chosen, statistics = adjust_harmonics(both, found.noise, rows, likelihood.least_noise, policy), None
    terms = _with_level(problem, chosen.terms, sample.level)
    return Start(terms, chosen.fit.noise, True, statistics, (chosen.report, *report))


def _wanted_pairs(problem: Problem) -> Wanted:
    wanted, design = problem.options.interactions, problem.design
    if isinstance(wanted, tuple):
        return design.named_pairs(wanted), None
    most = problem.policy.most_pairs if isinstance(wanted, str) else wanted
    return (design.pairs(), most) if most and not design.joint else ([], 0)


def _shuffled(problem: Problem, rows: Chunk) -> Chunk:
    """The rows that the search for interactions uses, shuffled: the first of them are a sample too."""
    order = np.random.default_rng(problem.options.seed).permutation(len(rows[0]))
    return MemoryRows(*rows).at(order[: problem.policy.pair_rows])


def _interactions(problem: Problem, fit: Fit, rows: Chunk, wanted: Wanted) -> Interactions:
    """Joint effects in what a fit with an effect for each column leaves over."""
    (X, y, weights), (pairs, most) = rows, wanted
    problem.run.progress(Step("looking for interactions", 0, unit="pairs"))

    def term_of(pair: Pair, n_harmonics: tuple[int, int]) -> Term:
        return problem.design.pair_term(pair, n_harmonics, problem.options.smoothness, problem.options.completion)

    residuals = y - fit.posterior.mean(X)
    residuals -= np.average(residuals, weights=weights)  # a fit to centred targets: a level is no interaction
    return choose_pairs(pairs, term_of, (X, residuals, weights), noise=fit.noise, most=most, policy=problem.policy)
