"""What stands beside a fit: who is told how it goes on, where it keeps what it has reached, and who hears its notes."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from odvff.errors import FitWarning
from odvff.support.journal import NO_JOURNAL, Journal
from odvff.support.progress import Progress, Step, silent

Tell = Callable[[FitWarning], None]


def warn(note: FitWarning) -> None:
    """Say a note as a warning of Python's, where the function was called that makes it."""
    warnings.warn(note, stacklevel=3)


@dataclass(frozen=True)
class Run:
    """A fit's surroundings. Notes are data until somebody says them: `tell` may be the `append` of a list."""

    progress: Progress = silent
    journal: Journal = NO_JOURNAL
    tell: Tell = warn

    def of_class(self, place: int, label: Any) -> "Run":
        """The run of one class of several: with its own part of the journal, and its name in what is told."""

        def told(step: Step) -> None:
            self.progress(replace(step, stage=f"class {label}: {step.stage}"))

        return replace(self, progress=told, journal=self.journal.within(f"class {place}"))

    def in_units(self, shift: float, scale: float) -> "Run":
        """Of a fit to standardised targets: its notes in the units that y = shift + scale·(standardised y) has."""
        return replace(self, tell=lambda note: self.tell(note.in_units(shift, scale)))


BARE = Run()
