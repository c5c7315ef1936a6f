"""What is known of a column after training, and how it becomes coded columns.

**Numeric columns** are scaled so that their box is [0, 1]. The box is the range of the values, unless single ones lie
far out: it ends no further from the middle 99 % than these are wide, so that a wild value squashes nothing. Values
outside the box are not cut off: the effect goes on there, back to its prior.

**Missing numbers.** If there were some in training, their rows take the median, and whether a value is there has an
effect of its own on top (a column of codes, 0 where it is missing and 1 where it is there). If there were none, a
missing value is infinitely far away: the effect has its prior.

**Categories** become codes 0, 1, …; a missing label is a level if it was one in training. A label never seen has the
code −1: the effect has its prior.
"""

from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any

import numpy as np

from odvff.errors import FileError, InputError
from odvff.support.words import number, text

FAR = 1e12
QUANTILES = (0.005, 0.995)
BINS = 40
LARGEST = 1e300  # values beyond have differences that leave float64
FEW_VALUES = 20
PLAIN_NUMBER = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?"  # text that says the same as a number; float64 tells them apart


@dataclass(frozen=True)
class Numeric:
    """A numeric column: its box, its range, what stands in for missing values, and where its values lie."""

    name: str
    low: float  # the box
    high: float
    least: float  # the range
    most: float
    middle: float
    missing: bool  # were there missing values in training?
    counts: tuple[float, ...]  # of rows, in equal parts of the box
    whole_values: int = 0  # how many different values, if they are whole numbers and few
    scaled: bool = True  # is the box coded as [0, 1]?

    @property
    def width(self) -> int:
        """Coded columns."""
        return 2 if self.missing else 1

    @property
    def origin(self) -> float:
        """What is coded as 0."""
        return self.low if self.scaled else 0.0

    @property
    def size(self) -> float:
        """A coded 1, in the user's units."""
        return self.high - self.low if self.scaled else 1.0

    @property
    def _far(self) -> float:
        """Where a coded value is that is infinitely far away."""
        return FAR if self.scaled else self.low + FAR * (self.high - self.low)

    @property
    def constant(self) -> bool:
        """Were all values in training the same, as far as float64 can tell? Then the box is wider than their range."""
        return self.low < self.least and self.most < self.high

    @property
    def missing_name(self) -> str:
        return f"{self.name} is missing"

    def encode(self, values: Any) -> Any:
        """Coded columns, (N, width)."""
        gone = np.isnan(values)
        coded = np.empty((len(values), self.width))
        np.subtract(values, self.origin, out=coded[:, 0])
        coded[:, 0] /= self.size
        if gone.any():
            coded[gone, 0] = (self.middle - self.origin) / self.size if self.missing else self._far
        if self.missing:
            coded[:, 1] = np.where(gone, 0.0, 1.0)
        return coded

    def grid(self, n_points: int) -> Any:
        """Values from end to end of the range within the box, in the user's units."""
        return np.linspace(max(self.low, self.least), min(self.high, self.most), n_points)


@dataclass(frozen=True)
class Category:
    """A column of labels, in order; None is the level of missing ones, if there were any in training."""

    name: str
    levels: tuple[Any, ...]
    counts: tuple[float, ...]

    width = 1

    def encode(self, labels: list[Any], places: Any) -> Any:
        """Codes, (N, 1), of rows whose labels stand at these places."""
        codes = {_key(level): float(i) for i, level in enumerate(self.levels)}
        return np.array([codes.get(_key(label), -1.0) for label in labels], dtype=np.float64)[places].reshape(-1, 1)


Column = Numeric | Category


def _key(label: Any) -> tuple[str, Any]:
    """Labels that Python takes for equal (True and 1) stay apart."""
    return ("bool" if isinstance(label, bool) else "", label)


