"""Any features and likelihood by minibatches: natural gradients for q, Adam for the rest."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from odvff.errors import InputError
from odvff.fitting.look import started
from odvff.fitting.points import points_for_the_mean
from odvff.fitting.problem import Named, Problem, Start
from odvff.inference import Fit
from odvff.likelihoods import GaussianNoise
from odvff.support.progress import Step

if TYPE_CHECKING:  # JAX is imported where it is needed
    from odvff.inference.stochastic.trainer import Checkpoint, Trained, Trainer


def fit_by_minibatches(problem: Problem, start: Start, gamma: bool) -> Named:
    from odvff.inference.stochastic.checkpoint import load_checkpoint
    from odvff.inference.stochastic.trainer import minibatches

    options, journal = problem.options, problem.run.journal
    X, y, weights = problem.rows.everything()
    if weights is not None:
        raise InputError("stochastic inference takes no weights; repeat the rows, or use collapsed inference.")
    order = np.random.default_rng(options.seed).permutation(len(X))
    n_held = int(options.held_out * len(X))
    held, kept = order[:n_held], np.sort(order[n_held:])
    if start.terms.is_fixed and not problem.design.own:
        start = started(problem, start)
    trainer = _trainer(problem, start, gamma, len(kept))
    place = journal.path("training")
    resume = load_checkpoint(place, trainer) if place is not None and place.exists() else None
    first = 0 if resume is None else resume.step
    trained = trainer.run(
        minibatches(X[kept], y[kept], min(options.batch_size, len(kept)), seed=options.seed, first=first),
        options.n_steps,
        resume=resume,
        held_out=(X[held], y[held]) if n_held else None,
        patience=options.patience,
        on_block=_kept_by(problem, trainer),
    )
    return _named(problem, start, trained)


def _trainer(problem: Problem, start: Start, gamma: bool, n_rows: int) -> "Trainer":
    from odvff.inference.stochastic.trainer import Trainer

    o = problem.options
    return Trainer(
        start.terms,
        GaussianNoise(start.noise) if problem.likelihood.closed_form else problem.likelihood,
        n_rows,
        gamma=points_for_the_mean(problem, start.terms) if gamma else None,
        learning_rate=o.learning_rate,
        natural_step=o.natural_step,
        cooling=(min(int((1 - o.cooling) * o.n_steps), o.n_steps - 1), o.n_steps) if o.cooling > 0 else None,
    )


def _kept_by(problem: Problem, trainer: "Trainer") -> "Callable[[Checkpoint], None]":
    """What is done with a checkpoint: progress is reported, and a checkpoint kept when one is due."""
    from odvff.inference.stochastic.checkpoint import save_checkpoint

    run, n_steps = problem.run, problem.options.n_steps
    place = run.journal.path("training")

    def after(checkpoint: "Checkpoint") -> None:
        estimate = float(np.mean(checkpoint.history[-50:]))
        run.progress(Step("training", checkpoint.step, n_steps, "steps", estimate))
        if place is not None and run.journal.due():
            place.parent.mkdir(parents=True, exist_ok=True)
            save_checkpoint(place, trainer, checkpoint)

    return after


def _named(problem: Problem, start: Start, trained: "Trained") -> Named:
    from odvff.inference.sites.fit import SiteFit

    history, message = trained.history, trained.message
    bound = float(np.mean(history[-min(100, len(history)) :]))
    ended = (bound, history, message != "interrupted", message)
    if problem.likelihood.closed_form:
        fit: Fit | SiteFit = Fit(trained.posterior, float(trained.likelihood.variance), *ended, ())
    else:
        fit = SiteFit(trained.posterior, trained.likelihood, *ended)
    report = start.saying(f"trained for {len(history)} steps: {message}").report
    return Named(fit, report, trained.scores)
