"""φ̂(x) and ψ(x) = C⁻¹φ(x) of many rows: what a prediction spends its time on, in few long calls.

Statistics are taken in a basis that takes no hyper-parameter inside the box, and whose features are made for all like
columns at once; a prediction uses the same, as ψ is the same in every basis. Small factors are inverted once and
multiplied with many columns together. Rows outside a box have features of their own, and are few.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from odvff.linalg import BlockFactor
from odvff.statistics.basis import check_columns, fill_features, outside
from odvff.terms import Sum

SMALL = 128  # features of a term: beyond, the structured factor is cheaper than the product with its inverse
BLOCK_ENTRIES, LEAST_ROWS, MOST_ROWS = 2**18, 64, 4096  # 2 MB of features at a time


@dataclass(frozen=True)
class _Run:
    """Neighbouring terms of one size: where their features lie, and their C⁻¹ if that is small."""

    place: slice
    inverses: Any | None  # (terms, n, n)
    factors: BlockFactor


class FastFeatures:
    """The features of a sum of terms whose features are fixed, on NumPy alone."""

    def __init__(self, terms: Sum):
        self.terms = terms.canonical
        self.factor = self.terms.Kuu().factor()

    def blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Rows, and φ̂ of them as (|β|, rows), which is overwritten by the next: memory that is warm is fast."""
        check_columns(self.terms, X)
        block = int(np.clip(BLOCK_ENTRIES // self.factor.size, LEAST_ROWS, MOST_ROWS))
        out = outside(self.terms, X)
        if out.all():
            for start in range(0, len(X), block):
                rows = slice(start, min(start + block, len(X)))
                yield rows, self.terms.Kuf(X[rows])
            return
        # one call for all rows outside, and another row in their place meanwhile
        beyond, before = self.terms.Kuf(X[out]) if out.any() else None, 0
        inside = X if beyond is None else np.where(out[:, None], X[np.argmin(out)], X)
        buffer = np.empty(self.factor.size * min(block, len(X)))
        for start in range(0, len(X), block):
            rows = slice(start, min(start + block, len(X)))
            phi = buffer[: self.factor.size * (rows.stop - start)].reshape(self.factor.size, -1)
            fill_features(self.terms, inside[rows], phi)
            if beyond is not None:
                after = before + int(out[rows].sum())
                phi[:, out[rows]] = beyond[:, before:after]
                before = after
            yield rows, phi

    @cached_property
    def _runs(self) -> list[_Run]:
        return _runs(self.factor)

    def whiten(self, phi: Any, out: Any) -> Any:
        """ψ = C⁻¹φ̂, into an array of the same shape."""
        for run in self._runs:
            if run.inverses is None:
                out[run.place] = run.factors.solve(phi[run.place])
            else:
                shape = (len(run.inverses), -1, phi.shape[1])
                np.matmul(run.inverses, phi[run.place].reshape(shape), out=out[run.place].reshape(shape))
        return out


def _runs(factor: BlockFactor) -> list[_Run]:
    runs = []
    for size, group in groupby(zip(factor.slices, factor.blocks, strict=True), key=lambda pair: pair[1].size):
        slices, blocks = zip(*group, strict=True)
        place = slice(slices[0].start, slices[-1].stop)
        inverses = np.stack([C.solve(np.eye(size)) for C in blocks]) if size <= SMALL else None
        runs.append(_Run(place, inverses, BlockFactor(tuple(blocks))))
    return runs
