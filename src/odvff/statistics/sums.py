"""Sums over rows that are all a Gaussian fit needs of its data, whatever the hyper-parameters.

Every row gives a vector z = (φ̂(x), 1, y); the statistics are Σ_n w_n z zᵀ. They contain ΦᵀWΦ, ΦᵀWy, yᵀWy, ΦᵀW1 and
Σw; they add over chunks, files, threads and machines; and shifting or scaling y afterwards is exact algebra on them.
Weights are frequencies: weight 2 is the row twice, weight 0 the row left out.

Rows outside the box have features that depend on the lengthscale. They are few, and kept as they are (`outside`).

The statistics of fewer harmonics follow from those of many, exactly, and no row is looked at again: the features with f
harmonics are linear in those with F ≥ f, z' = T z with a T for each term that features know (`coarsening`), so that
Σ w z'z'ᵀ = T (Σ w zzᵀ) Tᵀ.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.statistics.basis import signature
from odvff.support.shapes import Array, Float
from odvff.terms import Sum


@dataclass(frozen=True)
class Rows:
    """Rows, with one or several outputs."""

    X: Float[Array, "N D"]
    Y: Float[Array, "N K"]
    weights: Any  # (N,), or None where all are 1

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> "Rows":
        return Rows(*(None if array is None else array[rows] for array in vars(self).values()))

    def __add__(self, other: "Rows") -> "Rows":
        return Rows(*map(np.concatenate, zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def all_weights(self) -> Float[Array, " N"]:
        return np.ones(len(self)) if self.weights is None else self.weights


@dataclass(frozen=True)
class Statistics:
    """Σ w z zᵀ over the rows inside the box, z = (φ̂, 1, y_1, …), and the rows outside it.

    Add two of them to merge them: `a + b`. `arrays()` and `from_arrays` turn them into plain arrays and back.
    """

    moments: Float[Array, "K K"]  # |β| + 1 + outputs
    n_features: int
    n_rows: int  # with a positive weight, outside included
    outside: Rows
    signature: str = ""  # of the features that they are sums of

    @property
    def n_outputs(self) -> int:
        return len(self.moments) - self.n_features - 1

    @property
    def gram(self) -> Float[Array, "B B"]:
        """ΦᵀWΦ of the rows inside."""
        return self.moments[: self.n_features, : self.n_features]

    @property
    def weight(self) -> float:
        """Σw, outside included: what a sample size is."""
        return float(self.moments[self.n_features, self.n_features] + self.outside.weights.sum())

    def projections(self, output: int = 0) -> Float[Array, " B"]:
        """ΦᵀWy of the rows inside."""
        return self.moments[: self.n_features, self._column(output)]

    def sum_of_squares(self, output: int = 0) -> float:
        """yᵀWy, outside included."""
        i = self._column(output)
        return float(self.moments[i, i] + self.outside.weights @ self.outside.Y[:, output] ** 2)

    def mean(self, output: int = 0) -> float:
        """Σwy/Σw."""
        total = self.moments[self.n_features, self._column(output)] + self.outside.weights @ self.outside.Y[:, output]
        return float(total / self.weight)

    def variance(self, output: int = 0) -> float:
        """Σw(y − mean)²/Σw."""
        return max(self.sum_of_squares(output) / self.weight - self.mean(output) ** 2, 0.0)

    def standardised(self, shift: float, scale: float, output: int = 0) -> "Statistics":
        """The statistics of (y − shift)/scale."""
        i, one = self._column(output), self.n_features
        moments = self.moments.copy()
        # T M Tᵀ, where T differs from I in one row: y ← (y − shift·1)/scale
        moments[i] = (moments[i] - shift * moments[one]) / scale
        moments[:, i] = (moments[:, i] - shift * moments[:, one]) / scale
        Y = self.outside.Y.copy()
        Y[:, output] = (Y[:, output] - shift) / scale
        return replace(self, moments=moments, outside=replace(self.outside, Y=Y))

    def __add__(self, other: "Statistics") -> "Statistics":
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.moments.shape != other.moments.shape or self.n_features != other.n_features:
            raise InputError(
                f"statistics of {self.n_features} features and {self.n_outputs} outputs cannot be added to those of "
                f"{other.n_features} features and {other.n_outputs} outputs; collect both with the same terms."
            )
        if self.signature != other.signature:
            raise InputError(
                f"statistics of different features cannot be added: {self.signature} and {other.signature}; collect "
                "both with the same terms."
            )
        return replace(
            self,
            moments=self.moments + other.moments,
            n_rows=self.n_rows + other.n_rows,
            outside=self.outside + other.outside,
        )

    def arrays(self) -> dict[str, Any]:
        """Plain arrays, for a file."""
        return {
            "moments": self.moments,
            "n_features": np.int64(self.n_features),
            "n_rows": np.int64(self.n_rows),
            **{f"outside_{name}": array for name, array in vars(self.outside).items()},
            "signature": np.frombuffer(self.signature.encode(), dtype=np.uint8),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Any]) -> "Statistics":
        """The inverse of `arrays`, with its shapes checked."""
        try:
            moments, X, Y, weights = (
                np.asarray(arrays[name], dtype=np.float64)
                for name in ("moments", "outside_X", "outside_Y", "outside_weights")
            )
            n_features, n_rows = int(arrays["n_features"]), int(arrays["n_rows"])
            signature = np.asarray(arrays["signature"], dtype=np.uint8).tobytes().decode()
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"these arrays are no statistics: {error!r}.") from error
        n, rows = len(moments), X.shape[:1]
        shapes_fit = (moments.shape, Y.shape, weights.shape) == ((n, n), (*rows, n - n_features - 1), rows)
        finite = all(np.isfinite(a).all() for a in (moments, X, Y, weights))
        if not shapes_fit or not 0 < n_features < n or X.ndim != 2 or not finite:
            raise InputError("these arrays are no statistics: shapes disagree, or an entry is not finite.")
        return cls(moments, n_features, n_rows, Rows(X, Y, weights), signature)

    def _column(self, output: int) -> int:
        if not 0 <= output < self.n_outputs:
            raise InputError(f"there is no output {output}; the statistics have {self.n_outputs}, counted from 0.")
        return self.n_features + 1 + output


def with_fewer_harmonics(statistics: Statistics, terms: Sum, fewer: Sum) -> Statistics:
    """The statistics of `fewer`, which are these terms with fewer harmonics, from those of `terms`."""
    terms, fewer = terms.canonical, fewer.canonical
    if statistics.signature not in ("", signature(terms)):
        raise InputError(f"the statistics are of {statistics.signature}, and the terms are {signature(terms)}.")
    if statistics.signature == signature(fewer):
        return statistics
    if len(terms) != len(fewer):
        raise InputError(f"there are {len(terms)} terms, and {len(fewer)} with fewer harmonics; give one for each.")
    maps = []
    for term, few in zip(terms, fewer, strict=True):
        if term.columns != few.columns:
            raise InputError(
                f"term {term.name!r} has {term.features!r} of columns {term.columns}, which do not contain "
                f"{few.features!r} of columns {few.columns}."
            )
        maps.append(term.fixed.coarsening(few.features))
    half = _times(maps, terms.slices, statistics.moments)
    moments = _times(maps, terms.slices, half.T)
    n_features = len(moments) - (len(statistics.moments) - statistics.n_features)
    return Statistics(0.5 * (moments + moments.T), n_features, statistics.n_rows, statistics.outside, signature(fewer))


def holds(terms: Sum, fewer: Sum) -> bool:
    """Has every term at least the harmonics that it has among `fewer`, which differ by nothing else?"""
    pairs = zip(terms.canonical, fewer.canonical, strict=True)
    return all(term.fixed.holds(few.features) for term, few in pairs)


def _times(maps: list[Any], slices: list[slice], M: Float[Array, "K M"]) -> Float[Array, "_ M"]:
    """diag(T_1, T_2, …, I) M, with T from all features of a term to its fewer ones; None where they are the same."""
    parts = [M[s] if T is None else T @ M[s] for T, s in zip(maps, slices, strict=True)]
    return np.concatenate([*parts, M[slices[-1].stop :]])
