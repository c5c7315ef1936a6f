"""Products of one-dimensional features: K = K_1 ⊗ … ⊗ K_d, factored as C_1 ⊗ … ⊗ C_d."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import prod

from odvff.errors import FactorizationError
from odvff.linalg.operator import Covariance, Factor, as_columns
from odvff.support.arrays import Array, namespace


def _along_each_axis(operations: list[Callable[[Array], Array]], sizes: list[int], b: Array) -> Array:
    """(A_1 ⊗ … ⊗ A_d) b, one axis at a time, every A_i as a function of matrices."""
    columns = as_columns(b)
    k = columns.shape[1]
    tensor = columns.reshape(*sizes, k)
    for axis, operation in enumerate(operations):
        # bring the axis to the front, flatten the rest into right-hand sides
        xp = namespace(tensor)
        moved = xp.moveaxis(tensor, axis, 0)
        moved = operation(moved.reshape(sizes[axis], -1)).reshape(moved.shape)
        tensor = namespace(moved).moveaxis(moved, 0, axis)
    return tensor.reshape(b.shape)


@dataclass(frozen=True)
class KroneckerFactor(Factor):
    """C_1 ⊗ … ⊗ C_d."""

    factors: tuple[Factor, ...]

    @property
    def sizes(self) -> list[int]:
        return [C.size for C in self.factors]

    @property
    def size(self) -> int:
        return prod(self.sizes)

    def solve(self, b: Array) -> Array:
        return _along_each_axis([C.solve for C in self.factors], self.sizes, b)

    def solve_transpose(self, b: Array) -> Array:
        return _along_each_axis([C.solve_transpose for C in self.factors], self.sizes, b)

    def apply(self, b: Array) -> Array:
        return _along_each_axis([C.apply for C in self.factors], self.sizes, b)

    def apply_transpose(self, b: Array) -> Array:
        return _along_each_axis([C.apply_transpose for C in self.factors], self.sizes, b)

    def logdet(self) -> Array:
        # log|⊗ K_i| = Σ_i (n / n_i) log|K_i|
        return sum(self.size // C.size * C.logdet() for C in self.factors)


@dataclass(frozen=True)
class KroneckerProduct(Covariance):
    """K_1 ⊗ … ⊗ K_d."""

    factors: tuple[Covariance, ...]

    @property
    def sizes(self) -> list[int]:
        return [K.size for K in self.factors]

    @property
    def size(self) -> int:
        return prod(self.sizes)

    def dense(self) -> Array:
        parts = [K.dense() for K in self.factors]
        return reduce(namespace(*parts).kron, parts)

    def diagonal(self) -> Array:
        parts = [K.diagonal() for K in self.factors]
        return reduce(namespace(*parts).kron, parts)

    def __matmul__(self, b: Array) -> Array:
        return _along_each_axis([K.__matmul__ for K in self.factors], self.sizes, b)

    def factor(self) -> KroneckerFactor:
        factors = []
        for i, K in enumerate(self.factors):
            try:
                factors.append(K.factor())
            except FactorizationError as error:
                raise error.within(f"factor {i}") from error
        return KroneckerFactor(tuple(factors))
