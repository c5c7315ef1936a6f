"""Tables with a target, gone through in chunks of one size as often as a fit needs them, and their rows as numbers.

A source is a table in memory, or files (`odvff.tables.files`). Whatever it is, chunks are the same rows and samples are
drawn in the same way, so that a fit to files is the fit to the same rows in memory, to the bit.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from odvff.policy import DEFAULT, Policy
from odvff.rows import Chunk, InMemory, RowSource
from odvff.tables.schema import Schema, SchemaBuilder
from odvff.tables.table import Table

Labelled = tuple[Table, Any, Any]  # a table, the target of every row, and weights or None
Look = Callable[[Any, Any, int], None]


class TableSource(RowSource, Protocol):
    """Rows of a table with their targets. The number of rows and samples may take a first pass to know."""

    target: str  # its name

    @property
    def expected_rows(self) -> int | None:
        """About how many there will be, to tell people how long it takes; None if nobody knows."""

    @property
    def text_levels(self) -> int:
        """Up to how many different texts make a column of categories; 0 if text is no category."""


class MemorySource(InMemory):
    """A table in memory."""

    text_levels = 0

    def __init__(self, table: Table, y: Any, weights: Any | None = None, seed: int = 0, target: str = "y"):
        super().__init__(table.n_rows, seed)
        self.table, self.y, self.weights, self.target, self.expected_rows = table, y, weights, target, table.n_rows

    def at(self, rows: Any) -> Labelled:
        return self.table.take(rows), self.y[rows], None if self.weights is None else self.weights[rows]


class EncodedRows:
    """The rows of a source as numbers, coded a chunk at a time; targets become numbers by a function."""

    def __init__(self, schema: Schema, source: TableSource, target: Callable[[Any], Any] = np.asarray):
        self._schema, self._source, self._target = schema, source, target

    @property
    def n_rows(self) -> int:
        return self._source.n_rows

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        return map(self._coded, self._source.chunks(start))

    def sample(self, n_rows: int) -> Chunk:
        return self._coded(self._source.sample(n_rows))

    def everything(self) -> Chunk:
        return self._coded(self._source.everything())

    def _coded(self, labelled: Labelled) -> Chunk:
        table, y, weights = labelled
        return self._schema.encode(table), self._target(y), weights


def learn_schema(
    source: TableSource,
    categorical: Any = "auto",
    seed: int = 0,
    look: Look | None = None,
    policy: Policy = DEFAULT,
) -> Schema:
    """The schema of a source in one pass: all rows say the ranges, a sample of them the rest.

    `look` is shown the targets and weights of every chunk on the way, and how many rows there have been.
    """
    builder = SchemaBuilder(categorical, seed, source.text_levels, policy)
    n_rows = 0
    for table, y, weights in source.chunks():
        builder.add(table, weights)
        n_rows += table.n_rows
        if look is not None:
            look(y, weights, n_rows)
    return builder.schema()
