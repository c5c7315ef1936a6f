"""Inducing points: those that carry the covariance, and those for the mean, where they pay."""

from typing import Any

import numpy as np

from odvff.errors import Argument, InputError
from odvff.fitting.look import first_look
from odvff.fitting.problem import Problem, Start
from odvff.inference import Fit
from odvff.search import add_inducing, greedy_points, kmeans_points
from odvff.search.points import gain_of_a_sample
from odvff.support.checks import whole
from odvff.support.progress import Step
from odvff.terms import Sum

POINT_JITTER = 1e-6  # of the covariance of points that carry it


def point_start(problem: Problem) -> Start:
    """One term with the whole kernel of the numeric columns, on points that see all of them."""
    fitted, noise = first_look(problem)
    columns = [part.column for part in problem.design.numeric]
    if not columns:
        raise InputError(
            "inducing points need numeric columns, and there is none; use ", Argument("method", "odvff"), " or 'vff'."
        )
    options = problem.options
    Z = kmeans_points(problem.points_sample()[:, columns], options.n_beta, seed=options.seed, policy=problem.policy)
    report = (f"{options.n_beta} inducing points carry the covariance",)
    return Start(problem.design.point_terms(Z, fitted, POINT_JITTER), noise, report=report)


def points_for_the_mean(problem: Problem, terms: Sum) -> Any:
    """γ, as many points as were asked for."""
    n, policy = problem.options.n_gamma, problem.policy
    n = policy.n_points if n == "auto" else whole(n, "n_gamma", at_least=0, remedy="0 is none, or 'auto'")
    X = problem.points_sample()
    return greedy_points(terms, X, n, seed=problem.options.seed, policy=policy) if n else np.zeros((0, X.shape[1]))


def with_points(problem: Problem, fit: Fit, weight: float) -> tuple[Fit, str]:
    """The fit with points for its mean, and what is said of them; where nobody gave their number, just if they pay."""
    rows, policy, n = problem.rows, problem.policy, problem.options.n_gamma
    if n == 0:
        return fit, "no inducing points, as was asked for"
    if n != "auto":
        decoupled = add_inducing(fit, rows.chunks(), points_for_the_mean(problem, fit.terms))
        return decoupled.fit, decoupled.report
    least = max(policy.points_nats, policy.points_gain * weight)
    if sum(fit.unresolved) * weight / 2 < least / policy.rougher:
        return fit, "no inducing points: the features leave too little of the variance out for them to matter"
    problem.run.progress(Step("trying points", 0, unit="rows"))
    points = points_for_the_mean(problem, fit.terms)
    if rows.n_rows > 2 * policy.trial_rows:  # a pass with points is slow: try it on a sample first
        refusal = _refused_by_a_sample(problem, fit, points)
        if refusal:
            return fit, refusal
    decoupled = add_inducing(fit, rows.chunks(), points, least_gain=least)
    return decoupled.fit, decoupled.report


def _refused_by_a_sample(problem: Problem, fit: Fit, points: Any) -> str:
    """Why a sample of the rows says that the points do not pay, or nothing."""
    policy = problem.policy
    few = problem.rows.sample(policy.trial_rows)
    gain = gain_of_a_sample(fit, few, points) / (policy.trial_rows if few[2] is None else float(few[2].sum()))
    if not gain < policy.points_gain / 2:
        return ""
    return (
        f"no inducing points: {len(points)} of them would raise the bound by about {gain:.1g} nats a row, says a "
        f"sample of {policy.trial_rows:,}, which is less than {policy.points_gain:g}"
    )
