"""Other likelihoods by sites: a few passes over the rows."""

from odvff.errors import Argument, InputError
from odvff.fitting.problem import Named, Problem, Start
from odvff.support.progress import Step


def fit_by_sites(problem: Problem, start: Start, gamma: bool) -> Named:
    """Kernels start from a first look; there are no inducing points for the mean."""
    from odvff.inference.sites.fit import fit_sites

    options, run = problem.options, problem.run
    if gamma:
        if options.n_gamma not in ("auto", 0):
            raise InputError(
                f"{options.n_gamma} inducing points for the mean were asked for, and sites have none; use ",
                Argument("inference", "stochastic"),
                ", or leave the number to 'auto'.",
            )
        start = start.saying("no inducing points: sites need none")
    rounds = options.max_iter
    fit = fit_sites(
        start.terms,
        problem.likelihood,
        problem.rows,
        rescale=False,  # the kernels come from a first look
        max_rounds=rounds,
        tolerance=problem.policy.sites_tolerance,
        progress=lambda n, elbo: run.progress(Step("rounds of sites", n, rounds, "rounds", elbo)),
        journal=run.journal,
        tell=run.tell,
        policy=problem.policy,
    )
    return Named(fit, start.report)
