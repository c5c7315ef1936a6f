"""pyGAM's LinearGAM: a spline for each column, their common penalty by its own search, its own prediction intervals."""

from typing import Any

from pygam import LinearGAM

from tables import asked, measure

Z = 1.959963984540054  # of a Gaussian 95 % interval

split, _ = asked()
X, X_test = split.X, split.X_test


def predict(model: LinearGAM) -> tuple[Any, Any]:
    lower, upper = model.prediction_intervals(X_test, width=0.95).T
    return (lower + upper) / 2, (upper - lower) / (2 * Z)


measure(split, lambda: LinearGAM().gridsearch(X, split.y, progress=False), predict, "pygam")
