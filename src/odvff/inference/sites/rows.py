"""The rows of sites: gone through in every round, a block at a time."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.likelihoods.adjustable import BLOCK_ROWS
from odvff.likelihoods.units import TargetMoments
from odvff.rows import key_generator
from odvff.statistics import Rows
from odvff.statistics.collect import weighted_rows

KEPT_ENTRIES = 2**25  # of X: a quarter of a gigabyte; more is read again in every round


class SiteRows:
    """Rows with weights, a block at a time, and which of them make up the sample."""

    def __init__(self, chunks: Any, sample_rows: int):
        self._sample_rows = sample_rows
        self._chunks = chunks.chunks if hasattr(chunks, "chunks") else list(chunks).__iter__
        self._kept: list[tuple[Any, Any, Any]] | None = []
        self.n_columns, entries, moments = 0, 0, TargetMoments()
        for X, y, w in weighted_rows(self._chunks()):
            entries += X.size
            self._kept = [*self._kept, (X, y, w)] if self._kept is not None and entries <= KEPT_ENTRIES else None
            self.n_columns = X.shape[1]
            moments.add(y, w)
        self.n_rows, self.weight = moments.n_rows, moments.weight
        if not self.weight > 0:
            raise InputError("there are no rows to fit to.")
        self.variance = max(moments.spread**2, 1e-12)

    def blocks(self) -> Iterable[tuple[Any, Any, Any, Any]]:
        """(X, y, weights, in the sample?) of a few thousand rows."""
        rng = key_generator(0)  # the same rows in every pass
        for X, y, w in weighted_rows(self._chunks()) if self._kept is None else self._kept:
            for start in range(0, len(X), BLOCK_ROWS):
                rows = slice(start, start + BLOCK_ROWS)
                chosen = rng.random(len(X[rows])) * self.n_rows < self._sample_rows
                yield X[rows], y[rows], w[rows], chosen

    def no_rows(self) -> Rows:
        return Rows(np.zeros((0, self.n_columns)), np.zeros((0, 1)), np.zeros(0))
