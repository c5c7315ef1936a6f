"""Terms that users give to an estimator: over columns by name, in the units of these columns."""

from dataclasses import replace
from typing import Any

from odvff.design import TIMES
from odvff.errors import Argument, InputError
from odvff.tables import Numeric, Schema
from odvff.tables.schema import place_of
from odvff.terms import Term


def check_terms(value: Any, name: str) -> None:
    """Terms of which each says its columns?"""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(term, Term) for term in value):
        raise InputError(
            Argument(name),
            f" must be a list of odvff.Term, got {value!r}; leave it out for effects by column.",
        )
    silent = next((term for term in value if term.columns is None), None)
    if silent is not None:
        raise InputError(Argument(name), f" holds the term {silent.name!r}, which says no columns; give their names.")


def in_own_units(schema: Schema, terms: Any) -> Schema:
    """The schema in which columns of these terms are not scaled: intervals, points and kernels are in their units."""
    used = {name for term in terms for name in _names(schema, term)}
    columns = (replace(c, scaled=False) if isinstance(c, Numeric) and c.name in used else c for c in schema.columns)
    return replace(schema, columns=tuple(columns))


def placed(schema: Schema, terms: Any) -> tuple[Term, ...]:
    """The terms over the coded columns of a schema."""
    places, each = schema.places(), [(term, _names(schema, term)) for term in terms]
    return tuple(
        replace(term, columns=tuple(places[name] for name in names), name=term.name or TIMES.join(names))
        for term, names in each
    )


def _names(schema: Schema, term: Term) -> list[str]:
    return [schema.names[place_of(column, schema.names, "terms")] for column in term.columns or ()]


def named(schema: Schema, terms: Any) -> list[Term]:
    """The inverse: terms over coded columns, by the names of these."""
    names = {place: name for name, place in schema.places().items()}
    return [replace(t, columns=tuple(names[c] for c in t.columns)) for t in terms if set(t.columns) <= set(names)]
