"""What is known of a column after training, how it is learned, and how it becomes coded columns.

**Numeric columns** are scaled so that their box is [0, 1]. The box is the range of the values, unless single ones lie
far out: it ends no further from the middle 99 % than these are wide, so that a wild value squashes nothing. Values
outside the box are not cut off: the effect goes on there, back to its prior.

**Missing numbers.** If there were some in training, their rows take the median, and whether a value is there has an
effect of its own on top (a column of codes, 0 where it is missing and 1 where it is there). If there were none, a
missing value is infinitely far away: the effect has its prior.

**Categories** become codes 0, 1, …; a missing label is a level if it was one in training. A label never seen has the
code −1: the effect has its prior.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.design import LevelsPart, NumericPart
from odvff.errors import InputError
from odvff.tables.table import NUMBER, Table, key_of, sort_of

FAR = 1e12
QUANTILES = (0.005, 0.5, 0.995)
BINS = 40
LARGEST = 1e300  # values beyond have differences that leave float64
FEW_VALUES = 20
TRUTH = {"0": False, "1": True, "false": False, "true": True}
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

    def __post_init__(self) -> None:
        if not (self.low < self.high and self.least <= self.most and self.low <= self.middle <= self.high):
            raise ValueError("the box or the range is empty")

    @property
    def width(self) -> int:
        """Coded columns."""
        return 1 + self.missing

    @property
    def size(self) -> float:
        """A coded 1, in the user's units."""
        return self.high - self.low if self.scaled else 1.0

    @property
    def missing_name(self) -> str:
        return f"{self.name} is missing"

    def parts(self, place: int) -> tuple[NumericPart | LevelsPart, ...]:
        """What a design knows of it, coded from this place on: numbers, and whether one is there if some are not."""
        there = (LevelsPart(place + 1, self.missing_name, 2),) if self.missing else ()
        return (NumericPart(place, self.name, (0.0, 1.0)), *there)

    def coded(self, table: Table, i: int) -> Any:
        """The i-th column of a table, coded."""
        return self.encode(numbers(table, i))

    def refuse_new(self, table: Table, i: int) -> None:
        """Rows that are learned from later must hold nothing that this column has no effect for."""
        if not self.missing and np.isnan(numbers(table, i)).any():
            raise InputError(
                f"column {self.name!r} misses values in a later part, and none in the first part, which decides "
                "whether they have an effect: let it miss some too, or fill them in."
            )

    def encode(self, values: Any) -> Any:
        """Coded columns, (N, width)."""
        gone, origin = np.isnan(values), self.low if self.scaled else 0.0
        coded = np.empty((len(values), self.width))
        np.subtract(values, origin, out=coded[:, 0])
        coded[:, 0] /= self.size
        if self.missing:
            coded[gone, 0] = (self.middle - origin) / self.size
            coded[:, 1] = ~gone
        else:
            coded[gone, 0] = FAR if self.scaled else self.low + FAR * (self.high - self.low)
        return coded

    def axis(self, n_points: int, n_levels: int | None = None) -> tuple[Any, Any]:
        """Values to show an effect at, and what codes them: from end to end of the range in the box, or levels."""
        grid = np.linspace(max(self.low, self.least), min(self.high, self.most), n_points)
        values = grid if n_levels is None else np.arange(float(n_levels))
        return values, self.encode(values)[:, 0]


@dataclass(frozen=True)
class Category:
    """A column of labels, in order; None is the level of missing ones, if there were any in training."""

    name: str
    levels: tuple[Any, ...]
    counts: tuple[float, ...]

    width = 1
    size = 1.0  # of a code, in the user's units
    missing = False  # it is a level

    def __post_init__(self) -> None:
        if not len(self.counts) == len(self.levels) == len(set(map(key_of, self.levels))) > 0:
            raise ValueError("levels and counts disagree")

    def parts(self, place: int) -> tuple[LevelsPart, ...]:
        return (LevelsPart(place, self.name, len(self.levels)),)

    def coded(self, table: Table, i: int) -> Any:
        """The codes of the i-th column of a table, (N, 1)."""
        _, codes, places = self._codes(table, i)
        return codes[places].reshape(-1, 1)

    def refuse_new(self, table: Table, i: int) -> None:
        """Rows that are learned from later must hold no level that this column has not."""
        labels, codes, places = self._codes(table, i)
        if (new := codes[places] < 0).any():
            label = labels[places[np.argmax(new)]]
            shown = "a missing label" if label is None else repr(label)
            raise InputError(
                f"column {self.name!r} has {shown} in a later part, which the first part had not; the first part "
                "decides the levels: let it hold all of them."
            )

    def axis(self, n_points: int, n_levels: int | None = None) -> tuple[Any, Any]:
        """All labels, and their codes."""
        return list(self.levels), np.arange(len(self.levels))

    def _codes(self, table: Table, i: int) -> tuple[list[Any], Any, Any]:
        """Labels of the sorts that the levels have, their codes, and for each row the place of its own."""
        labels, places = table.factorised(i)
        held = [level for level in self.levels if level is not None]
        known = {"NoneType", *map(sort_of, held)}
        if held:
            labels = [label if sort_of(label) in known else _cast(label, known) for label in labels]
            wrong = next((label for label in labels if sort_of(label) not in known), None)
            if wrong is not None:
                raise InputError(
                    f"column {self.name!r} held labels such as {held[0]!r} in training, and now {wrong!r}, of another "
                    "type; give it the same type."
                )
        codes = {key_of(level): float(i) for i, level in enumerate(self.levels)}
        return labels, np.array([codes.get(key_of(label), -1.0) for label in labels], dtype=np.float64), places


