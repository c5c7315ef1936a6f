"""What long work tells of itself while it goes on."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """How far a stage of the work has come: rows, iterations, rounds or steps done, of how many, and the objective."""

    stage: str
    done: int
    total: int | None = None  # None if nobody can know
    unit: str = "rows"
    objective: float | None = None


Progress = Callable[[Step], None]


def silent(step: Step) -> None:
    """Tell nobody."""
