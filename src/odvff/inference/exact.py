"""Exact inference by GPJax: hyper-parameters by its marginal likelihood."""

from typing import Any

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np

from odvff.kernels import Additive, Separable, parameter


def fit_exact(kernel: Additive | Separable, noise: float, X: Any, y: Any, max_iter: int) -> tuple[Any, float, Any]:
    """The kernel and the noise variance with the highest evidence, from these on, and −evidence on the way."""
    with jax.enable_x64(True):
        prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=kernel.in_gpjax())
        model = prior * gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(np.sqrt(noise)))
        loss = eqx.filter_jit(lambda m, d: -gpx.objectives.conjugate_mll(m, d))
        data = gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None])
        how = {"max_iters": max_iter, "verbose": False}
        model, history = gpx.fit_scipy(model=model, objective=loss, train_data=data, **how)
        noise = float(parameter(model.likelihood.obs_stddev)) ** 2
        return kernel.from_gpjax(model.prior.kernel), noise, [float(h) for h in history]
