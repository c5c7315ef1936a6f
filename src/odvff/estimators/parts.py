"""Fitting in parts: statistics add up, so a table that comes in pieces is fitted as if it had come at once."""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.likelihoods import Units
from odvff.rows import Sampler
from odvff.statistics import Statistics, collect
from odvff.tables import MemorySource, Schema, Table
from odvff.tables.source import EncodedRows
from odvff.terms import Sum


@dataclass(frozen=True)
class Parts:
    """What was decided with the first part, and the sums of all parts so far.

    A sample of coded rows is kept to centre effects on, the same one however the rows came.
    """

    schema: Schema
    terms: Sum
    report: tuple[str, ...]
    noise: float | None  # relative to the variance of y; with it the kernels of the terms are a place to start from
    units: Units  # of y, as it enters the statistics: near its mean, so that no digits are lost
    sampler: Sampler
    statistics: Statistics | None = None
    sample: Any = None
    sample_weights: Any = None

    def added(self, table: Table, y: Any, weights: Any | None) -> "Parts":
        """With the rows of one more part."""
        self.schema.refuse_new(table)
        source = MemorySource(table, y, weights)
        statistics = collect(self.terms, EncodedRows(self.schema, source, self.units.standardised).chunks())
        sampler = deepcopy(self.sampler)
        new, kept = sampler.add(table.n_rows)
        X, w = self.schema.encode(table.take(new)), np.ones(len(new)) if weights is None else weights[new]
        if self.statistics is not None:
            statistics = self.statistics + statistics
            X, w = np.concatenate([self.sample, X]), np.concatenate([self.sample_weights, w])
        return replace(self, sampler=sampler, statistics=statistics, sample=X[kept], sample_weights=w[kept])

    def standardised(self) -> tuple[Statistics, Units]:
        """The statistics of y with mean 0 and variance 1, and the units that it has them in."""
        assert self.statistics is not None
        mean, variance = self.statistics.mean(), self.statistics.variance()
        spread = float(np.sqrt(variance)) if variance > 1e-28 * max(mean**2, 1e-300) else 1.0
        units = Units(self.units.shift + self.units.scale * mean, self.units.scale * spread)
        return self.statistics.standardised(mean, spread), units
