"""What a model answers with: numbers, or one of several classes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import column_or_1d

from odvff.errors import InputError
from odvff.tables.table import plain
from odvff.tables.targets import numbers_of

REGRESSION, CLASSIFICATION = "regression", "classification"


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
        if len(of_outputs) == 1 and label in (None, of_outputs[0]):
            return 0
        for i, one in enumerate(of_outputs):
            if label is not None and one == label:
                return i
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
