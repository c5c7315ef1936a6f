"""Products of features of one column each, for a separable kernel over two or three columns."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from odvff.errors import FileError, InputError
from odvff.features.base import Axis, Columns, FixedFeatures, Stored, WhitenedGroup
from odvff.features.interval import read_columns
from odvff.kernels import Matern, Separable, separable, separable_columns
from odvff.linalg import KroneckerProduct
from odvff.support.checks import matrix
from odvff.support.shapes import Array, Float, Int


@dataclass(frozen=True)
class Kronecker(FixedFeatures):
    """φ(x) = φ_1(x_1) ⊗ … ⊗ φ_d(x_d). The i-th features belong to the i-th factor of the kernel.

    The number of features is the product of the numbers in each column, so this is for two or three columns.
    """

    factors: tuple[Any, ...]

    def __post_init__(self) -> None:
        factors = tuple(self.factors) if isinstance(self.factors, list | tuple) else (self.factors,)
        of_one = (isinstance(f, FixedFeatures) and len(f.boxes) == 1 for f in factors)
        if len(factors) not in (2, 3) or not all(of_one):
            raise InputError(
                f"Kronecker takes a list of the Fourier features of 2 or 3 columns, got {self.factors!r}; one column "
                "is Fourier itself, and for more columns use a sum of terms."
            )
        object.__setattr__(self, "factors", factors)

    @property
    def size(self) -> int:
        return prod(f.size for f in self.factors)

    @property
    def boxes(self) -> tuple[tuple[float, float] | None, ...]:
        return tuple(f.boxes[0] for f in self.factors)

    def fill(self, X: Float[Array, "N D"], out: Float[Array, "B N"]) -> None:
        parts = [np.empty((f.size, len(X))) for f in self.factors]
        for i, (f, part) in enumerate(zip(self.factors, parts, strict=True)):
            f.fill(X[:, [i]], part)
        out[:] = row_products(parts)

    def suited(self, kernel: Any) -> "Kronecker":
        return Kronecker(tuple(f.suited(k) for f, k in self.sides(kernel)))

    def read(self, kernel: Any, columns: Columns) -> tuple[Separable, Columns]:
        factors = separable(kernel, len(self.factors))
        # factors of GPJax's say which columns they read
        read = columns if isinstance(kernel, Separable) else read_columns(kernel.kernels, columns)
        return Separable(tuple(factors)), read

    def Kuu(self, kernel: Any) -> KroneckerProduct:
        return KroneckerProduct(tuple(f.Kuu(k) for f, k in self.sides(kernel)))

    def Kuf(self, kernel: Any, X: Any) -> Float[Array, "B N"]:
        X = matrix(X, "X")
        columns = separable_columns(kernel, X.shape[1])
        return row_products([f.Kuf(k, X[:, [i]]) for (f, k), i in zip(self.sides(kernel), columns, strict=True)])

    def Kuf_rates(self, kernel: Any, X: Float[Array, "N D"]) -> list[Float[Array, "B N"]]:
        sides = self.sides(kernel)
        values = [f.Kuf(k, X[:, [i]]) for i, (f, k) in enumerate(sides)]
        rates = []
        for i, (f, k) in enumerate(sides):
            (rate,) = f.Kuf_rates(k, X[:, [i]])
            rates.append(row_products([*values[:i], rate, *values[i + 1 :]]))
        return rates

    def log_rates(self, kernel: Any) -> tuple[float, ...]:
        return tuple(chain.from_iterable(f.log_rates(k) for f, k in self.sides(kernel)))

    # abilities

    @property
    def key(self) -> Hashable | None:
        keys = [(type(f), f.key) for f in self.factors]
        return None if any(key is None for _, key in keys) else tuple(keys)

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Float[Array, "T K"]) -> WhitenedGroup:
        """Each column of all terms at once: the first has the variance."""
        groups, sizes = [], [f.size for f in self.factors]
        for i, f in enumerate(self.factors):
            variance = parameters[:, -1] if i == 0 else np.zeros(len(like))
            sides = [k.factors[i] for k in kernel_of]
            own = np.stack([parameters[:, i], variance], axis=1)
            groups.append(f.whitened([term.factors[i] for term in like], sides, own))

        def traces(Ms: Sequence[Any]) -> Float[Array, "T K"]:
            """Those of a column meet the trace of M over all others."""
            dense = [M.dense() for M in Ms]
            each = [group.traces([_partial_trace(M, sizes, i) for M in dense]) for i, group in enumerate(groups)]
            return np.concatenate(each, axis=1)

        return WhitenedGroup([Product(own) for own in zip(*(g.inverses for g in groups), strict=True)], traces)

    @property
    def axes(self) -> tuple[Axis, ...]:
        each = [f.axes for f in self.factors]
        return tuple(chain.from_iterable(each)) if all(each) else ()

    def orthogonal(self) -> "Kronecker":
        return Kronecker(tuple(f.orthogonal() for f in self.factors))

    def sides(self, kernel: Any) -> list[tuple[Any, Matern]]:
        return list(zip(self.factors, separable(kernel, len(self.factors)), strict=True))

    def refined(self, factor: int) -> "Kronecker":
        each = max(2, round(factor ** (1 / len(self.factors))))
        return Kronecker(tuple(f.refined(each) for f in self.factors))

    def positions(self, fine: Any) -> Int[Array, " B"]:
        index = np.zeros(1, dtype=int)
        for f, g in zip(self.factors, fine.factors, strict=True):
            index = (index[:, None] * g.size + f.positions(g)).ravel()
        return index

    @property
    def resolution(self) -> int:
        return next((f.resolution for f in self.factors if f.resolution), 0)

    def with_resolution(self, n: int) -> "Kronecker":
        return Kronecker(tuple(f.with_resolution(n) for f in self.factors))

    def holds(self, fewer: Any) -> bool:
        same = len(fewer.factors) == len(self.factors)
        return same and all(f.holds(g) for f, g in zip(self.factors, fewer.factors, strict=True))

    def coarsening(self, fewer: Any) -> Float[Array, "K B"] | None:
        if len(fewer.factors) != len(self.factors):
            raise InputError(f"{self!r} do not contain {fewer!r}.")
        maps = [f.coarsening(g) for f, g in zip(self.factors, fewer.factors, strict=True)]
        if all(T is None for T in maps):
            return None
        return reduce(np.kron, [np.eye(f.size) if T is None else T for f, T in zip(self.factors, maps, strict=True)])

    def words(self) -> str:
        each = [f.words() for f in self.factors]
        if all(own.endswith(" harmonics") for own in each):
            return " × ".join(own.removesuffix(" harmonics") for own in each) + " harmonics"
        return " × ".join(each)

    def to_words(self, arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
        each = enumerate(self.factors)
        return {"factors": [{"kind": f.kind(), **f.to_words(arrays, f"{prefix}{i}.")} for i, f in each]}

    @classmethod
    def from_words(cls, words: dict[str, Any], stored: Stored) -> "Kronecker":
        if not isinstance(words["factors"], list):
            raise FileError(f"a list is missing; there is {str(words['factors'])[:40]!r}.")
        return cls(tuple(stored.part(own, f"{stored.prefix}{i}.") for i, own in enumerate(words["factors"])))


@dataclass(frozen=True)
class Product:
    """A Kronecker product of the C⁻¹ of columns."""

    factors: tuple[Any, ...]

    __array_ufunc__ = None  # an array that is multiplied with it from the left leaves that to `__rmatmul__`

    @property
    def T(self) -> "Product":
        return Product(tuple(factor.T for factor in self.factors))

    def __matmul__(self, M: Any) -> Any:
        """One factor after the other: with two columns of n features that is n/2 times less work."""
        product, before = M, 1
        for factor in self.factors:
            n = len(factor)
            product = factor @ product.reshape(before, n, -1)
            before *= n
        return product.reshape(M.shape)

    def __rmatmul__(self, M: Any) -> Any:
        return (self.T @ M.T).T


def _partial_trace(M: Float[Array, "B B"], sizes: Sequence[int], keep: int) -> Float[Array, "K K"]:
    """Σ over all other axes of M on a Kronecker product."""
    before, n, after = prod(sizes[:keep]), sizes[keep], prod(sizes[keep + 1 :])
    return np.einsum("aibajb->ij", M.reshape(before, n, after, before, n, after))


def row_products(parts: list[Array]) -> Float[Array, "B N"]:
    """Columnwise Kronecker products: (n_1, N), (n_2, N), … → (n_1 n_2 …, N)."""
    product = parts[0]
    for part in parts[1:]:
        product = (product[:, None, :] * part).reshape(len(product) * len(part), part.shape[1])
    return product
