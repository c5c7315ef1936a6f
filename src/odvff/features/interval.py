"""Features of a one-column Matérn kernel on an interval: functions of its RKHS, and what they are outside the box.

By the reproducing property Cov(β_i, f(x)) = φ_i(x) for x in [a, b], with no hyper-parameter in it.

**Outside the box**, at a distance r beyond an edge, ⟨k(x,·), g⟩ sees only the state at the edge:

    tail(r) = e^{−λr} Σ_{k≤p} (r^k/k!) [(λ+∂)^k g](edge),     ∂ pointing outwards.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import comb, factorial
from typing import Any, Self

import numpy as np

from odvff.errors import InputError, KernelError
from odvff.features.base import Columns, FixedFeatures
from odvff.features.cells import evaluate
from odvff.features.matern_gram import NOISE_DENSITY, STATE_PRECISION
from odvff.kernels import Matern, matern, one_column
from odvff.kernels.point_sums import VANISHED
from odvff.linalg import Dense
from odvff.support.arrays import Array, is_traced, namespace
from odvff.support.checks import matrix
from odvff.support.shapes import Float


class IntervalFeatures(FixedFeatures):
    """Features on `interval` = (a, b) for a kernel of some `smoothness` (None: that of the kernel they meet).

    To be told: `size`, `Kuu`, `values(t, order)` and `states(order)`.
    """

    interval: tuple[float, float]
    smoothness: float | None

    @abstractmethod
    def values(self, t: Float[Array, " N"], order: int) -> Float[Array, "B N"]:
        """φ at positions t = (x − a)/L ∈ [0, 1], for a kernel of order s = p + 1 = ν + ½."""

    @abstractmethod
    def states(self, order: int) -> tuple[Float[Array, "B s"], Float[Array, "B s"]]:
        """(φ_i, φ_i′, …) at t = 0 and at t = 1."""

    @property
    def boxes(self) -> tuple[tuple[float, float], ...]:
        return (self.interval,)

    @property
    def length(self) -> float:
        """L = b − a."""
        return self.interval[1] - self.interval[0]

    @property
    def order(self) -> int:
        """p + 1."""
        if self.smoothness is None:
            raise InputError(f"{self!r} has no smoothness yet; say which: 0.5, 1.5 or 2.5 as that of its kernel.")
        return Matern(self.smoothness).order

    def kernel_of(self, kernel: Any) -> Matern:
        """The kernel by its plain numbers, if it suits."""
        k = matern(kernel)
        if self.smoothness not in (None, k.smoothness):
            raise KernelError(
                f"the features have smoothness {self.smoothness}, and the kernel {k.smoothness}; give both the same, "
                "or leave it out of the features."
            )
        return k

    def suited(self, kernel: Any) -> Self:
        k = self.kernel_of(kernel)
        return self if self.smoothness is not None else replace(self, smoothness=k.smoothness)  # type: ignore[type-var]

    def read(self, kernel: Any, columns: Columns) -> tuple[Matern, Columns]:
        return self.kernel_of(kernel), read_columns([kernel], columns)

    def fill(self, X: Float[Array, "N D"], out: Float[Array, "B N"]) -> None:
        out[:] = self.values((X[:, 0] - self.interval[0]) / self.length, self.order)

    def Kuf(self, kernel: Any, X: Any) -> Float[Array, "B N"]:
        """φ(x) inside the box, decaying tails outside."""
        k, x = self.kernel_of(kernel), self._column(kernel, X)
        a, b = self.interval
        xp = namespace(x, k.lengthscale)
        nearest = xp.where(x < a, a, xp.where(x > b, b, x))  # at an edge, the derivative of the inside
        inside = self.values((nearest - a) / self.length, k.order)
        outside = x != nearest
        if not is_traced(outside) and not outside.any():
            return inside
        tails = tail_weights(xp.abs(x - nearest), k, self.length)
        left, right = (edge @ tails for edge in self.edges(k.order))
        return xp.where(x < a, left, xp.where(x > b, right, inside))

    def Kuf_rates(self, kernel: Any, X: Float[Array, "N D"]) -> list[Float[Array, "B N"]]:
        """∂/∂log ℓ = −λ ∂/∂λ. By a telescoping sum, ∂w_j/∂λ = −r e^{−λr} (r^j/j!) (λr)^{p−j}/(p−j)!; 0 inside."""
        k, x = self.kernel_of(kernel), self._column(kernel, X)
        r = np.minimum(np.abs(x - np.clip(x, *self.interval)), VANISHED / k.rate)
        z, p = k.rate * r, k.order - 1
        rows = [(r / self.length) ** j / factorial(j) * z ** (p - j) / factorial(p - j) for j in range(k.order)]
        left, right = (edge @ (z * np.exp(-z) * np.stack(rows)) for edge in self.edges(k.order))
        return [np.where(x < self.interval[0], left, right)]

    def log_rates(self, kernel: Any) -> tuple[float, ...]:
        return (np.sqrt(2 * kernel.smoothness),)

    def curve_by(self, tables: Float[Array, "1 8 K"], kernel: Any, weights: Float[Array, " B"]) -> Callable[[Any], Any]:
        """x ↦ wᵀKuf(x): by a table of `taylor` inside the box, a decaying tail on either side."""
        k, (a, b) = self.kernel_of(kernel), self.interval
        left, right = (weights @ edge for edge in self.edges(k.order))

        def curve(x: Any) -> Any:
            nearest = np.clip(x, a, b)
            value = evaluate(tables, (nearest - a) / self.length, np.empty((1, len(x))))[0]
            out = np.flatnonzero(x != nearest)
            if len(out):
                tails = tail_weights(np.abs(x[out] - nearest[out]), k, self.length)
                value[out] = np.where(x[out] < a, left @ tails, right @ tails)
            return value

        return curve

    def edges(self, order: int) -> tuple[Float[Array, "B s"], Float[Array, "B s"]]:
        """What features do outside the box, to the left and to the right, times `tail_weights`."""
        left, right = self.states(order)
        return left * (-1.0) ** np.arange(order), right * 1.0 ** np.arange(order)

    def _column(self, kernel: Any, X: Any) -> Float[Array, " N"]:
        X = matrix(X, "X")
        return X[:, one_column(kernel, X.shape[1])]


class Functions(IntervalFeatures):
    """Any smooth functions: told by `size` and `derivatives`; a frozen dataclass with `interval` and `smoothness`.

    Their Gram matrix is by quadrature. With derivatives in t = (x−a)/L, μ = λL and s = p + 1, as `matern_gram` has it,

        ⟨g, h⟩ = (ρ/σ²) ∫₀¹ (μ+∂)^s g · (μ+∂)^s h dt + Δg(0)ᵀ P Δh(0)/σ² = Σ_e μᵉ A_e/σ²

    for matrices A_e that hold no hyper-parameter: they are made once, and ∂/∂log ℓ = −μ ∂/∂μ is exact.
    """

    @abstractmethod
    def derivatives(self, t: Float[Array, " N"], order: int) -> Float[Array, "K B N"]:
        """φ, φ′, …, φ^{(order)} at positions t ∈ [0, 1]."""

    def values(self, t: Float[Array, " N"], order: int) -> Float[Array, "B N"]:
        return self.derivatives(t, 0)[0]

    def states(self, order: int) -> tuple[Float[Array, "B s"], Float[Array, "B s"]]:
        at_edges = self.derivatives(np.array([0.0, 1.0]), order - 1)
        return at_edges[:, :, 0].T, at_edges[:, :, 1].T

    def Kuu(self, kernel: Any) -> Dense:
        k = self.kernel_of(kernel)
        mu = k.rate * self.length
        return Dense(sum(mu**e * A for e, A in _by_powers(self, k.order).items()) / k.variance)

    def Kuu_rates(self, kernel: Matern) -> list[Float[Array, "B B"]]:
        mu = kernel.rate * self.length
        return [sum(-e * mu**e * A for e, A in _by_powers(self, kernel.order).items()) / kernel.variance]


@lru_cache(maxsize=64)
def _by_powers(features: Functions, order: int) -> dict[int, Float[Array, "B B"]]:
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


def read_columns(kernels: Any, columns: Columns) -> Columns:
    """The column of the table that each of the kernels reads; None if that takes the table to say."""
    if columns is not None:
        return tuple(columns[one_column(k, len(columns))] for k in kernels)
    named: list[Any] = [getattr(k, "active_dims", None) for k in kernels]
    if all(isinstance(active, list | tuple) for active in named):
        return tuple(one_column(k, max(active) + 1) for k, active in zip(kernels, named, strict=True))
    return None


def tail_weights(r: Float[Array, " N"], k: Matern, length: Any) -> Float[Array, "s N"]:
    """w_j(r) with tail(r) = Σ_j g^{(j)}(edge) w_j(r), derivatives with respect to t.

    Expanding (λ+∂)^k: w_j = e^{−λr} (r^j/j!) Σ_{i≤p−j} (λr)^i/i!, and d/dx = (1/L) d/dt.
    """
    xp = namespace(r, k.lengthscale)
    r = xp.minimum(r, VANISHED / k.rate)
    z = k.rate * r
    decay, terms = xp.exp(-z), [z**i / factorial(i) for i in range(k.order)]
    return xp.stack([decay * (r / length) ** j / factorial(j) * sum(terms[: k.order - j]) for j in range(k.order)])


def checked_interval(interval: Any) -> tuple[float, float]:
    """A box that is not empty."""
    try:
        a, b = (float(edge) for edge in interval)
    except (TypeError, ValueError) as error:
        raise InputError(f"interval must be a pair of numbers (a, b), got {interval!r}.") from error
    if not (np.isfinite(a) and np.isfinite(b)):
        raise InputError(f"interval must have finite bounds, got ({a}, {b}); use the range of the data.")
    if not a < b:
        raise InputError(f"interval must satisfy a < b, got ({a}, {b}), which is empty; use the range of the data.")
    if not np.isfinite(b - a):
        raise InputError(f"interval ({a}, {b}) is too wide for float64; scale the column first.")
    return a, b
