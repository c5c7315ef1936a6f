"""What a covariance is to the rest of the package: something that can be factored, and a factor that solves.

A `Covariance` K knows its structure. `K.factor()` gives a `Factor`, a matrix C with K = C Cᵀ that need not be
triangular; it is held by whoever needs it, never hidden in a cache. Whitening is `C.solve`: ψ = C⁻¹φ.
Right-hand sides are vectors (n,) or matrices (n, k).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from odvff.support.arrays import Array, namespace


class Factor(ABC):
    """A matrix C with K = C Cᵀ."""

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def solve(self, b: Array) -> Array:
        """C⁻¹ b."""

    @abstractmethod
    def solve_transpose(self, b: Array) -> Array:
        """C⁻ᵀ b."""

    @abstractmethod
    def apply(self, b: Array) -> Array:
        """C b."""

    @abstractmethod
    def apply_transpose(self, b: Array) -> Array:
        """Cᵀ b."""

    @abstractmethod
    def logdet(self) -> Array:
        """log |K| = 2 log |det C|."""

    def dense(self) -> Array:
        return self.apply(np.eye(self.size))


class Covariance(ABC):
    """A symmetric positive definite matrix K that knows its structure."""

    @property
    @abstractmethod
    def size(self) -> int: ...

    @property
    def shape(self) -> tuple[int, int]:
        return (self.size, self.size)

    @abstractmethod
    def __matmul__(self, b: Array) -> Array:
        """K b."""

    @abstractmethod
    def factor(self) -> Factor:
        """C with K = C Cᵀ; raises `FactorizationError` if K is not positive definite to working precision."""

    def dense(self) -> Array:
        """K as an array."""
        return self @ np.eye(self.size)

    def diagonal(self) -> Array:
        """The diagonal of K."""
        K = self.dense()
        return namespace(K).diagonal(K)

    def solve(self, b: Array) -> Array:
        """K⁻¹ b."""
        C = self.factor()
        return C.solve_transpose(C.solve(b))

    def logdet(self) -> Array:
        """log |K|."""
        return self.factor().logdet()

    def trace_solve(self, A: Array) -> Array:
        """tr(K⁻¹ A) for a square array A."""
        solved = self.solve(A)
        return namespace(solved).trace(solved)


def scale_rows(scale: Array, b: Array) -> Array:
    """diag(scale) b."""
    return scale * b if b.ndim == 1 else scale[:, None] * b


@dataclass(frozen=True)
class DiagonalFactor(Factor):
    """C = diag(scale), and the outermost part of factors that scale."""

    scale: Array

    @property
    def size(self) -> int:
        return len(self.scale)

    def solve(self, b: Array) -> Array:
        return scale_rows(1 / self.scale, b)

    def apply(self, b: Array) -> Array:
        return scale_rows(self.scale, b)

    solve_transpose = solve
    apply_transpose = apply

    def logdet(self) -> Array:
        xp = namespace(self.scale)
        return 2 * xp.sum(xp.log(self.scale))


@dataclass(frozen=True)
class Diagonal(Covariance):
    """K = diag(d) with positive d."""

    d: Array

    @property
    def size(self) -> int:
        return len(self.d)

    def __matmul__(self, b: Array) -> Array:
        return scale_rows(self.d, b)

    def factor(self) -> DiagonalFactor:
        return DiagonalFactor(namespace(self.d).sqrt(self.d))
