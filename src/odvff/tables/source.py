"""Tables with a target, gone through in chunks of one size as often as a fit needs them, and their rows as numbers.

A source is a table in memory, or files (`odvff.tables.files`). Whatever it is, chunks are the same rows and samples are
drawn in the same way, so that a fit to files is the fit to the same rows in memory, to the bit.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from odvff.policy import DEFAULT, Policy
from odvff.rows import Chunk, key_generator, row_slices, smallest_keys
from odvff.tables.schema import Schema, SchemaBuilder
from odvff.tables.table import Table

Labelled = tuple[Table, Any, Any]  # a table, the target of every row, and weights or None


class TableSource(Protocol):
    """Rows of a table with their targets. The number of rows and samples may take a first pass to know."""

    target: str  # its name

    @property
    def n_rows(self) -> int: ...

    @property
    def expected_rows(self) -> int | None:
        """About how many there will be, to tell people how long it takes; None if nobody knows."""
        ...

    @property
    def text_levels(self) -> int:
        """Up to how many different texts make a column of categories; 0 if text is no category."""
        ...

    def chunks(self, start: int = 0) -> Iterator[Labelled]:
        """All rows from the start-th chunk on, in chunks of `odvff.rows.CHUNK_ROWS`."""
        ...

    def sample(self, n_rows: int) -> Labelled:
        """A random sample of this many rows (all, if there are no more), in order and always the same ones."""
        ...

    def everything(self) -> Labelled:
        """All rows at once."""
        ...


class MemorySource:
    """A table in memory."""

    text_levels = 0

    def __init__(self, table: Table, y: Any, weights: Any | None = None, seed: int = 0, target: str = "y"):
        self.table, self.y, self.weights, self._seed, self.target = table, y, weights, seed, target

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    expected_rows = n_rows

    def chunks(self, start: int = 0) -> Iterator[Labelled]:
        for s in list(row_slices(self.n_rows))[start:]:
            yield self._at(s)

    def sample(self, n_rows: int) -> Labelled:
        if n_rows >= self.n_rows:
            return self.everything()
        return self._at(smallest_keys(key_generator(self._seed).random(self.n_rows), n_rows))

    def everything(self) -> Labelled:
        return self._at(slice(None))

    def _at(self, rows: Any) -> Labelled:
        return self.table.take(rows), self.y[rows], None if self.weights is None else self.weights[rows]


def learn_schema(
    source: TableSource,
    categorical: Any = "auto",
    seed: int = 0,
    look: Callable[[Any, Any, int], None] | None = None,
    policy: Policy = DEFAULT,
) -> Schema:
    """The schema of a source in one pass; `look` is shown the targets and weights of every chunk on the way."""
    builder = SchemaBuilder(categorical, seed, source.text_levels, policy)
    n_rows = 0
    for table, y, weights in source.chunks():
        builder.add(table, weights)
        n_rows += table.n_rows
        if look is not None:
            look(y, weights, n_rows)
    return builder.schema()


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
