"""A preliminary fit: terms of single columns and noise, by a quick fit to a sample of the rows."""

from dataclasses import replace
from typing import Any

import numpy as np

from odvff.fitting.problem import Problem, Start
from odvff.inference.collapsed.fit import fit_quietly
from odvff.kernels import Categorical
from odvff.policy import Policy
from odvff.statistics import collect
from odvff.terms import Sum, Term


def first_look(problem: Problem) -> tuple[Sum, float]:
    """Terms with an effect for each column, and noise."""
    policy = problem.policy
    sample = problem.sample(policy.start_rows)
    terms = problem.fourier_terms(policy.start_harmonics, problem.design.alone)
    fit = fit_quietly(terms, collect(terms, [sample.rows]), policy, policy.quick_iterations)
    started = Sum(tuple(_moderate(term, sample.scale, policy) for term in fit.terms))
    return with_level(problem, started, sample.level), max(fit.noise, policy.start_noise * sample.scale)


def started(problem: Problem, start: Start) -> Start:
    """Fourier terms with the kernels of a first look at their columns."""
    fitted, noise = first_look(problem)
    return replace(start, terms=problem.design.started(start.terms, fitted), noise=noise, known=True)


def with_level(problem: Problem, terms: Sum, level: float) -> Sum:
    """The terms with an intercept that can reach the level of f: a fit to centred targets has no use for one."""
    if problem.likelihood.closed_form:
        return terms
    wide = Categorical(max(1.0, level**2))
    constants = problem.design.constants
    return Sum(tuple(replace(t, kernel=wide) if t.name in constants else t for t in terms))


def _moderate(term: Term, scale: float, policy: Policy) -> Term:
    """The term without the extremes of a small sample, which are no place to start from."""
    features: Any = term.features
    *ratios, variance = np.exp(features.parameters(term.kernel))
    least, most = policy.start_variances
    moderate = [*np.clip(ratios, *policy.start_lengthscales), np.clip(variance, least * scale, most * scale)]
    return replace(term, kernel=features.kernel_at(term.kernel, np.log(moderate)))
