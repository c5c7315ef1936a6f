"""Any table as named columns of numbers or labels: NumPy arrays, and pandas, polars and Arrow tables by narwhals."""

import datetime
from decimal import Decimal
from numbers import Real
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from odvff.errors import Argument, InputError

NUMBER, LABEL, TEXT = "number", "label", "text"
DATES = (
    "which are no numbers; turn it into some, such as days since the first one, month or hour of the day, or drop it"
)
REMEDIES: dict[Any, str] = {bytes: "decode them to text", (list, tuple, dict): "spread them over columns of their own"}
CONVERT = "convert them to numbers or a categorical type"


class Table(Protocol):
    """Rows and named columns, each of one kind: numbers, labels (categories and booleans) or text."""

    names: tuple[str, ...]
    n_rows: int

    def kind(self, column: int) -> str:
        """NUMBER, LABEL or TEXT; an error that says what to do if it is something else."""

    def numbers(self, column: int) -> Any:
        """The column as float64, NaN where a value is missing."""

    def labels(self, column: int) -> list[Any]:
        """The column as plain labels (text, whole numbers, booleans), None where one is missing."""
        different, codes = self.factorised(column)
        return [different[code] for code in codes]

    def factorised(self, column: int) -> tuple[list[Any], Any]:
        """The same as different labels, and for each row the place of its own among them."""

    def order(self, column: int) -> list[Any]:
        """The labels in the order that the table itself gives them, if it does."""
        return []

    def take(self, rows: Any) -> "Table":
        """The rows of a slice, or at these positions."""


def as_table(X: Any) -> Table:
    """A table of something that is one: a data frame, or a two-dimensional array of numbers."""
    if not is_frame(X):
        return ArrayTable(np.asarray(X))
    try:
        frame = nw.from_native(X)
    except nw.exceptions.DuplicateError as error:
        raise InputError(f"two columns of the table have one name; rename one of them ({error}).") from error
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            f"X is a lazy table ({type(X).__name__}), and its rows are needed; call `.collect()` first, or what your "
            "library has in its place."
        )
    firsts = {str(name): name for name in reversed(frame.columns)}
    for name in frame.columns:  # what is no text may be the same when it becomes text
        if (one := firsts[str(name)]) != name:
            raise InputError(f"the columns {one!r} and {name!r} have one name, '{name}', as text; rename one of them.")
    return FrameTable(frame)


def is_frame(X: Any) -> bool:
    """Is this a data frame, of any make, lazy ones too?"""
    return bool(nw.dependencies.is_into_dataframe(X)) or isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


class ArrayTable(Table):
    """An array of numbers, whose columns are called x0, x1, …; a part of a larger table knows its first row."""

    def __init__(self, X: Any, first_row: int = 0):
        self._X, self._first_row = X, first_row
        self.names, self.n_rows = tuple(f"x{i}" for i in range(X.shape[1])), len(X)

    def kind(self, column: int) -> str:
        return NUMBER

    def numbers(self, column: int) -> Any:
        values = np.asarray(self._X[:, column], dtype=np.float64)
        return _finite_or_missing(values, self.names[column], self._first_row)

    def factorised(self, column: int) -> tuple[list[Any], Any]:
        different, codes = np.unique(self._X[:, column], return_inverse=True)
        return [_level(v, self.names[column]) for v in different.tolist()], codes.ravel()

    def take(self, rows: Any) -> "ArrayTable":
        return ArrayTable(self._X[rows], _first(rows, self._first_row))


