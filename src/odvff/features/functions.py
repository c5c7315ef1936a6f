"""Any smooth functions on an interval as features of a one-column Matérn kernel: their Gram matrix by quadrature.

With derivatives in t = (x−a)/L, μ = λL and s = p + 1, as `matern_gram` has it for harmonics,

    ⟨g, h⟩ = (ρ/σ²) ∫₀¹ (μ+∂)^s g · (μ+∂)^s h dt + Δg(0)ᵀ P Δh(0)/σ² = Σ_e μᵉ A_e/σ²

for matrices A_e that hold no hyper-parameter: they are made once, and ∂/∂log ℓ = −μ ∂/∂μ is exact.
"""

from abc import abstractmethod
from collections import defaultdict
from functools import lru_cache
from math import comb
from typing import Any

import numpy as np

from odvff.features.interval import IntervalFeatures
from odvff.features.matern_gram import NOISE_DENSITY, STATE_PRECISION
from odvff.kernels import Matern
from odvff.linalg import Dense
from odvff.support.arrays import Array


class Functions(IntervalFeatures):
    """Features that are told by `size` and `derivatives`; a frozen dataclass with `interval` and `smoothness`."""

    @abstractmethod
    def derivatives(self, t: Array, order: int) -> Array:
        """φ, φ′, …, φ^{(order)} at positions t ∈ [0, 1], (order + 1, |β|, N)."""

    def values(self, t: Array, order: int) -> Array:
        return self.derivatives(t, 0)[0]

    def states(self, order: int) -> tuple[Any, Any]:
        at_edges = self.derivatives(np.array([0.0, 1.0]), order - 1)
        return at_edges[:, :, 0].T, at_edges[:, :, 1].T

    def Kuu(self, kernel: Any) -> Dense:
        k = self.kernel_of(kernel)
        mu = k.rate * self.length
        return Dense(sum(mu**e * A for e, A in _by_powers(self, k.order).items()) / k.variance)

    def Kuu_rates(self, kernel: Matern) -> list[Array]:
        mu = kernel.rate * self.length
        return [sum(-e * mu**e * A for e, A in _by_powers(self, kernel.order).items()) / kernel.variance]


@lru_cache(maxsize=64)
def _by_powers(features: Functions, order: int) -> dict[int, Any]:
    """A_e by e: binomials times ∫ φ^{(i)} φ^{(j)} dt, and the cost of the state at t = 0."""
    nodes, weights = np.polynomial.legendre.leggauss(4 * features.size + 64)
    D = features.derivatives((nodes + 1) / 2, order)
    state = features.states(order)[0].T
    total: dict[int, Any] = defaultdict(float)
    for i in range(order + 1):
        for j in range(order + 1):
            # ρ = 1/(κ_s μ^{2s−1}), and (μ+∂)^s = Σ_i C(s,i) μ^{s−i} ∂^i
            weight = comb(order, i) * comb(order, j) / NOISE_DENSITY[order]
            total[1 - i - j] += weight * (D[i] * (weights / 2)) @ D[j].T
            if i < order and j < order:
                total[-i - j] += STATE_PRECISION[order][i, j] * np.outer(state[i], state[j])
    return total
