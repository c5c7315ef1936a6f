"""CSV files: what their columns are is guessed from the first rows, and errors are said in the words of their owner."""

import codecs
import contextlib
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from odvff.errors import InputError
from odvff.tables.columns import PLAIN_NUMBER

MISSING = ["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "#N/A"]
BLOCK_BYTES = 2**22  # of CSV, read at a time; types are guessed from the first
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

    @property
    def known(self) -> frozenset[str]:
        """Columns that are not looked at to find out what they hold."""
        return self.exclude | self.text | self.numbers

    def __post_init__(self) -> None:
        delimiter = "\t" if self.delimiter == "\\t" else self.delimiter
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
            raise InputError(f"the delimiter must be a single character, such as ; or \\t, got {self.delimiter!r}.")
        object.__setattr__(self, "delimiter", delimiter)


class CsvFile:
    n_rows: int | None = None

    def __init__(self, path: str, shown: str, zipped: bool, reading: Reading, delimiter: str | None):
        self.path, self.shown = path, shown
        self._zipped, self._reading, self._ragged = zipped, reading, ""
        opened: Any = gzip.open if zipped else open
        with self._explained(), opened(path, "rb") as file:
            start = file.read(HEADER_BYTES)
            self._encoding = _encoding_of(start, reading.encoding)
            self._delimiter = reading.delimiter or delimiter or _delimiter_of(start.decode(self._encoding, "replace"))
        self.schema = pa.schema([])  # until it is known
        with self._explained(), self._opened(None, {}) as reader:
            guessed = reader.schema
        self.schema = pa.schema([(f.name, self._type(f.name, f.type)) for f in guessed])
        self.slips: dict[str, str] = {}  # columns of text that are nearly all numbers, and one that is none
        self.as_text: set[str] = set()  # columns that look like numbers, and are none
        with self._explained():
            self._look_at_first_rows(guessed)
            self._look_at_labels()

    def read_as_text(self, columns: set[str]) -> None:
        """Read these as text, if they are not yet."""
        self.schema = pa.schema([(f.name, pa.string() if f.name in columns else f.type) for f in self.schema])

    def _look_at_first_rows(self, guessed: pa.Schema) -> None:
        """Numbers have no leading zeros, and text is not nearly all numbers."""
        texts = {f.name for f in guessed if pa.types.is_string(f.type)} - self._reading.known - self._reading.labels
        whole = {f.name for f in guessed if pa.types.is_integer(f.type)} - self._reading.known
        for values in islice(self._values(texts | whole), 1):
            zeros = {name for name, some in values.items() if pc.any(_are(LEADING_ZEROS, some)).as_py()}
            self.as_text |= zeros & whole
            slips = {name: _slip(values[name]) for name in texts - zeros}
            self.slips = {name: slip for name, slip in slips.items() if slip is not None}

    def _look_at_labels(self) -> None:
        """Labels are numbers (or true and false) if all of them are, as far as the file goes."""
        patterns = {pa.float64(): PLAIN_NUMBER, pa.bool_(): TRUE_OR_FALSE, pa.null(): PLAIN_NUMBER}
        labels = self._reading.labels - self._reading.known - self.as_text
        pure = {f.name: patterns[f.type] for f in self.schema if f.name in labels and f.type in patterns}
        for values in self._values(set(pure)):
            pure = {name: held for name, held in pure.items() if pc.all(_are(held, values[name])).as_py()}
            if not pure:
                break
        self.as_text |= {name for name in self.schema.names if name in labels and name not in pure}

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
        whole = pa.types.is_integer(guessed)  # numbers, which may be followed by others
        return pa.float64() if whole or name in self._reading.numbers else guessed

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
            if isinstance(error, UnicodeError) or "UTF8" in str(error):
                raise InputError(f"{self.shown} is no text in {self._encoding}; {ENCODE}.") from error
            found = CONVERSION.search(str(error))
            if found and int(found["column"]) < len(self.schema.names):
                raise self._misfit(self.schema.names[int(found["column"])], found) from error
            raise

    def _misfit(self, name: str, found: re.Match[str]) -> InputError:
        """What is wrong with a value of this column, and what to do."""
        where = f" in row {int(found['row']) - 1:,}" if found["row"] else ""  # pyarrow counts the header
        value = f"{found['value'][:40]!r}{where}"
        if name in self._reading.numbers:
            return InputError(
                f"{self.shown}: column {name!r} must hold numbers, and has {value}; mend it, or leave it empty if it "
                "is missing."
            )
        held = {"double": "numbers", "bool": "true and false"}.get(found["type"], f"values of type {found['type']}")
        return InputError(
            f"{self.shown}: column {name!r} begins with {held} and then has {value}; name it as categorical to take "
            "its values as labels, exclude it, or mend the file."
        )


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
