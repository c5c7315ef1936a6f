"""A schema learned in one pass over the chunks of a table: all rows say the ranges, a sample of them the rest."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from odvff.errors import Argument, InputError
from odvff.policy import DEFAULT, Policy
from odvff.rows import Sampler
from odvff.tables.columns import Category, Numeric, numbers
from odvff.tables.schema import Schema, check_names, listed_columns, place_of
from odvff.tables.source import TableSource
from odvff.tables.table import LABEL, NUMBER, Table, key_of

QUANTILES = (0.005, 0.5, 0.995)
BINS = 40
LARGEST = 1e300  # values beyond have differences that leave float64
FEW_VALUES = 20


def learn_schema(
    source: TableSource,
    categorical: Any = "auto",
    seed: int = 0,
    look: Callable[[Any, Any, int], None] | None = None,
    policy: Policy = DEFAULT,
) -> Schema:
    """The schema of a source in one pass; `look` is shown the targets and weights of every chunk on the way."""
    builder = SchemaBuilder(categorical, seed, source.text_levels, policy)
    n_rows = 0
    for table, y, weights in source.chunks():
        builder.add(table, weights)
        n_rows += table.n_rows
        if look is not None:
            look(y, weights, n_rows)
    return builder.schema()


class SchemaBuilder:
    """Learns a schema from chunks of a table, one after the other.

    `categorical` is "auto" (columns whose type says so) or a list of the names or positions of others that are to be
    taken so, whatever their type. Columns of text are taken so too as long as they hold no more than `text_levels`
    different ones: files such as CSV have no other type for labels, where data frames do.
    """

    def __init__(self, categorical: Any = "auto", seed: int = 0, text_levels: int = 0, policy: Policy = DEFAULT):
        self._categorical, self._text_levels, self._policy = categorical, text_levels, policy
        self._names: tuple[str, ...] = ()
        self._columns: list[_Numbers | _Labels] = []
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

    def _learner(self, name: str, kind: str) -> "_Numbers | _Labels":
        if kind == NUMBER:
            return _Numbers(name)
        if kind == LABEL:
            return _Labels(name, self._policy.most_levels)
        if not self._text_levels:
            raise InputError(
                f"column {name!r} holds text, which is no number; if its values are categories, name it in ",
                Argument("categorical", [name]),
                " or convert it to a categorical type, else drop it.",
            )
        return _Labels(name, self._text_levels, "name it as categorical if these are categories all the same, ")

    def schema(self) -> Schema:
        return Schema(tuple(column.learned(self._weights) for column in self._columns))


class _Numbers:
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
            least,
            most,
            float(np.clip(middle, low, high)),
            self._missing,
            tuple(counts.tolist()),
            len(different) if few else 0,
        )


class _Labels:
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
