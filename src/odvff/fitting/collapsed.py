"""Gaussian noise by statistics: one pass over the rows, then all hyper-parameters by the collapsed bound."""

from odvff.fitting.points import with_points
from odvff.fitting.problem import Named, Problem, Start
from odvff.inference import Fit, fit_collapsed
from odvff.inference.collapsed.fit import Ascent
from odvff.statistics import Statistics
from odvff.statistics.collect import collect_rows
from odvff.support.progress import Step


def fit_by_statistics(problem: Problem, start: Start, gamma: bool) -> Named:
    """The collapsed fit of fixed features; with points for its mean if there may be any."""
    if not start.terms.is_fixed:  # some features change with hyper-parameters: rows are gone through for each
        return _fit_by_chunks(problem, start)
    policy, statistics = problem.policy, _statistics(problem, start)
    fit = fit_collapsed(
        start.terms,
        statistics,
        noise=start.noise,
        known=start.known,
        max_iter=problem.options.max_iter,
        tolerance=policy.bound_tolerance,
        precision=policy.fine_precision if problem.rows.n_rows <= policy.fine_rows else policy.precision,
        plateau=max(policy.least_plateau, policy.plateau * statistics.weight),
        progress=problem.note_iteration,
        tell=problem.run.tell,
    )
    if gamma:
        fit, words = with_points(problem, fit, statistics.weight)
        start = start.saying(words)
    if problem.options.refine and fit.posterior.gamma is not None:
        fit, words = _refined(problem, fit)
        start = start.saying(words)
    return Named(fit, start.report)


def _fit_by_chunks(problem: Problem, start: Start) -> Named:
    """The collapsed fit of features that move with the hyper-parameters: SGPR, where they are points."""
    max_iter = problem.options.max_iter
    fit = fit_collapsed(
        start.terms,
        problem.rows,
        noise=start.noise,
        max_iter=max_iter,
        progress=problem.note_iteration,
        tell=problem.run.tell,
    )
    return Named(fit, start.report)


def _statistics(problem: Problem, start: Start) -> Statistics:
    """Of all rows: those that a look has added up, or from a pass."""
    rows, run = problem.rows, problem.run
    if start.statistics is None:
        return collect_rows(start.terms, rows, run.journal, run.progress)
    run.progress(Step("adding up", start.statistics.n_rows, rows.n_rows))  # as has been done
    return start.statistics


def _refined(problem: Problem, fit: Fit) -> tuple[Fit, str]:
    """γ, kernels and noise moved together, from where the two stages ended; and what that brought."""
    from odvff.inference.collapsed.moving import MovingBound, climb_moving

    bound = MovingBound(fit.terms, fit.noise, problem.rows.chunks, fit.posterior.gamma)
    how = Ascent(max_iter=problem.options.max_iter, progress=problem.note_iteration, tell=problem.run.tell)
    refined = climb_moving(bound, how)
    gain = refined.bound - fit.bound
    words = f"moving points and hyper-parameters together raised the bound by {max(gain, 0.0):.3g} nats"
    return (refined if gain > 0 else fit), words
