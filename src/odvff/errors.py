"""What can go wrong, in words: every error names the thing, its value and the remedy."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np


@dataclass(frozen=True)
class Argument:
    """An argument that a message speaks of, perhaps with a value: `max_iter`, `method='odvff'`."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return self.name if self.value is None else f"{self.name}={self.value!r}"


Spelling = Callable[[Argument], str]  # `str` is Python's; a shell has options instead


class Message(Exception):
    """Made of pieces, words and arguments, so that whoever shows it can spell arguments as its readers know them.

    >>> str(InputError(Argument("batch_size"), " must be positive, got 0."))
    'batch_size must be positive, got 0.'
    """

    def __str__(self) -> str:
        return self.spelled(str)

    def spelled(self, spelling: Spelling) -> str:
        """The text, with its arguments spelled so."""
        return "".join(spelling(piece) if isinstance(piece, Argument) else str(piece) for piece in self.args)

    def renamed(self, names: dict[str, str]) -> Self:
        """The same message to somebody who knows some arguments by other names."""
        made = copy(self)
        made.args = tuple(
            replace(p, name=names.get(p.name, p.name)) if isinstance(p, Argument) else p for p in self.args
        )
        return made


class OdvffError(Message):
    """Base of all errors that the package raises on purpose."""


class InputError(OdvffError, ValueError):
    """An argument has a value that cannot be used."""


class KernelError(OdvffError, TypeError):
    """A kernel does not fit the features it was given to."""


class FactorizationError(OdvffError, np.linalg.LinAlgError):
    """A covariance matrix could not be factored; the message ranks the likely causes.

    Attributes: `reason` (without the term), `term`, `condition` (number of the scaled matrix), `jitters` tried.
    """

    def __init__(self, reason: str, *, term: str = "", condition: float = np.nan, jitters: tuple[float, ...] = ()):
        self.reason, self.term, self.condition, self.jitters = reason, term, condition, jitters
        super().__init__(f"term {term!r}: {reason}" if term else reason)

    def within(self, term: str) -> "FactorizationError":
        """The same failure, with the name of the term (and the factor within it) that it happened in."""
        term = f"{term}, {self.term}" if self.term else term
        return FactorizationError(self.reason, term=term, condition=self.condition, jitters=self.jitters)


class FileError(OdvffError, OSError):
    """A file cannot be read or written, or does not hold what it should."""


class PrecisionError(OdvffError, RuntimeError):
    """JAX is asked to compile or differentiate the package with its 64-bit types off."""


class NumericalError(OdvffError, ArithmeticError):
    """A result is wrong by more than rounding can explain."""


class FitWarning(Message, UserWarning):
    """Something about a fit that a person should know."""

    def in_units(self, shift: float, scale: float) -> "FitWarning":
        """The same where y = shift + scale·(the y of the fit)."""
        return self
