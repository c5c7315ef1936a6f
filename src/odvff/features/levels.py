"""A categorical column, exactly: one feature for each level."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features.base import Columns, FixedFeatures, Stored, WhitenedGroup
from odvff.kernels import Categorical, categorical, one_column
from odvff.linalg import Diagonal
from odvff.support.arrays import Array, is_traced
from odvff.support.checks import matrix, whole
from odvff.support.shapes import Float, Int


@dataclass(frozen=True)
class Levels(FixedFeatures):
    """φ(c) = one-hot and K = I/σ² for a column of codes 0 … n_levels − 1.

    The code −1 stands for a level that is missing or was never seen: its features are zero, so f keeps its prior.

    >>> Levels(3).inside([[2], [-1]])
    array([[0., 0.],
           [0., 0.],
           [1., 0.]])
    """

    n_levels: int

    def __post_init__(self) -> None:
        whole(self.n_levels, "n_levels", at_least=1, remedy="count the column's levels")

    @property
    def size(self) -> int:
        return self.n_levels

    @property
    def boxes(self) -> tuple[None]:
        return (None,)

    def fill(self, X: Float[Array, "N 1"], out: Float[Array, "B N"]) -> None:
        out[:] = self._one_hot(X)

    def _one_hot(self, X: Any) -> Float[Array, "B N"]:
        return (self.codes(X) == np.arange(self.n_levels)[:, None]) * 1.0

    def codes(self, X: Any) -> Float[Array, " N"]:
        """The one column of X, of codes that there are."""
        codes = matrix(X, "X", n_columns=1)[:, 0]
        if not is_traced(codes):
            wrong = (codes != np.floor(codes)) | (codes < -1) | (codes >= self.n_levels)
            if wrong.any():
                i = int(np.argmax(wrong))
                raise InputError(
                    f"X has the code {codes[i]:g} in row {i}; the codes of {self.n_levels} levels are 0 to "
                    f"{self.n_levels - 1}, and −1 for a missing or unseen level."
                )
        return codes

    def Kuu(self, kernel: Any) -> Diagonal:
        return Diagonal(np.ones(self.n_levels) / categorical(kernel).variance)

    def Kuf(self, kernel: Any, X: Any) -> Float[Array, "B N"]:
        categorical(kernel)
        X = matrix(X, "X")
        return self._one_hot(X[:, [one_column(kernel, X.shape[1])]])

    def read(self, kernel: Any, columns: Columns) -> tuple[Categorical, Columns]:
        return categorical(kernel), columns

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Float[Array, "T 1"]) -> WhitenedGroup:
        # C⁻¹ = σ I, and no lengthscale
        inverses = [Multiple(float(np.exp(p / 2))) for p in parameters[:, -1]]
        return WhitenedGroup(inverses, lambda Ms: np.zeros((len(Ms), 0)))

    def curve(self, kernel: Any, weights: Float[Array, " B"]) -> Callable[[Any], Any]:
        values = np.append(weights, 0.0)  # 0 for the code −1
        return lambda x: values.take(self.codes(x[:, None]).astype(np.intp))

    def refined(self, factor: int) -> "Levels":
        """Nothing is missing from the levels."""
        return self

    def positions(self, fine: Any) -> Int[Array, " B"]:
        return np.arange(self.n_levels)

    def words(self) -> str:
        return f"{self.n_levels} level{'s' * (self.n_levels != 1)}"

    @classmethod
    def from_words(cls, words: dict[str, Any], stored: Stored) -> "Levels":
        return cls(stored.at_most(words["n_levels"]))


@dataclass(frozen=True)
class Multiple:
    """A multiple of the identity."""

    scale: float

    __array_ufunc__ = None  # an array that is multiplied with it from the left leaves that to `__rmatmul__`

    @property
    def T(self) -> "Multiple":
        return self

    def __matmul__(self, M: Any) -> Any:
        return self.scale * M

    __rmatmul__ = __matmul__
