"""What a model answers with, numbers or one of several classes, and targets of these as people give them."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, column_or_1d

from odvff.errors import InputError
from odvff.tables.table import plain, sort_of

REGRESSION, CLASSIFICATION = "regression", "classification"
LABELS = "labels must be text, booleans or numbers"


@dataclass(frozen=True)
class Numbers:
    """Numbers or counts: a model of them has one output."""

    name: ClassVar[str] = REGRESSION
    classes: ClassVar[Any] = None

    def coded(self, y: Any) -> Any:
        """Targets as numbers."""
        return numbers_of(y)

    def known(self, y: Any) -> Any:
        """Which targets a model can be measured on."""
        return np.ones(len(y), dtype=bool)

    def place(self, label: Any, of_outputs: Sequence[Any]) -> int:
        """The output that a label asks for."""
        if label is not None:
            raise InputError(f"label is for classes, which a regression has not, got {label!r}; leave it out.")
        return 0

    def probabilities(self, marginals: Sequence[Any]) -> Any:
        raise InputError("a regression has no classes to give probabilities of; ask it for quantiles.")

    def log_density(self, y: Any, marginals: Sequence[Any]) -> Any:
        """log p(y) of numbers, or of counts log P(y), row by row."""
        ((predictive, f),) = marginals
        return predictive.log_density(y, f)


@dataclass(frozen=True)
class Labels:
    """Classes: a model of two has one output, that of the second; a model of more one for each against the rest."""

    classes: Any  # the labels, in order, of the type that they came in

    name: ClassVar[str] = CLASSIFICATION

    def coded(self, y: Any) -> Any:
        """Positions of labels among the classes."""
        y = column_or_1d(y)
        try:
            found, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise InputError(
                "y mixes labels that have no order, or misses some; give it one type, and drop those rows."
            ) from error
        places = {plain(label): place for place, label in enumerate(self.classes)}
        for label in found.tolist():
            if label not in places:
                raise InputError(f"y has the label {label!r}, which was not there in training; drop such rows.")
        return np.array([places[label] for label in found.tolist()], dtype=np.intp)[codes]

    def known(self, y: Any) -> Any:
        """Which targets a model can be measured on: those that were there in training."""
        return np.isin(y, self.classes)

    def place(self, label: Any, of_outputs: Sequence[Any]) -> int:
        """The output that a label asks for, where the outputs are those of these labels."""
        if label is None and len(of_outputs) == 1:
            return 0
        if label in of_outputs:
            return of_outputs.index(label)
        known = [plain(c) for c in self.classes]
        if len(of_outputs) == 1 and label in known:
            raise InputError(
                f"with two classes f is that of {of_outputs[0]!r}, and {plain(label)!r} is where it is low: leave "
                "label out, and turn the signs."
            )
        raise InputError(f"label must be one of {known}, got {plain(label)!r}.")

    def probabilities(self, marginals: Sequence[Any]) -> Any:
        """Of every class, (N, classes), from each output's predictive and the marginals of its f."""
        ones = [predictive.moments(f)[0] for predictive, f in marginals]
        p = np.clip(np.stack(ones, axis=1), 0.0, 1.0)
        if len(ones) == 1:
            return np.concatenate([1 - p, p], axis=1)
        return p / p.sum(axis=1, keepdims=True)

    def log_density(self, y: Any, marginals: Sequence[Any]) -> Any:
        """log P(y) of coded classes, row by row."""
        return log_of(self.probabilities(marginals))[np.arange(len(y)), y]


Task = Numbers | Labels


def log_of(probabilities: Any) -> Any:
    """The logarithm, finite also where float64 has no number left."""
    return np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))


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
    y = y.ravel()
    missing = np.array([_is_missing(v) for v in y], dtype=bool) if y.dtype.kind == "O" else y != y
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
