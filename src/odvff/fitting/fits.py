"""From a start to a fit, by every kind of inference: statistics, sites, minibatches, or GPJax's exact one."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from odvff.errors import Argument, InputError
from odvff.features import InducingPoints
from odvff.fitting.problem import Named, Problem, Start
from odvff.fitting.starts import started
from odvff.inference import Fit, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.fit import NOISE, Ascent, scale_of
from odvff.inference.notes import CONVERGED, INTERRUPTED, unfinished_fit
from odvff.likelihoods import GaussianNoise
from odvff.search import add_inducing, greedy_points
from odvff.search.points import gain_of_a_sample
from odvff.statistics.collect import collect_rows
from odvff.support.checks import whole
from odvff.support.progress import Step
from odvff.terms import Sum

if TYPE_CHECKING:  # JAX is imported where it is needed
    from odvff.inference.stochastic.trainer import Checkpoint, Trainer


def fit_by_statistics(problem: Problem, start: Start, gamma: bool) -> Named:
    """Gaussian noise: a pass over the rows, then hyper-parameters by the collapsed bound, then points for the mean."""
    rows, policy, how = problem.rows, problem.policy, problem.ascent
    if not start.terms.is_fixed:  # some features change with hyper-parameters: rows are gone through for each
        if gamma and problem.options.n_gamma not in ("auto", 0):
            raise InputError(
                f"{problem.options.n_gamma} inducing points for the mean were asked for, and beside terms with points "
                "of their own there are none; leave the number to 'auto'."
            )
        return Named(fit_collapsed(start.terms, rows, noise=start.noise, **how), start.report)
    statistics, run = start.statistics, problem.run
    if statistics is None:
        statistics = collect_rows(start.terms, rows, run.journal, run.progress)
    else:  # a look has added them up
        run.progress(Step("adding up", statistics.n_rows, rows.n_rows))
    fit = fit_collapsed(
        start.terms,
        statistics,
        noise=start.noise,
        known=start.known,
        tolerance=policy.bound_tolerance,
        precision=policy.fine_precision if rows.n_rows <= policy.fine_rows else policy.precision,
        plateau=max(policy.least_plateau, policy.plateau * statistics.weight),
        **how,
    )
    if gamma:
        fit, words = _with_points(problem, fit, statistics.weight)
        start = start.saying(words)
    if problem.options.refine and fit.posterior.gamma is not None:
        fit, words = _refined(problem, fit)
        start = start.saying(words)
    return Named(fit, start.report)


def _points_for_the_mean(problem: Problem, terms: Sum) -> Any:
    """γ, as many points as were asked for."""
    n, policy = problem.options.n_gamma, problem.policy
    n = policy.n_points if n == "auto" else whole(n, "n_gamma", at_least=0, remedy="0 is none, or 'auto'")
    X, *_ = problem.rows.sample(policy.sample_rows)
    return greedy_points(terms, X, n, seed=problem.options.seed, policy=policy) if n else np.zeros((0, X.shape[1]))


def _with_points(problem: Problem, fit: Fit, weight: float) -> tuple[Fit, str]:
    """The fit with points for its mean, and what is said of them; where nobody gave their number, just if they pay."""
    rows, policy, n, least = problem.rows, problem.policy, problem.options.n_gamma, 0.0
    if n == 0:
        return fit, "no inducing points, as was asked for"
    if n == "auto":
        least = max(policy.points_nats, policy.points_gain * weight)
        if sum(fit.unresolved) * weight / 2 < least / policy.rougher:
            return fit, "no inducing points: the features leave too little of the variance out for them to matter"
        problem.run.progress(Step("trying points", 0, unit="rows"))
    points = _points_for_the_mean(problem, fit.terms)
    if n == "auto" and rows.n_rows > 2 * policy.trial_rows:  # a pass with points is slow: try it on a sample first
        few = rows.sample(policy.trial_rows)
        gain = gain_of_a_sample(fit, few, points) / (policy.trial_rows if few[2] is None else float(few[2].sum()))
        if gain < policy.points_gain / 2:
            return fit, (
                f"no inducing points: {len(points)} of them would raise the bound by about {gain:.1g} nats a row, says "
                f"a sample of {policy.trial_rows:,}, which is less than {policy.points_gain:g}"
            )
    decoupled = add_inducing(fit, rows.chunks(), points, least_gain=least)
    return decoupled.fit, decoupled.report


def _refined(problem: Problem, fit: Fit) -> tuple[Fit, str]:
    """γ, kernels and noise moved together, from where the two stages ended; and what that brought."""
    from odvff.inference.collapsed.moving import MovingBound, climb_moving

    bound = MovingBound(fit.terms, fit.noise, problem.rows.chunks, fit.posterior.gamma)
    refined = climb_moving(bound, Ascent(**problem.ascent))
    gain = refined.bound - fit.bound
    words = f"moving points and hyper-parameters together raised the bound by {max(gain, 0.0):.3g} nats"
    return (refined if gain > 0 else fit), words


def fit_by_sites(problem: Problem, start: Start, gamma: bool) -> Named:
    """Other likelihoods: a few passes over the rows, from a first look. There are no inducing points for the mean."""
    from odvff.inference.sites.fit import fit_sites

    options, run = problem.options, problem.run
    if gamma:
        if options.n_gamma not in ("auto", 0):
            asked = f"{options.n_gamma} inducing points for the mean were asked for, and sites have none; use "
            raise InputError(asked, Argument("inference", "stochastic"), ", or leave the number to 'auto'.")
        start = start.saying("no inducing points: sites need none")
    fit = fit_sites(
        start.terms,
        problem.likelihood,
        problem.rows,
        rescale=False,  # the kernels come from a first look
        max_rounds=options.max_iter,
        tolerance=problem.policy.sites_tolerance,
        progress=lambda n, elbo: run.progress(Step("rounds of sites", n, options.max_iter, "rounds", elbo)),
        journal=run.journal,
        tell=run.tell,
        policy=problem.policy,
    )
    return Named(fit, start.report)


def fit_by_minibatches(problem: Problem, start: Start, gamma: bool) -> Named:
    """Any features and likelihood: natural gradients for q, Adam for the rest."""
    from odvff.inference.sites.fit import SiteFit
    from odvff.inference.stochastic.checkpoint import load_checkpoint
    from odvff.inference.stochastic.trainer import Trainer, minibatches

    options = problem.options
    X, y, weights = problem.rows.everything()
    if weights is not None:
        raise InputError("stochastic inference takes no weights; repeat the rows, or use collapsed inference.")
    order = np.random.default_rng(options.seed).permutation(len(X))
    n_held = int(options.held_out * len(X))
    held, kept = order[:n_held], np.sort(order[n_held:])
    if start.terms.is_fixed and not problem.design.own:
        start = started(problem, start)
    n_steps, cooled = options.n_steps, min(int((1 - options.cooling) * options.n_steps), options.n_steps - 1)
    trainer = Trainer(
        start.terms,
        GaussianNoise(start.noise) if problem.likelihood.closed_form else problem.likelihood,
        len(kept),
        gamma=_points_for_the_mean(problem, start.terms) if gamma else None,
        learning_rate=options.learning_rate,
        natural_step=options.natural_step,
        cooling=(cooled, n_steps) if options.cooling > 0 else None,
    )
    place = problem.run.journal.path("training")
    resume = load_checkpoint(place, trainer) if place is not None and place.exists() else None
    first = 0 if resume is None else resume.step
    trained = trainer.run(
        minibatches(X[kept], y[kept], min(options.batch_size, len(kept)), seed=options.seed, first=first),
        n_steps,
        resume=resume,
        held_out=(X[held], y[held]) if n_held else None,
        patience=options.patience,
        on_block=lambda checkpoint: _keep(problem, trainer, checkpoint),
    )
    history, message = trained.history, trained.message
    ended = (float(np.mean(history[-100:])), history, message != INTERRUPTED, message)
    if problem.likelihood.closed_form:
        fit: Fit | SiteFit = Fit(trained.posterior, float(trained.likelihood.variance), *ended, ())
    else:
        fit = SiteFit(trained.posterior, trained.likelihood, *ended)
    return Named(fit, start.saying(f"trained for {len(history)} steps: {message}").report, trained.scores)


def _keep(problem: Problem, trainer: "Trainer", checkpoint: "Checkpoint") -> None:
    """Report progress, and keep a checkpoint when one is due."""
    from odvff.inference.stochastic.checkpoint import save_checkpoint

    run = problem.run
    place, estimate = run.journal.path("training"), float(np.mean(checkpoint.history[-50:]))
    run.progress(Step("training", checkpoint.step, problem.options.n_steps, "steps", estimate))
    if place is not None and run.journal.due():
        place.parent.mkdir(parents=True, exist_ok=True)
        save_checkpoint(place, trainer, checkpoint)


def fit_exactly(problem: Problem, start: Start, gamma: bool) -> Named:
    """By GPJax; the posterior is ours, with an inducing point on every row, which is the same."""
    from odvff.inference.exact import fit_exact

    max_iter, tell = problem.options.max_iter, problem.run.tell
    X, y, _ = problem.rows.everything()
    (term,), first = start.terms, start.noise
    assert first is not None
    kernel, noise, losses = fit_exact(term.kernel, first, X, y, max_iter)
    noise = max(noise, NOISE[0] * scale_of(float(y.mean()), float(y.var()), tell))
    q = optimal_posterior([replace(term, kernel=kernel, features=InducingPoints(X))], noise, X, y)
    done = len(losses) < 2 or losses[-2] - losses[-1] < 1e-5 * max(abs(losses[-1]), 1.0)
    message = CONVERGED if done else f"the limit of {max_iter} iterations"
    fit = Fit(q, noise, -losses[-1], tuple(-loss for loss in losses), done, message, ())
    if not done:
        tell(unfinished_fit(message, fit.bound))
    return Named(fit, start.report)
