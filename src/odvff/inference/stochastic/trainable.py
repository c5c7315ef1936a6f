"""Models taken apart into what is trained and the recipe that puts them together again.

A plain kernel trains the logarithms of its numbers; one of GPJax's trains its own unconstrained parameters.
Locations of inducing points are trained as they are. Features without locations have nothing to train.

A recipe holds no trained number, and two models of one shape have equal recipes: JAX takes it as the key under which
it keeps what it compiled, so a second fit of the same shape compiles nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odvff.features import InducingPoints
from odvff.kernels import Additive, Categorical, Matern, Separable
from odvff.support.arrays import in_double_precision
from odvff.support.modules import take_module_apart
from odvff.terms import Sum, Term

Parameters = Any  # a tree of arrays
Recipe = Callable[[Parameters], Any]


@in_double_precision
def take_apart(part: Any) -> tuple[Parameters, Recipe]:
    """The trainable parameters of a kernel, and the way back."""
    if isinstance(part, Matern):
        numbers = {"lengthscale": jnp.log(part.lengthscale), "variance": jnp.log(part.variance)}
        return numbers, _MakeMatern(part.smoothness)
    if isinstance(part, Categorical):
        return {"variance": jnp.log(part.variance)}, _MakeFromVariance(type(part))
    if isinstance(part, Separable):
        pieces = [take_apart(factor) for factor in part.factors]
        # one variance for the product: the others would only trade it to and fro
        free = [p if i == 0 else {"lengthscale": p["lengthscale"]} for i, (p, _) in enumerate(pieces)]
        fixed = tuple(float(k.variance) for k in part.factors[1:])
        return free, _MakeSeparable(tuple(recipe for _, recipe in pieces), fixed)
    if isinstance(part, Additive):
        pieces = [take_apart(factor) for factor in part.factors]
        return [p for p, _ in pieces], _MakeAdditive(tuple(recipe for _, recipe in pieces))
    numbers, recipe = take_module_apart(part)
    return numbers, recipe


@in_double_precision
def take_terms_apart(terms: Sum, *, locations: bool = True) -> tuple[Parameters, Recipe]:
    """Kernels and, if wanted, the locations of inducing points of all terms. The way back gives them no names."""
    kernels = [take_apart(term.kernel) for term in terms]
    moving = [locations and isinstance(term.features, InducingPoints) for term in terms]
    points = [
        jnp.asarray(term.features.locations) if moves else None  # type: ignore[attr-defined]
        for term, moves in zip(terms, moving, strict=True)
    ]
    pieces = tuple(
        _MakeTerm(recipe, _Moving(term.features.jitter) if moves else term.features, term.columns)  # type: ignore[attr-defined]
        for term, (_, recipe), moves in zip(terms, kernels, moving, strict=True)
    )
    return {"kernels": [p for p, _ in kernels], "points": points}, _MakeSum(pieces)


def named_like(terms: Sum, original: Sum) -> Sum:
    """The terms with the names of others."""
    return Sum(tuple(replace(term, name=old.name) for term, old in zip(terms, original, strict=True)))


def concrete(tree: Any) -> Any:
    """The same tree with NumPy's arrays."""
    return jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, tree)


@dataclass(frozen=True)
class _MakeMatern:
    smoothness: float

    def __call__(self, p: Parameters) -> Matern:
        return Matern(self.smoothness, jnp.exp(p["lengthscale"]), jnp.exp(p["variance"]))


@dataclass(frozen=True)
class _MakeFromVariance:
    cls: type

    def __call__(self, p: Parameters) -> Any:
        return self.cls(jnp.exp(p["variance"]))


@dataclass(frozen=True)
class _MakeSeparable:
    factors: tuple[Recipe, ...]
    fixed: tuple[float, ...]  # variances of all factors but the first

    def __call__(self, ps: Parameters) -> Separable:
        rest = [{**p, "variance": jnp.log(v)} for p, v in zip(ps[1:], self.fixed, strict=True)]
        return Separable(tuple(make(p) for make, p in zip(self.factors, [ps[0], *rest], strict=True)))


@dataclass(frozen=True)
class _MakeAdditive:
    factors: tuple[Recipe, ...]

    def __call__(self, ps: Parameters) -> Additive:
        return Additive(tuple(make(p) for make, p in zip(self.factors, ps, strict=True)))


@dataclass(frozen=True)
class _Moving:
    """Inducing points whose locations are parameters."""

    jitter: float


@dataclass(frozen=True)
class _MakeTerm:
    kernel: Recipe
    features: Any
    columns: tuple[int, ...] | None

    def __call__(self, p: Parameters, Z: Any) -> Term:
        moving = isinstance(self.features, _Moving)
        features = InducingPoints(Z, self.features.jitter) if moving else self.features
        return Term(self.kernel(p), features, self.columns)


@dataclass(frozen=True)
class _MakeSum:
    terms: tuple[_MakeTerm, ...]

    def __call__(self, p: Parameters) -> Sum:
        return Sum(tuple(make(k, Z) for make, k, Z in zip(self.terms, p["kernels"], p["points"], strict=True)))
