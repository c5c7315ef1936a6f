"""The terms of a sum as the optimiser of the collapsed bound sees them: a vector of hyper-parameters, and C⁻¹ of each.

Hyper-parameters are logarithms, those of each term in turn: its lengthscales in units of the box, then its variance. K
is inverse to σ², so only lengthscales need work, which features do for all that are alike at once (`whitened`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.features.base import WhitenedGroup
from odvff.terms import Sum, Term


class Blocks:
    """All terms, in the basis of statistics, and where their hyper-parameters stand."""

    def __init__(self, terms: Sum):
        self.terms = terms.canonical
        self.start = [_features(term).parameters(term.kernel) for term in self.terms]
        ends = np.cumsum([len(own) for own in self.start])
        self.places = [slice(end - len(own), end) for own, end in zip(self.start, ends, strict=True)]
        self.variances = ends - 1  # where the log variance of each term is
        self.slices = self.terms.slices
        self._groups = self.terms.alike
        rates = [[*_features(term).log_rates(term.kernel), 1.0] for term in self.terms]
        self._rates = np.concatenate(rates)  # of a log variance: 1

    def at(self, parameters: Any) -> Sum:
        """The model with these hyper-parameters."""
        pairs = zip(self.terms, self.places, strict=True)
        return Sum(tuple(_at(term, parameters[place]) for term, place in pairs))

    def whitened(self, parameters: Any) -> "Whitened":
        """C⁻¹ of every term at these logarithms of hyper-parameters."""
        groups: list[WhitenedGroup] = []
        inverses: list[Any] = [None] * len(self.terms)
        for members in self._groups:
            like = [_features(self.terms.terms[i]) for i in members]
            kernels = [self.terms.terms[i].kernel for i in members]
            own = np.stack([parameters[self.places[i]] for i in members])
            groups.append(like[0].whitened(like, kernels, own))
            for i, inverse in zip(members, groups[-1].inverses, strict=True):
                inverses[i] = inverse
        return Whitened(self, groups, inverses)

    def information(self, effective: Any) -> Any:
        """½(∂ log S)² for every parameter, times the features that the data speak of, or one if they hardly do."""
        features = np.maximum(effective, 1.0)
        owners = np.searchsorted(self.variances, np.arange(len(self._rates)))
        return 0.5 * (self._rates**2) ** 2 * features[owners]

    def traces(self, groups: Sequence[WhitenedGroup], Ms: Sequence["Middle"]) -> Any:
        """tr(C⁻¹ (∂K/∂parameter) C⁻ᵀ M) for every parameter, M the diagonal blocks."""
        gradient = np.empty(len(self._rates))
        gradient[self.variances] = [-M.diagonal().sum() for M in Ms]
        for members, group in zip(self._groups, groups, strict=True):
            for i, own in zip(members, group.traces([Ms[i] for i in members]), strict=True):
                gradient[self.places[i].start : self.variances[i]] = own
        return gradient


def _features(term: Term) -> Any:
    return term.features


def _at(term: Term, parameters: Any) -> Term:
    return replace(term, kernel=_features(term).kernel_at(term.kernel, parameters))


@dataclass(frozen=True)
class Middle:
    """A diagonal block of M = B̃⁻¹ − I + ṽṽᵀ + Ã/σ², B̃⁻¹ = L⁻ᵀL⁻¹: it is multiplied with a few vectors, not made."""

    inverse_root: Any  # the columns of L⁻¹ that belong to the block, from its first row on
    inverse_diagonal: Any  # of B̃⁻¹
    v: Any
    A: Any
    noise: float

    def __matmul__(self, X: Any) -> Any:
        product = self.inverse_root.T @ (self.inverse_root @ X)
        product += np.outer(self.v, self.v @ X) + (self.A @ X) / self.noise - X
        return product

    def diagonal(self) -> Any:
        return self.inverse_diagonal - 1 + self.v**2 + self.A.diagonal() / self.noise

    def dense(self) -> Any:
        M = self.inverse_root.T @ self.inverse_root + np.outer(self.v, self.v) + self.A / self.noise
        M.flat[:: len(M) + 1] -= 1
        return M


@dataclass(frozen=True)
class Whitened:
    """C⁻¹ of every term, and what the gradient takes."""

    blocks: Blocks
    groups: Sequence[WhitenedGroup]
    inverses: Sequence[Any]

    def traces(self, Ms: Sequence[Middle]) -> Any:
        return self.blocks.traces(self.groups, Ms)
