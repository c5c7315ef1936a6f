"""Tables, and medians with their spread, as text."""

from statistics import median
from typing import Any


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def spread(values: list[float], digits: int = 3) -> str:
    """Median, and the least and the most of several."""
    if not values:
        return "–"
    text = f"{median(values):.{digits}g}"
    return text if len(values) == 1 else f"{text} ({min(values):.{digits}g}–{max(values):.{digits}g})"


def each(runs: list[dict[str, Any]], *keys: str) -> list[float]:
    """A number of every run, found by keys one within the other."""
    values = []
    for run in runs:
        value: Any = run
        for key in keys:
            value = value[key]
        values.append(float(value))
    return values
