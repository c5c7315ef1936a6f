"""Sums and products of one-column kernels as GPJax's, to train them there, and back."""

from typing import Any

import gpjax as gpx
import jax.numpy as jnp

from odvff.kernels.plain import Matern
from odvff.kernels.products import Additive, Separable
from odvff.kernels.reading import matern

CLASSES = {0.5: gpx.kernels.Matern12, 1.5: gpx.kernels.Matern32, 2.5: gpx.kernels.Matern52}
TOGETHER = {Additive: gpx.kernels.SumKernel, Separable: gpx.kernels.ProductKernel}


def as_gpjax(kernel: Additive | Separable) -> Any:
    """GPJax's kernel of the same numbers."""
    parts = [_one(k, d) for d, k in enumerate(kernel.factors)]
    return parts[0] if len(parts) == 1 else TOGETHER[type(kernel)](kernels=parts)


def from_gpjax(fitted: Any, kernel: Additive | Separable) -> Additive | Separable:
    """The kernel with the numbers of its fitted twin."""
    parts = [fitted] if len(kernel.factors) == 1 else fitted.kernels
    return type(kernel)(tuple(matern(part) for part in parts))


def _one(k: Matern, d: int) -> Any:
    return CLASSES[k.smoothness](
        active_dims=[d], lengthscale=jnp.asarray(k.lengthscale), variance=jnp.asarray(k.variance)
    )
