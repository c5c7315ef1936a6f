"""The variance that features leave unexplained."""

import numpy as np

from odvff.errors import NumericalError
from odvff.support.arrays import Array, is_traced, namespace
from odvff.support.shapes import Float

ROUNDING = 1e-7
"""How far below zero, relative to k(x,x), rounding may push a residual variance before it is reported as an error."""


def residual_variance(prior: Float[Array, " N"], psi: Float[Array, "B N"]) -> Float[Array, " N"]:
    """k(x,x) − ψᵀψ, which is never negative."""
    return unexplained(prior, (psi**2).sum(axis=0))


def unexplained(prior: Float[Array, " N"], explained: Float[Array, " N"]) -> Float[Array, " N"]:
    """The same from ψᵀψ.

    Where the features explain (almost) everything, the difference is pure rounding and may come out below zero. Down to
    −1e-7 k(x,x) it is taken as zero; anything lower is a mistake somewhere, and raises (while JAX traces, where nothing
    can be raised, it is NaN).
    """
    xp = namespace(prior, explained)
    difference = prior - explained
    wrong = difference < -ROUNDING * prior
    if is_traced(difference):
        return xp.where(wrong, np.nan, xp.maximum(difference, 0.0))
    if wrong.any():
        i = int(np.argmin(difference / prior))
        raise NumericalError(
            f"the features explain more variance than there is: k(x,x) − ψᵀψ = {difference[i]:.3g} in row {i}, where "
            f"k(x,x) = {prior[i]:.3g}. Likely causes: (a) inducing points so close together that their covariance is "
            "singular to working precision: remove some, or pass a larger `jitter`; (b) features and kernel that do "
            "not belong together."
        )
    return np.maximum(difference, 0.0)
