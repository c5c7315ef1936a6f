"""Which terms a model of a table has: from what its columns are to a sum of terms.

A design knows of every coded column whether it is numeric (with its box) or holds the codes of levels. Numeric columns
have an effect each (additive), or one together (separable); every column of levels has its own.
"""

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from odvff.errors import Argument, InputError
from odvff.features import Fourier, InducingPoints, Kronecker, Levels
from odvff.kernels import Additive, Categorical, Matern, Separable
from odvff.terms import Sum, Term

STRUCTURES = ("additive", "separable")
TIMES = " × "  # in the names of joint effects


@dataclass(frozen=True)
class NumericPart:
    """A numeric column: its position among the coded columns, its name and its box."""

    column: int
    name: str
    interval: tuple[float, float]


@dataclass(frozen=True)
class LevelsPart:
    """A column of codes 0 … n_levels − 1."""

    column: int
    name: str
    n_levels: int


@dataclass(frozen=True)
class Design:
    """What a model is made of, before any number is fitted."""

    numeric: tuple[NumericPart, ...]
    levels: tuple[LevelsPart, ...] = ()
    structure: str = "additive"
    own: tuple[Term, ...] = ()  # terms that a user gave, in place of those of numeric columns

    def __post_init__(self) -> None:
        if self.structure not in STRUCTURES:
            raise InputError(f"structure must be 'additive' or 'separable', got {self.structure!r}.")
        if not self.numeric and not self.levels and not self.own:
            raise InputError("there is no column to learn from; check which ones were left out.")

    @property
    def joint(self) -> bool:
        """Do the numeric columns share one term?"""
        return self.structure == "separable" and len(self.numeric) > 1

    def fourier_terms(self, n_harmonics: int, smoothness: float, completion: bool) -> Sum:
        """Fourier features for numeric columns, levels exactly."""
        if self.own:
            return Sum((*self.own, *self._level_terms))
        kernel = Matern(smoothness)
        features = [Fourier(n_harmonics, part.interval, completion) for part in self.numeric]
        if not self.joint:
            terms = [Term(kernel, f, (part.column,), part.name) for f, part in zip(features, self.numeric, strict=True)]
        elif len(features) <= 3:
            product = Separable((kernel,) * len(features))
            terms = [Term(product, Kronecker(tuple(features)), self._columns, self.joint_name)]
        else:
            raise InputError(
                Argument("structure", "separable"),
                f" has Fourier features for up to 3 numeric columns, got {len(features)}; use ",
                Argument("structure", "additive"),
                ", fewer columns, or ",
                Argument("method", "svgp"),
                ", whose points see any number.",
            )
        return Sum((*terms, *self._level_terms))

    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of numeric columns whose joint effects have names of their own: of two with one name, the last."""
        pairs = {TIMES.join((a.name, b.name)): (a.column, b.column) for a, b in combinations(self.numeric, 2)}
        return [pair for name, pair in pairs.items() if name not in self._names]

    def named_pairs(self, names: Any) -> list[tuple[int, int]]:
        """The pairs of numeric columns with these names."""
        places = {part.name: part.column for part in self.numeric}
        pairs: dict[str, tuple[int, int]] = {}
        there = ", ".join(places) or "there are none"
        for pair in names:
            for name in pair:
                if name not in places:
                    raise InputError(
                        Argument("interactions"),
                        f" names the column {name!r}, which is not one of the numeric columns: {there}. Categories "
                        "and columns left out have no joint effects.",
                    )
            first, second = sorted(pair, key=places.__getitem__)
            place, joint = (places[first], places[second]), TIMES.join((first, second))
            if first == second or place in pairs.values():
                raise InputError(
                    Argument("interactions"), f" names {pair!r}, which is no pair or was there before; leave it out."
                )
            if joint in self._names or joint in pairs:
                raise InputError(f"two effects would be called {joint!r}; rename one of the columns.")
            pairs[joint] = place
        return list(pairs.values())

    @property
    def _names(self) -> set[str]:
        return {*(part.name for part in self.numeric), *(part.name for part in self.levels)}

    def pair_term(
        self, pair: tuple[int, int], n_harmonics: tuple[int, int], smoothness: float, completion: bool
    ) -> Term:
        """A joint effect of two numeric columns."""
        parts = [part for part in self.numeric if part.column in pair]
        sizes = zip(n_harmonics, parts, strict=True)
        features = Kronecker(tuple(Fourier(n, part.interval, completion) for n, part in sizes))
        return Term(Separable((Matern(smoothness),) * 2), features, pair, TIMES.join(part.name for part in parts))

    def point_terms(self, Z: Any, fitted: Sum, jitter: float) -> Sum:
        """One term on points that see all numeric columns, with the kernels of fitted one-column terms."""
        n = len(self.numeric)
        kernels = [term.kernel for term in fitted.terms[:n]]
        kernel = _product(kernels) if self.joint else Additive(tuple(kernels))
        name = self.joint_name if self.joint else "all columns"
        return Sum((Term(kernel, InducingPoints(Z, jitter), self._columns, name), *fitted.terms[n:]))

    def started(self, terms: Sum, fitted: Sum) -> Sum:
        """Fourier terms with the kernels of fitted one-column terms; those of pairs come last, as they are."""
        n, kernels = len(self.numeric), [term.kernel for term in fitted]
        if self.joint:
            kernels[:n] = [_product(kernels[:n])]
        own, pairs = terms.terms[: len(kernels)], terms.terms[len(kernels) :]
        return Sum((*(replace(t, kernel=k) for t, k in zip(own, kernels, strict=True)), *pairs))

    @property
    def _columns(self) -> tuple[int, ...]:
        return tuple(part.column for part in self.numeric)

    @property
    def joint_name(self) -> str:
        return TIMES.join(part.name for part in self.numeric)

    @property
    def _level_terms(self) -> list[Term]:
        return [Term(Categorical(), Levels(part.n_levels), (part.column,), part.name) for part in self.levels]


def _product(kernels: list[Matern]) -> Separable:
    """A product with the lengthscales of these, and the variance of all of them together."""
    total = sum(k.variance for k in kernels)
    return Separable(
        tuple(Matern(k.smoothness, k.lengthscale, total if i == 0 else 1.0) for i, k in enumerate(kernels))
    )
