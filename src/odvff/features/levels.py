"""A categorical column, exactly: one feature for each level."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.kernels import categorical, one_column
from odvff.linalg import Diagonal
from odvff.support.arrays import Array, is_traced
from odvff.support.checks import matrix, whole


@dataclass(frozen=True)
class Levels:
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

    def inside(self, X: Array) -> Array:
        """One-hot codes, of shape (n_levels, N): no hyper-parameter enters."""
        return (self.codes(X) == np.arange(self.n_levels)[:, None]) * 1.0

    def codes(self, X: Array) -> Array:
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
        """I/σ²."""
        return Diagonal(np.ones(self.n_levels) / categorical(kernel).variance)

    def Kuf(self, kernel: Any, X: Array) -> Array:
        """One-hot codes, of shape (n_levels, N)."""
        categorical(kernel)
        X = matrix(X, "X")
        return self.inside(X[:, [one_column(kernel, X.shape[1])]])

    def refined(self, factor: int) -> "Levels":
        """Nothing is missing from the levels."""
        return self

    def positions(self, kernel: Any, fine: "Levels") -> np.ndarray:
        return np.arange(self.n_levels)
