"""The Matérn covariance while JAX traces it, with derivatives that are quick to transpose.

With s = λ(x − z) and r = |s| the covariance is σ² c, where

    c = e⁻ʳ: dc/ds = −sign(s)e⁻ʳ,    c = (1 + r)e⁻ʳ: dc/ds = −s e⁻ʳ,    c = (1 + r + r²/3)e⁻ʳ: dc/ds = −(s/3)(1 + r)e⁻ʳ.

A tangent of s is a difference of a vector over rows and one over points: ds = d(λ(x−o)) − d(λ(z−o)) for any fixed o. So
what a gradient needs of a matrix of sensitivities are the sums of its rows and of its columns, for the lengthscale too.
Derived by JAX from the formula itself, a gradient takes twice the time, and much more memory.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from odvff.kernels.point_sums import VANISHED, polynomial
from odvff.support.arrays import Array
from odvff.support.shapes import Float


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def traced_covariance(order: int, rate: Any, variance: Any, x: Array, z: Array) -> Float[Array, "N M"]:
    """k(x, z)."""
    r = jnp.abs(_differences(rate, x, z))
    return variance * (jnp.exp(-r) * polynomial(order, r))


@traced_covariance.defjvp  # type: ignore[untyped-decorator]
def _tangent(order: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (rate, variance, x, z), (d_rate, d_variance, dx, dz) = primals, tangents
    s = _differences(rate, x, z)
    r = jnp.abs(s)
    decay = jnp.exp(-r)
    # dc/ds without its factor e⁻ʳ, in a form that can be differentiated once more at s = 0
    rate_of_change = -jnp.sign(s) if order == 1 else -s if order == 2 else -(s / 3) * (1 + r)
    value, slope = decay * polynomial(order, r), decay * rate_of_change
    origin = jax.lax.stop_gradient(z[0])  # near all of them: no digits are lost where x is far from zero
    of_rows, of_points = rate * dx + d_rate * (x - origin), rate * dz + d_rate * (z - origin)
    return variance * value, variance * (slope * (of_rows[:, None] - of_points)) + d_variance * value


def _differences(rate: Any, x: Float[Array, " N"], z: Float[Array, " M"]) -> Float[Array, "N M"]:
    """s, cut off where the covariance is zero."""
    return rate * jnp.clip(x[:, None] - z, -VANISHED / rate, VANISHED / rate)
