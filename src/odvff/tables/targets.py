"""Targets as people give them: numbers for a regression, labels for a classification, none of them missing."""

import datetime
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, column_or_1d

from odvff.errors import InputError

LABELS = "labels must be text, booleans or numbers"


def numbers_of(y: Any) -> Any:
    """y as float64 of one dimension, without NaN."""
    y = np.asarray(y)
    _refuse_dates(y, "turn them into numbers, such as days since the first one")
    if y.dtype.kind in "OSU":
        y = _as_floats(y)
    elif y.dtype.kind in "fc":
        _refuse_missing(np.isnan(y))
    return np.asarray(_check_y(y, y_numeric=True, estimator="ODVFFRegressor"), dtype=np.float64)


def labels_of(y: Any) -> Any:
    """Labels as an array of one dimension: text, booleans or numbers."""
    y = column_or_1d(y, warn=True)
    _refuse_dates(y, "turn them into text or numbers")
    if y.dtype.kind == "f":
        if np.isinf(y).any():
            raise InputError(f"Input y contains infinity, first in row {int(np.argmax(np.isinf(y)))}; drop such rows.")
        _refuse_missing(np.isnan(y))
    elif y.dtype.kind == "O":
        _refuse_missing(_missing(y))
        y = _plain_labels(y)
    elif y.dtype.kind not in "Ubiu":
        raise InputError(f"y holds {y.dtype}; {LABELS}. Convert them.")
    check_classification_targets(y)
    return y


def plain(label: Any) -> Any:
    """A label as Python's own value, which prints as people write it and goes into files."""
    return label.item() if isinstance(label, np.generic) else label


def _refuse_dates(y: Any, remedy: str) -> None:
    first = next((v for v in y.ravel() if not _is_missing(v)), None) if y.dtype.kind == "O" else None
    if y.dtype.kind in "Mm" or isinstance(first, datetime.date | datetime.time | datetime.timedelta):
        held = y.dtype if first is None else type(first).__name__
        raise InputError(f"y holds dates or times ({held}); {remedy}.")


def _refuse_missing(missing: Any) -> None:
    if missing.any():
        i = int(np.argmax(missing.ravel()))
        raise InputError(f"Input y contains NaN, first in row {i}; drop such rows, or fill them in.")


def _missing(y: Any) -> Any:
    return np.array([_is_missing(v) for v in y.ravel()], dtype=bool)


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA, which cannot be compared."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _as_floats(y: Any) -> Any:
    """Objects or text as numbers."""
    if y.dtype.kind == "O":
        _refuse_missing(_missing(y))
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError) as error:
        wrong = next(v for v in y.ravel() if not is_number(v))
        raise InputError(
            f"y holds {plain(wrong)!r} ({type(plain(wrong)).__name__}), which is no number; convert it, or use "
            "ODVFFClassifier if these are labels."
        ) from error


def is_number(value: Any) -> bool:
    """Is this a number, or the text of one?"""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _plain_labels(y: Any) -> Any:
    """Objects as labels of one kind; text stays an array of objects."""
    values = [plain(v) for v in y]
    kinds = {_label_kind(v) for v in values}
    if len(kinds) > 1:
        first, other = values[0], next(v for v in values if _label_kind(v) != _label_kind(values[0]))
        raise InputError(f"y mixes labels of several kinds, such as {first!r} and {other!r}; give them one type.")
    return y if kinds == {"text"} else np.array(values)


def _label_kind(value: Any) -> str:
    for kind, types in (("text", str), ("boolean", bool), ("number", int | float)):
        if isinstance(value, types):
            return kind
    raise InputError(f"y holds {type(value).__name__} objects such as {str(value)[:40]!r}; {LABELS}. Convert them.")
