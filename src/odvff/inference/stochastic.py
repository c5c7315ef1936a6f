"""Training by minibatches, as in the paper: natural gradients for q(u), Adam for everything else.

**Natural gradients.** In whitened coordinates the prior of u is N(0, I). With Λ = S⁻¹, a_n and b_n the derivatives of
(N/B) E_q log p(y_n|f_n) with respect to the mean and the variance of f_n, a step of size ρ is

    Λ  ← (1−ρ) Λ  + ρ [I − 2 Σ_n b_n ψ_nψ_nᵀ]
    Λm ← (1−ρ) Λm + ρ Σ_n (a_n − 2 b_n ψ_nᵀm) ψ_n

so one step of size 1 on all rows with Gaussian noise is the optimum. ρ is ramped up; where b_n > 0 (a likelihood that
is not log-concave) Λ could leave the cone of positive matrices, and ρ is halved until it does not.

**Everything else** (kernels, likelihood, a_γ, locations of γ and of inducing points in β) follows Adam on the ELBO,
whose one backward pass also supplies a_n and b_n. Steps are compiled in blocks; a block of a given shape is compiled
once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from odvff.arrays import in_double_precision
from odvff.checks import matrix, positive, vector, whole
from odvff.errors import InputError, NumericalError
from odvff.inference.grouped import whiten
from odvff.inference.trainable import concrete, take_apart, take_terms_apart
from odvff.likelihoods import expected_log_density
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.terms import Sum, Term


@dataclass(frozen=True)
class State:
    """Where training stands: all that is needed to go on as if it had never stopped."""

    parameters: Any  # kernels, points, likelihood, gamma, a_gamma
    precision: Any  # Λ
    shift: Any  # Λm
    optimiser: Any
    step: int


@dataclass(frozen=True)
class Trained:
    """A posterior and likelihood after training, the ELBO estimate of every step, and the state to resume from."""

    posterior: Posterior
    likelihood: Any
    history: tuple[float, ...]
    state: State


class Trainer:
    """Stochastic training of one model; make it once, and `run` it on batches as often as you like.

    Parameters
    ----------
    terms, likelihood : the model, with starting values.
    n_rows : N, the rows that a batch stands for.
    gamma : γ, starting locations of inducing points for the mean, or None.
    learning_rate : of Adam.
    natural_step, ramp : ρ, reached after `ramp` steps.
    train_locations : move γ, and inducing points in the terms.
    block : steps compiled into one call.
    """

    @in_double_precision
    def __init__(
        self,
        terms: Sum | Iterable[Term],
        likelihood: Any,
        n_rows: int,
        *,
        gamma: Any | None = None,
        learning_rate: float = 0.01,
        natural_step: float = 0.1,
        ramp: int = 100,
        train_locations: bool = True,
        block: int = 50,
    ):
        self.n_rows = whole(n_rows, "n_rows", at_least=1, remedy="give the rows of the whole data set")
        self.block = whole(block, "block", at_least=1, remedy="50 steps in one call are a good choice")
        self.ramp = whole(ramp, "ramp", at_least=1, remedy="100 steps are a good choice")
        self.natural_step = positive(natural_step, "natural_step", "0.1 is a good choice, 1 the largest")
        if self.natural_step > 1:
            raise InputError(f"natural_step must be at most 1, got {self.natural_step:g}; 0.1 is a good choice.")
        self.train_locations = train_locations
        self.optimiser = optax.adam(positive(learning_rate, "learning_rate", "0.01 is a good choice"))
        terms = Sum.of(terms)
        term_parameters, self._terms = take_terms_apart(terms, locations=train_locations)
        likelihood_parameters, self._likelihood = take_apart(likelihood)
        gamma = None if gamma is None or len(gamma) == 0 else jnp.asarray(matrix(gamma, "gamma"))
        self._parameters = {
            "terms": term_parameters,
            "likelihood": likelihood_parameters,
            "gamma": gamma,
            "a_gamma": None if gamma is None else jnp.zeros(len(gamma)),
        }
        self.size = terms.Kuu().size
        self._run_block = jax.jit(self._steps)

    @in_double_precision
    def start(self) -> State:
        """The state before the first step: q(u) is the prior."""
        return State(
            concrete(self._parameters),
            np.eye(self.size),
            np.zeros(self.size),
            concrete(self.optimiser.init(self._parameters)),
            0,
        )

    @in_double_precision
    def run(
        self,
        batches: Iterable[tuple[Any, Any]],
        n_steps: int,
        *,
        state: State | None = None,
        progress: Callable[[int, float], None] | None = None,
        stop: Callable[[int, State], bool] | None = None,
    ) -> Trained:
        """Train for `n_steps` batches `(X, y)`, all of one size, from `state` on.

        After each block `stop(step, state)` may end training early, and its state can be kept as a checkpoint: resumed
        with the batches that would have followed, training gives the same numbers as without the break.
        """
        n_steps = whole(n_steps, "n_steps", at_least=1, remedy="a few thousand are usual")
        state = self.start() if state is None else state
        history: list[float] = []
        for Xs, ys in _stacked(iter(batches), n_steps, self.block):
            carry = (state.parameters, state.precision, state.shift, state.optimiser, jnp.asarray(state.step))
            carry, values = self._run_block(carry, Xs, ys)
            values = np.asarray(values)
            if not np.isfinite(values).all():
                first = state.step + int(np.argmax(~np.isfinite(values)))
                raise NumericalError(
                    f"the ELBO is not finite at step {first}. Likely causes: (a) learning_rate or natural_step too "
                    "large: divide them by ten; (b) inducing points that fell together: raise their `jitter` to 1e-6; "
                    "(c) data of a very different scale: standardise them."
                )
            parameters, precision, shift, optimiser, step = concrete(carry)
            state = State(parameters, precision, shift, optimiser, int(step))
            history += [float(v) for v in values]
            if progress is not None:
                progress(state.step, float(values.mean()))
            if stop is not None and stop(state.step, state):
                break
        if not history:
            raise InputError("there was no batch to train on.")
        posterior, likelihood = self.posterior(state)
        return Trained(posterior, likelihood, tuple(history), state)

    @in_double_precision
    def posterior(self, state: State) -> tuple[Posterior, Any]:
        """The posterior and the likelihood of a state."""
        p = state.parameters
        m, root = _moments(jnp.asarray(state.precision), jnp.asarray(state.shift))
        terms = self._terms(p["terms"])
        q = Posterior(terms, np.asarray(m), np.asarray(root), p["gamma"], p["a_gamma"])
        return q, self._likelihood(p["likelihood"])

    def _steps(self, carry: Any, Xs: Any, ys: Any) -> Any:
        return jax.lax.scan(self._step, carry, (Xs, ys))

    def _step(self, carry: Any, batch: Any) -> Any:
        parameters, precision, shift, optimiser, step = carry
        X, y = batch
        m, root = _moments(precision, shift)
        (value, (psi, a, b, projected)), gradient = jax.value_and_grad(self._elbo, has_aux=True)(
            parameters, m, root, X, y
        )
        # Adam climbs: its gradients are of −ELBO, a row
        gradient = jax.tree.map(lambda g: -g / self.n_rows, gradient)
        if not self.train_locations and parameters["gamma"] is not None:
            gradient["gamma"] = jnp.zeros_like(parameters["gamma"])
        updates, optimiser = self.optimiser.update(gradient, optimiser, parameters)
        parameters = optax.apply_updates(parameters, updates)
        target = jnp.eye(self.size) - 2 * (psi * b) @ psi.T
        target_shift = psi @ (a - 2 * b * projected)
        rho = self.natural_step * jnp.minimum(1.0, (step + 1) / self.ramp)
        rho = _inside_the_cone(precision, target, rho)
        precision = (1 - rho) * precision + rho * target
        shift = (1 - rho) * shift + rho * target_shift
        return (parameters, precision, shift, optimiser, step + 1), value

    def _elbo(self, parameters: Any, m: Any, root: Any, X: Any, y: Any) -> Any:
        """The ELBO of a batch; also ψ, the derivatives a and b, and ψᵀm, for the natural step."""
        terms, likelihood = self._terms(parameters["terms"]), self._likelihood(parameters["likelihood"])
        gamma, coefficients, n = parameters["gamma"], parameters["a_gamma"], X.shape[0]
        # rows and γ in one go: half as much to compile
        everywhere = X if gamma is None else jnp.concatenate([X, gamma])
        whitened = whiten(terms, everywhere)
        psi = whitened[:, :n]
        projected = m @ psi
        mean = projected
        variance = residual_variance(terms.variances(X), psi) + ((root.T @ psi) ** 2).sum(axis=0)
        log_det_S = 2 * jnp.sum(jnp.log(jnp.abs(jnp.diagonal(root))))
        kl = 0.5 * (jnp.sum(root**2) - log_det_S - self.size + m @ m)
        if gamma is not None:
            # [k(·,γ) − ψ(·)ᵀψ(γ)] a_γ at the rows and at γ
            lift = terms.covariance(everywhere, gamma) @ coefficients - whitened.T @ (whitened[:, n:] @ coefficients)
            mean = mean + lift[:n]
            kl += 0.5 * coefficients @ lift[n:]
        scale = self.n_rows / X.shape[0]

        def total(mean: Any, variance: Any) -> Any:
            return scale * expected_log_density(likelihood, y, mean, variance).sum()

        value = total(mean, variance)
        a, b = jax.grad(total, argnums=(0, 1))(jax.lax.stop_gradient(mean), jax.lax.stop_gradient(variance))
        return value - kl, jax.lax.stop_gradient((psi, a, b, projected))


def _moments(precision: Any, shift: Any) -> tuple[Any, Any]:
    """m and the upper triangular root R = L⁻ᵀ of S = Λ⁻¹, Λ = L Lᵀ."""
    lower = jnp.linalg.cholesky(precision)
    root = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(lower)), lower=True).T
    return root @ (root.T @ shift), root


def _inside_the_cone(precision: Any, target: Any, rho: Any) -> Any:
    """ρ, halved until no direction loses more than half of its precision: (1−ρ)Λ + ρ·target ⪰ ½Λ.

    To be positive definite is not enough: next to the edge of the cone the variances explode.
    """

    def outside(rho: Any) -> Any:
        margin = (0.5 - rho) * precision + rho * target
        return jnp.isnan(jnp.linalg.cholesky(margin)).any() & (rho > 1e-8)

    # a target above ½Λ is safe at any step; most are, as every likelihood that is log-concave gives target ⪰ I
    return jax.lax.while_loop(outside, lambda rho: rho / 2, rho)


def _stacked(batches: Iterator[tuple[Any, Any]], n_steps: int, block: int) -> Iterator[tuple[Any, Any]]:
    """Batches gathered into blocks of equal shape."""
    left = n_steps
    while left > 0:
        Xs, ys = [], []
        for _ in range(min(block, left)):
            batch = next(batches, None)
            if batch is None:
                break
            X = matrix(batch[0], "X")
            Xs.append(X)
            ys.append(vector(batch[1], "y", size=len(X)))
        if not Xs:
            return
        if len({X.shape for X in Xs}) != 1:
            raise InputError(
                f"all batches must have one shape, got {sorted({X.shape for X in Xs})}; drop the last, short one."
            )
        left -= len(Xs)
        yield jnp.asarray(np.stack(Xs)), jnp.asarray(np.stack(ys))


def minibatches(X: Any, y: Any, batch_size: int, *, seed: int = 0, first: int = 0) -> Iterator[tuple[Any, Any]]:
    """Endless batches from arrays: every epoch a new order of the rows, the last short batch left out.

    `first` skips batches: resuming at step n with `first=n` gives those that would have followed.
    """
    X = matrix(X, "X")
    y = vector(y, "y", size=len(X))
    batch_size = whole(batch_size, "batch_size", at_least=1, remedy="500 is usual")
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
