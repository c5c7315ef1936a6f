"""Plain values for files, and those that came out of one, checked: what is wrong is a ValueError that says so."""

import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")


def plain(value: Any) -> Any:
    """A value as text, a boolean, a number, or a list of such; None for what has no place in a file."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    return value if is_scalar(value) else None


def is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float)


def number(value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{str(value)[:40]!r} is no finite number")
    return float(value)


def whole(value: Any, at_least: int = 0) -> int:
    """A whole number from here up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ValueError(f"{str(value)[:40]!r} is no whole number from {at_least} up")
    return value


def _checked(kind: type[T], wrong: str) -> Callable[[Any], T]:
    def checked(value: Any) -> T:
        if not isinstance(value, kind):
            raise ValueError(f"{str(value)[:40]!r} {wrong}")
        return value

    return checked


text = _checked(str, "is no text")
mapping = _checked(dict, "has no entries")
truth = _checked(bool, "is neither true nor false")


def items(value: Any, most: int | None = None) -> list[Any]:
    """A list, of up to so many."""
    if not isinstance(value, list | tuple) or (most is not None and len(value) > most):
        raise ValueError(f"{str(value)[:40]!r} is no list, or too long a one")
    return list(value)


def label(value: Any) -> Any:
    """Text, a boolean, a finite number, or None."""
    if not is_scalar(value):
        raise ValueError(f"{str(value)[:40]!r} is no label")
    return number(value) if isinstance(value, float) else value


SIMPLE: dict[Any, Callable[[Any], Any]] = {float: number, int: whole, str: text, bool: truth, Any: label}


def read(kind: Any, words: Any) -> Any:
    """An instance of a type from what `dataclasses.asdict` and a file made of it.

    Types are dataclasses, whose fields are read so, tuples, dicts by text, those of `SIMPLE`, and any of these as
    `Annotated[type, check, …]`, where a check is given what was read and raises a ValueError if that is wrong.
    """
    if is_dataclass(kind):
        types, entries = get_type_hints(kind, include_extras=True), mapping(words)
        needed = {f.name for f in fields(kind) if f.default is MISSING}
        if not needed <= entries.keys() <= types.keys():
            raise ValueError("it has not the entries that it should have")
        return kind(**{name: read(types[name], value) for name, value in entries.items()})  # type: ignore[operator]
    parts = get_args(kind)
    if get_origin(kind) is Annotated:
        made = read(parts[0], words)
        for check in parts[1:]:
            check(made)
        return made
    if get_origin(kind) is tuple:
        values = items(words)
        kinds = parts[:1] * len(values) if parts[-1] is ... else parts
        return tuple(read(one, value) for one, value in zip(kinds, values, strict=True))
    if get_origin(kind) is dict:
        return {text(name): read(parts[1], value) for name, value in mapping(words).items()}
    return SIMPLE[kind](words)
