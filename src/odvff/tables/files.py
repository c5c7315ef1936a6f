"""Tables in files of any size: CSV, TSV, Parquet, Arrow, gzip of these, folders and globs of many, standard input.

Files are read with pyarrow a batch at a time, in order, and only the columns that are asked for. What can be read but
once is kept in a temporary file that no kill leaves behind. Whatever is wrong with a file is an error that names it.
"""

import contextlib
import glob
import gzip
import os
import re
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from odvff.errors import FileError, InputError
from odvff.tables.csv_file import CsvFile, Reading

TEXT = (".csv", ".txt", ".tsv", ".tab")
BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
DELIMITERS = {".tsv": "\t", ".tab": "\t"}
STANDARD_INPUT = "-"
STANDARD_INPUTS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
BATCH_ROWS = 2**16
AnyPath = str | os.PathLike[str]


class TableFiles:
    """Files with the same columns, as one table."""

    def __init__(self, paths: AnyPath | Iterable[AnyPath], reading: Reading | None = None):
        names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        self._reading = reading or Reading()
        self._digests: dict[str, str] = {}  # of what can be read but once, by name
        self._files = [self._opened(path) for path in _expanded(names)]
        check_columns(self._reading.exclude, [n for file in self._files for n in file.schema.names])
        texts = [file for file in self._files if isinstance(file, CsvFile)]
        as_text = {name for file in texts for name in file.as_text}
        for file in texts:
            file.read_as_text(as_text)
        self.schema = _common_schema(self._files, self._reading.exclude)

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def expected_rows(self) -> int | None:
        """How many rows there are, where files say so; None where they must be read to know."""
        rows = [file.n_rows for file in self._files]
        return None if any(n is None for n in rows) else sum(n or 0 for n in rows)

    def fingerprint(self) -> list[list[Any]]:
        """Which files these are, and whether they have changed: names, sizes and times, or what came in."""
        return [[file.shown, *self._mark(file.shown)] for file in self._files]

    def _mark(self, shown: str) -> list[Any]:
        if shown in self._digests:
            return [self._digests[shown]]
        with _told(FileError(f"{shown} cannot be read")):
            found = os.stat(shown)
        return [found.st_size, found.st_mtime_ns]

    def refuse_slips(self, columns: list[str]) -> None:
        """Columns of CSV whose text is nearly all numbers are no labels."""
        for file in self._files:
            slips = file.slips if isinstance(file, CsvFile) else {}
            found = next((name for name in columns if name in slips), None)
            if found is not None:
                raise InputError(
                    f"{file.shown}: column {found!r} holds numbers, and also {slips[found][:40]!r}; mend it, leave it "
                    "empty if it is missing, name the column as categorical if its values are labels, or exclude it."
                )

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """All rows in order, with these columns, a batch at a time."""
        return (batch for batch, _ in self.placed(columns))

    def placed(self, columns: list[str]) -> Iterator[tuple[pa.RecordBatch, "Place"]]:
        """The same, each with the place where it begins."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        for file in self._files:
            before = 0
            with _reading_of(file.shown):
                for batch in file.batches(columns, self.schema):
                    batch = batch.replace_schema_metadata().select(columns)
                    batch = batch if batch.schema.types == schema.types else batch.cast(schema, safe=False)
                    yield batch, Place(file.shown if len(self._files) > 1 else "", before)
                    before += batch.num_rows

    def _opened(self, path: str) -> "_File":
        shown = "standard input" if path == STANDARD_INPUT else path
        with _told(FileError(f"{shown} cannot be read")):
            if path == STANDARD_INPUT:
                path, self._digests[shown] = self._kept(sys.stdin.buffer)
            elif not os.path.isfile(path):
                # devices have no end, but for the one that is standard input
                if stat.S_ISCHR(os.stat(path).st_mode) and path not in STANDARD_INPUTS:
                    raise InputError(f"{path} is a device, which holds no table; give a file, or - for standard input.")
                with open(path, "rb") as stream:
                    path, self._digests[shown] = self._kept(stream)
            with open(path, "rb") as file:
                start = file.read(4)
        if not start:
            raise InputError(f"{shown} is empty.")
        zipped, suffix = start[:2] == b"\x1f\x8b", _suffix(Path(shown))
        with _reading_of(shown):
            if zipped and suffix in BINARY:  # these are read from their end
                with gzip.open(path) as unzipped:
                    (path, _), zipped = self._kept(unzipped), False
                with open(path, "rb") as file:
                    start = file.read(4)
            if start in MAGIC:
                return MAGIC[start](path, shown)
            if suffix in BINARY:
                raise FileError(f"{shown} is no {suffix[1:]} file, or a damaged one: it does not begin as one.")
            return CsvFile(path, shown, zipped, self._reading, DELIMITERS.get(suffix))

    def _kept(self, stream: Any) -> tuple[str, str]:
        """The path of a temporary file with the content of a stream, there as long as this object, and its SHA-256."""
        digest, failure = sha256(), FileError(f"what comes in cannot be kept in {tempfile.gettempdir()}")
        with _told(failure):
            spool, path = _temporary()
        weakref.finalize(self, spool.close)
        while block := stream.read(2**20):
            digest.update(block)
            with _told(failure):
                spool.write(block)
        with _told(failure):
            spool.flush()
        return path, digest.hexdigest()


@dataclass(frozen=True)
class Place:
    """Where a batch begins."""

    file: str  # empty if there is but one
    before: int  # rows of the file

    def row(self, i: int) -> str:
        """A row of the batch for people, who count from 1 and without the header."""
        return f"row {self.before + i + 1:,}" + (f" of {self.file}" if self.file else "")


def _temporary() -> tuple[Any, str]:
    """A temporary file and its path. Where files can be opened without a name it has none: no kill leaves it behind."""
    unnamed = tempfile.TemporaryFile(prefix="odvff-", suffix=".spool")  # noqa: SIM115 (closed with its owner)
    path = f"/proc/self/fd/{unnamed.fileno()}"  # /dev/fd of other systems shares its position among all readers
    if os.path.exists(path):
        return unnamed, path
    unnamed.close()
    named = tempfile.NamedTemporaryFile(prefix="odvff-", suffix=".spool")  # noqa: SIM115
    return named, named.name


class _ParquetFile:
    def __init__(self, path: str, shown: str):
        self.path, self.shown = path, shown
        with parquet.ParquetFile(path) as file:
            self.schema, self.n_rows = file.schema_arrow.remove_metadata(), file.metadata.num_rows

    def batches(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        # not buffered ahead: a file may be one group of rows, larger than memory
        with parquet.ParquetFile(self.path, pre_buffer=False) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False)


class _ArrowFile:
    n_rows: int | None = None

    def __init__(self, path: str, shown: str):
        self.path, self.shown = path, shown
        with pa.memory_map(path) as source:
            self.schema = pa.ipc.open_file(source).schema.remove_metadata()

    def batches(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(self.path) as source:
            wanted = sorted(self.schema.get_field_index(name) for name in columns)  # others are not decompressed
            file = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=wanted))
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                for start in range(0, batch.num_rows, BATCH_ROWS):
                    yield batch.slice(start, BATCH_ROWS)


_File = CsvFile | _ParquetFile | _ArrowFile
MAGIC: dict[bytes, type[_ParquetFile | _ArrowFile]] = {b"PAR1": _ParquetFile, b"ARRO": _ArrowFile}


@contextlib.contextmanager
def _told(failure: FileError, errors: Any = OSError) -> Iterator[None]:
    """Errors of the system as this one of ours, and in one line why."""
    try:
        yield
    except FileError:
        raise
    except errors as error:
        why = str(getattr(error, "strerror", None) or str(error).split("\n")[0])
        raise FileError(*failure.args, f": {why.rstrip('. ')}.") from error


@contextlib.contextmanager
def _reading_of(shown: str) -> Iterator[None]:
    """Errors of pyarrow as one of ours, which names the file."""
    damage = (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error)
    with _told(FileError(f"{shown} cannot be read, it may be damaged or cut off"), damage):
        try:
            yield
        except pa.ArrowInvalid as error:
            if "Empty CSV" not in str(error):
                raise
            raise InputError(f"{shown} is empty.") from error


def _expanded(paths: list[Any]) -> list[str]:
    """Every file that is meant, in order."""
    found: list[str] = []
    for path in map(str, paths):
        if path == STANDARD_INPUT or (os.path.exists(path) and not os.path.isdir(path)):
            found.append(path)
        elif os.path.isdir(path):
            inside = sorted(str(p) for p in Path(path).rglob("*") if p.is_file() and _is_table(p.relative_to(path)))
            if not inside:
                raise InputError(f"the folder {path} holds no table; files are known by {', '.join(TEXT + BINARY)}.")
            found += inside
        elif glob.has_magic(path):
            matching = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
            if not matching:
                raise FileError(f"no file matches {path}.")
            found += matching
        else:
            folder = Path(path).parent
            near = get_close_matches(Path(path).name, [p.name for p in folder.iterdir()] if folder.is_dir() else [], 1)
            raise FileError(f"{path} does not exist" + (f"; did you mean {folder / near[0]}?" if near else "."))
    if found.count(STANDARD_INPUT) > 1:
        raise InputError("standard input can be read but once.")
    seen: set[str] = set()
    for path in found:
        if (real := os.path.realpath(path)) in seen:
            raise InputError(f"{path} is given twice, and its rows would count twice; give it once.")
        seen.add(real)
    return found


def _is_table(path: Path) -> bool:
    """Is this a file with a table, and none that is hidden or that a program keeps notes in?"""
    return _suffix(path) in TEXT + BINARY and not any(part[0] in "._" for part in path.parts)


def _suffix(path: Path) -> str:
    """The last one, but for that of gzip."""
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def check_columns(wanted: Iterable[str], names: list[str]) -> None:
    """Are there all of these columns? If not, which one may be meant?"""
    there = set(names)
    for name in wanted:
        if name not in there:
            near = get_close_matches(name, names, 1, 0.5) or [n for n in names if n.lower() == name.lower()]
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names[:20])}."
            raise InputError(f"there is no column {name!r}; {meant}")


def _common_schema(files: list[_File], exclude: frozenset[str]) -> pa.Schema:
    """The columns that all files have, but for those excluded; an error if they differ in names or kinds."""
    first, types = files[0], _types(files[0], exclude)
    for file in files[1:]:
        others = _types(file, exclude)
        apart = [f"lacks {n!r}" for n in types if n not in others]
        apart += [f"has {n!r} besides" for n in others if n not in types]
        if apart:
            raise InputError(
                f"the files have different columns: {file.shown} {apart[0]}, unlike {first.shown}; make them alike, "
                "or exclude the column."
            )
        for name, one in types.items():
            common = _common_type(one, others[name])
            if common is None:
                raise InputError(
                    f"the files have different types: column {name!r} is {one} in {first.shown} and {others[name]} in "
                    f"{file.shown}; make them alike, or exclude the column."
                )
            types[name] = common
    # nothing at all may be followed by numbers
    return pa.schema([(name, pa.float64() if pa.types.is_null(t) else t) for name, t in types.items()])


def _types(file: _File, exclude: frozenset[str]) -> dict[str, pa.DataType]:
    """What every column is read as: views of text have few functions in pyarrow, and text has all."""
    types: dict[str, pa.DataType] = {}
    for name, t in zip(file.schema.names, file.schema.types, strict=True):
        if name in types:
            raise InputError(f"{file.shown} has two columns called {name!r}; rename one of them.")
        if name not in exclude:
            types[name] = pa.string() if pa.types.is_string_view(t) else t
    return types


def _common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """What holds the values of both, if anything does."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if is_number(one) and is_number(other):
        return pa.float64()
    return pa.string() if is_text(one) and is_text(other) else None


def is_number(t: pa.DataType) -> bool:
    """Does a column of this type hold numbers, or nothing at all?"""
    return bool(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) or pa.types.is_null(t))


def check_usable(name: str, t: pa.DataType) -> None:
    """Is this a type of single values, which can be numbers or labels?"""
    if pa.types.is_nested(t) or re.match("(large_|fixed_size_)?binary", str(t)):
        raise InputError(
            f"column {name!r} holds {t}, which is neither numbers nor labels; exclude it, or spread it over columns of "
            "their own."
        )


def check_target(name: str, t: pa.DataType) -> None:
    """Is this a type of numbers or classes?"""
    check_usable(name, t)
    if pa.types.is_temporal(t):
        raise InputError(
            f"the target {name!r} holds dates or times ({t}), which are no numbers and no classes; turn it into some, "
            "such as days since the first one."
        )


def is_text(t: pa.DataType) -> bool:
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_dictionary(t))
