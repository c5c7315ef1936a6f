"""Plain values that came out of a file, each checked: what is not as it should be is a ValueError that says so."""

import math
from typing import Any


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
