"""What holds for every table, file and fault."""

import traceback
import warnings
from contextlib import contextmanager

import numpy as np

from odvff.errors import FitWarning, OdvffError

VALIDATION = "sklearn/utils/"  # scikit-learn refuses some input in its own words, as its conventions want


class Broken(AssertionError):
    """A law that does not hold."""

    def __init__(self, law, what):
        self.law = law
        super().__init__(f"{law}: {what}")


def refused(error):
    """Is this an error that was raised on purpose?"""
    if isinstance(error, OdvffError):
        return bool(str(error).strip())
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, ValueError | TypeError) and bool(frames) and VALIDATION in frames[-1].filename


@contextmanager
def lawful(what):
    """Errors of the package pass; any other is a broken law, and so is a warning that nobody meant to give."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", FitWarning)
            yield
    except Broken:
        raise
    except Exception as error:
        if refused(error):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise Broken(
            "only errors of the package",
            f"{what} raised {type(error).__name__}: {str(error)[:200]} in {last.filename}:{last.lineno}",
        ) from error


def finite(what, *arrays):
    """Predictions are numbers."""
    for array in arrays:
        array = np.asarray(array, dtype=np.float64)
        if not np.isfinite(array).all():
            raise Broken("finite or an error", f"{what} has {array[~np.isfinite(array)][0]}")


def equal(law, here, there):
    """The same to the bit."""
    here, there = np.asarray(here), np.asarray(there)
    if here.shape != there.shape or not np.array_equal(here, there):
        away = "other shapes" if here.shape != there.shape else f"{np.abs(here - there).max():.3g} apart"
        raise Broken(law, away)


def close(law, here, there, within):
    """The same but for so much."""
    here, there = np.asarray(here), np.asarray(there)
    away = float(np.abs(here - there).max(initial=0.0)) if here.shape == there.shape else np.inf
    if not away <= within:
        raise Broken(law, f"{away:.3g} apart, where {within:.3g} would do")


def nothing_left(folder, known):
    """No file stays behind but those that were asked for."""
    strange = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and p not in known)
    if strange:
        raise Broken("nothing left behind", ", ".join(strange[:5]))
