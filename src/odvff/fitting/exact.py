"""GPJax's exact inference; the posterior is ours, with an inducing point on every row, which is the same."""

from dataclasses import replace

from odvff.errors import Argument, InputError
from odvff.features import InducingPoints
from odvff.fitting.look import first_look
from odvff.fitting.points import POINT_JITTER
from odvff.fitting.problem import Named, Problem, Start
from odvff.inference import Fit, optimal_posterior
from odvff.inference.collapsed.fit import NOISE, scale_of
from odvff.inference.notes import unfinished_fit


def exact_start(problem: Problem) -> Start:
    """One term with the whole kernel, of rows that are few enough, and numbers."""
    n, most = problem.rows.n_rows, problem.policy.exact_rows
    if n > most:
        raise InputError(
            f"exact inference with {n} rows needs {8e-9 * n**2:.1f} GB and cubic time; it is allowed up to {most} "
            "rows. Use ",
            Argument("method", "odvff"),
            ", or a sample of the rows.",
        )
    if problem.design.levels:
        raise InputError(
            f"method 'exact' is for numeric columns, and {problem.design.levels[0].name!r} has levels; use ",
            Argument("method", "odvff"),
            ", in which levels are exact, or leave the column out.",
        )
    X, _, weights = problem.rows.everything()
    if weights is not None:
        raise InputError("method 'exact' takes no weights; repeat the rows, or use ", Argument("method", "odvff"), ".")
    fitted, noise = first_look(problem)
    return Start(problem.design.point_terms(X[:1], fitted, POINT_JITTER), noise, report=("exact",))


def fit_exactly(problem: Problem, start: Start, gamma: bool) -> Named:
    from odvff.inference.exact import fit_exact

    max_iter, tell = problem.options.max_iter, problem.run.tell
    X, y, _ = problem.rows.everything()
    (term,), first = start.terms, start.noise
    assert first is not None
    kernel, noise, losses = fit_exact(term.kernel, first, X, y, max_iter)
    noise = max(noise, NOISE[0] * scale_of(float(y.mean()), float(y.var()), tell))
    q = optimal_posterior([replace(term, kernel=kernel, features=InducingPoints(X))], noise, X, y)
    done = len(losses) < 2 or losses[-2] - losses[-1] < 1e-5 * max(abs(losses[-1]), 1.0)
    message = "converged" if done else f"the limit of {max_iter} iterations"
    fit = Fit(q, noise, -losses[-1], tuple(-loss for loss in losses), done, message, ())
    if not done:
        tell(unfinished_fit(message, fit.bound))
    return Named(fit, start.report)
