"""The terms of a sum as the optimiser of the collapsed bound sees them: a vector of hyper-parameters, and C⁻¹ of each.

Hyper-parameters are logarithms, those of each term in turn: its lengthscales in units of the box, then its variance. K
is inverse to σ², so only lengthscales need work, which features do for all that are alike at once (`whitened`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.features.base import WhitenedGroup
from odvff.terms import Sum


class Blocks:
    """All terms, in the basis of statistics, and where their hyper-parameters stand."""

    def __init__(self, terms: Sum):
        self.terms = terms.canonical
        self._features: list[Any] = [term.features for term in self.terms]
        self._kernels = [term.kernel for term in self.terms]
        pairs = list(zip(self._features, self._kernels, strict=True))
        self.start = [features.parameters(kernel) for features, kernel in pairs]
        ends = np.cumsum([len(own) for own in self.start])
        self.places = [slice(end - len(own), end) for own, end in zip(self.start, ends, strict=True)]
        self.variances = ends - 1  # where the log variance of each term is
        self.slices = self.terms.slices
        # of a log variance: 1
        self._rates = np.concatenate([[*features.log_rates(kernel), 1.0] for features, kernel in pairs])

    def at(self, parameters: Any) -> Sum:
        """The model with these hyper-parameters."""
        parts = zip(self.terms, self._features, self.places, strict=True)
        return Sum(tuple(replace(t, kernel=f.kernel_at(t.kernel, parameters[place])) for t, f, place in parts))

    def whitened(self, parameters: Any) -> tuple[list[Any], list[WhitenedGroup]]:
        """C⁻¹ of every term at these logarithms of hyper-parameters, and what `traces` takes."""
        groups: list[WhitenedGroup] = []
        found: dict[int, Any] = {}
        for members in self.terms.alike:
            like, kernels = ([of[i] for i in members] for of in (self._features, self._kernels))
            own = np.stack([parameters[self.places[i]] for i in members])
            groups.append(like[0].whitened(like, kernels, own))
            found |= zip(members, groups[-1].inverses, strict=True)
        return [found[i] for i in range(len(found))], groups

    def information(self, effective: Any) -> Any:
        """½(∂ log S)² for every parameter, times the features that the data speak of, or one if they hardly do."""
        features = np.maximum(effective, 1.0)
        return 0.5 * (self._rates**2) ** 2 * np.repeat(features, [len(own) for own in self.start])

    def traces(self, groups: Sequence[WhitenedGroup], Ms: Sequence["Middle"]) -> Any:
        """tr(C⁻¹ (∂K/∂parameter) C⁻ᵀ M) for every parameter, M the diagonal blocks."""
        gradient = np.empty(len(self._rates))
        gradient[self.variances] = [-M.diagonal().sum() for M in Ms]
        for members, group in zip(self.terms.alike, groups, strict=True):
            for i, own in zip(members, group.traces([Ms[i] for i in members]), strict=True):
                gradient[self.places[i].start : self.variances[i]] = own
        return gradient


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
