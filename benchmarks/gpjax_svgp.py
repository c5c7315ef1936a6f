"""SVGP in GPJax, in a process of its own: `python -m benchmarks.gpjax_svgp ROWS.npz STEPS`.

100 points, batches of 500, natural gradients for q and Adam for the rest, as GPJax's documents recommend. Prints its
scores as JSON.
"""

import json
import sys
import time
from dataclasses import asdict
from typing import Any

import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.synthetic import scores

POINTS, BATCH, LEARNING_RATE, NATURAL_STEP = 100, 500, 0.01, 0.1


def model(X: Any, n_points: int = POINTS) -> Any:
    """An additive Matérn-3/2 model on points taken from the rows; lengthscales and noise start at half a unit."""
    D = X.shape[1]
    parts = [
        gpx.kernels.Matern32(active_dims=[d], lengthscale=jnp.asarray(0.5), variance=jnp.asarray(1.0)) for d in range(D)
    ]
    kernel = parts[0] if D == 1 else gpx.kernels.SumKernel(kernels=parts)
    prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel)
    Z = jnp.asarray(np.random.default_rng(0).permutation(X)[:n_points])
    return gpx.variational_families.WhitenedVariationalGaussian(
        model=prior * gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(0.5)), inducing_inputs=Z
    )


def train(q: Any, X: Any, y: Any, n_steps: int, *, natural: bool = True) -> Any:
    """The family after so many steps; q itself by natural gradients, or by Adam like everything else."""
    common = {
        "model": q,
        "objective": lambda m, d: -gpx.objectives.elbo(m, d),
        "train_data": gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None]),
        "optim": optax.adam(LEARNING_RATE),
        "num_iters": n_steps,
        "batch_size": BATCH,
        "verbose": False,
    }
    trained, _ = gpx.fit_natgrads(natgrad_lr=NATURAL_STEP, **common) if natural else gpx.fit(**common)
    return trained


def main(path: str, n_steps: int) -> None:
    jax.config.update("jax_enable_x64", True)
    rows = np.load(path)
    began = time.perf_counter()
    q = jax.block_until_ready(train(model(rows["X"]), rows["X"], rows["y"], n_steps))
    seconds = time.perf_counter() - began
    noise = float(gpx.parameters.val(q.model.likelihood.obs_stddev)) ** 2
    posterior = q.condition(None)
    parts = [posterior(jnp.asarray(x), covariance="diagonal") for x in np.array_split(rows["X_test"], 20)]
    mean, variance = (np.concatenate([np.asarray(getattr(p, name)) for p in parts]) for name in ("mean", "variance"))
    print(json.dumps({"training seconds": seconds, **asdict(scores(mean, variance + noise, rows["y_test"]))}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
