"""Tables in files of any size: CSV, TSV, Parquet, Arrow, gzip of these, folders and globs of many, standard input.

Files are read with pyarrow a batch at a time, in order, and only the columns that are asked for. Whatever is wrong with
one is an error that names it.
"""

import codecs
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
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as parquet

from odvff.data.columns import PLAIN_NUMBER
from odvff.errors import FileError, InputError

FORMATS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
MAGIC = {b"PAR1": "parquet", b"ARRO": "arrow"}
DELIMITERS = {".tsv": "\t", ".tab": "\t"}
MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
STANDARD_INPUT = "-"
STANDARD_INPUTS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
BLOCK_BYTES = 2**22  # of CSV, read at a time; types are guessed from the first
BATCH_ROWS = 2**16
CONVERSION = re.compile(
    r"In CSV column #(?P<column>\d+):(?: Row #(?P<row>\d+):)? CSV conversion error to (?P<type>\w+): "
    r"invalid value '(?P<value>.*)'",
    re.DOTALL,
)
ANY_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
LEADING_ZEROS = "0[0-9]+"
TRUE_OR_FALSE = "true|True|TRUE|false|False|FALSE"
SLIP_SHARE, SLIP_NUMBERS = 0.9, 5
HEADER_BYTES = 2**20
MARKS = {  # at the beginning of a file; the longer ones begin like the shorter ones
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODE = "say how the file is encoded, latin-1 for example"


@dataclass(frozen=True)
class Reading:
    """How people say that their files are to be read."""

    delimiter: str | None = None  # of CSV; by default found out
    encoding: str = "utf-8"
    labels: frozenset[str] = frozenset()  # columns of labels: numbers if all of them are, else text
    exclude: frozenset[str] = frozenset()  # columns that are not looked at
    text: frozenset[str] = frozenset()  # columns of CSV that are read as they stand
    numbers: frozenset[str] = frozenset()  # columns of CSV that are numbers, with leading zeros or without


class TableFiles:
    """Files with the same columns, as one table."""

    def __init__(
        self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], reading: Reading | None = None
    ):
        names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        self._reading = _checked(reading or Reading())
        self._digests: dict[str, str] = {}  # of what can be read but once, by name
        self._files = [self._opened(path) for path in _expanded(names)]
        check_columns(self._reading.exclude, [n for file in self._files for n in file.schema.names])
        texts = [file for file in self._files if isinstance(file, _CsvFile)]
        as_text = {name for file in texts for name in file.as_text}
        for file in texts:
            file.read_as_text(as_text)
        self.schema = _common_schema(self._files, self._reading.exclude)

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def n_files(self) -> int:
        return len(self._files)

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
        try:
            found = os.stat(shown)
        except OSError as error:
            raise FileError(f"{shown} cannot be read: {_why(error)}.") from error
        return [found.st_size, found.st_mtime_ns]

    def refuse_slips(self, columns: list[str]) -> None:
        """Columns of CSV whose text is nearly all numbers are no labels."""
        for file in self._files:
            slips = file.slips if isinstance(file, _CsvFile) else {}
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
                    yield batch, Place(file.shown if self.n_files > 1 else "", before)
                    before += batch.num_rows

    def _opened(self, path: str) -> "_File":
        shown = "standard input" if path == STANDARD_INPUT else path
        try:
            if path == STANDARD_INPUT:
                path, self._digests[shown] = self._spooled(sys.stdin.buffer)
            elif not os.path.isfile(path):
                _refuse_device(path)
                with open(path, "rb") as stream:
                    path, self._digests[shown] = self._spooled(stream)
            with open(path, "rb") as file:
                start = file.read(4)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{shown} cannot be read: {_why(error)}.") from error
        if not start:
            raise InputError(f"{shown} is empty.")
        zipped = start[:2] == b"\x1f\x8b"
        suffixes = [s.lower() for s in Path(shown).suffixes if s.lower() != ".gz"]
        suffix = suffixes[-1] if suffixes else ""
        with _reading_of(shown):
            if zipped and FORMATS.get(suffix, "csv") != "csv":  # these are read from their end
                with gzip.open(path) as unzipped:
                    (path, _), zipped = self._spooled(unzipped), False
                with open(path, "rb") as file:
                    start = file.read(4)
            kind = MAGIC.get(start, "csv")
            if kind == "csv" and FORMATS.get(suffix, "csv") != "csv":
                raise FileError(f"{shown} is no {suffix[1:]} file, or a damaged one: it does not begin as one.")
            if kind == "parquet":
                return _ParquetFile(path, shown)
            if kind == "arrow":
                return _ArrowFile(path, shown)
            return _CsvFile(path, shown, zipped, self._reading, DELIMITERS.get(suffix))

    def _spooled(self, stream: BinaryIO | gzip.GzipFile) -> tuple[str, str]:
        """The path of a temporary file with the content of a stream, which can be read but once, and its SHA-256."""
        digest = sha256()
        with _keeping():
            spool, path = _temporary()
        weakref.finalize(self, spool.close)
        while block := stream.read(2**20):
            digest.update(block)
            with _keeping():
                spool.write(block)
        with _keeping():
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


