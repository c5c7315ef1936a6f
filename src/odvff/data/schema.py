"""The schema of a table: what each column is, learned in one pass over chunks, and how rows become numbers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.data.columns import (
    Category,
    Column,
    Numeric,
    count_labels,
    from_words,
    learn_category,
    learn_numeric,
    to_words,
)
from odvff.data.tables import LABEL, NUMBER, TEXT, Table
from odvff.design import Design, LevelsPart, NumericPart
from odvff.errors import FileError, InputError
from odvff.rows import Chunk

SAMPLE_ROWS = 50_000
CHUNK_ROWS = 2**17
INTERCEPT = "intercept"


@dataclass(frozen=True)
class Schema:
    """The columns in order; with an intercept, a last coded column that is 0 in every row."""

    columns: tuple[Column, ...]
    intercept: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def width(self) -> int:
        """Coded columns in all."""
        return sum(column.width for column in self.columns) + self.intercept

    def with_intercept(self) -> "Schema":
        return replace(self, intercept=True)

    def encode(self, table: Table) -> Any:
        """The rows of a table as numbers, (N, width)."""
        check_names(self.names, table.names)
        coded = np.zeros((table.n_rows, self.width))
        start = 0
        for i, column in enumerate(self.columns):
            values = _numbers(table, i, column) if isinstance(column, Numeric) else _labels(table, i, column)
            coded[:, start : start + column.width] = column.encode(values)
            start += column.width
        return coded

    def design(self, structure: str) -> Design:
        """The terms that these columns call for."""
        numeric, levels, start = [], [], 0
        for column in self.columns:
            if isinstance(column, Numeric):
                numeric.append(NumericPart(start, column.name, (0.0, 1.0)))
                if column.missing:
                    levels.append(LevelsPart(start + 1, column.missing_name, 1))
            else:
                levels.append(LevelsPart(start, column.name, len(column.levels)))
            start += column.width
        if self.intercept:
            levels.append(LevelsPart(start, INTERCEPT, 1))
        return Design(tuple(numeric), tuple(levels), structure)

    def to_words(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {"columns": [to_words(column) for column in self.columns], "intercept": self.intercept}

    @classmethod
    def from_words(cls, words: Any) -> "Schema":
        """The inverse of `to_words`, checked."""
        if not isinstance(words, dict) or not isinstance(words.get("columns"), list) or not words["columns"]:
            raise FileError("the file has no list of columns.")
        columns = tuple(from_words(column) for column in words["columns"])
        if len({column.name for column in columns}) != len(columns):
            raise FileError("two columns in the file have one name.")
        return cls(columns, words.get("intercept") is True)

    def notes(self) -> list[str]:
        """What a person may want to change."""
        few = [c for c in self.columns if isinstance(c, Numeric) and c.whole_values > 2]
        notes = []
        if few:
            names = ", ".join(f"{c.name} ({c.whole_values})" for c in few)
            notes.append(
                f"whole numbers with few different values: {names}; name them in `categorical` to give each value an "
                "effect of its own"
            )
        outside = [c for c in self.columns if isinstance(c, Numeric) and (c.least < c.low or c.most > c.high)]
        notes += [
            f"{c.name} has values far out ({c.least:g} to {c.most:g}); its features cover {c.low:g} to {c.high:g}"
            for c in outside
        ]
        return notes


class SchemaBuilder:
    """Learns a schema from chunks of a table, one after the other.

    `categorical` is "auto" (columns whose type says so) or a list of the names or positions of others that are to be
    taken so, whatever their type.
    """

    def __init__(self, categorical: Any = "auto", seed: int = 0):
        self._categorical, self._rng = categorical, np.random.default_rng(seed)
        self._names: tuple[str, ...] = ()
        self._kinds: list[str] = []
        self._ranges: dict[int, list[Any]] = {}  # least, most, missing?
        self._counts: dict[int, dict[Any, float]] = {}
        self._orders: dict[int, list[Any]] = {}
        self._keys = np.zeros(0)
        self._sample: dict[int, Any] = {}
        self._weights = np.zeros(0)

    def add(self, table: Table, weights: Any | None = None) -> None:
        """The rows of one more chunk."""
        if not self._names:
            self._begin(table)
        check_names(self._names, table.names)
        keys = self._rng.random(table.n_rows)
        keep = np.arange(table.n_rows) if table.n_rows + len(self._keys) <= SAMPLE_ROWS else _smallest(keys)
        all_keys = np.concatenate([self._keys, keys[keep]])
        best = np.sort(_smallest(all_keys))
        for i, kind in enumerate(self._kinds):
            if kind == LABEL:
                count_labels(table.labels(i), weights, self._counts[i])
                order = table.order(i)
                self._orders[i] += [label for label in order if label not in self._orders[i]]
                continue
            values = _numbers(table, i, None)
            there = values[~np.isnan(values)]
            least, most, missing = self._ranges[i]
            if len(there):
                least, most = min(least, float(there.min())), max(most, float(there.max()))
            self._ranges[i] = [least, most, missing or len(there) < len(values)]
            self._sample[i] = np.concatenate([self._sample[i], values[keep]])[best]
        w = np.ones(len(keep)) if weights is None else weights[keep]
        self._weights, self._keys = np.concatenate([self._weights, w])[best], all_keys[best]

    def _begin(self, table: Table) -> None:
        self._names = table.names
        chosen = _chosen(self._categorical, self._names)
        for i, name in enumerate(self._names):
            kind = LABEL if i in chosen else table.kind(i)
            if kind == TEXT:
                raise InputError(
                    f"column {name!r} holds text, which is no number; if its values are categories, name it in "
                    f"categorical=[{name!r}] or convert it to a categorical type, else drop it."
                )
            self._kinds.append(kind)
            if kind == LABEL:
                self._counts[i], self._orders[i] = {}, []
            else:
                self._ranges[i], self._sample[i] = [np.inf, -np.inf, False], np.zeros(0)

    def schema(self) -> Schema:
        columns: list[Column] = []
        for i, name in enumerate(self._names):
            if self._kinds[i] == LABEL:
                columns.append(learn_category(name, self._counts[i], self._orders[i]))
            else:
                columns.append(learn_numeric(name, self._sample[i], self._weights, *self._ranges[i]))
        return Schema(tuple(columns))


def learn_schema(table: Table, weights: Any | None = None, categorical: Any = "auto", seed: int = 0) -> Schema:
    """The schema of a table in memory."""
    builder = SchemaBuilder(categorical, seed)
    for s in slices(table.n_rows):
        builder.add(table.take(s), None if weights is None else weights[s])
    return builder.schema()


def slices(n_rows: int, chunk_rows: int = CHUNK_ROWS) -> Iterator[slice]:
    """The rows in chunks."""
    for start in range(0, n_rows, chunk_rows):
        yield slice(start, min(start + chunk_rows, n_rows))


class EncodedRows:
    """The rows of a table for a fit, coded a chunk at a time: the table is never copied whole."""

    def __init__(self, schema: Schema, table: Table, y: Any, weights: Any | None, seed: int):
        self._schema, self._table, self.y, self.weights, self._seed = schema, table, y, weights, seed

    @property
    def n_rows(self) -> int:
        return self._table.n_rows

    def chunks(self) -> Iterator[Chunk]:
        for s in slices(self.n_rows):
            yield self.at(s)

    def sample(self, n_rows: int) -> Chunk:
        if n_rows >= self.n_rows:
            return self.everything()
        return self.at(np.sort(np.random.default_rng(self._seed).permutation(self.n_rows)[:n_rows]))

    def everything(self) -> Chunk:
        return self.at(slice(None))

    def at(self, rows: Any) -> Chunk:
        """Coded rows of a slice, or at these positions."""
        weights = None if self.weights is None else self.weights[rows]
        return self._schema.encode(self._table.take(rows)), self.y[rows], weights

    def with_targets(self, y: Any) -> "EncodedRows":
        """The same rows with other targets."""
        return EncodedRows(self._schema, self._table, y, self.weights, self._seed)


def check_names(expected: tuple[str, ...], given: tuple[str, ...]) -> None:
    """Are these the columns of the training table, in its order?"""
    if given == expected:
        return
    missing = [name for name in expected if name not in given]
    unknown = [name for name in given if name not in expected]
    if not missing and not unknown:
        raise InputError(
            f"the columns are in another order than in training: {', '.join(given[:8])} instead of "
            f"{', '.join(expected[:8])}; select them in that order."
        )
    parts = [
        f"{what}: {', '.join(map(repr, some[:5]))}" for what, some in (("missing", missing), ("new", unknown)) if some
    ]
    raise InputError(f"the columns are not those of training ({'; '.join(parts)}); select or rename them.")


def _chosen(categorical: Any, names: tuple[str, ...]) -> set[int]:
    """Positions of the columns that are to be taken as categories."""
    if categorical is None or (isinstance(categorical, str) and categorical == "auto"):
        return set()
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise InputError(f"categorical must be 'auto' or a list of columns, got {categorical!r}.")
    chosen = set()
    for column in categorical:
        if isinstance(column, str) and column in names:
            chosen.add(names.index(column))
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(names):
            chosen.add(int(column))
        else:
            raise InputError(f"categorical names {column!r}, which is no column; there are {', '.join(names[:20])}.")
    return chosen


def _smallest(keys: Any) -> Any:
    """Where the smallest keys stand, as many as a sample holds."""
    return np.arange(len(keys)) if len(keys) <= SAMPLE_ROWS else np.argpartition(keys, SAMPLE_ROWS)[:SAMPLE_ROWS]


def _numbers(table: Table, i: int, column: Numeric | None) -> Any:
    kind = table.kind(i)
    if kind == NUMBER:
        return table.numbers(i)
    labels = table.labels(i)
    if all(label is None for label in labels):
        return np.full(len(labels), np.nan)
    found = next(label for label in labels if label is not None)
    raise InputError(f"column {table.names[i]!r} held numbers in training, and now {found!r}; give it the same type.")


def _labels(table: Table, i: int, column: Category) -> list[Any]:
    labels = table.labels(i)
    known = {_sort(level) for level in column.levels if level is not None}
    wrong = next((label for label in labels if label is not None and known and _sort(label) not in known), None)
    if wrong is not None:
        held = next(level for level in column.levels if level is not None)
        raise InputError(
            f"column {column.name!r} held labels such as {held!r} in training, and now {wrong!r}, of another type; "
            "give it the same type."
        )
    return labels


def _sort(label: Any) -> str:
    return "number" if isinstance(label, int | float) and not isinstance(label, bool) else type(label).__name__
