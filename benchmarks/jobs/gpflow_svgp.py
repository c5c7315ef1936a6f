"""SVGP in GPflow (float64, its default): natural gradients for q, Adam for the rest, as its notebooks have it.

The compiled step takes one batch for both; prediction goes through `model.posterior()`, which keeps what does not
depend on the rows.
"""

from typing import Any

import gpflow
import numpy as np
import starts
import tensorflow as tf
from gpflow.keras import tf_keras

PACKAGES = ("gpflow", "tensorflow-cpu")
ROWS_AT_ONCE = 5_000


def additive_kernel(D: int, begin: starts.Start) -> Any:
    parts = [gpflow.kernels.Matern32(begin.variance, begin.lengthscale, active_dims=[d]) for d in range(D)]
    return parts[0] if D == 1 else gpflow.kernels.Sum(parts)


class Model:
    """Trained by `advance`, at any time ready to predict."""

    def __init__(self, X: Any, y: Any, seed: int):
        tf.random.set_seed(seed)
        begin = starts.start(X, y, seed)
        self.svgp = gpflow.models.SVGP(
            additive_kernel(X.shape[1], begin),
            gpflow.likelihoods.Gaussian(begin.noise),
            begin.Z,
            num_data=len(X),
        )
        gpflow.set_trainable(self.svgp.q_mu, False)  # Adam leaves to natural gradients what is theirs
        gpflow.set_trainable(self.svgp.q_sqrt, False)
        rows = tf.data.Dataset.from_tensor_slices((X, y[:, None])).shuffle(len(X), seed=seed).repeat()
        self._batches = iter(rows.batch(starts.BATCH).prefetch(tf.data.AUTOTUNE))
        self._natural_rate = tf.Variable(starts.NATURAL_RATE, dtype=tf.float64)
        self._adam = tf_keras.optimizers.Adam(starts.ADAM_RATE)
        self._step = self._compiled()

    def _compiled(self) -> Any:
        natural = gpflow.optimizers.NaturalGradient(self._natural_rate)
        q, rest = [(self.svgp.q_mu, self.svgp.q_sqrt)], self.svgp.trainable_variables

        @tf.function
        def step(batch: Any) -> None:
            loss = self.svgp.training_loss_closure(batch, compile=False)
            natural.minimize(loss, q)
            self._adam.minimize(loss, rest)

        return step

    def cool(self, warmth: float) -> None:
        """From now on both rates are this part of what they were at first."""
        self._natural_rate.assign(warmth * starts.NATURAL_RATE)
        self._adam.learning_rate = warmth * starts.ADAM_RATE

    def advance(self, n_steps: int) -> None:
        for _ in range(n_steps):
            self._step(next(self._batches))

    def settle(self) -> None:
        """Get ready to predict many rows with what has been learned."""
        posterior, noise = self.svgp.posterior(), self.svgp.likelihood.variance
        signature = [tf.TensorSpec((None, self.svgp.inducing_variable.Z.shape[1]), tf.float64)]

        @tf.function(input_signature=signature)
        def both(X: Any) -> Any:
            mean, variance = posterior.predict_f(X)
            return mean[:, 0], variance[:, 0] + noise

        # what nobody asks for is pruned from the graph: the variance is not computed
        @tf.function(input_signature=signature)
        def first(X: Any) -> Any:
            return posterior.predict_f(X)[0][:, 0]

        self._both, self._first = both, first

    def mean(self, X: Any) -> Any:
        return np.concatenate([self._first(part).numpy() for part in parts(X)])

    def predict(self, X: Any) -> tuple[Any, Any]:
        """Mean and variance of y."""
        means, variances = zip(*(self._both(part) for part in parts(X)), strict=True)
        return np.concatenate([m.numpy() for m in means]), np.concatenate([v.numpy() for v in variances])


def parts(X: Any) -> list[Any]:
    return [X[i : i + ROWS_AT_ONCE] for i in range(0, len(X), ROWS_AT_ONCE)]
