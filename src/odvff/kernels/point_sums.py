"""Σ_i a_i k(γ_i, x) of a one-column kernel in a time that does not grow with the number of points.

A Matérn kernel is e^{−λr} times a polynomial in λr, so what the points to the left of x add is one too, in the distance
h = λ(x−g) from the nearest of them:

    Σ_{γ_i ≤ g} a_i k(γ_i, x) = e^{−h} Q_g(h),     Q_{g′}(h) = e^{−d} Q_g(d + h) + a′ Σ_k c_k h^k

at the next point, g′ = g + d/λ, whose weight is a′. The same holds to the right. One look for the nearest points and
two exponentials for each row, whatever their number; every exponent is negative, so nothing overflows.
"""

from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np

from odvff.support.arrays import Array
from odvff.support.shapes import Float, Int

VANISHED = 1e3
"""Distances are cut off here, in units of 1/λ: e^{−1000} is zero, and powers of larger numbers would overflow."""

# c_k in k(r) = σ² Σ_k c_k (λr)^k e^{−λr}
POLYNOMIALS = {1: (1.0,), 2: (1.0, 1.0), 3: (1.0, 1.0, 1 / 3)}

BUCKETS_A_POINT, MOST_BUCKETS = 16, 2**14
MOST_LOOKS = 4  # at points that share a bucket


def polynomial(order: int, r: Array) -> Array:
    """Σ_{k≤p} c_k rᵏ, what e⁻ʳ is multiplied with; order is p + 1 = ν + ½. NumPy and JAX alike."""
    return 1.0 if order == 1 else 1 + r if order == 2 else 1 + r * (1 + r / 3)


@dataclass(frozen=True)
class Places:
    """x ↦ how many of the sorted points are not beyond it: NumPy's `searchsorted` in a tenth of its time.

    Buckets of equal width tell at once which points are in lower ones; then those of its own are looked at in turn.
    """

    points: Float[Array, " K"]  # sorted, and at the end infinity, so that there is always a next one
    scale: float  # buckets in a unit of x
    first: Int[Array, " buckets"]  # how many points are in the buckets before each
    looks: int  # the most points in any bucket

    @classmethod
    def among(cls, points: Float[Array, " G"]) -> "Places":
        n_buckets = min(BUCKETS_A_POINT * len(points), MOST_BUCKETS)
        with np.errstate(over="ignore", divide="ignore"):
            scale = float(np.divide(n_buckets - 1, points[-1] - points[0]))
        places = cls(np.append(points, np.inf), scale, np.zeros(n_buckets, np.intp), MOST_LOOKS + 1)
        if not 0 < scale < np.inf:  # all points are one, or as far apart as numbers go
            return places
        counts = np.bincount(places._bucket(points), minlength=n_buckets)
        return replace(places, first=np.cumsum(counts) - counts, looks=int(counts.max()))

    def _bucket(self, x: Float[Array, " N"]) -> Int[Array, " N"]:
        """Never falls as x grows, so a point in a lower bucket is below x."""
        place = np.clip(x, self.points[0], self.points[-2])
        place -= self.points[0]
        place *= self.scale
        return np.minimum(place, len(self.first) - 1.0, out=place).astype(np.intp)

    def __call__(self, x: Float[Array, " N"]) -> Int[Array, " N"]:
        if self.looks > MOST_LOOKS:
            return np.searchsorted(self.points[:-1], x, side="right")
        place = np.take(self.first, self._bucket(x))
        for _ in range(self.looks):
            place += x >= np.take(self.points, place)
        return place


@dataclass(frozen=True)
class MaternSum:
    """x ↦ Σ_i a_i k(γ_i, x), from the states at the sorted points."""

    rate: float
    points: Float[Array, " G"]  # sorted
    places: Places
    left: Float[Array, "G+1 s"]  # coefficients of Q at each point, for those to the left and itself
    right: Float[Array, "G+1 s"]  # for those to the right; the first row of `left` and the last of `right` are of none

    @classmethod
    def of(cls, kernel: Any, points: Float[Array, " G"], weights: Float[Array, " G"]) -> "MaternSum":
        order = np.argsort(points)
        g, a, rate = points[order], kernel.variance * weights[order], float(kernel.rate)
        steps = rate * np.minimum(np.diff(g), VANISHED / rate)
        none = np.zeros((1, kernel.order))
        # to the right: the same from the other end
        left, right = _coefficients(a, steps, kernel.order), _coefficients(a[::-1], steps[::-1], kernel.order)[::-1]
        return cls(rate, g, Places.among(g), np.concatenate([none, left]), np.concatenate([right, none]))

    def __call__(self, x: Float[Array, " N"]) -> Float[Array, " N"]:
        place = self.places(x)  # so many points are to the left, or here
        total = np.zeros(len(x))
        for coefficients, nearest in ((self.left, place - 1), (self.right, place)):
            h = np.take(self.points, nearest, mode="clip")
            np.abs(np.subtract(x, h, out=h), out=h)
            np.minimum(h, VANISHED / self.rate, out=h)
            h *= self.rate
            here = np.take(coefficients, place, axis=0)  # many times faster than coefficients[place]
            value = here[:, -1].copy()
            for j in range(here.shape[1] - 2, -1, -1):  # Horner's rule
                value *= h
                value += here[:, j]
            np.negative(h, out=h)
            value *= np.exp(h, out=h)
            total += value
        return total


def _coefficients(a: Float[Array, " G"], steps: Float[Array, " G-1"], order: int) -> Float[Array, "G s"]:
    """Those of Q at every point, from left to right."""
    Q, result = np.zeros(order), np.zeros((len(a), order))
    for i, weight in enumerate(a):
        d = steps[i - 1] if i else 0.0
        further = [sum(comb(k, j) * d ** (k - j) * Q[k] for k in range(j, order)) for j in range(order)]
        result[i] = Q = np.exp(-d) * np.array(further) + weight * np.array(POLYNOMIALS[order])
    return result


@dataclass(frozen=True)
class LevelSum:
    """The same for a column of codes: a sum for each of the levels of the points."""

    codes: Float[Array, " K"]  # sorted, without repetition
    values: Float[Array, " K"]

    @classmethod
    def of(cls, kernel: Any, points: Float[Array, " G"], weights: Float[Array, " G"]) -> "LevelSum":
        codes, where = np.unique(points, return_inverse=True)
        return cls(codes, kernel.variance * np.bincount(where, weights, minlength=len(codes)))

    def __call__(self, x: Float[Array, " N"]) -> Float[Array, " N"]:
        place = np.minimum(np.searchsorted(self.codes, x), len(self.codes) - 1)
        return np.where(self.codes[place] == x, self.values[place], 0.0)
