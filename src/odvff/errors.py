"""What can go wrong, in words: every error names the thing, its value and the remedy."""

import numpy as np


class OdvffError(Exception):
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
