"""Products of one-dimensional Fourier features, for a separable kernel over two or three columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features.fourier import Fourier
from odvff.kernels import separable, separable_columns
from odvff.linalg import KroneckerProduct
from odvff.support.arrays import Array
from odvff.support.checks import matrix


@dataclass(frozen=True)
class Kronecker:
    """φ(x) = φ_1(x_1) ⊗ … ⊗ φ_d(x_d). The i-th features belong to the i-th factor of the kernel.

    The number of features is the product of the numbers in each column, so this is for two or three columns.
    """

    factors: tuple[Fourier, ...]

    def __post_init__(self) -> None:
        factors = tuple(self.factors) if isinstance(self.factors, list | tuple) else (self.factors,)
        if len(factors) not in (2, 3) or not all(hasattr(f, "inside") and hasattr(f, "Kuf") for f in factors):
            raise InputError(
                f"Kronecker takes a list of the Fourier features of 2 or 3 columns, got {self.factors!r}; one column "
                "is Fourier itself, and for more columns use a sum of terms."
            )
        object.__setattr__(self, "factors", factors)

    def inside(self, X: Array, smoothness: tuple[float, ...]) -> Array:
        """φ(x) for rows inside the box, of shape (|β|, N): no lengthscale and no variance enter."""
        X = matrix(X, "X", n_columns=len(self.factors))
        if np.shape(smoothness) != (len(self.factors),):
            raise InputError(
                f"smoothness must hold a value for each of {len(self.factors)} columns, got {smoothness!r}."
            )
        parts = [f.inside(X[:, [i]], nu) for i, (f, nu) in enumerate(zip(self.factors, smoothness, strict=True))]
        return row_products(parts)

    def Kuu(self, kernel: Any) -> KroneckerProduct:
        """⊗ K_d."""
        kernels = separable(kernel, len(self.factors))
        return KroneckerProduct(tuple(f.Kuu(k) for f, k in zip(self.factors, kernels, strict=True)))

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """Cov(β, f(x)), of shape (|β|, N)."""
        X = matrix(X, "X")
        kernels = separable(kernel, len(self.factors))
        columns = separable_columns(kernel, X.shape[1])
        return row_products([f.Kuf(k, X[:, [i]]) for f, k, i in zip(self.factors, kernels, columns, strict=True)])

    def refined(self, factor: int) -> "Kronecker":
        """These features among about `factor` times as many."""
        each = max(2, round(factor ** (1 / len(self.factors))))
        return Kronecker(tuple(f.refined(each) for f in self.factors))

    def positions(self, kernel: Any, fine: "Kronecker") -> np.ndarray:
        """Where these features stand among refined ones."""
        index = np.zeros(1, dtype=int)
        for f, g, k in zip(self.factors, fine.factors, separable(kernel, len(self.factors)), strict=True):
            index = (index[:, None] * g.Kuu(k).size + f.positions(k, g)).ravel()
        return index


def row_products(parts: list[Array]) -> Array:
    """Columnwise Kronecker products: (n_1, N), (n_2, N), … → (n_1 n_2 …, N)."""
    product = parts[0]
    for part in parts[1:]:
        product = (product[:, None, :] * part).reshape(len(product) * len(part), part.shape[1])
    return product
