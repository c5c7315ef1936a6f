"""Targets as people give them: numbers for a regression, labels for a classification, none of them missing."""

import datetime
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, column_or_1d

from odvff.errors import InputError
from odvff.tables.table import plain, sort_of

LABELS = "labels must be text, booleans or numbers"


def numbers_of(y: Any) -> Any:
    """y as float64 of one dimension, without NaN."""
    y = np.asarray(y)
    _refuse_dates(y, "turn them into numbers, such as days since the first one")
    _refuse_missing(y)
    return np.asarray(_check_y(_as_floats(y), y_numeric=True, estimator="ODVFFRegressor"), dtype=np.float64)


def labels_of(y: Any) -> Any:
    """Labels as an array of one dimension: text, booleans or numbers."""
    y = column_or_1d(y, warn=True)
    _refuse_dates(y, "turn them into text or numbers")
    if y.dtype.kind not in "OUbiuf":
        raise InputError(f"y holds {y.dtype}; {LABELS}. Convert them.")
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise InputError(f"Input y contains infinity, first in row {int(np.argmax(np.isinf(y)))}; drop such rows.")
    _refuse_missing(y)
    y = _of_one_sort(y) if y.dtype.kind == "O" else y
    check_classification_targets(y)
    return y


def _refuse_dates(y: Any, remedy: str) -> None:
    first = next((v for v in y.ravel() if not _is_missing(v)), None) if y.dtype.kind == "O" else None
    if y.dtype.kind in "Mm" or isinstance(first, datetime.date | datetime.time | datetime.timedelta):
        held = y.dtype if first is None else type(first).__name__
        raise InputError(f"y holds dates or times ({held}); {remedy}.")


def _refuse_missing(y: Any) -> None:
    if y.dtype.kind == "O":
        missing = np.array([_is_missing(v) for v in y.ravel()], dtype=bool)
    else:
        missing = np.isnan(y.ravel()) if y.dtype.kind in "fc" else np.zeros(0, dtype=bool)
    if missing.any():
        i = int(np.argmax(missing))
        raise InputError(f"Input y contains NaN, first in row {i}; drop such rows, or fill them in.")


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA, which cannot be compared."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _as_floats(y: Any) -> Any:
    """Objects or text as numbers; others as they are."""
    try:
        return y.astype(np.float64) if y.dtype.kind in "OSU" else y
    except (TypeError, ValueError) as error:
        wrong = plain(next(v for v in y.ravel() if not is_number(v)))
        raise InputError(
            f"y holds {wrong!r} ({type(wrong).__name__}), which is no number; convert it, or use ODVFFClassifier if "
            "these are labels."
        ) from error


def is_number(value: Any) -> bool:
    """Is this a number, or the text of one?"""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _of_one_sort(y: Any) -> Any:
    """Objects as labels of one sort; text stays an array of objects."""
    values = [plain(v) for v in y]
    for value in values:
        if not isinstance(value, str | bool | int | float):
            raise InputError(
                f"y holds {type(value).__name__} objects such as {str(value)[:40]!r}; {LABELS}. Convert them."
            )
        if sort_of(value) != sort_of(values[0]):
            raise InputError(
                f"y mixes labels of several kinds, such as {values[0]!r} and {value!r}; give them one type."
            )
    return y if values and isinstance(values[0], str) else np.array(values)
