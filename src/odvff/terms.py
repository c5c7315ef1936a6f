"""A model is a sum of independent terms: f = Σ_t f_t, and each term owns columns, a kernel and features."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from odvff import kernels
from odvff.errors import InputError, KernelError
from odvff.features import Features
from odvff.linalg import BlockDiagonal, Covariance
from odvff.support.arrays import Array, concatenate
from odvff.support.checks import matrix


@dataclass(frozen=True)
class Term:
    """f_t ~ GP(0, k_t) on some columns, with features for its covariance.

    The kernel and the features see only `X[:, columns]` (all columns by default); a GPJax kernel's `active_dims`
    count within these.
    """

    kernel: Any
    features: Features
    columns: tuple[int, ...] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.features, type) or not isinstance(self.features, Features):
            raise KernelError(
                f"features must offer Kuu and Kuf, got {self.features!r}; use an instance of one of odvff.features."
            )
        if self.columns is not None:
            given: Any = self.columns
            columns = tuple(given) if isinstance(given, list | tuple | range | np.ndarray) else (given,)
            numbered = all(isinstance(c, int | np.integer) and not isinstance(c, bool) and c >= 0 for c in columns)
            if not columns or not numbered:
                raise InputError(
                    f"columns must be whole numbers counted from 0, got {self.columns!r}; give their positions."
                )
            object.__setattr__(self, "columns", tuple(int(c) for c in columns))

    def select(self, X: Array, name: str = "X") -> Array:
        """The columns that this term reads."""
        X = matrix(X, name)
        if self.columns is None:
            return X
        if max(self.columns) >= X.shape[1]:
            raise InputError(
                f"term {self.name!r} reads column {max(self.columns)}, but {name} has {X.shape[1]} "
                f"column{'s' * (X.shape[1] != 1)} (counted from 0); pass the whole table, or change `columns`."
            )
        return X[:, list(self.columns)]

    @property
    def column(self) -> int:
        """The one column of a term that reads one."""
        return 0 if self.columns is None else self.columns[0]

    def Kuu(self) -> Covariance:
        return self.features.Kuu(self.kernel)

    def Kuf(self, X: Array) -> Array:
        return self.features.Kuf(self.kernel, self.select(X))

    def covariance(self, X: Array, Z: Array) -> Array:
        """k_t(X, Z)."""
        return kernels.covariance(self.kernel, self.select(X), self.select(Z, "Z"))

    def variances(self, X: Array) -> Array:
        """k_t(x, x), row by row."""
        return kernels.variances(self.kernel, self.select(X))


@dataclass(frozen=True)
class Sum:
    """Independent terms: kernels add, features stack, Kuu is block-diagonal.

    The paper's additive kernel is one Fourier term for each column; its mixed model for non-stationary kernels is a
    Fourier term plus a term on inducing points.
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        terms: tuple[Any, ...] = tuple(self.terms) if isinstance(self.terms, Iterable) else (self.terms,)
        if not terms or not all(isinstance(term, Term) for term in terms):
            raise InputError(f"a model needs a list of one or more Terms, got {self.terms!r}.")
        named = [
            t if t.name else Term(t.kernel, t.features, t.columns, _default_name(i, t)) for i, t in enumerate(terms)
        ]
        names = [t.name for t in named]
        repeated = next((n for n in names if names.count(n) > 1), None)
        if repeated is not None:
            raise InputError(f"two terms are called {repeated!r}; give each its own `name`.")
        object.__setattr__(self, "terms", tuple(named))

    @classmethod
    def of(cls, terms: "Sum | Term | Iterable[Term]") -> "Sum":
        """The terms as a `Sum`, if they are not one already."""
        return terms if isinstance(terms, Sum) else cls(terms)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(term.name for term in self.terms)

    def Kuu(self) -> BlockDiagonal:
        """blockdiag(K_1, …, K_T)."""
        return BlockDiagonal(tuple(term.Kuu() for term in self.terms), self.names)

    def Kuf(self, X: Array) -> Array:
        """Cov(β, f(x)) = Cov(β_t, f_t(x)), stacked: (|β|, N)."""
        return concatenate(term.Kuf(X) for term in self.terms)

    def covariance(self, X: Array, Z: Array) -> Array:
        """k(X, Z) = Σ_t k_t(X, Z)."""
        return reduce(add, (term.covariance(X, Z) for term in self.terms))

    def variances(self, X: Array) -> Array:
        """k(x, x), row by row."""
        return reduce(add, (term.variances(X) for term in self.terms))


def _default_name(i: int, term: Term) -> str:
    if term.columns is None:
        return f"term {i}"
    return f"column{'s' * (len(term.columns) > 1)} {', '.join(map(str, term.columns))} (term {i})"


__all__ = ["Sum", "Term"]
