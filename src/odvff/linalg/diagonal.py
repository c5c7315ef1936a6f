"""A diagonal covariance, which is its own square root's square."""

from dataclasses import dataclass

from odvff.linalg.operator import Covariance, Factor, scale_rows
from odvff.support.arrays import Array, namespace


@dataclass(frozen=True)
class DiagonalFactor(Factor):
    """C = diag(root)."""

    root: Array

    @property
    def size(self) -> int:
        return int(self.root.shape[0])

    def solve(self, b: Array) -> Array:
        return scale_rows(1 / self.root, b)

    def apply(self, b: Array) -> Array:
        return scale_rows(self.root, b)

    solve_transpose = solve
    apply_transpose = apply

    def logdet(self) -> Array:
        xp = namespace(self.root)
        return 2 * xp.sum(xp.log(self.root))


@dataclass(frozen=True)
class Diagonal(Covariance):
    """K = diag(d) with positive d."""

    d: Array

    @property
    def size(self) -> int:
        return int(self.d.shape[0])

    def dense(self) -> Array:
        return namespace(self.d).diag(self.d)

    def diagonal(self) -> Array:
        return self.d

    def __matmul__(self, b: Array) -> Array:
        return scale_rows(self.d, b)

    def factor(self) -> DiagonalFactor:
        return DiagonalFactor(namespace(self.d).sqrt(self.d))
