"""Fitting in parts: statistics add up, so a table that comes in pieces is fitted as if it had come at once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.policy import Policy
from odvff.rows import key_generator, smallest_keys
from odvff.statistics import Statistics, collect
from odvff.tables import MemorySource, Schema, Table
from odvff.tables.source import EncodedRows
from odvff.terms import Sum


@dataclass(frozen=True)
class Parts:
    """What was decided with the first part, and the sums of all parts so far.

    A sample of coded rows is kept to centre effects on: those with the smallest of random numbers that are drawn row
    after row, so that it does not matter how the rows came.
    """

    schema: Schema
    terms: Sum
    report: tuple[str, ...]
    shift: float  # of y, as it enters the statistics: near its mean, so that no digits are lost
    scale: float
    seed: int
    policy: Policy
    statistics: Statistics | None = None
    n_rows: int = 0
    keys: Any = None
    sample: Any = None
    sample_weights: Any = None

    def added(self, table: Table, y: Any, weights: Any | None) -> "Parts":
        """With the rows of one more part."""
        self.schema.refuse_new(table)
        source = MemorySource(table, (y - self.shift) / self.scale, weights)
        statistics = collect(self.terms, EncodedRows(self.schema, source).chunks())
        rng = key_generator(self.seed)
        rng.bit_generator.advance(self.n_rows)  # type: ignore[attr-defined]
        keys = rng.random(len(y))
        chosen = smallest_keys(keys, self.policy.centre_rows)
        X, w = self.schema.encode(table.take(chosen)), np.ones(len(chosen)) if weights is None else weights[chosen]
        sample = (keys[chosen], X, w)
        if self.statistics is not None:
            statistics = self.statistics + statistics
            before = (self.keys, self.sample, self.sample_weights)
            keys, X, w = (np.concatenate(both) for both in zip(before, sample, strict=True))
            best = smallest_keys(keys, self.policy.centre_rows)
            sample = (keys[best], X[best], w[best])
        return replace(
            self,
            statistics=statistics,
            n_rows=self.n_rows + len(y),
            keys=sample[0],
            sample=sample[1],
            sample_weights=sample[2],
        )

    def standardised(self) -> tuple[Statistics, float, float]:
        """The statistics of y with mean 0 and variance 1, and that mean and standard deviation."""
        assert self.statistics is not None
        mean, variance = self.statistics.mean(), self.statistics.variance()
        spread = float(np.sqrt(variance)) if variance > 1e-28 * max(mean**2, 1e-300) else 1.0
        return self.statistics.standardised(mean, spread), self.shift + self.scale * mean, self.scale * spread
