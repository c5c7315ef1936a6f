"""Operators made of operators, which keep their own structure: independent terms, and products over columns."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from math import prod
from operator import matmul
from typing import Any

from odvff.errors import FactorizationError
from odvff.linalg.operator import Covariance, Factor
from odvff.support.arrays import Array, concatenate, namespace
from odvff.support.shapes import Float


class _ComposedFactor(Factor):
    """One whose every operation is made of the same operation of its parts."""

    @abstractmethod
    def _each(self, operation: Callable[[Any, Any], Any], b: Float[Array, " B *K"]) -> Float[Array, " B *K"]: ...

    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return self._each(lambda C, x: C.solve(x), b)

    def solve_transpose(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return self._each(lambda C, x: C.solve_transpose(x), b)

    def apply(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return self._each(lambda C, x: C.apply(x), b)


def _factors(parts: Iterable[Covariance], names: Iterable[str]) -> Iterator[Factor]:
    """The factor of every part; an error has its name."""
    for K, name in zip(parts, names, strict=True):
        try:
            yield K.factor()
        except FactorizationError as error:
            raise error.within(name) from error


def slices(sizes: list[int]) -> list[slice]:
    """Where each block lies."""
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


@dataclass(frozen=True)
class _Blocks:
    """A_1, …, A_T along the diagonal."""

    blocks: tuple[Any, ...]

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    @property
    def slices(self) -> list[slice]:
        return slices([block.size for block in self.blocks])

    def _each(self, operation: Callable[[Any, Any], Any], b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return concatenate(operation(A, b[s]) for A, s in zip(self.blocks, self.slices, strict=True))


class BlockFactor(_Blocks, _ComposedFactor):
    """blockdiag(C_1, …, C_T)."""


@dataclass(frozen=True)
class BlockDiagonal(_Blocks, Covariance):
    """blockdiag(K_1, …, K_T); the names say in an error which block failed."""

    names: tuple[str, ...]

    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return self._each(matmul, b)

    def factor(self) -> BlockFactor:
        return BlockFactor(tuple(_factors(self.blocks, self.names)))


@dataclass(frozen=True)
class _Product:
    """A_1 ⊗ … ⊗ A_d."""

    factors: tuple[Any, ...]

    @property
    def size(self) -> int:
        return prod(A.size for A in self.factors)

    def _each(self, operation: Callable[[Any, Any], Any], b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        # one axis at a time: it is in front, all others are right-hand sides, and it goes to the end
        x = b
        for A in self.factors:
            x = operation(A, x.reshape(A.size, -1)).T
        return x.reshape(-1, self.size).T.reshape(b.shape)


class KroneckerFactor(_Product, _ComposedFactor):
    """C_1 ⊗ … ⊗ C_d."""


class KroneckerProduct(_Product, Covariance):
    """K_1 ⊗ … ⊗ K_d: products of one-dimensional features."""

    def dense(self) -> Float[Array, "B B"]:
        parts = [K.dense() for K in self.factors]
        return reduce(namespace(*parts).kron, parts)

    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return self._each(matmul, b)

    def factor(self) -> KroneckerFactor:
        return KroneckerFactor(tuple(_factors(self.factors, (f"factor {i}" for i in range(len(self.factors))))))
