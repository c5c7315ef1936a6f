"""Models taken apart into what is trained and put together again, so that JAX can differentiate them.

A plain kernel or noise trains the logarithms of its numbers; one of GPJax's trains its own unconstrained parameters.
Locations of inducing points are trained as they are. Features without locations have nothing to train.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odvff.arrays import in_double_precision
from odvff.features import InducingPoints
from odvff.kernels import Additive, Categorical, Matern, Separable
from odvff.likelihoods import GaussianNoise
from odvff.terms import Sum

Parameters = Any  # a tree of arrays
Rebuild = Callable[[Parameters], Any]


@in_double_precision
def take_apart(part: Any) -> tuple[Parameters, Rebuild]:
    """The trainable parameters of a kernel or likelihood, and the way back."""
    if isinstance(part, Matern):
        numbers = {"lengthscale": jnp.log(part.lengthscale), "variance": jnp.log(part.variance)}
        return numbers, lambda p: Matern(part.smoothness, jnp.exp(p["lengthscale"]), jnp.exp(p["variance"]))
    if isinstance(part, Categorical | GaussianNoise):
        return {"variance": jnp.log(part.variance)}, lambda p: type(part)(jnp.exp(p["variance"]))
    if isinstance(part, Separable):
        pieces = [take_apart(factor) for factor in part.factors]
        # one variance for the product: the others would only trade it to and fro
        free = [p if i == 0 else {"lengthscale": p["lengthscale"]} for i, (p, _) in enumerate(pieces)]
        fixed = [{} if i == 0 else {"variance": p["variance"]} for i, (p, _) in enumerate(pieces)]
        return free, lambda ps: Separable(
            tuple(back({**p, **f}) for p, f, (_, back) in zip(ps, fixed, pieces, strict=True))
        )
    if isinstance(part, Additive):
        parts = [take_apart(factor) for factor in part.factors]
        return [p for p, _ in parts], lambda ps: Additive(
            tuple(back(p) for p, (_, back) in zip(ps, parts, strict=True))
        )
    import equinox as eqx

    widened = jax.tree.map(lambda x: jnp.asarray(x, jnp.float64) if eqx.is_inexact_array(x) else x, part)
    numbers, rest = eqx.partition(widened, eqx.is_inexact_array)
    return numbers, lambda p: eqx.combine(p, rest)


@in_double_precision
def take_terms_apart(terms: Sum, *, locations: bool = True) -> tuple[Parameters, Rebuild]:
    """Kernels and, if wanted, the locations of inducing points of all terms."""
    kernels = [take_apart(term.kernel) for term in terms]
    points = [
        jnp.asarray(term.features.locations) if locations and isinstance(term.features, InducingPoints) else None
        for term in terms
    ]

    def rebuild(parameters: Parameters) -> Sum:
        new = []
        for term, (_, back), p, Z in zip(terms, kernels, parameters["kernels"], parameters["points"], strict=True):
            features = term.features if Z is None else InducingPoints(Z, term.features.jitter)  # type: ignore[attr-defined]
            new.append(replace(term, kernel=back(p), features=features))
        return Sum(tuple(new))

    return {"kernels": [p for p, _ in kernels], "points": points}, rebuild


def concrete(tree: Any) -> Any:
    """The same tree with NumPy's arrays."""
    return jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, tree)
