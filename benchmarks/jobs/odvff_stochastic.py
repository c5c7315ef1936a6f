"""ODVFF, ODVGP and SVGP by minibatches: natural gradients for q, Adam for the rest; float64."""

from typing import Any

import starts

from odvff import Fourier, GaussianNoise, InducingPoints, Matern, Term
from odvff.inference.stochastic.trainer import Trainer, minibatches
from odvff.kernels import Additive

PACKAGES = ("odvff", "jax")
HARMONICS, JITTER = 5, 1e-6
# β, where it is made of points, and γ
SIZES = {"odvff": (0, 90), "odvgp": (50, 50), "svgp": (100, 0)}


class Model:
    """Trained by `advance`."""

    def __init__(self, X: Any, y: Any, seed: int, method: str):
        D, (n_beta, n_gamma) = X.shape[1], SIZES[method]
        begin = starts.start(X, y, seed, n_beta + n_gamma)
        kernel = Matern(1.5, begin.lengthscale, begin.variance)
        if method == "odvff":
            terms = [Term(kernel, Fourier(HARMONICS, (0, 1)), [d]) for d in range(D)]
        else:
            terms = [Term(Additive((kernel,) * D), InducingPoints(begin.Z[:n_beta], JITTER), list(range(D)))]
        self._trainer = Trainer(
            terms,
            GaussianNoise(begin.noise),
            len(X),
            gamma=begin.Z[n_beta:],
            learning_rate=starts.ADAM_RATE,
            natural_step=starts.NATURAL_RATE,
        )
        self._batches, self._now = minibatches(X, y, starts.BATCH, seed=seed), None

    def advance(self, n_steps: int) -> None:
        done = self._now.step if self._now else 0
        self._now = self._trainer.run(self._batches, done + n_steps, resume=self._now).checkpoint
