"""Our regressor with default arguments, on the columns as they are."""

from odvff import ODVFFRegressor
from tables import asked, measure

split, _ = asked()

measure(
    split,
    lambda: ODVFFRegressor().fit(split.X, split.y),
    lambda model: model.predict(split.X_test, return_std=True),
    "odvff",
    "numpy",
)
