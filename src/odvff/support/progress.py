"""What long work tells of itself while it goes on."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

PATIENCE, LINES_EVERY = 2.0, 2.0  # seconds before anything is shown, and between two plain lines


@dataclass(frozen=True)
class Step:
    """How far a stage of the work has come: rows, iterations, rounds or steps done, of how many, and the objective."""

    stage: str
    done: int
    total: int | None = None  # None if nobody can know
    unit: str = "rows"
    objective: float | None = None


Progress = Callable[[Step], None]


def silent(told: object) -> None:
    """Tell nobody."""


class Pace:
    """Done and to do in a stage, and how fast it goes."""

    def __init__(self) -> None:
        self._stage, self._began, self._first = "", time.monotonic(), 0

    def of(self, step: Step) -> tuple[bool, float | None, float | None]:
        """Is this a new stage; how much a second; and how many seconds are left?"""
        new = step.stage != self._stage
        if new:
            self._stage, self._began, self._first = step.stage, time.monotonic(), step.done
        seconds, done = time.monotonic() - self._began, step.done - self._first
        if seconds < 0.2 or done <= 0:
            return new, None, None
        left = None if step.total is None else max(step.total - step.done, 0) * seconds / done
        return new, done / seconds, left


def in_words(step: Step, rate: float | None, left: float | None) -> str:
    """A step as one line."""
    parts = [f"{step.done:,}" + (f" of {step.total:,}" if step.total else "") + f" {step.unit}"] if step.done else []
    if rate is not None and step.unit == "rows":
        parts.append(f"{rate:,.0f} rows/s")
    if step.objective is not None:
        parts.append(f"objective {step.objective:,.2f}")
    if left is not None:
        parts.append(f"{left:.0f} s left")
    return f"{step.stage}: {', '.join(parts)}" if parts else f"{step.stage} …"


class Lines:
    """Plain lines on standard error, a few seconds apart."""

    def __init__(self) -> None:
        self._pace, self._last = Pace(), time.monotonic() + PATIENCE - LINES_EVERY

    def __call__(self, step: Step) -> None:
        _, rate, left = self._pace.of(step)
        now = time.monotonic()
        if now - self._last >= LINES_EVERY:
            self._last = now
            print(in_words(step, rate, left), file=sys.stderr, flush=True)
