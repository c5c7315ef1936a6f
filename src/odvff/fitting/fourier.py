"""Fourier terms: how many harmonics each column has, and which pairs of columns act together."""

from dataclasses import dataclass, replace

import numpy as np

from odvff.fitting.look import started, with_level
from odvff.fitting.problem import Problem, Sample, Start
from odvff.inference.collapsed.fit import Fit, fit_quietly
from odvff.policy import Policy
from odvff.rows import Chunk, MemoryRows
from odvff.search.harmonics import adjust_harmonics, choose_harmonics
from odvff.search.pairs import Interactions, Pair, choose_pairs
from odvff.statistics import collect
from odvff.support.checks import whole
from odvff.support.progress import Step
from odvff.terms import Sum, Term


def fourier_start(problem: Problem) -> Start:
    """Terms with an effect of every column, and of pairs of columns if asked for; or those that a user gave."""
    if problem.design.own:
        return _with_own(problem)
    n = problem.options.n_harmonics
    if n == "auto":
        return _with_chosen(problem)
    return _with_given(problem, whole(n, "n_harmonics", at_least=1, remedy="10 is a good start, or 'auto'"))


def _with_own(problem: Problem) -> Start:
    """Terms that a user gave: their kernels are one of the starts."""
    policy = problem.policy
    sample = problem.sample(policy.start_rows)
    terms = with_level(problem, problem.fourier_terms(policy.start_harmonics), sample.level)
    return Start(terms, policy.own_noise * sample.scale, report=("terms as they were given",))


def _with_given(problem: Problem, n: int) -> Start:
    """Terms with n harmonics in every column."""
    policy, terms, wanted = problem.policy, problem.fourier_terms(n), _wanted(problem)
    if not wanted.pairs:
        start = Start(terms)
        return start if problem.likelihood.closed_form else started(problem, start)
    sample = problem.sample(policy.whole_rows if problem.is_small else policy.pair_rows)
    statistics = collect(terms, [sample.rows])
    fit = fit_quietly(terms, statistics, policy, policy.quick_iterations)
    ladder = tuple(dict.fromkeys(min(n, rung) for rung in policy.pair_ladder))
    rows, finer = _shuffled(problem, sample), replace(policy, pair_ladder=ladder)
    found = _interactions(problem, fit, rows, wanted, finer)
    start = Start(fit.terms, found.noise if found.terms else fit.noise, True, report=(found.report,))
    if not problem.likelihood.closed_form:
        start = started(problem, start)
    elif problem.is_small and not found.terms:
        start = replace(start, statistics=statistics)
    return replace(start, terms=Sum((*start.terms, *found.terms)))


def _with_chosen(problem: Problem) -> Start:
    """Terms with as many harmonics as the rows call for."""
    policy, likelihood, wanted = problem.policy, problem.likelihood, _wanted(problem)
    sample = problem.sample(policy.whole_rows if problem.is_small else policy.sample_rows)
    problem.run.progress(Step("choosing harmonics", 0, unit="tries"))
    chosen = choose_harmonics(
        problem.fourier_terms(policy.start_harmonics),
        sample.X,
        sample.y,
        weights=sample.weights,
        least_noise=likelihood.least_noise,
        seed=problem.options.seed,
        policy=policy,
    )
    statistics = chosen.statistics if likelihood.closed_form and problem.is_small else None
    report: tuple[str, ...] = ()
    if wanted.pairs:
        rows = _shuffled(problem, sample)
        found = _interactions(problem, chosen.fit, rows, wanted, policy)
        report = (found.report,)
        if found.terms:
            all_terms = Sum((*chosen.terms, *found.terms))
            chosen = adjust_harmonics(all_terms, found.noise, rows, likelihood.least_noise, policy)
            statistics = None
    terms = with_level(problem, chosen.terms, sample.level)
    return Start(terms, chosen.fit.noise, True, statistics, (chosen.report, *report))


@dataclass(frozen=True)
class _Wanted:
    """Pairs of columns that may act together, and how many of them to choose; None is all."""

    pairs: list[Pair]
    most: int | None


def _wanted(problem: Problem) -> _Wanted:
    wanted, design = problem.options.interactions, problem.design
    if isinstance(wanted, tuple):
        return _Wanted(design.named_pairs(wanted), None)
    most = problem.policy.most_pairs if isinstance(wanted, str) else wanted
    return _Wanted(design.pairs(), most) if most and not design.joint else _Wanted([], 0)


def _shuffled(problem: Problem, sample: Sample) -> Chunk:
    """The rows that the search for interactions uses, shuffled: the first of them are a sample too."""
    order = np.random.default_rng(problem.options.seed).permutation(len(sample.X))
    return MemoryRows(*sample.rows).at(order[: problem.policy.pair_rows])


def _interactions(problem: Problem, fit: Fit, rows: Chunk, wanted: _Wanted, policy: Policy) -> Interactions:
    """Joint effects in what a fit with an effect for each column leaves over."""
    X, y, weights = rows
    problem.run.progress(Step("looking for interactions", 0, unit="pairs"))

    def term_of(pair: Pair, n_harmonics: tuple[int, int]) -> Term:
        return problem.design.pair_term(pair, n_harmonics, problem.options.smoothness, problem.options.completion)

    residuals = y - fit.posterior.mean(X)
    residuals -= np.average(residuals, weights=weights)  # a fit to centred targets: a level is no interaction
    return choose_pairs(
        wanted.pairs, term_of, (X, residuals, weights), noise=fit.noise, most=wanted.most, policy=policy
    )
