"""Files as the rows of a fit: which column is the target, which rows are held out, and chunks of one size.

Rows whose target is missing or infinite are left out and counted. Held-out rows are chosen by a hash of what they hold:
the same ones on every run and in whatever order they come, and equal rows on one side. A chunk is read ahead while the
one before is worked on.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from hashlib import blake2b
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odvff.errors import InputError
from odvff.policy import DEFAULT, Policy
from odvff.rows import CHUNK_ROWS, Sampler, smallest_keys
from odvff.tables.files import Place, TableFiles, check_columns, check_target, check_usable, is_number
from odvff.tables.table import FrameTable

Rows = tuple[FrameTable, Any, Any]  # a table, the target of every row, and weights or None

END = object()
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(eq=False, repr=False)
class FileSource:
    """The rows of files with a target.

    Parameters
    ----------
    files : the files.
    target : the column to predict; with `labels`, it holds classes.
    features : the columns to predict from; by default all others.
    weights : a column of how often a row is there, if there is one.
    holdout : the share of rows that are kept apart, for `held_out`.
    strict : refuse missing and infinite targets instead of leaving them out.
    seed : of samples.
    policy : how many rows samples may have (`sample_rows`; so many are kept in memory), and how many different texts
        make a column of categories (`text_levels`).
    """

    files: TableFiles
    target: str
    _: KW_ONLY
    labels: bool = False
    features: Any = None  # a list of names
    weights: str | None = None
    holdout: float = 0.0
    strict: bool = False
    seed: int = 0
    policy: Policy = DEFAULT
    dropped: int = field(default=0, init=False)  # rows without a target, after the first pass
    n_held: int = field(default=0, init=False)
    _n_rows: int | None = field(default=None, init=False)
    _sample: tuple[pa.Table, Any] | None = field(default=None, init=False)  # rows, and the keys they were drawn by

    def __post_init__(self) -> None:
        files, target, weights, given = self.files, self.target, self.weights, self.features or ()
        check_columns([target, *given, *([weights] if weights else ())], files.names)
        if target == weights:
            raise InputError(f"the column {target!r} is both the target and the weights; name two different ones.")
        if target in given:
            raise InputError(f"the target {target!r} is one of the columns to predict from; name another target.")
        if not 0 <= self.holdout < 1:
            raise InputError(f"holdout is a share of the rows, from 0 up to 1, got {self.holdout!r}; 0.1 is usual.")
        if self.features is None:  # a column without a name is a row index that a program wrote
            self.features = [n for n in files.names if n not in (target, weights, "")]
        if not self.features:
            raise InputError(f"there is no column besides {target!r} to learn from.")
        check_target(target, files.schema.field(target).type)
        for name in self.features:
            check_usable(name, files.schema.field(name).type)
        files.refuse_slips(self.features)
        self.text_levels = self.policy.text_levels

    @property
    def n_rows(self) -> int:
        if self._n_rows is None:
            for _ in self.chunks():
                pass
        assert self._n_rows is not None
        return self._n_rows

    @property
    def expected_rows(self) -> int | None:
        if self._n_rows is not None:
            return self._n_rows
        expected = self.files.expected_rows
        return None if expected is None else round(expected * (1 - self.holdout))

    def chunks(self, start: int = 0) -> Iterator[Rows]:
        tables = ahead(self._cut())
        return self._each_labelled(self._first_time(tables) if self._n_rows is None else tables, start)

    def _first_time(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The same tables; on the way their rows are counted, and a sample is drawn."""
        sampler, sample, n_rows = Sampler(self.policy.sample_rows, self.seed), None, 0
        for table in tables:
            new, kept = sampler.add(table.num_rows)
            rows = table.take(new)
            sample = (rows if sample is None else pa.concat_tables([sample, rows])).take(kept).combine_chunks()
            n_rows += table.num_rows
            yield table
        self._n_rows, self._sample = n_rows, None if sample is None else (sample, sampler.keys)

    def held_out(self) -> Iterator[Rows]:
        """The rows that were kept apart, in chunks."""
        return self._each_labelled(ahead(self._cut(held=True)))

    def _each_labelled(self, tables: Iterator[pa.Table], start: int = 0) -> Iterator[Rows]:
        done = 0
        for i, table in enumerate(tables):
            if i >= start:
                yield self._labelled(table, done)
            done += table.num_rows

    def sample(self, n_rows: int) -> Rows:
        if n_rows >= self.n_rows:
            return self.everything()
        assert self._sample is not None
        if n_rows > self.policy.sample_rows:
            raise InputError(
                f"this source keeps {self.policy.sample_rows:,} rows for samples, and one of {n_rows:,} was asked for; "
                f"make it with policy=Policy(sample_rows={n_rows})."
            )
        rows, keys = self._sample  # the smallest keys of all, in order
        return self._labelled(rows.take(smallest_keys(keys, n_rows)))

    def everything(self) -> Rows:
        tables = list(self._cut())
        if not tables:
            raise InputError("there are no rows to fit to.")
        return self._labelled(pa.concat_tables(tables))

    # rows, step by step: batches of the files, those that count, chunks of one size

    def _cut(self, *, held: bool = False) -> Iterator[pa.Table]:
        """Kept (or held-out) rows in chunks of one size."""
        waiting: list[pa.Table] = []
        n = 0
        for part in self._kept(held=held):
            waiting.append(part)
            n += part.num_rows
            while n >= CHUNK_ROWS:
                whole = pa.concat_tables(waiting)
                yield whole.slice(0, CHUNK_ROWS)
                waiting, n = [whole.slice(CHUNK_ROWS)], n - CHUNK_ROWS
        if n:
            yield pa.concat_tables(waiting)

    def _kept(self, *, held: bool) -> Iterator[pa.Table]:
        columns = list(dict.fromkeys([*self.features, self.target, *([self.weights] if self.weights else [])]))
        count = self._n_rows is None and not held
        if count:
            self.dropped = self.n_held = 0
        for batch, place in self.files.placed(columns):
            good = self._has_target(batch, place)
            apart = good & self._is_held(batch)
            if count:
                refuse_infinite(batch, self.features, place)
                self.dropped += int((~good).sum())
                self.n_held += int(apart.sum())
            keep = apart if held else good & ~apart
            if keep.any():
                table = pa.Table.from_batches([batch])
                yield table if keep.all() else table.filter(pa.array(keep))

    def _has_target(self, batch: pa.RecordBatch, place: Place) -> Any:
        """Which rows have a target and a positive weight."""
        column = batch.column(self.target)
        if self.labels and not pa.types.is_floating(column.type):
            good = column.is_valid().to_numpy(zero_copy_only=False)
        else:
            good = np.isfinite(_numbers(column, self.target, TARGET_REMEDY))
        if self.strict and not good.all():
            i = int(np.argmin(good))
            raise InputError(
                f"the target {self.target!r} is {column[i].as_py()} in {place.row(i)}; mend it, or do without "
                "--strict to leave such rows out."
            )
        if self.weights is None:
            return good
        w = _numbers(batch.column(self.weights), self.weights, "weights must be numbers")
        if (bad := ~(w >= 0) | np.isinf(w)).any():
            i = int(np.argmax(bad))
            raise InputError(f"the weight {self.weights!r} is {w[i]} in {place.row(i)}; weights count rows, from 0 up.")
        return good & (w > 0)

    def _is_held(self, batch: pa.RecordBatch) -> Any:
        if self.holdout == 0:
            return np.zeros(batch.num_rows, dtype=bool)
        hashes = row_hashes(batch.select([*self.features, self.target]))
        return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53 < self.holdout

    def _labelled(self, table: pa.Table, first_row: int = 0) -> Rows:
        table = table.unify_dictionaries()
        frame = FrameTable(nw.from_native(table.select(self.features), eager_only=True), first_row)
        weights = None if self.weights is None else _numbers(table.column(self.weights), self.weights, "")
        weights = None if weights is None or (weights == 1).all() else weights
        if not self.labels:
            return frame, _numbers(table.column(self.target), self.target, TARGET_REMEDY), weights
        target = FrameTable(nw.from_native(table.select([self.target]), eager_only=True))
        (*different, _), places = target.factorised(0)  # the last is None, which no row has
        return frame, np.asarray(different)[places], weights


