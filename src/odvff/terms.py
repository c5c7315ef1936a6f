"""A model is a sum of independent terms: f = Σ_t f_t, and each term owns columns, a kernel and features."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import groupby
from operator import add, itemgetter
from typing import Any, cast

import numpy as np

from odvff import kernels
from odvff.errors import InputError
from odvff.features import Features, FixedFeatures
from odvff.features.base import check_features
from odvff.linalg import BlockDiagonal, Covariance
from odvff.linalg.composed import slices
from odvff.support.arrays import Array, concatenate
from odvff.support.checks import matrix
from odvff.support.shapes import Float


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
        check_features(self.features)
        if self.columns is not None:
            given: Any = self.columns
            columns = tuple(given) if isinstance(given, list | tuple | range | np.ndarray) else (given,)
            numbered = all(isinstance(c, int | np.integer) and not isinstance(c, bool) and c >= 0 for c in columns)
            named = all(isinstance(c, str) for c in columns)
            if not columns or not (numbered or named):
                raise InputError(
                    f"columns must be whole numbers counted from 0, got {self.columns!r}; give their positions (or, "
                    "for the `terms` of an estimator, their names)."
                )
            object.__setattr__(self, "columns", tuple(columns if named else (int(c) for c in columns)))

    def select(self, X: Any, name: str = "X") -> Float[Array, "N D"]:
        """The columns that this term reads."""
        X = matrix(X, name)
        if self.columns is None:
            return X
        if isinstance(self.columns[0], str):
            raise InputError(
                f"term {self.name!r} names its columns, {', '.join(map(str, self.columns))}, and these rows have no "
                "names; give positions, or pass the term to an estimator as one of its `terms`."
            )
        if max(self.columns) >= X.shape[1]:
            raise InputError(
                f"term {self.name!r} reads column {max(self.columns)}, but {name} has {X.shape[1]} "
                f"column{'s' * (X.shape[1] != 1)} (counted from 0); pass the whole table, or change `columns`."
            )
        return X[:, list(self.columns)]

    @property
    def fixed(self) -> FixedFeatures:
        """Its features, where these are fixed inside boxes."""
        return cast(FixedFeatures, self.features)

    @property
    def size(self) -> int:
        """How many features it has."""
        return self.features.suited(self.kernel).size

    def Kuu(self) -> Covariance:
        return self.features.Kuu(self.kernel)

    def Kuf(self, X: Any) -> Float[Array, "B N"]:
        return self.features.Kuf(self.kernel, self.select(X))

    def covariance(self, X: Any, Z: Any) -> Float[Array, "N M"]:
        """k_t(X, Z)."""
        return kernels.covariance(self.kernel, self.select(X), self.select(Z, "Z"))

    def variances(self, X: Any) -> Float[Array, " N"]:
        """k_t(x, x), row by row."""
        return kernels.variances(self.kernel, self.select(X))

    def point_sum(self, points: Float[Array, "G D"], weights: Float[Array, " G"]) -> Callable[[Any], Any] | None:
        """X ↦ k_t(X, γ) w in a time that does not grow with the points, where the term has one column."""
        selected, kernel = self.select(points, "gamma"), kernels.plain(self.kernel)
        one = kernels.point_sum(kernel, selected[:, 0], weights) if selected.shape[1] == 1 else None
        column = 0 if self.columns is None else self.columns[0]
        return None if one is None else lambda X: one(X[:, column])

    def canonical(self) -> "Term":
        """The term in the form in which statistics are collected: features in the basis in which sums lose no digits,
        the kernel by its plain numbers, and the columns that it reads as columns of the term.
        """
        if not self.features.is_fixed:
            raise InputError(
                f"term {self.name!r} has {type(self.features).__name__}, whose features change with the "
                "hyper-parameters, so their statistics cannot be taken once and for all; use Fourier, Kronecker or "
                "Levels, or another method."
            )
        features: Any = self.features.suited(self.kernel)
        kernel, columns = features.read(self.kernel, self.columns)
        n = len(features.boxes)
        if columns is not None and len(columns) != n:
            raise InputError(
                f"term {self.name!r} has {n} factor{'s' * (n != 1)} and reads {len(columns)} columns; give one for "
                "each."
            )
        return Term(kernel, features.orthogonal(), columns, self.name)


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
        named = [t if t.name else replace(t, name=_default_name(i, t)) for i, t in enumerate(terms)]
        names = [t.name for t in named]
        repeated = next((n for n in names if names.count(n) > 1), None)
        if repeated is not None:
            raise InputError(f"two terms are called {repeated!r}; give each its own `name`.")
        object.__setattr__(self, "terms", tuple(named))

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the terms."""
        return {"terms": self.terms}

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

    @property
    def is_fixed(self) -> bool:
        """Do the features of all terms take no hyper-parameter inside their boxes?"""
        return all(term.features.is_fixed for term in self.terms)

    @cached_property
    def canonical(self) -> "Sum":
        """The terms as statistics know them."""
        return Sum(tuple(term.canonical() for term in self.terms))

    @cached_property
    def slices(self) -> list[slice]:
        """Where the features of each term stand among all."""
        return slices([term.size for term in self.terms])

    @property
    def size(self) -> int:
        """How many features there are in all."""
        return int(self.slices[-1].stop)

    @cached_property
    def _keys(self) -> list[Any]:
        """What like terms have in common."""
        features = [term.features.suited(term.kernel) for term in self.terms]
        return [(None, i) if f.key is None else (type(f), f.key) for i, f in enumerate(features)]

    @cached_property
    def alike(self) -> list[list[int]]:
        """Positions of the terms, grouped by equal keys of their features."""
        groups: dict[Any, list[int]] = {}
        for i, key in enumerate(self._keys):
            groups.setdefault(key, []).append(i)
        return list(groups.values())

    @cached_property
    def runs(self) -> list[list[int]]:
        """Runs of adjacent terms with equal keys, in the order of the terms."""
        return [[i for i, _ in run] for _, run in groupby(enumerate(self._keys), key=itemgetter(1))]

    def with_kernels(self, fitted: "Sum") -> "Sum":
        """These terms with the kernels and columns of others."""
        pairs = zip(self.terms, fitted.terms, strict=True)
        return Sum(tuple(replace(t, kernel=f.kernel, columns=f.columns) for t, f in pairs))

    def Kuu(self) -> BlockDiagonal:
        """blockdiag(K_1, …, K_T)."""
        return BlockDiagonal(tuple(term.Kuu() for term in self.terms), self.names)

    def Kuf(self, X: Any) -> Float[Array, "B N"]:
        """Cov(β, f(x)) = Cov(β_t, f_t(x)), stacked."""
        return concatenate(term.Kuf(X) for term in self.terms)

    def covariance(self, X: Any, Z: Any) -> Float[Array, "N M"]:
        """k(X, Z) = Σ_t k_t(X, Z)."""
        return reduce(add, (term.covariance(X, Z) for term in self.terms))

    def variances(self, X: Any) -> Float[Array, " N"]:
        """k(x, x), row by row."""
        return reduce(add, (term.variances(X) for term in self.terms))


def _default_name(i: int, term: Term) -> str:
    if term.columns is None:
        return f"term {i}"
    return f"column{'s' * (len(term.columns) > 1)} {', '.join(map(str, term.columns))} (term {i})"
