"""The estimator as a user calls it, with default arguments or with numbers of harmonics, iterations or points."""

import warnings
from typing import Any

from odvff import ODVFFRegressor

PACKAGES = ("odvff", "numpy", "scipy")


class Model:
    """Fitted in one go; "default" leaves an argument as it is."""

    def __init__(
        self, X: Any, y: Any, n_harmonics: str = "default", max_iter: str = "default", n_inducing: str = "default"
    ):
        asked = {"n_harmonics": n_harmonics, "max_iter": max_iter, "n_inducing": n_inducing}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few iterations are asked for on purpose
            self.model = ODVFFRegressor(**{k: int(v) for k, v in asked.items() if v != "default"}).fit(X, y)

    def mean(self, X: Any) -> Any:
        return self.model.predict(X)

    def predict(self, X: Any) -> tuple[Any, Any]:
        """Mean and variance of y."""
        mean, std = self.model.predict(X, return_std=True)
        return mean, std**2
