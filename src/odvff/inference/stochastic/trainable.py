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

from odvff.support.arrays import in_double_precision, namespace
from odvff.support.modules import take_module_apart
from odvff.terms import Sum, Term

Parameters = Any  # a tree of arrays
Recipe = Callable[[Parameters], Any]


@in_double_precision
def take_apart(part: Any) -> tuple[Parameters, Recipe]:
    """The trainable parameters of a kernel, and the way back."""
    if hasattr(part, "learned"):
        return [jnp.asarray(np.log(number)) for number in part.numbers], _MakePlain(part.at([1.0] * len(part.numbers)))
    numbers, recipe = take_module_apart(part)
    return numbers, recipe


@in_double_precision
def take_terms_apart(terms: Sum, *, locations: bool = True) -> tuple[Parameters, Recipe]:
    """Kernels and, if wanted, the locations of inducing points of all terms. The way back gives them no names."""
    kernels = [take_apart(term.kernel) for term in terms]
    places = [term.features.locations if locations else None for term in terms]
    points = [None if Z is None else jnp.asarray(Z) for Z in places]
    pieces = tuple(
        _MakeTerm(recipe, _Fixed(term.features) if Z is None else _Moving(term.features), term.columns)
        for term, (_, recipe), Z in zip(terms, kernels, places, strict=True)
    )
    return {"kernels": [p for p, _ in kernels], "points": points}, _MakeSum(pieces)


def named_like(terms: Sum, original: Sum) -> Sum:
    """The terms with the names of others."""
    return Sum(tuple(replace(term, name=old.name) for term, old in zip(terms, original, strict=True)))


def concrete(tree: Any) -> Any:
    """The same tree with NumPy's arrays."""
    return jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, tree)


@dataclass(frozen=True)
class _MakePlain:
    """One of our kernels: `template` is it without its numbers."""

    template: Any

    def __call__(self, p: Parameters) -> Any:
        return self.template.at([namespace(log).exp(log) for log in p])


@dataclass(frozen=True, eq=False)
class _Moving:
    """Features whose locations are parameters: without them, all of a kind are the same."""

    features: Any

    def _shape(self) -> Any:
        Z = np.zeros(self.features.locations.shape)
        return type(self.features), {**vars(self.features), "locations": Z.shape}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Moving) and self._shape() == other._shape()

    def __hash__(self) -> int:
        return hash(type(self.features))

    def __repr__(self) -> str:
        return f"moving {self._shape()}"

    def at(self, Z: Any) -> Any:
        return self.features.moved(Z)


@dataclass(frozen=True)
class _Fixed:
    """Features that stay as they are."""

    features: Any

    def at(self, Z: Any) -> Any:
        return self.features


@dataclass(frozen=True)
class _MakeTerm:
    kernel: Recipe
    features: _Moving | _Fixed
    columns: tuple[int, ...] | None

    def __call__(self, p: Parameters, Z: Any) -> Term:
        return Term(self.kernel(p), self.features.at(Z), self.columns)


@dataclass(frozen=True)
class _MakeSum:
    terms: tuple[_MakeTerm, ...]

    def __call__(self, p: Parameters) -> Sum:
        return Sum(tuple(make(k, Z) for make, k, Z in zip(self.terms, p["kernels"], p["points"], strict=True)))