TARGET_REMEDY = "say --task classification if it holds classes"


def refuse_infinite(batch: pa.RecordBatch, columns: list[str], place: Place) -> None:
    """Infinity is no measurement."""
    for name in columns:
        column = batch.column(name)
        if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
            i = int(np.argmax(np.isinf(column.to_numpy(zero_copy_only=False))))
            raise InputError(
                f"column {name!r} is {column[i].as_py()} in {place.row(i)}; replace it by a number, leave it empty if "
                "the value is missing, or exclude the column."
            )


def row_hashes(batch: pa.RecordBatch) -> Any:
    """A number of 64 bits for what each row holds, whatever the types it is stored in."""
    hashes = np.zeros(batch.num_rows, dtype=np.uint64)
    for column in batch.columns:
        if pa.types.is_boolean(column.type) or is_number(column.type):
            values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) + 0.0  # one zero, not two
            values = np.where(np.isnan(values), np.nan, values).view(np.uint64)
        else:
            encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            different = [*encoded.dictionary.cast(pa.string()).to_pylist(), None]
            digests = np.array([_digest(v) for v in different], dtype=np.uint64)
            places = encoded.indices.fill_null(len(different) - 1).to_numpy(zero_copy_only=False)
            values = digests[places]
        hashes = _mixed(hashes * MULTIPLIER + values)
    return hashes


def _mixed(h: Any) -> Any:
    """The last steps of SplitMix64 (Steele, Lea & Flood, 2014): every bit depends on all."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def _digest(text: str | None) -> int:
    return int.from_bytes(blake2b(b"" if text is None else b"=" + text.encode(), digest_size=8).digest(), "little")


def _numbers(column: Any, name: str, remedy: str) -> Any:
    """A column as float64, NaN where a value is missing."""
    if not (is_number(column.type) or pa.types.is_boolean(column.type)):
        raise InputError(f"column {name!r} holds {column.type}, which is no number; {remedy}.")
    # whole numbers beyond 2⁵³ are rounded
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def ahead(items: Iterator[Any]) -> Iterator[Any]:
    """The same items, the next one made in a thread of its own while one is in use."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, items, END)
        while (item := coming.result()) is not END:
            coming = pool.submit(next, items, END)
            yield item
