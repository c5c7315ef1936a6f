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


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def traced_covariance(order: int, vanished: float, rate: Any, variance: Any, x: Any, z: Any) -> Any:
    """k(x, z) for vectors x and z, of shape (N, M); beyond r = `vanished` it is zero."""
    r = jnp.abs(_differences(vanished, rate, x, z))
    return variance * _value(order, r, jnp.exp(-r))


@traced_covariance.defjvp  # type: ignore[untyped-decorator]
def _tangent(order: int, vanished: float, primals: Any, tangents: Any) -> tuple[Any, Any]:
    (rate, variance, x, z), (d_rate, d_variance, dx, dz) = primals, tangents
    s = _differences(vanished, rate, x, z)
    r = jnp.abs(s)
    decay = jnp.exp(-r)
    value, slope = _value(order, r, decay), _slope(order, s, r, decay)
    origin = jax.lax.stop_gradient(z[0])  # near all of them: no digits are lost where x is far from zero
    of_rows, of_points = rate * dx + d_rate * (x - origin), rate * dz + d_rate * (z - origin)
    return variance * value, variance * (slope * (of_rows[:, None] - of_points)) + d_variance * value


def _differences(vanished: float, rate: Any, x: Any, z: Any) -> Any:
    """s, cut off where the covariance is zero."""
    return rate * jnp.clip(x[:, None] - z, -vanished / rate, vanished / rate)


def _value(order: int, r: Any, decay: Any) -> Any:
    """c(|s|)."""
    return decay if order == 1 else decay * (1 + r) if order == 2 else decay * (1 + r * (1 + r / 3))


def _slope(order: int, s: Any, r: Any, decay: Any) -> Any:
    """dc(|s|)/ds, in a form that can be differentiated once more at s = 0."""
    return -jnp.sign(s) * decay if order == 1 else -s * decay if order == 2 else -(s / 3) * (1 + r) * decay
