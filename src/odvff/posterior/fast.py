"""What a prediction at many rows spends its time on, in few long calls: φ̂(x), ψ(x) = C⁻¹φ(x), wᵀφ̂(x) and k(x,γ)a.

Statistics are taken in a basis that takes no hyper-parameter inside the box, and whose features are made for all like
columns at once; a prediction uses the same, as ψ is the same in every basis. Small factors are inverted once and
multiplied with many columns together. Rows outside a box have features of their own, and are few. Where a term is a
function of one column, a mean is read from tables, whatever the number of features or points.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from odvff.linalg import BlockFactor
from odvff.rows import row_slices
from odvff.statistics.basis import check_columns, columns_of, fill_features, outside
from odvff.support.shapes import Array, Float
from odvff.terms import Sum

SMALL = 128  # features of a term: beyond, the structured factor is cheaper than the product with its inverse
BLOCK_ENTRIES, LEAST_ROWS, MOST_ROWS = 2**18, 64, 4096  # 2 MB of features at a time


class FastFeatures:
    """The features of a sum of terms whose features are fixed, on NumPy alone."""

    def __init__(self, terms: Sum):
        self.terms = terms.canonical
        self.factor = self.terms.Kuu().factor()

    def blocks(self, X: Float[Array, "N D"]) -> Iterator[tuple[slice, Float[Array, "B _"]]]:
        """Rows, and φ̂ of them, which is overwritten by the next: memory that is warm is fast."""
        check_columns(self.terms, X)
        block = int(np.clip(BLOCK_ENTRIES // self.factor.size, LEAST_ROWS, MOST_ROWS))
        out = outside(self.terms, X)
        if out.all():
            for rows in row_slices(len(X), block):
                yield rows, self.terms.Kuf(X[rows])
            return
        # one call for all rows outside, and another row in their place meanwhile
        beyond, before = self.terms.Kuf(X[out]) if out.any() else None, 0
        inside = X if beyond is None else np.where(out[:, None], X[np.argmin(out)], X)
        buffer = np.empty(self.factor.size * min(block, len(X)))
        for rows in row_slices(len(X), block):
            phi = buffer[: self.factor.size * (rows.stop - rows.start)].reshape(self.factor.size, -1)
            fill_features(self.terms, inside[rows], phi)
            if beyond is not None:
                after = before + int(out[rows].sum())
                phi[:, out[rows]] = beyond[:, before:after]
                before = after
            yield rows, phi

    @cached_property
    def _runs(self) -> list[tuple[slice, Any, BlockFactor]]:
        """Neighbouring terms of one size: where their features lie, their C⁻¹, (terms, n, n), if small, and all C."""
        runs = []
        for size, group in groupby(zip(self.factor.slices, self.factor.blocks, strict=True), lambda pair: pair[1].size):
            slices, blocks = zip(*group, strict=True)
            inverses = np.stack([C.solve(np.eye(size)) for C in blocks]) if size <= SMALL else None
            runs.append((slice(slices[0].start, slices[-1].stop), inverses, BlockFactor(blocks)))
        return runs

    def whiten(self, phi: Float[Array, "B N"], out: Float[Array, "B N"]) -> Float[Array, "B N"]:
        """ψ = C⁻¹φ̂, into `out`."""
        for place, inverses, C in self._runs:
            if inverses is None:
                out[place] = C.solve(phi[place])
            else:
                shape = (len(inverses), -1, phi.shape[1])
                np.matmul(inverses, phi[place].reshape(shape), out=out[place].reshape(shape))
        return out


def curves(features: FastFeatures, weights: Float[Array, " B"]) -> Callable[[Any], Any]:
    """X ↦ wᵀφ̂(X) of a sum: terms that have a curve by themselves, all others by their features."""
    found, others = [], []
    for term, s in zip(features.terms, features.factor.slices, strict=True):
        curve = term.fixed.curve(term.kernel, weights[s])
        if curve is None:
            others.append((term, weights[s]))
        else:
            found.append((columns_of(term)[0], curve))
    rest = FastFeatures(Sum(tuple(term for term, _ in others))) if others else None
    rest_weights = np.concatenate([w for _, w in others]) if others else None

    def total(X: Float[Array, "N D"]) -> Float[Array, " N"]:
        check_columns(features.terms, X)
        value = np.zeros(len(X))
        for column, curve in found:
            value += curve(X[:, column])
        if rest is not None:
            for rows, phi in rest.blocks(X):
                value[rows] += rest_weights @ phi
        return value

    return total


def point_sum(terms: Sum, gamma: Float[Array, "G D"], weights: Float[Array, " G"]) -> Callable[[Any], Any]:
    """X ↦ k(X, γ) a of a sum: terms of one column in a time that does not grow with the points, others as they are."""
    each = [(term, term.point_sum(gamma, weights)) for term in terms]

    def total(X: Float[Array, "N D"]) -> Float[Array, " N"]:
        value = np.zeros(len(X))
        for term, one in each:
            value += term.covariance(X, gamma) @ weights if one is None else one(X)
        return value

    return total