def _checked(reading: Reading) -> Reading:
    """The same with a delimiter that can be one."""
    delimiter = "\t" if reading.delimiter == "\\t" else reading.delimiter
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        raise InputError(f"the delimiter must be a single character, such as ; or \\t, got {reading.delimiter!r}.")
    return replace(reading, delimiter=delimiter)


def _refuse_device(path: str) -> None:
    """Devices have no end, but for the one that is standard input."""
    if stat.S_ISCHR(os.stat(path).st_mode) and path not in STANDARD_INPUTS:
        raise InputError(f"{path} is a device, which holds no table; give a file, or - for standard input.")


def _temporary() -> tuple[Any, str]:
    """A temporary file and its path. Where files can be opened without a name it has none: no kill leaves it behind."""
    unnamed = tempfile.TemporaryFile(prefix="odvff-", suffix=".spool")  # noqa: SIM115 (closed with its owner)
    path = f"/proc/self/fd/{unnamed.fileno()}"  # /dev/fd of other systems shares its position among all readers
    if os.path.exists(path):
        return unnamed, path
    unnamed.close()
    named = tempfile.NamedTemporaryFile(prefix="odvff-", suffix=".spool")  # noqa: SIM115
    return named, named.name


@contextlib.contextmanager
def _keeping() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"what comes in cannot be kept in {tempfile.gettempdir()}: {_why(error)}.") from error


