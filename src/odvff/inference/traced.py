"""Models as JAX traces them: what is trained, the recipe that puts a model together again, and terms whitened together.

A plain kernel trains the logarithms of its numbers; one of GPJax's trains its own unconstrained parameters.
Locations of inducing points are trained as they are. Features without locations have nothing to train.

A recipe holds no trained number, and two models of one shape have equal recipes: JAX takes it as the key under which
it keeps what it compiled, so a second fit of the same shape compiles nothing.

What is compiled does not grow with the number of columns. A Fourier term knows its column only by t = (x−a)/L and
μ = λL, so Fourier terms with as many harmonics and the same smoothness are one computation on the unit box, mapped over
their lengthscales, variances and columns. (The algebra inside is elementwise or of size up to four and written out: no
LAPACK call is batched.)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from odvff.kernels.reading import numbers_apart
from odvff.linalg.composed import slices
from odvff.support.arrays import Array, in_double_precision, namespace
from odvff.support.modules import take_module_apart
from odvff.support.shapes import Float
from odvff.terms import Sum, Term

Parameters = Any  # a tree of arrays
Recipe = Callable[[Parameters], Any]


@in_double_precision
def take_terms_apart(terms: Sum) -> tuple[Parameters, Recipe]:
    """Kernels and the locations of inducing points of all terms. The way back gives them no names."""
    kernels, recipes = zip(*(_take_apart(term.kernel) for term in terms), strict=True)
    places = [term.features.locations for term in terms]
    features = ((_Still if Z is None else _Moving)(t.features) for t, Z in zip(terms, places, strict=True))
    points = [None if Z is None else jnp.asarray(Z) for Z in places]
    recipe = _MakeSum(recipes, tuple(features), tuple(t.columns for t in terms))
    return {"kernels": list(kernels), "points": points}, recipe


def _take_apart(kernel: Any) -> tuple[Parameters, Recipe]:
    ours = numbers_apart(kernel)
    if ours is not None:
        return [jnp.asarray(np.log(number)) for number in ours[0]], _MakePlain(ours[1])
    numbers, recipe = take_module_apart(kernel)
    return numbers, recipe


def concrete(tree: Any) -> Any:
    """The same tree with NumPy's arrays."""
    return jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, tree)


@dataclass(frozen=True)
class _MakePlain:
    """One of our kernels: `template` is it without its numbers."""

    template: Any

    def __call__(self, p: Parameters) -> Any:
        return self.template.at([namespace(log).exp(log) for log in p])


class _Still:
    """Features as they are; those that hold an array, which has no hash, are equal to themselves alone."""

    def __init__(self, features: Any):
        self.features = features
        try:
            self._key = hash(features), features
        except TypeError:
            self._key = id(features), None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Still) and self._key == other._key

    def __hash__(self) -> int:
        return self._key[0]

    def __repr__(self) -> str:
        return repr(self.features)

    def at(self, Z: Any) -> Any:
        return self.features


@dataclass(frozen=True, eq=False)
class _Moving:
    """Features whose locations are parameters: without them, all of a kind are the same."""

    features: Any

    def _shape(self) -> Any:
        return type(self.features), {**vars(self.features), "locations": np.shape(self.features.locations)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Moving) and self._shape() == other._shape()

    def __hash__(self) -> int:
        return hash(type(self.features))

    def __repr__(self) -> str:
        return f"moving {self._shape()}"

    def at(self, Z: Any) -> Any:
        return self.features.moved(Z)


@dataclass(frozen=True)
class _MakeSum:
    kernels: tuple[Recipe, ...]
    features: tuple[Any, ...]
    columns: tuple[tuple[int, ...] | None, ...]

    def __call__(self, p: Parameters) -> Sum:
        pairs = zip(self.features, p["points"], strict=True)
        features = (f.at(Z) for f, Z in pairs)
        kernels = (make(numbers) for make, numbers in zip(self.kernels, p["kernels"], strict=True))
        return Sum(tuple(map(Term, kernels, features, self.columns)))


def whiten(terms: Sum, X: Float[Array, "N D"]) -> Float[Array, "B N"]:
    """ψ(X) = C⁻¹ Kuf(X), in the order of the terms."""
    psi = jnp.concatenate([_whiten_group([terms.terms[i] for i in members], X) for members in terms.alike])
    members = [i for group in terms.alike for i in group]
    if members == sorted(members):
        return psi
    # groups follow each other, the terms may be mixed
    found = dict(zip(members, slices([terms.terms[i].Kuu().size for i in members]), strict=True))
    return jnp.concatenate([psi[found[i]] for i in range(len(terms))])


def _whiten_group(terms: list[Term], X: Float[Array, "N D"]) -> Float[Array, "B N"]:
    """ψ of terms of one shape, stacked."""
    parts = [term.features.on_unit_box(term.kernel, term.select(X)) for term in terms] if len(terms) > 1 else [None]
    on_unit_box = [part for part in parts if part is not None]
    if not on_unit_box:
        return jnp.concatenate([term.Kuu().factor().solve(term.Kuf(X)) for term in terms])
    first = on_unit_box[0]

    def one(numbers: Array, t: Array) -> Array:
        kernel = first.kernel(*numbers)
        return first.features.Kuu(kernel).factor().solve(first.features.Kuf(kernel, t))

    numbers = jnp.stack([jnp.stack([jnp.asarray(v) for v in part.numbers]) for part in on_unit_box])
    psi = jax.vmap(one)(numbers, jnp.stack([part.rows for part in on_unit_box]))
    return psi.reshape(-1, X.shape[0])