def numbers(table: Table, i: int) -> Any:
    """The i-th column of a table as numbers, which a column of nothing is too."""
    if table.kind(i) == NUMBER:
        return table.numbers(i)
    labels, places = table.factorised(i)
    found = next((label for label in labels if label is not None), None)
    if found is None:
        return np.full(len(places), np.nan)
    raise InputError(f"column {table.names[i]!r} held numbers in training, and now {found!r}; give it the same type.")


def _cast(label: Any, known: set[str]) -> Any:
    """A label as one of the known sorts, where nothing is lost: files of one table store the same in several ways."""
    if "number" in known and isinstance(label, bool):
        return int(label)
    if "number" in known and re.fullmatch(PLAIN_NUMBER, label):
        number = float(label)
        return int(number) if number.is_integer() else number
    if "bool" in known:
        return TRUTH.get(str(label).lower(), label)
    if "str" in known and not isinstance(label, bool):
        return str(label)
    return label


Column = Numeric | Category


class NumericLearner:
    """Learns a numeric column."""

    def __init__(self, name: str):
        self._name, self._sample = name, np.zeros(0)
        self._least, self._most, self._missing = np.inf, -np.inf, False

    def add(self, table: Table, i: int, weights: Any | None, new: Any, kept: Any) -> None:
        """The i-th column of a chunk; these of its rows are new in the sample, and these of it and them are kept."""
        values = numbers(table, i)
        there = values[~np.isnan(values)]
        self._least, self._most = there.min(initial=self._least), there.max(initial=self._most)
        self._missing |= len(there) < len(values)
        self._sample = np.concatenate([self._sample, values[new]])[kept]

    def learned(self, weights: Any) -> Numeric:
        """The column; the rows of the sample have these weights."""
        name, least, most, there = self._name, float(self._least), float(self._most), ~np.isnan(self._sample)
        values, w = self._sample[there], weights[there]
        if not np.isfinite([least, most]).all() or len(values) == 0:
            raise InputError(f"column {name!r} has no value at all: nothing can be learned from it. Drop it.")
        if max(abs(least), abs(most)) > LARGEST:
            raise InputError(
                f"column {name!r} goes from {least:g} to {most:g}, whose differences leave float64; divide it by a "
                "power of ten, or replace what stands for missing values by NaN."
            )
        q_low, middle, q_high = np.quantile(values, QUANTILES, method="inverted_cdf", weights=w)
        span = q_high - q_low
        # without a span they are (nearly) all the same
        low, high = (max(least, q_low - span), min(most, q_high + span)) if span > 0 else (least, most)
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
            least,
            most,
            float(np.clip(middle, low, high)),
            self._missing,
            tuple(counts.tolist()),
            len(different) if few else 0,
        )


class CategoryLearner:
    """Learns a column of labels: how often each is there, in the order that the table itself gives them."""

    def __init__(self, name: str, most: int, remedy: str = ""):
        self._name, self._most, self._remedy = name, most, remedy
        self._counts: dict[Any, float] = defaultdict(float)  # by keys, which tell True from 1
        self._order: dict[Any, None] = {}

    def add(self, table: Table, i: int, weights: Any | None, new: Any, kept: Any) -> None:
        labels, places = table.factorised(i)
        rows, totals = (np.bincount(places, w, minlength=len(labels)).tolist() for w in (None, weights))
        for label, n, total in zip(labels, rows, totals, strict=True):
            if n:
                self._counts[key_of(label)] += total
        if len(self._counts) > self._most:
            raise InputError(
                f"column {self._name!r} has more than {self._most:,} different labels, too many for categories: "
                f"{self._remedy}exclude it, or join rare labels into one."
            )
        self._order |= dict.fromkeys(map(key_of, table.order(i)))

    def learned(self, weights: Any) -> Category:
        """The column, with its levels in the table's order, else sorted; a missing label is the last."""
        ordered = [key for key in self._order if key in self._counts]
        done = {*ordered, key_of(None)}
        others = sorted((k for k in self._counts if k not in done), key=lambda key: (isinstance(key[1], str), key[1]))
        keys = [*ordered, *others, *({key_of(None)} & self._counts.keys())]
        return Category(self._name, tuple(label for _, label in keys), tuple(float(self._counts[key]) for key in keys))
