"""Our regressor with default arguments, on the table as it is."""

from tables import asked, measure

from odvff import ODVFFRegressor

split, _ = asked()

measure(
    split,
    lambda: ODVFFRegressor().fit(split.train, split.y),
    lambda model: model.predict(split.test, return_std=True),
    "odvff",
    "jax",
)
