"""Exact inference by GPJax: hyper-parameters by its marginal likelihood."""

from typing import Any

import equinox as eqx
import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np

from odvff.kernels import Additive, Matern, Separable, parameter

CLASSES = {0.5: gpx.kernels.Matern12, 1.5: gpx.kernels.Matern32, 2.5: gpx.kernels.Matern52}


def fit_exact(
    kernel: Additive | Separable, noise: float, X: Any, y: Any, max_iter: int
) -> tuple[Any, float, list[float]]:
    """The kernel and the noise variance with the highest evidence, from these on, and −evidence on the way."""
    together = gpx.kernels.SumKernel if isinstance(kernel, Additive) else gpx.kernels.ProductKernel
    with jax.enable_x64(True):
        parts = [
            CLASSES[k.smoothness](
                active_dims=[d], lengthscale=jnp.asarray(k.lengthscale), variance=jnp.asarray(k.variance)
            )
            for d, k in enumerate(kernel.factors)
        ]
        prior = gpx.gps.Prior(
            mean_function=gpx.mean_functions.Zero(), kernel=parts[0] if len(parts) == 1 else together(kernels=parts)
        )
        model = prior * gpx.likelihoods.Gaussian(obs_stddev=jnp.asarray(np.sqrt(noise)))
        model, history = gpx.fit_scipy(
            model=model,
            objective=eqx.filter_jit(lambda m, d: -gpx.objectives.conjugate_mll(m, d)),
            train_data=gpx.Dataset(jnp.asarray(X), jnp.asarray(y)[:, None]),
            max_iters=max_iter,
            verbose=False,
        )
        fitted = [model.prior.kernel] if len(parts) == 1 else list(model.prior.kernel.kernels)
        plain = [
            Matern(k.smoothness, parameter(f.lengthscale), parameter(f.variance))
            for k, f in zip(kernel.factors, fitted, strict=True)
        ]
        noise = float(parameter(model.likelihood.obs_stddev)) ** 2
        return type(kernel)(tuple(plain)), noise, [float(h) for h in history]
