"""How good a model was on labelled rows, as plain numbers that go into files and come out of them checked."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from odvff.errors import FileError
from odvff.model.task import CLASSIFICATION, REGRESSION
from odvff.support.words import items, number, whole

LEVELS = (*(round(0.05 * i, 2) for i in range(1, 20)), 0.99)
PIT_BINS = 20
SHOWN_RESIDUALS = 3000
BANDS, QUANTILES = 12, (0.05, 0.25, 0.5, 0.75, 0.95)
RELIABILITY_BINS = 10
MOST_RELIABILITY, MOST_CONFUSION = 10, 20

METRICS = {
    REGRESSION: {
        "rmse": "root mean squared error",
        "rmse_of_the_mean": "… of the mean alone",
        "mae": "mean absolute error",
        "r2": "share of variance explained (R²)",
        "mean_log_density": "mean log density",
        "crps": "CRPS",
        "coverage_95": "share within 95 % intervals",
        "width_95": "mean width of these",
    },
    CLASSIFICATION: {
        "accuracy": "accuracy",
        "accuracy_of_the_commonest": "… of the commonest class",
        "log_loss": "log loss",
        "brier": "Brier score",
        "ece": "calibration error",
        "auc": "area under the ROC curve",
    },
}


@dataclass(frozen=True)
class Reliability:
    """Of one class, in equal bins of its probability: mean probability, observed share, rows; no empty bins."""

    label: Any
    bins: tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class Evaluation:
    """How good predictions were, as plain numbers. A metric that is not defined for these rows is not there."""

    task: str  # "regression" or "classification"
    n_rows: int
    metrics: dict[str, float]
    # of numbers and counts
    calibration: tuple[tuple[float, float], ...] = ()  # level of central intervals, share of rows within
    pit: tuple[float, ...] = ()  # share of rows in equal bins of P(Y ≤ y)
    residuals: tuple[tuple[float, float], ...] = ()  # mean of y, residual in standard deviations; of a sample
    residual_bands: tuple[tuple[float, ...], ...] = ()  # mean of y, then QUANTILES of residuals of rows about there
    # of classes
    labels: tuple[Any, ...] = ()
    reliability: tuple[Reliability, ...] = ()  # of the commonest classes; of two just the second
    confusion: tuple[tuple[int, ...], ...] = ()  # rows of a class (down) that were taken for a class (across)

    def to_words(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_words(cls, words: Any) -> "Evaluation":
        """The inverse of `to_words`, with every value checked."""
        if not isinstance(words, dict) or set(words) != {field.name for field in fields(cls)}:
            raise FileError("the evaluation in the file is damaged: it has not the entries that it should have.")
        try:
            return _checked(words)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise FileError(f"the evaluation in the file is damaged: {str(error)[:200]}.") from error


# reading


def _checked(words: dict[str, Any]) -> Evaluation:
    task = words["task"]
    if task not in METRICS:
        raise ValueError(f"{str(task)[:40]!r} is no task")
    values = words["metrics"]
    if not isinstance(values, dict) or not set(values) <= set(METRICS[task]):
        raise ValueError("its metrics are not those of the task")
    labels = tuple(_label(v) for v in items(words["labels"]))
    places = {(type(v) is bool, v) for v in labels}
    if len(places) != len(labels) or (task == CLASSIFICATION) != (len(labels) > 1):
        raise ValueError("its labels do not go with the task")
    evaluation = Evaluation(
        task,
        whole(words["n_rows"], at_least=1),
        {name: number(value) for name, value in values.items()},
        tuple(_pair(v, _proportion, _proportion) for v in items(words["calibration"], len(LEVELS))),
        tuple(_proportion(v) for v in items(words["pit"], PIT_BINS)),
        tuple(_pair(v, number, number) for v in items(words["residuals"], SHOWN_RESIDUALS)),
        tuple(_band(v) for v in items(words["residual_bands"], BANDS)),
        labels,
        tuple(_reliability(v, labels) for v in items(words["reliability"], MOST_RELIABILITY)),
        tuple(tuple(whole(n) for n in items(row)) for row in items(words["confusion"], MOST_CONFUSION)),
    )
    if any(len(row) != len(labels) for row in evaluation.confusion) or len(evaluation.confusion) not in (
        0,
        len(labels),
    ):
        raise ValueError("its confusion counts are not those of the labels")
    sizes = (len(evaluation.calibration), len(evaluation.pit))
    if sizes != ((len(LEVELS), PIT_BINS) if task == REGRESSION else (0, 0)):
        raise ValueError("its calibration does not go with the task")
    return evaluation


def _pair(value: Any, first: Any, second: Any) -> tuple[float, float]:
    a, b = items(value)
    return first(a), second(b)


def _band(value: Any) -> tuple[float, ...]:
    numbers = tuple(number(v) for v in items(value))
    if len(numbers) != 1 + len(QUANTILES):
        raise ValueError("a band of residuals has the wrong length")
    return numbers


def _reliability(value: Any, labels: tuple[Any, ...]) -> Reliability:
    if not isinstance(value, dict) or set(value) != {"label", "bins"}:
        raise ValueError("a reliability table has not the entries that it should have")
    label = _label(value["label"])
    if label not in labels:
        raise ValueError(f"{str(label)[:40]!r} is no label")
    bins = []
    for one in items(value["bins"], RELIABILITY_BINS):
        p, share, rows = items(one)
        bins.append((_proportion(p), _proportion(share), whole(rows)))
    return Reliability(label, tuple(bins))


def _label(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    if not isinstance(value, str | bool | int):
        raise ValueError(f"{str(value)[:40]!r} is no label")
    return value


def _proportion(value: Any) -> float:
    share = number(value)
    if not 0 <= share <= 1:
        raise ValueError(f"{share:g} is no share: not between 0 and 1")
    return share
