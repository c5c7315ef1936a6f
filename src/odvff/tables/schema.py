"""The schema of a table: what each column is, how its rows become numbers, and which column a name means."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from odvff.design import TIMES, Design, LevelsPart, NumericPart
from odvff.errors import Argument, FileError, InputError, Spelling
from odvff.policy import DEFAULT, Policy
from odvff.rows import Sampler
from odvff.support.words import read, text
from odvff.tables.columns import Category, CategoryLearner, Column, Numeric, NumericLearner
from odvff.tables.table import LABEL, NUMBER, Table, plain
from odvff.terms import Term

INTERCEPT = "intercept"
KINDS = {"numeric": Numeric, "category": Category}


@dataclass(frozen=True)
class Schema:
    """The columns in order; with an intercept, a last coded column that is 0 in every row."""

    columns: tuple[Column, ...]
    intercept: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The columns of numbers."""
        return tuple(column for column in self.columns if isinstance(column, Numeric))

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
        for i, (column, place) in enumerate(zip(self.columns, self.places().values(), strict=True)):
            coded[:, place : place + column.width] = column.coded(table, i)
        return coded

    def refuse_new(self, table: Table) -> None:
        """Rows that are learned from later must hold nothing that these columns have no effect for."""
        for i, column in enumerate(self.columns):
            column.refuse_new(table, i)

    def design(self, structure: str) -> Design:
        """The terms that these columns call for."""
        design = Design(*self._parts(self.columns), structure)
        # effects are known by their names: no column may be called as the effect of another
        taken = {c.missing_name: f"what is missing in {c.name!r}" for c in self.numeric if c.missing}
        if design.joint:
            taken[design.joint_name] = "the joint effect of all numeric columns"
        for name in self.names:
            if name in taken:
                raise InputError(
                    f"there is a column {name!r}, and {taken[name]} has an effect of that name; rename one of the "
                    "columns."
                )
        return design

    # terms that users give, over columns by name and in the units of these

    def in_units_of(self, terms: Iterable[Term]) -> "Schema":
        """The schema in which columns of these terms are not scaled, as intervals, points and kernels are not."""
        used = {name for term in terms for name in self._names_in(term)}
        columns = (replace(c, scaled=False) if isinstance(c, Numeric) and c.name in used else c for c in self.columns)
        return replace(self, columns=tuple(columns))

    def design_of(self, terms: Iterable[Term]) -> Design:
        """These terms over coded columns, with what is missing in the columns that they read, and the intercept."""
        places, each = self.places(), [(term, self._names_in(term)) for term in terms]
        own = tuple(
            replace(term, columns=tuple(places[name] for name in names), name=term.name or TIMES.join(names))
            for term, names in each
        )
        read = {name for _, names in each for name in names}
        _, levels = self._parts(c for c in self.columns if c.missing and c.name in read)
        return Design((), levels, own=own)

    def named(self, terms: Iterable[Any]) -> list[Term]:
        """The inverse: terms over coded columns, by the names of these."""
        names = {place: name for name, place in self.places().items()}
        return [replace(t, columns=tuple(names[c] for c in t.columns)) for t in terms if set(t.columns) <= set(names)]

    def _names_in(self, term: Term) -> list[str]:
        return [self.names[place_of(column, self.names, "terms")] for column in term.columns or ()]

    def _parts(self, columns: Iterable[Column]) -> tuple[tuple[NumericPart, ...], tuple[LevelsPart, ...]]:
        """What these columns call for as numbers, and as levels with the intercept."""
        places = self.places()
        parts = [part for column in columns for part in column.parts(places[column.name])]
        numeric = tuple(part for part in parts if isinstance(part, NumericPart))
        levels = tuple(part for part in parts if isinstance(part, LevelsPart))
        if self.intercept:
            name = INTERCEPT
            while name in self.names:  # a column may be called so too, and keeps its name
                name = f"({name})"
            levels = (*levels, LevelsPart(self.width - 1, name, 1))
        return numeric, levels

    def places(self) -> dict[str, int]:
        """The first coded column of every column."""
        ends = accumulate(column.width for column in self.columns)
        return {column.name: end - column.width for column, end in zip(self.columns, ends, strict=True)}

    def to_words(self) -> dict[str, Any]:
        """Plain values, for a file."""
        columns = [{"kind": type(column).__name__.lower(), **asdict(column)} for column in self.columns]
        return {"columns": columns, "intercept": self.intercept}

    @classmethod
    def from_words(cls, words: Any) -> "Schema":
        """The inverse of `to_words`, with every value checked."""
        if not isinstance(words, dict) or not isinstance(words.get("columns"), list) or not words["columns"]:
            raise FileError("the file has no list of columns.")
        try:
            columns = tuple(
                read(KINDS[text(column["kind"])], {name: column[name] for name in column if name != "kind"})
                for column in words["columns"]
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FileError(f"a column in the file is damaged: {error!r}.") from error
        if len({column.name for column in columns}) != len(columns):
            raise FileError("two columns in the file have one name.")
        return cls(columns, words.get("intercept") is True)

    def notes(self, spelling: Spelling = str) -> list[str]:
        """What a person may want to change, with arguments spelled so."""
        few = [f"{c.name} ({c.whole_values})" for c in self.numeric if c.whole_values > 2]
        notes = [
            f"whole numbers with few different values: {', '.join(few)}; name them in "
            f"`{spelling(Argument('categorical'))}` to give each value an effect of its own"
        ] * bool(few)
        notes += [
            f"{c.name} is taken as constant: its values go from {c.least!r} to {c.most!r}; drop it, or subtract what "
            "they have in common if they differ"
            for c in self.numeric
            if c.low < c.least and c.most < c.high  # the box is wider, as float64 tells nothing apart within
        ]
        return notes + [
            f"{c.name} has values far out ({c.least:g} to {c.most:g}); its features cover {c.low:g} to {c.high:g}"
            for c in self.numeric
            if c.least < c.low or c.most > c.high
        ]


class SchemaBuilder:
    """Learns a schema from chunks of a table, one after the other.

    `categorical` is "auto" (columns whose type says so) or a list of the names or positions of others that are to be
    taken so, whatever their type. Columns of text are taken so too as long as they hold no more than `text_levels`
    different ones: files such as CSV have no other type for labels, where data frames do.
    """

    def __init__(self, categorical: Any = "auto", seed: int = 0, text_levels: int = 0, policy: Policy = DEFAULT):
        self._categorical, self._text_levels, self._policy = categorical, text_levels, policy
        self._names: tuple[str, ...] = ()
        self._columns: list[NumericLearner | CategoryLearner] = []
        self._sampler, self._weights = Sampler(policy.schema_rows, seed), np.zeros(0)

    def add(self, table: Table, weights: Any | None = None) -> None:
        """The rows of one more chunk."""
        if not self._names:
            self._names = table.names
            chosen = {place_of(c, self._names, "categorical") for c in listed_columns(self._categorical)}
            kinds = [LABEL if i in chosen else table.kind(i) for i in range(len(self._names))]
            self._columns = [self._learner(name, kind) for name, kind in zip(self._names, kinds, strict=True)]
        check_names(self._names, table.names)
        new, kept = self._sampler.add(table.n_rows)
        for i, column in enumerate(self._columns):
            column.add(table, i, weights, new, kept)
        w = np.ones(len(new)) if weights is None else weights[new]
        self._weights = np.concatenate([self._weights, w])[kept]

    def _learner(self, name: str, kind: str) -> NumericLearner | CategoryLearner:
        if kind == NUMBER:
            return NumericLearner(name)
        if kind == LABEL:
            return CategoryLearner(name, self._policy.most_levels)
        if not self._text_levels:
            raise InputError(
                f"column {name!r} holds text, which is no number; if its values are categories, name it in ",
                Argument("categorical", [name]),
                " or convert it to a categorical type, else drop it.",
            )
        return CategoryLearner(name, self._text_levels, "name it as categorical if these are categories all the same, ")

    def schema(self) -> Schema:
        return Schema(tuple(column.learned(self._weights) for column in self._columns))


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


def listed_columns(categorical: Any) -> Iterable[Any]:
    """The columns that are named, none if they are to be known by their type."""
    if categorical is None or (isinstance(categorical, str) and categorical == "auto"):
        return ()
    if isinstance(categorical, str) or not isinstance(categorical, Iterable):
        raise InputError(Argument("categorical"), f" must be 'auto' or a list of columns, got {categorical!r}.")
    return categorical


def place_of(column: Any, names: tuple[str, ...], argument: str) -> int:
    """The position of a column that an argument gives by its name or number."""
    column = plain(column)
    numbered = isinstance(column, int) and not isinstance(column, bool)
    named = (numbered or isinstance(column, str)) and str(column) in names
    places = {names.index(str(column))} if named else set()
    if numbered and 0 <= column < len(names):
        places.add(column)
    if len(places) == 1:
        return places.pop()
    if places:
        raise InputError(
            Argument(argument),
            f" names {column}, which is the name of one column and the position of another, "
            f"{names[column]!r}; give names as text: '{column}' or {names[column]!r}.",
        )
    if numbered:
        raise InputError(
            Argument(argument),
            f" names {column}, which is neither the name nor the position of a column; there are "
            f"{', '.join(map(repr, names[:20]))}, counted from 0.",
        )
    raise InputError(Argument(argument), f" names {column!r}, which is no column; there are {', '.join(names[:20])}.")
