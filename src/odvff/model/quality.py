"""How good a model was on labelled rows, as plain numbers that go into files and come out of them checked."""

from collections.abc import Callable, Sized
from dataclasses import asdict, dataclass, fields
from typing import Annotated, Any

from odvff.errors import FileError
from odvff.model.task import CLASSIFICATION, REGRESSION
from odvff.support.words import mapping, read

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


def _is_share(value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{value:g} is no share: not between 0 and 1")


def _up_to(most: int) -> Callable[[Sized], None]:
    def check(values: Sized) -> None:
        if len(values) > most:
            raise ValueError(f"a list in it has {len(values)} entries, and there are up to {most}")

    return check


Share = Annotated[float, _is_share]


@dataclass(frozen=True)
class Reliability:
    """Of one class, in equal bins of its probability: mean probability, observed share, rows; no empty bins."""

    label: Any
    bins: Annotated[tuple[tuple[Share, Share, int], ...], _up_to(RELIABILITY_BINS)]


@dataclass(frozen=True)
class Evaluation:
    """How good predictions were, as plain numbers. A metric that is not defined for these rows is not there."""

    task: str  # "regression" or "classification"
    n_rows: int
    metrics: dict[str, float]
    # of numbers and counts
    calibration: tuple[tuple[Share, Share], ...] = ()  # level of central intervals, share of rows within
    pit: tuple[Share, ...] = ()  # share of rows in equal bins of P(Y ≤ y)
    # mean of y, residual in standard deviations; of a sample
    residuals: Annotated[tuple[tuple[float, float], ...], _up_to(SHOWN_RESIDUALS)] = ()
    # mean of y, then QUANTILES of residuals of rows about there
    residual_bands: Annotated[tuple[tuple[float, ...], ...], _up_to(BANDS)] = ()
    # of classes
    labels: tuple[Any, ...] = ()
    reliability: Annotated[tuple[Reliability, ...], _up_to(MOST_RELIABILITY)] = ()  # of the commonest ones
    # rows of a class (down) that were taken for a class (across)
    confusion: Annotated[tuple[tuple[int, ...], ...], _up_to(MOST_CONFUSION)] = ()

    def __post_init__(self) -> None:
        if self.task not in METRICS:
            raise ValueError(f"{self.task[:40]!r} is no task")
        n, labels = len(self.labels), {(type(label) is bool, label) for label in self.labels}
        numbers = self.task == REGRESSION
        wrong = {
            "it is of no rows": self.n_rows < 1,
            "its metrics are not those of the task": not self.metrics.keys() <= METRICS[self.task].keys(),
            "its calibration does not go with the task": (len(self.calibration), len(self.pit))
            != ((len(LEVELS), PIT_BINS) if numbers else (0, 0)),
            "a band of residuals has the wrong length": any(len(b) != 1 + len(QUANTILES) for b in self.residual_bands),
            "its labels do not go with the task": len(labels) != n or None in self.labels or numbers == (n > 1),
            "a reliability table is of no label": any(table.label not in self.labels for table in self.reliability),
            "its confusion counts are not those of the labels": len(self.confusion) not in (0, n)
            or any(len(row) != n for row in self.confusion),
        }
        for what, is_so in wrong.items():
            if is_so:
                raise ValueError(what)

    def to_words(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_words(cls, words: Any) -> "Evaluation":
        """The inverse of `to_words`, with every value checked."""
        try:
            if mapping(words).keys() != {field.name for field in fields(cls)}:
                raise ValueError("it has not the entries that it should have")
            found: Evaluation = read(cls, words)
        except (TypeError, ValueError, OverflowError) as error:
            raise FileError(f"the evaluation in the file is damaged: {str(error)[:200]}.") from error
        return found
