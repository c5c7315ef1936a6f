"""Training by minibatches, as in the paper: natural gradients for q(u), Adam for everything else.

The step itself is in `natural_step`. Here are its loop, in compiled blocks, what is remembered on the
way (ELBO estimates, held-out scores, the best state), and where it can be stopped and resumed.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odvff.errors import InputError, NumericalError
from odvff.inference.notes import INTERRUPTED
from odvff.inference.stochastic.natural_step import ADAM, State, StepModel, run_block
from odvff.inference.traced import concrete, take_terms_apart
from odvff.likelihoods import as_likelihood, log_predictive_density
from odvff.posterior import Posterior
from odvff.support.arrays import Array, in_double_precision
from odvff.support.checks import matrix, positive, vector, whole
from odvff.support.shapes import Float
from odvff.support.threads import one_blas_thread
from odvff.terms import Sum, Term

LEAST_CAUTION = 1e-9
NEVER = (10**18, 2 * 10**18)  # steps: there will never be so many
A_BATCH = "a batch is a pair (X, y); pass an iterable of such pairs (weights are not supported)."


@dataclass(frozen=True)
class Settings:
    """How training goes."""

    learning_rate: float = 0.01  # of Adam
    natural_step: float = 0.1  # ρ, reached after `ramp` steps
    ramp: int = 100
    cooling: tuple[int, int] | None = None  # the steps between which both rates fall to a hundredth
    train_locations: bool = True  # move γ, and inducing points in the terms
    block: int = 50  # steps compiled into one call; scores are taken and checkpoints offered between blocks

    def __post_init__(self) -> None:
        whole(self.block, "block", at_least=1, remedy="50 steps in one call are a good choice")
        whole(self.ramp, "ramp", at_least=1, remedy="100 steps are a good choice")
        positive(self.learning_rate, "learning_rate", "0.01 is a good choice")
        if positive(self.natural_step, "natural_step", "0.1 is a good choice, 1 the largest") > 1:
            raise InputError(f"natural_step must be at most 1, got {self.natural_step:g}; 0.1 is a good choice.")
        pair = NEVER if self.cooling is None else self.cooling
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InputError(f"cooling is a pair of steps (first, last), got {pair!r}.")
        first, last = pair
        whole(first, "the first step of cooling", at_least=0, remedy="three quarters of all steps are usual")
        whole(last, "the last step of cooling", at_least=first + 1, remedy="it is usually the last of all steps")

    def numbers(self, n_rows: int) -> dict[str, float]:
        """What a step takes, and a checkpoint must agree with."""
        first, last = self.cooling or NEVER
        rates = {"learning_rate": self.learning_rate, "natural_step": self.natural_step, "ramp": self.ramp}
        numbers = {"n_rows": n_rows, **rates, "cooling_from": first, "cooling_to": last}
        return {name: float(number) for name, number in numbers.items()}


@dataclass(frozen=True)
class Checkpoint:
    """Where training stands: resumed from here, it goes on as if it had never stopped."""

    state: State
    history: tuple[float, ...] = ()  # the ELBO estimate of every step
    scores: tuple[tuple[int, float], ...] = ()  # (step, mean log predictive density of the held-out rows)
    best: State | None = None  # that of the highest score

    @property
    def step(self) -> int:
        return int(self.state.step)


@dataclass(frozen=True)
class Trained:
    """A posterior and likelihood after training (those of the best held-out score, if there was one)."""

    posterior: Posterior
    likelihood: Any
    checkpoint: Checkpoint  # to resume from, with the history
    message: str  # how it ended

    @property
    def history(self) -> tuple[float, ...]:
        return self.checkpoint.history

    @property
    def scores(self) -> tuple[tuple[int, float], ...]:
        return self.checkpoint.scores


class Trainer:
    """Stochastic training of one model; make it once, and `run` it on batches as often as you like.

    Terms and likelihood have starting values, as has γ, inducing points for the mean; batches stand for `n_rows`. The
    rest are fields of `Settings`.
    """

    @in_double_precision
    def __init__(
        self, terms: Sum | Iterable[Term], likelihood: Any, n_rows: int, *, gamma: Any | None = None, **settings: Any
    ):
        n_rows = whole(n_rows, "n_rows", at_least=1, remedy="give the rows of the whole data set")
        how = Settings(**settings)
        self.block, self.settings = how.block, how.numbers(n_rows)
        self._original = terms = Sum.of(terms)
        of_terms, terms_recipe = take_terms_apart(terms)
        of_likelihood, likelihood_recipe = as_likelihood(likelihood).take_apart()
        self._n_columns = max((max(t.columns) + 1 for t in terms if t.columns is not None), default=1)
        gamma = None if gamma is None or len(gamma) == 0 else jnp.asarray(matrix(gamma, "gamma"))
        if gamma is not None and gamma.shape[1] < self._n_columns:
            raise InputError(f"gamma has {gamma.shape[1]} columns, and the terms read {self._n_columns}.")
        a_gamma = None if gamma is None else jnp.zeros(len(gamma))
        self._parameters = {"terms": of_terms, "likelihood": of_likelihood, "gamma": gamma, "a_gamma": a_gamma}
        self._model = StepModel(terms_recipe, likelihood_recipe, terms.Kuu().size, how.train_locations)

    @property
    def fingerprint(self) -> str:
        """Of the model without its numbers: a checkpoint of another one is refused."""
        words = re.sub(r" at 0x[0-9a-f]+", "", repr(self._model))
        return hashlib.sha256(words.encode()).hexdigest()

    @in_double_precision
    def start(self) -> State:
        """The state before the first step: q(u) is the prior."""
        p, n = self._parameters, self._model.size
        state: State = concrete(State(p, np.eye(n), np.zeros(n), ADAM.init(p), np.array(0), np.array(1.0)))
        return state

    @in_double_precision
    def run(
        self,
        batches: Iterable[tuple[Any, Any]],
        n_steps: int,
        *,
        resume: Checkpoint | None = None,
        held_out: tuple[Any, Any] | None = None,
        patience: int | None = None,
        on_block: Callable[[Checkpoint], bool | None] | None = None,
    ) -> Trained:
        """Train on batches `(X, y)`, all of one size, up to step `n_steps`. Ctrl-C returns what has been reached.

        From a checkpoint to `resume`, and batches that would have followed (`minibatches` has `first` for that), the
        result is the same as without the break, to the last bit. Rows `(X, y)` that are `held_out` are scored after
        every block: the best state is the result, and with `patience` it ends once the score has not risen for so many
        steps. `on_block`, called after every block, may show progress or save the checkpoint (`save_checkpoint` of
        `odvff.inference.stochastic.checkpoint`); if it returns true, training ends.
        """
        n_steps = whole(n_steps, "n_steps", at_least=1, remedy="a few thousand are usual")
        if patience is not None:
            whole(patience, "patience", at_least=1, remedy="a thousand steps are a good choice")
            if held_out is None:
                raise InputError("patience needs `held_out` rows to score; give some, or leave it out.")
        now = Checkpoint(self.start()) if resume is None else resume
        if held_out is not None:
            held_out = _pair(held_out, "held_out ", "held_out must be a pair (X, y).")
            if len(held_out[0]) == 0:
                raise InputError("held_out has no rows; give some to score, or leave it out.")
        message = f"{n_steps} steps"
        try:
            with one_blas_thread():
                for Xs, ys, n in self._stacked(batches, now.step, n_steps):
                    now = self._scored(self._advance(now, Xs, ys, n), held_out)
                    if on_block is not None and on_block(now):
                        message = "stopped on request"
                        break
                    stale = 0 if held_out is None else now.step - max(now.scores, key=lambda score: score[1])[0]
                    if patience is not None and stale >= patience:
                        message = f"the held-out score has not risen for {stale} steps"
                        break
                else:
                    if now.step < n_steps:
                        message = f"the batches ended after {now.step} steps"
        except KeyboardInterrupt:
            message = INTERRUPTED
        if not now.history:
            if message == INTERRUPTED:
                raise KeyboardInterrupt("training was interrupted before its first step; there is nothing to return")
            raise InputError("there was no batch to train on.")
        posterior, likelihood = self.posterior(now.best or now.state)
        return Trained(posterior, likelihood, now, message)

    def _stacked(self, batches: Iterable[Any], step: int, n_steps: int) -> Iterator[tuple[Any, Any, int]]:
        """Batches in blocks of one length that end at multiples of it (a short one is filled), and how many in each."""
        source, shape, block, n_columns = iter(batches), None, self.block, self._n_columns
        while step < n_steps:
            gathered = []
            for batch in islice(source, min(block - step % block, n_steps - step)):
                X, y = _pair(batch, "", A_BATCH)
                if X.shape[1] < n_columns:
                    raise InputError(f"a batch has {X.shape[1]} columns, and the terms read {n_columns}.")
                shape = X.shape if shape is None else shape
                if X.shape != shape:
                    raise InputError(f"all batches must have one shape, got {shape} and {X.shape}; drop the short one.")
                gathered.append((X, y))
            if not gathered:
                return
            n = len(gathered)
            step += n
            gathered += gathered[-1:] * (block - n)
            Xs, ys = zip(*gathered, strict=True)
            yield jnp.asarray(np.stack(Xs)), jnp.asarray(np.stack(ys)), n

    def _advance(self, now: Checkpoint, Xs: Any, ys: Any, n: int) -> Checkpoint:
        """Up to a block of steps; if the ELBO is lost on the way, the same again with shorter natural steps.

        From a prior that is far from the rows (counts of a thousand) a first natural step may lead to nowhere.
        """
        state = now.state
        while True:
            after, values = run_block(self._model, self.settings, state, Xs, ys, n)
            values, after = np.asarray(values)[:n], concrete(after)
            finite = all(np.isfinite(numbers).all() for numbers in (values, *jax.tree.leaves(after)))
            # a step from far off can overshoot by orders of magnitude: the ELBO falls by far more than batches differ
            if finite and np.median(values[-5:]) >= values[0] - 10 * max(abs(values[0]), self.settings["n_rows"]):
                break
            state = state._replace(caution=state.caution / 10)
            if state.caution < LEAST_CAUTION:
                raise NumericalError(_lost(now.step, values))
        after = after._replace(caution=np.minimum(1.0, 4 * after.caution))
        return replace(now, state=after, history=now.history + tuple(values.tolist()))

    def _scored(self, now: Checkpoint, held_out: tuple[Any, Any] | None) -> Checkpoint:
        if held_out is None:
            return now
        posterior, likelihood = self.posterior(now.state)
        score = float(np.mean(log_predictive_density(likelihood, held_out[1], *posterior.predict(held_out[0]))))
        if not np.isfinite(score):
            raise NumericalError(
                f"the held-out rows have a mean log density of {score} after {now.step} steps; the likelihood may not "
                "suit them (counts for Poisson, 0 and 1 for Bernoulli)."
            )
        risen = now.best is None or score > max(s for _, s in now.scores)
        return replace(now, scores=(*now.scores, (now.step, score)), best=now.state if risen else now.best)

    @in_double_precision
    def posterior(self, state: State) -> tuple[Posterior, Any]:
        """The posterior and the likelihood of a state."""
        p = state.parameters
        m, root = state.moments()
        pairs = zip(self._model.terms(p["terms"]), self._original, strict=True)
        terms = [replace(term, name=old.name) for term, old in pairs]
        q = Posterior(terms, np.asarray(m), np.asarray(root), p["gamma"], p["a_gamma"])
        return q, self._model.likelihood(p["likelihood"])


def _lost(step: int, values: Any) -> str:
    first, gone = step + int(np.argmax(~np.isfinite(values))), not np.isfinite(values).all()
    if gone and first == 0:
        return (
            "the ELBO is not finite before the first step. Likely causes: (a) the likelihood does not suit y (counts "
            "for Poisson, 0 and 1 for Bernoulli); (b) data of a very different scale: standardise them; (c) inducing "
            "points that fall together: raise their `jitter` to 1e-6."
        )
    return (
        f"the ELBO {'is not finite' if gone else 'falls without end'} at step {first}, even with much shorter natural "
        "steps. Likely causes: (a) learning_rate too large: divide it by ten; (b) inducing points that fell together: "
        "raise their `jitter` to 1e-6; (c) data of a very different scale: standardise them."
    )


def _pair(rows: Any, whose: str, refusal: str) -> tuple[Float[Array, "N D"], Float[Array, " N"]]:
    """X and y, checked."""
    if not isinstance(rows, list | tuple) or len(rows) != 2:
        raise InputError(refusal)
    X = matrix(rows[0], f"{whose}X")
    return X, vector(rows[1], f"{whose}y", size=len(X))


def minibatches(X: Any, y: Any, batch_size: int, *, seed: int = 0, first: int = 0) -> Iterator[tuple[Any, Any]]:
    """Endless batches, every epoch in a new order, without a short last one; resuming at step n, give `first=n`."""
    X, y = _pair((X, y), "", A_BATCH)
    batch_size = whole(batch_size, "batch_size", at_least=1, remedy="500 is usual")
    first = whole(first, "first", at_least=0, remedy="it is the number of batches to skip")
    if batch_size > len(X):
        raise InputError(f"batch_size is {batch_size}, but there are {len(X)} rows; make it smaller.")
    per_epoch = len(X) // batch_size
    epoch, skip = divmod(first, per_epoch)
    while True:
        order = np.random.default_rng([seed, epoch]).permutation(len(X))
        for i in range(skip, per_epoch):
            rows = order[i * batch_size : (i + 1) * batch_size]
            yield X[rows], y[rows]
        epoch, skip = epoch + 1, 0