class FrameTable(Table):
    """A data frame of any make that narwhals knows."""

    def __init__(self, frame: nw.DataFrame[Any], first_row: int = 0):
        self._frame, self._first_row = frame, first_row
        self.names, self.n_rows = tuple(str(name) for name in frame.columns), len(frame)

    @property
    def native(self) -> Any:
        """The data frame, as it was made."""
        return self._frame.to_native()

    def kind(self, column: int) -> str:
        series = self._frame[:, column]
        dtype, native = series.dtype, getattr(series.to_native(), "dtype", series.dtype)
        if dtype.is_numeric():
            return NUMBER
        if (dtype == nw.Unknown or str(native) == "object") and series.is_null().all():
            return NUMBER  # nothing at all, of no type
        if dtype in (nw.Categorical, nw.Enum, nw.Boolean):
            return LABEL
        if dtype == nw.String:
            return TEXT
        if dtype == nw.Object:
            return _kind_of_objects(series, self.names[column])
        if dtype.is_temporal():
            raise InputError(f"column {self.names[column]!r} holds dates or times ({native}), {DATES}.")
        raise InputError(
            f"column {self.names[column]!r} has the type {native}, which is neither a number nor a category; "
            "convert it, or drop it."
        )

    def numbers(self, column: int) -> Any:
        series, name = self._frame[:, column], self.names[column]
        try:
            if series.dtype == nw.Object:
                gone = series.is_null().to_list()
                values = np.array([np.nan if g else float(v) for v, g in zip(series.to_list(), gone, strict=True)])
            else:  # some makes cast whole numbers only if float64 holds them all, where rounding is meant
                series = series if series.dtype.is_integer() else series.cast(nw.Float64)
                values = np.asarray(series.to_numpy(), dtype=np.float64)
        except Exception as error:  # each make of table has its own
            raise InputError(f"column {name!r} ({series.dtype}) cannot be read as numbers: {error}.") from error
        return _finite_or_missing(values, name, self._first_row)

    def factorised(self, column: int) -> tuple[list[Any], Any]:
        series, name = self._frame[:, column], self.names[column]
        if series.dtype == nw.Object:  # may hold anything, which Arrow does not
            missing, found = series.is_null().to_list(), dict[Any, int]()
            labels = (None if gone else _level(v, name) for v, gone in zip(series.to_list(), missing, strict=True))
            places = [found.setdefault(key_of(label), len(found)) for label in labels]
            return [label for _, label in found], np.array(places, dtype=np.intp)
        encoded = series.to_arrow()
        encoded = encoded if hasattr(encoded, "dictionary") else encoded.dictionary_encode()
        different = [_level(v, name) for v in encoded.dictionary.to_pylist()]
        codes = encoded.indices.fill_null(len(different)).to_numpy(zero_copy_only=False).astype(np.intp)
        return [*different, None], codes

    def order(self, column: int) -> list[Any]:
        series = self._frame[:, column]
        categories = series.cat.get_categories() if series.dtype in (nw.Categorical, nw.Enum) else ()
        return [_level(v, self.names[column]) for v in categories]

    def take(self, rows: Any) -> "FrameTable":
        return FrameTable(self._frame[rows, :], _first(rows, self._first_row))


def _first(rows: Any, first_row: int) -> int:
    """The first row of a slice, counted in the whole table."""
    return first_row + (rows.start or 0) if isinstance(rows, slice) else 0


def _kind_of_objects(series: nw.Series[Any], name: str) -> str:
    """What a column of Python objects holds, if it is something to learn from."""
    values = [plain(v) for v in series.drop_nulls().to_list()]
    if all(isinstance(v, bool) for v in values):
        return LABEL
    if all(isinstance(v, Real | Decimal) and not isinstance(v, bool) for v in values):
        return NUMBER
    if all(isinstance(v, str) for v in values):
        return TEXT
    first = values[0]
    other = next((v for v in values if type(v) is not type(first)), None)
    if isinstance(first, datetime.date | datetime.time | datetime.timedelta):
        raise InputError(f"column {name!r} holds dates or times ({type(first).__name__}), {DATES}.")
    if isinstance(first, str | bool | Real) and other is not None:
        raise InputError(
            f"column {name!r} mixes {type(first).__name__} and {type(other).__name__}, such as {_shown(first)} and "
            f"{_shown(other)}; give its values one type, or name it in ",
            Argument("categorical", [name]),
            " to take them as levels.",
        )
    remedy = next((words for kinds, words in REMEDIES.items() if isinstance(first, kinds)), CONVERT)
    raise InputError(
        f"column {name!r} holds {type(first).__name__} objects such as {_shown(first)}, which are neither numbers nor "
        f"labels; {remedy}, or drop the column."
    )


def _shown(value: Any) -> str:
    """A value in a message, cut off if it is long."""
    return repr(value) if len(repr(value)) <= 40 else repr(value)[:40] + "…"


def key_of(label: Any) -> tuple[str, Any]:
    """Labels that Python takes for equal (True and 1) stay apart."""
    return ("bool" if isinstance(label, bool) else "", label)


def sort_of(label: Any) -> str:
    """Labels of one sort can be put in order: "number", or the name of the type."""
    return "number" if isinstance(label, int | float) and not isinstance(label, bool) else type(label).__name__


def plain(value: Any) -> Any:
    """A value as Python's own, which prints as people write it and goes into files."""
    return value.item() if isinstance(value, np.generic) else value


def _finite_or_missing(values: Any, name: str, first_row: int) -> Any:
    """The values; infinite ones are an error, missing ones are not."""
    infinite = np.isinf(values)
    if infinite.any():
        i = int(np.argmax(infinite))
        raise InputError(
            f"column {name!r} has {values[i]} in row {first_row + i}: Input X contains infinity. Replace it by a "
            "number, or by NaN if the value is missing."
        )
    return values


def _level(value: Any, name: str) -> Any:
    """A label that a file can hold: text, a boolean, or a number; None for NaN."""
    value = plain(value)
    if isinstance(value, float | Decimal):
        value = float(value)
        return None if value != value else (int(value) if value.is_integer() else value)
    if value is None or isinstance(value, str | bool | int):
        return value
    raise InputError(
        f"column {name!r} holds {type(value).__name__} objects such as {str(value)[:40]!r}; levels must be text, "
        "booleans or numbers. Convert them, or drop the column."
    )
