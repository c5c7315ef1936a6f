"""Independent terms: a block-diagonal covariance whose blocks keep their own structure."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from odvff.errors import FactorizationError
from odvff.linalg.operator import Covariance, Factor
from odvff.support.arrays import Array, concatenate


def slices(sizes: list[int]) -> list[slice]:
    """Where each block lies."""
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


@dataclass(frozen=True)
class BlockFactor(Factor):
    """blockdiag(C_1, …, C_T)."""

    blocks: tuple[Factor, ...]

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def slices(self) -> list[slice]:
        return slices([block.size for block in self.blocks])

    def _each(self, operation: Callable[[Factor, Array], Array], b: Array) -> Array:
        return concatenate(operation(C, b[s]) for C, s in zip(self.blocks, self.slices, strict=True))

    def solve(self, b: Array) -> Array:
        return self._each(lambda C, x: C.solve(x), b)

    def solve_transpose(self, b: Array) -> Array:
        return self._each(lambda C, x: C.solve_transpose(x), b)

    def apply(self, b: Array) -> Array:
        return self._each(lambda C, x: C.apply(x), b)

    def apply_transpose(self, b: Array) -> Array:
        return self._each(lambda C, x: C.apply_transpose(x), b)

    def logdet(self) -> Array:
        return sum(C.logdet() for C in self.blocks)


@dataclass(frozen=True)
class BlockDiagonal(Covariance):
    """blockdiag(K_1, …, K_T); the names say in an error which block failed."""

    blocks: tuple[Covariance, ...]
    names: tuple[str, ...]

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def slices(self) -> list[slice]:
        return slices([block.size for block in self.blocks])

    def dense(self) -> Array:
        rows = []
        for K, s in zip(self.blocks, self.slices, strict=True):
            left, right = np.zeros((K.size, s.start)), np.zeros((K.size, self.size - s.stop))
            rows.append(concatenate([left, K.dense(), right], axis=1))
        return concatenate(rows)

    def diagonal(self) -> Array:
        return concatenate(K.diagonal() for K in self.blocks)

    def __matmul__(self, b: Array) -> Array:
        return concatenate(K @ b[s] for K, s in zip(self.blocks, self.slices, strict=True))

    def factor(self) -> BlockFactor:
        factors = []
        for K, name in zip(self.blocks, self.names, strict=True):
            try:
                factors.append(K.factor())
            except FactorizationError as error:
                raise error.within(name) from error
        return BlockFactor(tuple(factors))

    def trace_solve(self, A: Array) -> Array:
        # only the diagonal blocks of A matter
        return sum(K.trace_solve(A[s, s]) for K, s in zip(self.blocks, self.slices, strict=True))
