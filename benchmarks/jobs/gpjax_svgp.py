"""SVGP in GPJax (float64, as its documents ask for): the step of its `fit_natgrads`, in blocks that compile once.

`fit_natgrads` itself compiles at each call and begins Adam anew, which would charge GPJax for being watched.
"""

from functools import partial
from typing import Any

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import starts
from gpjax.fit import get_batch
from gpjax.natural_gradients import natural_gradient_step, partition_variational

jax.config.update("jax_enable_x64", True)

PACKAGES = ("gpjax", "jax")
ROWS_AT_ONCE = 5_000
ADAM = optax.adam(starts.ADAM_RATE)


def _loss(q: Any, batch: Any) -> Any:
    return -gpx.objectives.elbo(q, batch)


def family(D: int, begin: starts.Start) -> Any:
    parts = [
        gpx.kernels.Matern32(
            active_dims=[d], lengthscale=jnp.asarray(begin.lengthscale), variance=jnp.asarray(begin.variance)
        )
        for d in range(D)
    ]
    prior = gpx.gps.Prior(
        mean_function=gpx.mean_functions.Zero(),
        kernel=parts[0] if D == 1 else gpx.kernels.SumKernel(kernels=parts),
    )
    likelihood = gpx.likelihoods.Gaussian(obs_stddev=jnp.sqrt(begin.noise))
    return gpx.variational_families.WhitenedVariationalGaussian(
        model=prior * likelihood, inducing_inputs=jnp.asarray(begin.Z)
    )


@eqx.filter_jit
def _advanced(carry: Any, rows: Any, key: Any, warmth: Any, first: Any, n_steps: Any) -> Any:
    """So many natural and Adam steps; their number is no shape, so that any compiles but once."""

    def hyper_loss(hyper: Any, variational: Any, batch: Any) -> Any:
        return _loss(eqx.combine(variational, hyper), batch)

    def step(i: Any, arrays: Any) -> Any:
        variational, hyper, adam = eqx.combine(arrays, static)
        batch = get_batch(rows, starts.BATCH, jax.random.fold_in(key, first + i))
        variational, _ = natural_gradient_step(variational, hyper, batch, _loss, warmth * starts.NATURAL_RATE)
        gradient = eqx.filter_grad(hyper_loss)(hyper, variational, batch)
        updates, adam = ADAM.update(gradient, adam, eqx.filter(hyper, eqx.is_array))
        updates = jax.tree.map(lambda u: warmth * u, updates)
        return eqx.filter((variational, eqx.apply_updates(hyper, updates), adam), eqx.is_array)

    arrays, static = eqx.partition(carry, eqx.is_array)
    return eqx.combine(jax.lax.fori_loop(0, n_steps, step, arrays), static)


def _strong(tree: Any) -> Any:
    """Arrays of a certain type: those made of Python's numbers are of a weak one, which steps make certain one by one.

    JAX would compile three times.
    """
    return jax.tree.map(lambda a: jnp.asarray(a, dtype=a.dtype) if eqx.is_array(a) else a, tree)


@eqx.filter_jit
def _moments(q: Any, X: Any) -> tuple[Any, Any]:
    f = q.condition(None)(X, covariance="diagonal")
    return f.mean, f.variance + gpx.parameters.val(q.model.likelihood.obs_stddev) ** 2


class Model:
    """Trained by `advance`, at any time ready to predict."""

    def __init__(self, X: Any, y: Any, seed: int):
        self._rows = gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None])
        variational, hyper = partition_variational(family(X.shape[1], starts.start(X, y, seed)))
        self._carry = _strong((variational, hyper, ADAM.init(eqx.filter(hyper, eqx.is_array))))
        self._key, self._done, self._warmth = jax.random.key(seed), 0, 1.0

    def cool(self, warmth: float) -> None:
        """From now on both rates are this part of what they were at first."""
        self._warmth = warmth

    def advance(self, n_steps: int) -> None:
        numbers = (jnp.asarray(n) for n in (self._warmth, self._done, n_steps))
        self._carry = jax.block_until_ready(_advanced(self._carry, self._rows, self._key, *numbers))
        self._done += n_steps

    def settle(self) -> None:
        """Get ready to predict many rows with what has been learned."""
        self._moments = partial(_moments, eqx.combine(*self._carry[:2]))

    def predict(self, X: Any) -> tuple[Any, Any]:
        """Mean and variance of y."""
        parts = [self._moments(jnp.asarray(X[i : i + ROWS_AT_ONCE])) for i in range(0, len(X), ROWS_AT_ONCE)]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances)
