"""Plain values for files, and those that came out of one, checked: what is wrong is a ValueError that says so."""

import math
from typing import Any

import numpy as np


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


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is no text")
    return value


def items(value: Any, most: int | None = None) -> list[Any]:
    """A list, of up to so many."""
    if not isinstance(value, list | tuple) or (most is not None and len(value) > most):
        raise ValueError(f"{str(value)[:40]!r} is no list, or too long a one")
    return list(value)