class _File(Protocol):
    """A file with rows."""

    path: str
    shown: str  # its name for people
    schema: pa.Schema
    n_rows: int | None  # if it says so

    def batches(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """All rows with these columns, which have the types of the schema."""
        ...


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


class _CsvFile:
    n_rows: int | None = None

    def __init__(self, path: str, shown: str, zipped: bool, reading: Reading, delimiter: str | None):
        self.path, self.shown = path, shown
        self._zipped, self._reading, self._ragged = zipped, reading, ""
        with self._explained():
            start = self._start()
            self._encoding = _encoding_of(start, reading.encoding)
            self._delimiter = reading.delimiter or delimiter or _delimiter_of(start.decode(self._encoding, "replace"))
        self._all_names: list[str] = []
        with self._explained(), self._opened(None, {}) as reader:
            guessed = reader.schema
        self._all_names = guessed.names
        types = [self._type(name, t) for name, t in zip(guessed.names, guessed.types, strict=True)]
        self.schema = pa.schema(list(zip(guessed.names, types, strict=True)))
        self.slips: dict[str, str] = {}  # columns of text that are nearly all numbers, and one that is none
        self.as_text: set[str] = set()  # columns that look like numbers, and are none
        with self._explained():
            self._look_at_first_rows(guessed)
            self._look_at_labels()
        self.read_as_text(self.as_text)

    def read_as_text(self, columns: set[str]) -> None:
        """Read these as text, if they are not yet."""
        for i, name in enumerate(self.schema.names):
            if name in columns:
                self.schema = self.schema.set(i, pa.field(name, pa.string()))

    def _look_at_first_rows(self, guessed: pa.Schema) -> None:
        """Numbers have no leading zeros, and text is not nearly all numbers."""
        known = self._reading.exclude | self._reading.text | self._reading.numbers
        texts = {f.name for f in guessed if pa.types.is_string(f.type)} - known - self._reading.labels
        whole = {f.name for f in guessed if pa.types.is_integer(f.type)} - known
        for values in islice(self._values(texts | whole), 1):
            zeros = {name for name, some in values.items() if pc.any(_are(LEADING_ZEROS, some)).as_py()}
            self.as_text |= zeros & whole
            slips = {name: _slip(values[name]) for name in texts - zeros}
            self.slips = {name: slip for name, slip in slips.items() if slip is not None}

    def _look_at_labels(self) -> None:
        """Labels are numbers (or true and false) if all of them are, as far as the file goes."""
        known = self._reading.exclude | self._reading.text | self._reading.numbers | self.as_text
        patterns = {pa.float64(): PLAIN_NUMBER, pa.bool_(): TRUE_OR_FALSE, pa.null(): PLAIN_NUMBER}
        labels = {f.name: f.type for f in self.schema if f.name in self._reading.labels - known}
        self.as_text |= {name for name, t in labels.items() if t not in patterns}
        pure = {name for name, t in labels.items() if t in patterns}
        for values in self._values(pure):
            mixed = {name for name in pure if not pc.all(_are(patterns[labels[name]], values[name])).as_py()}
            self.as_text |= mixed
            pure -= mixed
            if not pure:
                break

    def _values(self, columns: set[str]) -> Iterator[dict[str, pa.Array]]:
        """Different values of these columns as text, without missing ones, block by block."""
        if columns:
            with self._opened(sorted(columns), dict.fromkeys(columns, pa.string())) as reader:
                for batch in reader:
                    each = {name: batch.column(name).unique() for name in columns}
                    yield {name: v.filter(pc.invert(pc.is_in(v, pa.array(MISSING)))) for name, v in each.items()}

    def batches(self, columns: list[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        types = {name: schema.field(name).type for name in columns}
        with self._explained(), self._opened(columns, types) as reader:
            yield from map(_without_empty_text, reader)

    def _type(self, name: str, guessed: pa.DataType) -> pa.DataType:
        if pa.types.is_binary(guessed) and name not in self._reading.exclude:
            raise InputError(f"{self.shown}: column {name!r} is no text in {self._encoding}; {ENCODE}.")
        if name in self._reading.text:
            return pa.string()
        if name in self._reading.numbers:
            return pa.float64()
        return pa.float64() if pa.types.is_integer(guessed) else guessed  # whole numbers may be followed by others

    def _opened(self, columns: list[str] | None, types: dict[str, Any]) -> Any:
        return csv.open_csv(
            pa.input_stream(self.path, compression="gzip" if self._zipped else None),
            # one thread: errors know their row, and the other cores have work of their own
            csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, encoding=self._encoding),
            csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=self._refuse),
            csv.ConvertOptions(include_columns=columns, column_types=types, null_values=MISSING),
        )

    def _refuse(self, row: Any) -> str:
        where = "" if row.number is None else f"row {row.number - 1:,} has "  # pyarrow counts the header
        self._ragged = f"{where}{row.actual_columns} values, and the header {row.expected_columns}: {row.text[:80]!r}"
        return "error"

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors of the reader in the words of the person whose file it is."""
        try:
            yield
        except (pa.ArrowInvalid, UnicodeError, LookupError) as error:
            if self._ragged:
                raise InputError(
                    f"{self.shown} is ragged: {self._ragged}. Mend that row, or quote values that hold a delimiter."
                ) from error
            if isinstance(error, LookupError):
                raise InputError(
                    f"there is no encoding {self._reading.encoding!r}; utf-8 and latin-1 are usual."
                ) from error
            found = CONVERSION.search(str(error))
            if isinstance(error, UnicodeError) or "UTF8" in str(error):
                raise InputError(f"{self.shown} is no text in {self._encoding}; {ENCODE}.") from error
            if found and int(found["column"]) < len(self._all_names):
                name = self._all_names[int(found["column"])]
                where = f" in row {int(found['row']) - 1:,}" if found["row"] else ""  # pyarrow counts the header
                value = repr(found["value"][:40])
                if name in self._reading.numbers:
                    raise InputError(
                        f"{self.shown}: column {name!r} must hold numbers, and has {value}{where}; mend it, or leave "
                        "it empty if it is missing."
                    ) from error
                held = {"double": "numbers", "bool": "true and false"}.get(
                    found["type"], f"values of type {found['type']}"
                )
                raise InputError(
                    f"{self.shown}: column {name!r} begins with {held} and then has {value}{where}; "
                    "name it as categorical to take its values as labels, exclude it, or mend the file."
                ) from error
            raise

    def _start(self) -> bytes:
        opened: Any = gzip.open if self._zipped else open
        with opened(self.path, "rb") as file:
            return bytes(file.read(HEADER_BYTES))


def _encoding_of(start: bytes, said: str) -> str:
    """The encoding that the first bytes tell, where people say no other than the usual one."""
    if codecs.lookup(said).name != "utf-8":
        return said
    return next((encoding for mark, encoding in MARKS.items() if start.startswith(mark)), said)


def _delimiter_of(start: str) -> str:
    """The mark that the header has most of, but for names in quotes."""
    header = next(iter(re.sub('"[^"]*"', "", start).lstrip("\r\n").splitlines()), "")
    return max(",;\t|", key=header.count)


def _are(pattern: str, texts: pa.Array) -> pa.Array:
    return pc.match_substring_regex(texts, f"^(?:{pattern})$")


def _slip(values: pa.Array) -> str | None:
    """The first value that is no number, where nearly all are."""
    others = values.filter(pc.invert(_are(ANY_NUMBER, values)))
    numbers = len(values) - len(others)
    few = numbers < SLIP_NUMBERS or numbers < SLIP_SHARE * len(values)
    return None if few or not len(others) else str(others[0])


def _without_empty_text(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Text is missing where there is none; NA may be a country, which in numbers it cannot."""
    columns = [
        pc.if_else(pc.equal(column, ""), None, column) if pa.types.is_string(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


@contextlib.contextmanager
def _reading_of(shown: str) -> Iterator[None]:
    """Errors of pyarrow as one of ours, which names the file."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError, zlib.error) as error:
        if isinstance(error, FileError):
            raise
        if "Empty CSV" in str(error):
            raise InputError(f"{shown} is empty.") from error
        raise FileError(f"{shown} cannot be read, it may be damaged or cut off: {_why(error)}.") from error


def _why(error: BaseException) -> str:
    """What an error says, in one line."""
    text = getattr(error, "strerror", None) or str(error).split("\n")[0]
    return str(text).rstrip(". ")


def _expanded(paths: list[Any]) -> list[str]:
    """Every file that is meant, in order."""
    found: list[str] = []
    for path in map(str, paths):
        if path == STANDARD_INPUT:
            found.append(path)
        elif os.path.isdir(path):
            inside = sorted(str(p) for p in Path(path).rglob("*") if p.is_file() and _is_table(p.relative_to(path)))
            if not inside:
                raise InputError(f"the folder {path} holds no table; files are known by {', '.join(FORMATS)}.")
            found += inside
        elif os.path.exists(path):
            found.append(path)
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
    suffixes = [s.lower() for s in path.suffixes if s.lower() != ".gz"]
    return bool(suffixes) and suffixes[-1] in FORMATS and not any(part[0] in "._" for part in path.parts)


def check_columns(wanted: Iterable[str], names: list[str]) -> None:
    """Are there all of these columns?"""
    there = set(names)
    for name in wanted:
        if name not in there:
            check_column(name, names)


def check_column(name: str, names: list[str]) -> None:
    """Is there such a column? If not, which one may be meant?"""
    if name not in names:
        near = get_close_matches(name, names, 1, 0.5) or [n for n in names if n.lower() == name.lower()]
        meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names[:20])}."
        raise InputError(f"there is no column {name!r}; {meant}")


def _common_schema(files: list[_File], exclude: frozenset[str]) -> pa.Schema:
    """The columns that all files have, but for those excluded; an error if they differ in names or kinds."""
    first = files[0]
    for file in files:
        counts = Counter(name for name in file.schema.names if name not in exclude)
        twice = next((name for name, n in counts.items() if n > 1), None)
        if twice is not None:
            raise InputError(f"{file.shown} has two columns called {twice!r}; rename one of them.")
    types = {f.name: _plain_type(f.type) for f in first.schema if f.name not in exclude}
    for file in files[1:]:
        names = dict.fromkeys(name for name in file.schema.names if name not in exclude)
        apart = [(f"lacks {n!r}", n) for n in types if n not in names] + [
            (f"has {n!r} besides", n) for n in names if n not in types
        ]
        if apart:
            raise InputError(
                f"the files have different columns: {file.shown} {apart[0][0]}, unlike {first.shown}; make them "
                "alike, or exclude the column."
            )
        for name in types:
            types[name] = _common_type(
                name, types[name], _plain_type(file.schema.field(name).type), first.shown, file.shown
            )
    # nothing at all may be followed by numbers
    return pa.schema([(name, pa.float64() if pa.types.is_null(t) else t) for name, t in types.items()])


def is_number(t: pa.DataType) -> bool:
    """Does a column of this type hold numbers, or nothing at all?"""
    return bool(pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) or pa.types.is_null(t))


def check_usable(name: str, t: pa.DataType) -> None:
    """Is this a type of single values, which can be numbers or labels?"""
    if pa.types.is_nested(t) or _is_binary(t):
        raise InputError(
            f"column {name!r} holds {t}, which is neither numbers nor labels; exclude it, or spread it over columns of "
            "their own."
        )


def _is_binary(t: pa.DataType) -> bool:
    return any(
        is_one(t)
        for is_one in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
            pa.types.is_binary_view,
        )
    )


def _plain_type(t: pa.DataType) -> pa.DataType:
    """The type that a column is read as: views of text have few functions in pyarrow, and text has all."""
    return pa.string() if pa.types.is_string_view(t) else t


def _common_type(name: str, first: pa.DataType, other: pa.DataType, a: str, b: str) -> pa.DataType:
    def is_text(t: pa.DataType) -> bool:
        return bool(pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_dictionary(t))

    if first == other:
        return first
    if pa.types.is_null(first) or pa.types.is_null(other):
        return other if pa.types.is_null(first) else first
    if is_number(first) and is_number(other):
        return pa.float64()
    if is_text(first) and is_text(other):
        return pa.string()
    raise InputError(
        f"the files have different types: column {name!r} is {first} in {a} and {other} in {b}; make them alike, or "
        "exclude the column."
    )
