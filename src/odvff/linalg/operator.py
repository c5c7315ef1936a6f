"""What a covariance is to the rest of the package: something that can be factored, and a factor that solves.

A `Covariance` K knows its structure. `K.factor()` gives a `Factor`, a matrix C with K = C Cᵀ that need not be
triangular; it is held by whoever needs it, never hidden in a cache. Whitening is `C.solve`: ψ = C⁻¹φ.
Right-hand sides are vectors (n,) or matrices (n, k).

Two have no further structure: a diagonal, and an array, for which it is Cholesky after scaling to unit diagonal, with a
recorded jitter.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from odvff.errors import FactorizationError
from odvff.support.arrays import Array, cholesky, is_traced, namespace, solve_triangular
from odvff.support.shapes import Float

DEFAULT_JITTER = 1e-12
"""Added to the unit diagonal of the scaled matrix: enough to keep rounding from turning eigenvalues negative."""

LARGEST_JITTER = 1e-6
"""Beyond this, jitter would change the model and not just steady the arithmetic."""


class Factor(ABC):
    """A matrix C with K = C Cᵀ."""

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        """C⁻¹ b."""

    @abstractmethod
    def solve_transpose(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        """C⁻ᵀ b."""

    @abstractmethod
    def apply(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        """C b."""

    def dense(self) -> Float[Array, "B B"]:
        return self.apply(np.eye(self.size))


class Covariance(ABC):
    """A symmetric positive definite matrix K that knows its structure."""

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        """K b."""

    @abstractmethod
    def factor(self) -> Factor:
        """C with K = C Cᵀ; raises `FactorizationError` if K is not positive definite to working precision."""

    def dense(self) -> Float[Array, "B B"]:
        """K as an array."""
        return self @ np.eye(self.size)

    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        """K⁻¹ b."""
        C = self.factor()
        return C.solve_transpose(C.solve(b))


def scale_rows(scale: Float[Array, " B"], b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
    """diag(scale) b."""
    return scale * b if b.ndim == 1 else scale[:, None] * b


@dataclass(frozen=True)
class DiagonalFactor(Factor):
    """C = diag(scale), and the outermost part of factors that scale."""

    scale: Float[Array, " B"]

    @property
    def size(self) -> int:
        return len(self.scale)

    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return scale_rows(1 / self.scale, b)

    def apply(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return scale_rows(self.scale, b)

    solve_transpose = solve


@dataclass(frozen=True)
class Diagonal(Covariance):
    """K = diag(d) with positive d."""

    d: Float[Array, " B"]

    @property
    def size(self) -> int:
        return len(self.d)

    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return scale_rows(self.d, b)

    def factor(self) -> DiagonalFactor:
        return DiagonalFactor(namespace(self.d).sqrt(self.d))


@dataclass(frozen=True)
class DenseFactor(DiagonalFactor):
    """C = diag(√d) L with L lower triangular; `jitter` is what was added to the unit diagonal to get there."""

    lower: Float[Array, "B B"]
    jitter: float

    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return solve_triangular(self.lower, super().solve(b))

    def solve_transpose(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return super().solve_transpose(solve_triangular(self.lower, b, transpose=True))

    def apply(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return super().apply(self.lower @ b)


@dataclass(frozen=True)
class Dense(Covariance):
    """K given as an array.

    `jitter` is relative to the diagonal. If the factorisation fails with it, ten and a hundred times as much
    and so on are tried up to 1e-6; while JAX traces, where nothing can be retried, just `jitter` itself.
    """

    matrix: Float[Array, "B B"]
    jitter: float = DEFAULT_JITTER

    @property
    def size(self) -> int:
        return int(self.matrix.shape[0])

    def dense(self) -> Float[Array, "B B"]:
        return self.matrix

    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return self.matrix @ b

    def factor(self) -> DenseFactor:
        xp = namespace(self.matrix)
        diagonal = xp.diagonal(self.matrix)
        if not is_traced(self.matrix):
            _check_entries(self.matrix, diagonal)
        scale = xp.sqrt(diagonal)
        unit = self.matrix / scale[:, None] / scale
        if is_traced(self.matrix):
            return DenseFactor(scale, cholesky(unit + self.jitter * np.eye(self.size)), self.jitter)
        tried: list[float] = []
        jitter = self.jitter
        while jitter <= max(LARGEST_JITTER, self.jitter):
            try:
                return DenseFactor(scale, cholesky(unit + jitter * np.eye(self.size)), jitter)
            except np.linalg.LinAlgError:
                tried.append(jitter)
                jitter = max(10 * jitter, DEFAULT_JITTER)
        raise _failure(unit, tuple(tried))


def _check_entries(matrix: Float[Array, "B B"], diagonal: Float[Array, " B"]) -> None:
    if not np.isfinite(matrix).all():
        raise FactorizationError(
            f"the {len(diagonal)} × {len(diagonal)} covariance has {np.sum(~np.isfinite(matrix))} entries that are "
            "NaN or infinite. Likely causes: (a) a hyper-parameter overflowed or is NaN: print the kernel; "
            "(b) a location is NaN."
        )
    if (diagonal <= 0).any():
        i = int(np.argmin(diagonal))
        raise FactorizationError(
            f"the covariance has the variance {diagonal[i]:.3g} at position {i}, which is not positive. Likely "
            "causes: (a) the kernel's variance is zero: start it above zero; (b) the kernel vanishes at that "
            "location (a linear kernel at the origin): move or remove it."
        )


def _failure(unit: Float[Array, "B B"], tried: tuple[float, ...]) -> FactorizationError:
    """Measure what is wrong, and rank the causes by the measurement."""
    eigenvalues = np.linalg.eigvalsh((unit + unit.T) / 2)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    condition = largest / abs(smallest) if smallest else np.inf
    off_diagonal = np.abs(unit - np.diag(np.diagonal(unit)))
    i, j = np.unravel_index(np.argmax(off_diagonal), unit.shape)
    asymmetry = float(np.abs(unit - unit.T).max())
    causes = []
    if asymmetry > 1e-8:
        causes.append(f"the matrix is not symmetric (by {asymmetry:.2g}): it is no covariance")
    if off_diagonal[i, j] > 1 + 1e-10 or smallest < -1e-6 * largest:
        causes.append(
            f"the matrix is not positive definite (smallest eigenvalue {smallest:.3g} after scaling to unit "
            "diagonal): the kernel is not a valid covariance function on these inputs"
        )
    if off_diagonal[i, j] > 1 - 1e-10:
        causes.append(f"locations {i} and {j} are (nearly) the same: remove one of them")
    causes.append("the lengthscale is long compared with the spacing of the points: use fewer points or shorten it")
    ranked = "; ".join(f"({letter}) {cause}" for letter, cause in zip("abcd", causes, strict=False))
    return FactorizationError(
        f"the {len(unit)} × {len(unit)} covariance could not be factored (condition number {condition:.2g} after "
        f"scaling to unit diagonal; jitter tried: {', '.join(f'{t:.0e}' for t in tried)}). Likely causes: {ranked}. "
        "If the points must stay, pass a larger `jitter`.",
        condition=condition,
        jitters=tried,
    )
