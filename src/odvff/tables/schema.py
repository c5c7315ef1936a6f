"""The schema of a table: what each column is, learned in one pass over chunks, and how rows become numbers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from odvff.design import Design, LevelsPart, NumericPart
from odvff.errors import Argument, FileError, InputError, Spelling
from odvff.policy import DEFAULT, Policy
from odvff.rows import key_generator, smallest_keys
from odvff.tables.columns import (
    PLAIN_NUMBER,
    Category,
    Column,
    Numeric,
    count_labels,
    from_words,
    keep_order,
    learn_category,
    learn_numeric,
    to_words,
)
from odvff.tables.table import LABEL, NUMBER, TEXT, Table
from odvff.terms import Term

INTERCEPT = "intercept"
TRUTH = {"0": False, "1": True, "false": False, "true": True}


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
            if isinstance(column, Numeric):
                coded[:, start : start + column.width] = column.encode(_numbers(table, i))
            else:
                coded[:, start : start + 1] = column.encode(*_labels(table, i, column))
            start += column.width
        return coded

    def refuse_new(self, table: Table) -> None:
        """Rows that are learned from later must hold nothing that these columns have no effect for."""
        for i, column in enumerate(self.columns):
            if isinstance(column, Category):
                labels, places = _labels(table, i, column)
                new = np.flatnonzero(column.encode(labels, places)[:, 0] < 0)
                if len(new):
                    raise InputError(
                        f"column {column.name!r} has {_shown(labels[places[new[0]]])} in a later part, which the first "
                        "part had not; the first part decides the levels: let it hold all of them."
                    )
            elif not column.missing and np.isnan(_numbers(table, i)).any():
                raise InputError(
                    f"column {column.name!r} misses values in a later part, and none in the first part, which decides "
                    "whether they have an effect: let it miss some too, or fill them in."
                )

    def design(self, structure: str) -> Design:
        """The terms that these columns call for."""
        places = self.places()
        numeric = (NumericPart(places[c.name], c.name, (0.0, 1.0)) for c in self.columns if isinstance(c, Numeric))
        design = Design(tuple(numeric), self._levels(self.columns), structure)
        self._check_effect_names(design)
        return design

    def design_of(self, terms: tuple[Term, ...]) -> Design:
        """These terms over coded columns, with what is missing in the columns that they read, and the intercept."""
        read = {column for term in terms for column in term.columns or ()}
        places = self.places()
        levels = self._levels(c for c in self.columns if isinstance(c, Numeric) and places[c.name] in read)
        return Design((), levels, own=terms)

    def _levels(self, columns: Iterable[Column]) -> tuple[LevelsPart, ...]:
        """What categories call for, columns of numbers with missing values, and the intercept."""
        places, parts = self.places(), []
        for column in columns:
            if isinstance(column, Category):
                parts.append(LevelsPart(places[column.name], column.name, len(column.levels)))
            elif column.missing:
                parts.append(LevelsPart(places[column.name] + 1, column.missing_name, 2))
        if self.intercept:
            parts.append(LevelsPart(self.width - 1, self._intercept_name, 1))
        return tuple(parts)

    def places(self) -> dict[str, int]:
        """The first coded column of every column."""
        ends = accumulate(column.width for column in self.columns)
        return {column.name: end - column.width for column, end in zip(self.columns, ends, strict=True)}

    def _check_effect_names(self, design: Design) -> None:
        """Effects are known by their names: no column may be called as the effect of another."""
        gaps = [c for c in self.columns if isinstance(c, Numeric) and c.missing]
        taken = {c.missing_name: f"what is missing in {c.name!r}" for c in gaps}
        if design.joint:
            taken[design.joint_name] = "the joint effect of all numeric columns"
        for column in self.columns:
            if column.name in taken:
                raise InputError(
                    f"there is a column {column.name!r}, and {taken[column.name]} has an effect of that name; rename "
                    "one of the columns."
                )

    @property
    def _intercept_name(self) -> str:
        """Of the term; a column may be called intercept too, and keeps its name."""
        name = INTERCEPT
        while name in self.names:
            name = f"({name})"
        return name

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

    def notes(self, spelling: Spelling = str) -> list[str]:
        """What a person may want to change, with arguments spelled so."""
        few = [c for c in self.columns if isinstance(c, Numeric) and c.whole_values > 2]
        notes = []
        if few:
            names = ", ".join(f"{c.name} ({c.whole_values})" for c in few)
            notes.append(
                f"whole numbers with few different values: {names}; name them in `{spelling(Argument('categorical'))}` "
                "to give each value an effect of its own"
            )
        notes += [
            f"{c.name} is taken as constant: its values go from {c.least!r} to {c.most!r}; drop it, or subtract what "
            "they have in common if they differ"
            for c in self.columns
            if isinstance(c, Numeric) and c.constant
        ]
        outside = [c for c in self.columns if isinstance(c, Numeric) and (c.least < c.low or c.most > c.high)]
        notes += [
            f"{c.name} has values far out ({c.least:g} to {c.most:g}); its features cover {c.low:g} to {c.high:g}"
            for c in outside
        ]
        return notes


class SchemaBuilder:
    """Learns a schema from chunks of a table, one after the other.

    `categorical` is "auto" (columns whose type says so) or a list of the names or positions of others that are to be
    taken so, whatever their type. Columns of text are taken so too as long as they hold no more than `text_levels`
    different ones: files such as CSV have no other type for labels, where data frames do.
    """

    def __init__(self, categorical: Any = "auto", seed: int = 0, text_levels: int = 0, policy: Policy = DEFAULT):
        self._policy = policy
        self._categorical, self._rng = categorical, key_generator(seed)
        self._text_levels, self._limits = text_levels, dict[int, int]()
        self._names: tuple[str, ...] = ()
        self._kinds: list[str] = []
        self._ranges: dict[int, list[Any]] = {}  # least, most, missing?
        self._counts: dict[int, dict[Any, float]] = {}
        self._orders: dict[int, dict[Any, Any]] = {}  # labels by key
        self._keys = np.zeros(0)
        self._sample: dict[int, Any] = {}
        self._weights = np.zeros(0)

    def add(self, table: Table, weights: Any | None = None) -> None:
        """The rows of one more chunk."""
        if not self._names:
            self._begin(table)
        check_names(self._names, table.names)
        keys = self._rng.random(table.n_rows)
        keep = smallest_keys(keys, self._policy.schema_rows)
        all_keys = np.concatenate([self._keys, keys[keep]])
        best = smallest_keys(all_keys, self._policy.schema_rows)
        for i, kind in enumerate(self._kinds):
            if kind == LABEL:
                count_labels(*table.factorised(i), weights, self._counts[i])
                self._check_number_of_levels(i)
                keep_order(table.order(i), self._orders[i])
                continue
            values = _numbers(table, i)
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
            if kind == TEXT and not self._text_levels:
                raise InputError(
                    f"column {name!r} holds text, which is no number; if its values are categories, name it in ",
                    Argument("categorical", [name]),
                    " or convert it to a categorical type, else drop it.",
                )
            self._limits[i] = self._text_levels if kind == TEXT else self._policy.most_levels
            kind = LABEL if kind == TEXT else kind
            self._kinds.append(kind)
            if kind == LABEL:
                self._counts[i], self._orders[i] = {}, {}
            else:
                self._ranges[i], self._sample[i] = [np.inf, -np.inf, False], np.zeros(0)

    def _check_number_of_levels(self, i: int) -> None:
        if len(self._counts[i]) > self._limits[i]:
            name, most = self._names[i], self._limits[i]
            named = (
                ""
                if most == self._policy.most_levels
                else "name it as categorical if these are categories all the same, "
            )
            raise InputError(
                f"column {name!r} has more than {most:,} different labels, too many for categories: {named}exclude it, "
                "or join rare labels into one."
            )

    def schema(self) -> Schema:
        columns: list[Column] = []
        for i, name in enumerate(self._names):
            if self._kinds[i] == LABEL:
                columns.append(learn_category(name, self._counts[i], list(self._orders[i].values())))
            else:
                columns.append(learn_numeric(name, self._sample[i], self._weights, *self._ranges[i]))
        return Schema(tuple(columns))


def _shown(label: Any) -> str:
    return "a missing label" if label is None else repr(label)


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
    return {place_of(column, names, "categorical") for column in listed_columns(categorical)}


def listed_columns(categorical: Any) -> Iterable[Any]:
    """The columns that are named, none if they are to be known by their type."""
    if categorical is None or (isinstance(categorical, str) and categorical == "auto"):
        return ()
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise InputError(Argument("categorical"), f" must be 'auto' or a list of columns, got {categorical!r}.")
    return categorical


def place_of(column: Any, names: tuple[str, ...], argument: str) -> int:
    """The position of a column that an argument gives by its name or number."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        return _numbered(int(column), names, argument)
    shown = column.item() if isinstance(column, np.generic) else column
    raise InputError(Argument(argument), f" names {shown!r}, which is no column; there are {', '.join(names[:20])}.")


