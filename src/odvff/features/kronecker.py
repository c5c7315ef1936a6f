"""Products of one-dimensional Fourier features, for a separable kernel over two or three columns."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from odvff.errors import FileError, InputError
from odvff.features.base import Axis, Columns, FixedFeatures
from odvff.features.fourier import Fourier
from odvff.features.interval import read_columns
from odvff.features.inverses import Product
from odvff.kernels import Matern, Separable, separable, separable_columns
from odvff.linalg import KroneckerProduct
from odvff.support.arrays import Array
from odvff.support.checks import matrix


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
    def is_pair(self) -> bool:  # type: ignore[override]
        return len(self.factors) == 2

    @property
    def size(self) -> int:
        return int(np.prod([f.size for f in self.factors]))

    @property
    def boxes(self) -> tuple[tuple[float, float] | None, ...]:
        return tuple(f.boxes[0] for f in self.factors)

    def fill(self, X: Array, out: Array) -> None:
        parts = [np.empty((f.size, len(X))) for f in self.factors]
        for i, (f, part) in enumerate(zip(self.factors, parts, strict=True)):
            f.fill(X[:, [i]], part)
        out[:] = row_products(parts)

    def suited(self, kernel: Any) -> "Kronecker":
        return Kronecker(tuple(f.suited(k) for f, k in self._with(kernel)))

    def read(self, kernel: Any, columns: Columns) -> tuple[Separable, Columns]:
        factors = separable(kernel, len(self.factors))
        # factors of GPJax's say which columns they read
        read = columns if isinstance(kernel, Separable) else read_columns(kernel.kernels, columns)
        return Separable(tuple(factors)), read

    def Kuu(self, kernel: Any) -> KroneckerProduct:
        """⊗ K_d."""
        return KroneckerProduct(tuple(f.Kuu(k) for f, k in self._with(kernel)))

    def Kuf(self, kernel: Any, X: Array) -> Array:
        X = matrix(X, "X")
        columns = separable_columns(kernel, X.shape[1])
        return row_products([f.Kuf(k, X[:, [i]]) for (f, k), i in zip(self._with(kernel), columns, strict=True)])

    def Kuf_rates(self, kernel: Any, X: Array) -> list[Array]:
        sides = self._with(kernel)
        values = [f.Kuf(k, X[:, [i]]) for i, (f, k) in enumerate(sides)]
        rates = []
        for i, (f, k) in enumerate(sides):
            (rate,) = f.Kuf_rates(k, X[:, [i]])
            rates.append(row_products([*values[:i], rate, *values[i + 1 :]]))
        return rates

    def log_rates(self, kernel: Any) -> tuple[float, ...]:
        return tuple(chain.from_iterable(f.log_rates(k) for f, k in self._with(kernel)))

    # abilities

    @property
    def key(self) -> Hashable | None:
        keys = [(type(f), f.key) for f in self.factors]
        return None if any(key is None for _, key in keys) else tuple(keys)

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Any) -> "KroneckerGroup":
        """Each column of all terms at once: the first has the variance."""
        alone, groups = np.zeros(len(like)), []
        for i, f in enumerate(self.factors):
            variance = parameters[:, -1] if i == 0 else alone
            sides = [k.factors[i] for k in kernel_of]
            own = np.stack([parameters[:, i], variance], axis=1)
            groups.append(f.whitened([term.factors[i] for term in like], sides, own))
        return KroneckerGroup(tuple(groups), tuple(f.size for f in self.factors))

    @property
    def axes(self) -> tuple[Axis, ...]:
        each = [f.axes for f in self.factors]
        return tuple(chain.from_iterable(each)) if all(each) else ()

    def orthogonal(self) -> "Kronecker":
        return Kronecker(tuple(f.orthogonal() for f in self.factors))

    def sides(self, kernel: Any) -> list[tuple[FixedFeatures, Any]]:
        return self._with(kernel)

    def refined(self, factor: int) -> "Kronecker":
        each = max(2, round(factor ** (1 / len(self.factors))))
        return Kronecker(tuple(f.refined(each) for f in self.factors))

    def positions(self, fine: "Kronecker") -> np.ndarray:
        index = np.zeros(1, dtype=int)
        for f, g in zip(self.factors, fine.factors, strict=True):
            index = (index[:, None] * g.size + f.positions(g)).ravel()
        return index

    @property
    def resolution(self) -> int:
        return int(self.factors[0].resolution)

    def with_resolution(self, n: int) -> "Kronecker":
        return Kronecker(tuple(f.with_resolution(n) for f in self.factors))

    def holds(self, fewer: Any) -> bool:
        few = getattr(fewer, "factors", ())
        return len(few) == len(self.factors) and all(f.holds(g) for f, g in zip(self.factors, few, strict=True))

    def coarsening(self, fewer: Any) -> Any | None:
        few = getattr(fewer, "factors", ())
        if len(few) != len(self.factors):
            raise InputError(f"{self!r} do not contain {fewer!r}.")
        if self == fewer:
            return None
        maps = zip(self.factors, [f.coarsening(g) for f, g in zip(self.factors, few, strict=True)], strict=True)
        return reduce(np.kron, [np.eye(f.size) if T is None else T for f, T in maps])

    def words(self) -> str:
        return " × ".join(str(f.resolution) for f in self.factors) + " harmonics"

    def to_words(self, arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
        return {"factors": [{"kind": f.kind(), **f.to_words(arrays, prefix)} for f in self.factors]}

    @classmethod
    def from_words(cls, words: dict[str, Any], arrays: dict[str, Any], prefix: str, most: int) -> "Kronecker":
        if not isinstance(words["factors"], list):
            raise FileError(f"a list is missing; there is {str(words['factors'])[:40]!r}.")
        unknown = next((w["kind"] for w in words["factors"] if w["kind"] != Fourier.kind()), None)
        if unknown is not None:
            raise FileError(f"it has unknown features, {str(unknown)[:40]!r}.")
        return cls(tuple(Fourier.from_words(w, arrays, prefix, most) for w in words["factors"]))

    def _with(self, kernel: Any) -> list[tuple[Any, Matern]]:
        """The features and the kernel of each column."""
        return list(zip(self.factors, separable(kernel, len(self.factors)), strict=True))


@dataclass(frozen=True)
class KroneckerGroup:
    """Products of as many columns each, column by column."""

    columns: tuple[Any, ...]  # a group of the terms for each column
    sizes: tuple[int, ...]

    @property
    def inverses(self) -> list[Product]:
        of_columns = zip(*(group.inverses for group in self.columns), strict=True)
        return [Product(tuple(chain.from_iterable(one.factors for one in own))) for own in of_columns]

    def traces(self, Ms: Sequence[Any]) -> Any:
        """Those of a column meet the trace of M over all others."""
        dense = [M.dense() for M in Ms]
        traces = [
            group.traces([_partial_trace(M, self.sizes, i) for M in dense]) for i, group in enumerate(self.columns)
        ]
        return np.concatenate(traces, axis=1)


def _partial_trace(M: Any, sizes: Sequence[int], keep: int) -> Any:
    """Σ over all other axes of M on a Kronecker product."""
    before, n, after = int(np.prod(sizes[:keep])), sizes[keep], int(np.prod(sizes[keep + 1 :]))
    return np.einsum("aibajb->ij", M.reshape(before, n, after, before, n, after))


def row_products(parts: list[Array]) -> Array:
    """Columnwise Kronecker products: (n_1, N), (n_2, N), … → (n_1 n_2 …, N)."""
    product = parts[0]
    for part in parts[1:]:
        product = (product[:, None, :] * part).reshape(len(product) * len(part), part.shape[1])
    return product
