"""Likelihoods by name, for estimators and files; all but Gaussian noise are GPJax's and made when they are needed."""

from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.kernels import parameter
from odvff.likelihoods.gaussian import GaussianNoise
from odvff.support.arrays import in_double_precision

REGRESSION = ("gaussian", "student-t", "poisson")
CLASSIFICATION = ("probit", "logit")
OUTLIER = 6.0
# the variance of what a label leaves open, on the scale of its pseudo target: f is known no better from one row
LABEL_NOISE = {"probit": 1.0, "logit": 1.7**2}
PARAMETERS = {"gaussian": ("variance",), "student-t": ("degrees_of_freedom", "scale")}


def make_likelihood(name: str, **parameters: float) -> Any:
    """The likelihood of this name, with these parameters or its own starting values."""
    if name == "gaussian":
        return GaussianNoise(**parameters)
    if name not in REGRESSION + CLASSIFICATION:
        raise InputError(f"likelihood must be one of {', '.join(REGRESSION + CLASSIFICATION)}, got {name!r}.")
    import gpjax as gpx
    import jax

    from odvff.likelihoods.logit import Logit

    made = {
        "student-t": gpx.likelihoods.StudentT,
        "poisson": gpx.likelihoods.Poisson,
        "probit": gpx.likelihoods.Bernoulli,
        "logit": Logit,
    }[name]
    with jax.enable_x64(True):
        return made(**{key: np.float64(value) for key, value in parameters.items()})


@in_double_precision
def parameters_of(name: str, likelihood: Any) -> dict[str, float]:
    """Its parameters as plain numbers."""
    return {
        key: float(getattr(likelihood, key) if name == "gaussian" else parameter(getattr(likelihood, key)))
        for key in PARAMETERS.get(name, ())
    }


def pseudo_target(name: str, y: Any) -> Any:
    """Numbers that are about as f should be, for a first look by Gaussian means."""
    if name == "poisson":
        return np.log(y + 0.5)
    if name in CLASSIFICATION:
        return (2.0 * y - 1.0) * (1.0 if name == "probit" else 1.7)
    # of standardised y: what lies far out says nothing about how smooth f is
    return np.clip(y, -OUTLIER, OUTLIER)
