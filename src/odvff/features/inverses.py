"""C⁻¹ of the Gram matrices of terms, as the bound of a fit multiplies with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Inverse(Protocol):
    """C⁻¹ of a term."""

    def __matmul__(self, M: Any) -> Any:
        """C⁻¹ M."""
        ...

    def from_right(self, M: Any) -> Any:
        """M C⁻ᵀ."""
        ...


class WhitenedGroup(Protocol):
    """C⁻¹ of like terms at some hyper-parameters."""

    @property
    def inverses(self) -> Sequence[Inverse]: ...

    def traces(self, Ms: Sequence[Any]) -> Any:
        """tr(C⁻¹ (∂K/∂log ℓ) C⁻ᵀ M) for every term, its M and every lengthscale, (terms, lengthscales).

        An M is not made: it has `M @ X`, `M.diagonal()` and, if need be, `M.dense()`.
        """
        ...


@dataclass(frozen=True)
class Product:
    """A Kronecker product of the C⁻¹ of columns; mostly there is but one."""

    factors: tuple[Any, ...]

    def __matmul__(self, M: Any) -> Any:
        """One factor after the other: with two columns of n features that is n/2 times less work."""
        product, before = M, 1
        for factor in self.factors:
            n = len(factor)
            product = factor @ product.reshape(before, n, -1)
            before *= n
        return product.reshape(M.shape)

    def from_right(self, M: Any) -> Any:
        return M @ self.factors[0].T if len(self.factors) == 1 else (self @ M.T).T


@dataclass(frozen=True)
class Multiple:
    """A multiple of the identity."""

    scale: float

    def __matmul__(self, M: Any) -> Any:
        return self.scale * M

    def from_right(self, M: Any) -> Any:
        return self.scale * M