def _numbered(column: int, names: tuple[str, ...], argument: str) -> int:
    """The position of a column that is meant by a number: its name, or its position."""
    places = {names.index(str(column))} if str(column) in names else set()
    places |= {column} if 0 <= column < len(names) else set()
    if len(places) == 1:
        return places.pop()
    if places:
        raise InputError(
            Argument(argument),
            f" names {column}, which is the name of one column and the position of another, "
            f"{names[column]!r}; give names as text: '{column}' or {names[column]!r}.",
        )
    raise InputError(
        Argument(argument),
        f" names {column}, which is neither the name nor the position of a column; there are "
        f"{', '.join(map(repr, names[:20]))}, counted from 0.",
    )


def _numbers(table: Table, i: int) -> Any:
    kind = table.kind(i)
    if kind == NUMBER:
        return table.numbers(i)
    labels, places = table.factorised(i)
    found = next((label for label in labels if label is not None), None)
    if found is None:
        return np.full(len(places), np.nan)
    raise InputError(f"column {table.names[i]!r} held numbers in training, and now {found!r}; give it the same type.")


def _labels(table: Table, i: int, column: Category) -> tuple[list[Any], Any]:
    labels, places = table.factorised(i)
    known = {_sort(level) for level in column.levels if level is not None}
    if known:
        labels = [label if label is None or _sort(label) in known else _cast(label, known) for label in labels]
    wrong = next((label for label in labels if label is not None and known and _sort(label) not in known), None)
    if wrong is not None:
        held = next(level for level in column.levels if level is not None)
        raise InputError(
            f"column {column.name!r} held labels such as {held!r} in training, and now {wrong!r}, of another type; "
            "give it the same type."
        )
    return labels, places


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


def _sort(label: Any) -> str:
    return "number" if isinstance(label, int | float) and not isinstance(label, bool) else type(label).__name__