def learn_numeric(name: str, values: Any, weights: Any | None, least: float, most: float, missing: bool) -> Numeric:
    """A numeric column from a sample of its values; its range and whether values are missing are known of all rows."""
    there = ~np.isnan(values)
    values, w = values[there], np.ones(there.sum()) if weights is None else weights[there]
    if not np.isfinite([least, most]).all() or len(values) == 0:
        raise InputError(f"column {name!r} has no value at all: nothing can be learned from it. Drop it.")
    if max(abs(least), abs(most)) > LARGEST:
        raise InputError(
            f"column {name!r} goes from {least:g} to {most:g}, whose differences leave float64; divide it by a power "
            "of ten, or replace what stands for missing values by NaN."
        )
    q_low, middle, q_high = np.quantile(values, [QUANTILES[0], 0.5, QUANTILES[1]], method="inverted_cdf", weights=w)
    span = q_high - q_low
    if span > 0:
        low, high = max(least, q_low - span), min(most, q_high + span)
    else:  # (nearly) all the same
        low, high = least, most
    # differences of a few units in the last place are rounding
    if not high - low > 8 * np.spacing(max(abs(low), abs(high))):
        half = 0.5 * max(abs(low), 1.0)
        low, high = low - half, high + half
    # of scaled values, as bins of a narrow box may have edges that float64 cannot tell apart
    counts, _ = np.histogram((values - low) / (high - low), BINS, (0.0, 1.0), weights=w)
    different = np.unique(values)
    few = len(different) <= min(FEW_VALUES, len(values) / 3) and bool((different == np.floor(different)).all())
    return Numeric(
        name,
        float(low),
        float(high),
        float(least),
        float(most),
        float(np.clip(middle, low, high)),
        missing,
        tuple(float(c) for c in counts),
        len(different) if few else 0,
    )


def learn_category(name: str, counts: dict[Any, float], order: list[Any]) -> Category:
    """A column of labels from how often each was there; in the table's order, else sorted."""
    known = [label for label in order if _key(label) in counts]
    done = {_key(label) for label in [*known, None]}
    rest = sorted((key[1] for key in counts if key not in done), key=lambda label: (isinstance(label, str), label))
    levels = [*known, *rest] + ([None] if _key(None) in counts else [])
    return Category(name, tuple(levels), tuple(counts[_key(label)] for label in levels))


def keep_order(labels: list[Any], order: dict[Any, Any]) -> None:
    """Add labels that are not there yet, by key, in the order that they come."""
    for label in labels:
        order.setdefault(_key(label), label)


def count_labels(labels: list[Any], places: Any, weights: Any | None, counts: dict[Any, float]) -> None:
    """Add the labels of a chunk, whose rows have them at these places, to the counts, by key."""
    there = np.bincount(places, minlength=len(labels)) > 0
    totals = np.bincount(places, weights, minlength=len(labels))
    for label, total in zip(compress(labels, there), totals[there], strict=True):
        key = _key(label)
        counts[key] = counts.get(key, 0.0) + float(total)


def to_words(column: Column) -> dict[str, Any]:
    """Plain values, for a file."""
    return {"kind": type(column).__name__.lower(), **asdict(column)}


def from_words(words: Any) -> Column:
    """The inverse of `to_words`, with every value checked."""
    if not isinstance(words, dict) or words.get("kind") not in ("numeric", "category"):
        raise FileError("a column in the file is neither numeric nor a category.")
    try:
        counts = tuple(number(c) for c in words["counts"])
        name = text(words["name"])
        if words["kind"] == "category":
            levels = tuple(words["levels"])
            if not all(v is None or isinstance(v, str | bool | int | float) for v in levels):
                raise ValueError("levels must be labels")
            if len(counts) != len(levels) or len({_key(v) for v in levels}) != len(levels) or not levels:
                raise ValueError("levels and counts disagree")
            return Category(name, levels, counts)
        low, high, least, most, middle = (number(words[k]) for k in ("low", "high", "least", "most", "middle"))
        if not (low < high and least <= most and low <= middle <= high):
            raise ValueError("the box or the range is empty")
        whole_values, scaled = int(words["whole_values"]), words.get("scaled") is not False
        return Numeric(name, low, high, least, most, middle, words["missing"] is True, counts, whole_values, scaled)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FileError(f"a column in the file is damaged: {error!r}.") from error
