"""Features of a one-column Matérn kernel on an interval: functions of its RKHS, and what they are outside the box.

By the reproducing property Cov(β_i, f(x)) = φ_i(x) for x in [a, b], with no hyper-parameter in it.

**Outside the box**, at a distance r beyond an edge, ⟨k(x,·), g⟩ sees only the state at the edge:

    tail(r) = e^{−λr} Σ_{k≤p} (r^k/k!) [(λ+∂)^k g](edge),     ∂ pointing outwards.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import factorial
from typing import Any, Self

import numpy as np

from odvff.errors import InputError, KernelError
from odvff.features.base import Columns, FixedFeatures
from odvff.kernels import Matern, matern, one_column
from odvff.kernels.point_sums import VANISHED
from odvff.support.arrays import Array, is_traced, namespace
from odvff.support.checks import matrix


class IntervalFeatures(FixedFeatures):
    """Features on `interval` = (a, b) for a kernel of some `smoothness` (None: that of the kernel they meet).

    To be told: `size`, `Kuu`, `values(t, order)` and `states(order)`.
    """

    interval: tuple[float, float]
    smoothness: float | None

    @abstractmethod
    def values(self, t: Array, order: int) -> Array:
        """φ at positions t = (x − a)/L ∈ [0, 1], (|β|, N), for a kernel of order p + 1 = ν + ½."""

    @abstractmethod
    def states(self, order: int) -> tuple[Any, Any]:
        """(φ_i, φ_i′, …) at t = 0 and at t = 1, (|β|, order) each."""

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

    def fill(self, X: Array, out: Array) -> None:
        out[:] = self.values((X[:, 0] - self.interval[0]) / self.length, self.order)

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """φ(x) inside the box, decaying tails outside."""
        k, x = self.kernel_of(kernel), self._column(kernel, X)
        a, b = self.interval
        xp = namespace(x, k.lengthscale)
        nearest = xp.where(x < a, a, xp.where(x > b, b, x))  # at an edge, the derivative of the inside
        inside = self.values((nearest - a) / self.length, k.order)
        outside = x != nearest
        if not is_traced(outside) and not outside.any():
            return inside
        r = xp.minimum(xp.abs(x - nearest), VANISHED / k.rate)
        left, right = (edge @ tail_weights(r, k, self.length) for edge in self.edges(k.order))
        return xp.where(x < a, left, xp.where(x > b, right, inside))

    def Kuf_rates(self, kernel: Any, X: Array) -> list[Array]:
        """∂/∂log ℓ = −λ ∂/∂λ. By a telescoping sum, ∂w_j/∂λ = −r e^{−λr} (r^j/j!) (λr)^{p−j}/(p−j)!; 0 inside."""
        k, x = self.kernel_of(kernel), self._column(kernel, X)
        a, b = self.interval
        r = np.minimum(np.where(x < a, a - x, np.where(x > b, x - b, 0.0)), VANISHED / k.rate)
        z, p = k.rate * r, k.order - 1
        rows = [(r / self.length) ** j / factorial(j) * z ** (p - j) / factorial(p - j) for j in range(k.order)]
        weights = -r * np.exp(-z) * np.stack(rows)
        left, right = (edge @ weights for edge in self.edges(k.order))
        return [-k.rate * np.where(x < a, left, np.where(x > b, right, 0.0))]

    def log_rates(self, kernel: Any) -> tuple[float, ...]:
        return (np.sqrt(2 * kernel.smoothness),)

    def edges(self, order: int) -> tuple[Any, Any]:
        """What features do outside the box, to the left and to the right: (|β|, s) each, times `tail_weights`."""
        left, right = self.states(order)
        return left * (-1.0) ** np.arange(order), right * 1.0 ** np.arange(order)

    def _column(self, kernel: Any, X: Array) -> Array:
        X = matrix(X, "X")
        return X[:, one_column(kernel, X.shape[1])]


@dataclass(frozen=True)
class Curve:
    """x ↦ wᵀφ(x): by a table inside the box, a decaying tail on either side."""

    interval: tuple[float, float]
    kernel: Matern
    inside: Callable[[Any], Any]  # of t ∈ [0, 1]
    left: Any  # what `tail_weights` are multiplied with
    right: Any

    def __call__(self, x: Any) -> Any:
        (a, b), length = self.interval, self.interval[1] - self.interval[0]
        nearest = np.clip(x, a, b)
        value = self.inside((nearest - a) / length)
        out = np.flatnonzero(x != nearest)
        if len(out):
            r = np.minimum(np.abs(x[out] - nearest[out]), VANISHED / self.kernel.rate)
            tails = tail_weights(r, self.kernel, length)
            value[out] = np.where(x[out] < a, self.left @ tails, self.right @ tails)
        return value


def read_columns(kernels: Any, columns: Columns) -> Columns:
    """The column of the table that each of the kernels reads; None if that takes the table to say."""
    if columns is not None:
        return tuple(columns[one_column(k, len(columns))] for k in kernels)
    named: list[Any] = [getattr(k, "active_dims", None) for k in kernels]
    if all(isinstance(active, list | tuple) for active in named):
        return tuple(one_column(k, max(active) + 1) for k, active in zip(kernels, named, strict=True))
    return None


def tail_weights(r: Array, k: Matern, length: float) -> Array:
    """w_j(r) with tail(r) = Σ_j g^{(j)}(edge) w_j(r), derivatives with respect to t; of shape (s, N).

    Expanding (λ+∂)^k: w_j = e^{−λr} (r^j/j!) Σ_{i≤p−j} (λr)^i/i!, and d/dx = (1/L) d/dt.
    """
    xp = namespace(r, k.lengthscale)
    z = k.rate * r
    decay = xp.exp(-z)
    rows = []
    for j in range(k.order):
        series = sum(z**i / factorial(i) for i in range(k.order - j))
        rows.append(decay * (r / length) ** j / factorial(j) * series)
    return xp.stack(rows)


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
