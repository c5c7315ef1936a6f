"""Likelihoods: how y follows from f. `Likelihood` is the seam, and one of the package is one file and one name below.

Under f ~ N(mean, variance), row by row, inference asks for E log p(y|f) and its derivatives; scores are log E p(y|f);
people read the mean and variance of y.
"""

import sys
from typing import Any

from odvff.errors import Argument, InputError
from odvff.likelihoods.base import Likelihood
from odvff.likelihoods.by_gpjax import FromGPJax
from odvff.likelihoods.gaussian import GaussianNoise
from odvff.likelihoods.logit import Logit
from odvff.likelihoods.poisson import Poisson
from odvff.likelihoods.probit import Probit
from odvff.likelihoods.quadrature import Row
from odvff.likelihoods.student_t import StudentT
from odvff.likelihoods.units import Units
from odvff.support.checks import vector

LIKELIHOODS: tuple[type[Likelihood], ...] = (GaussianNoise, StudentT, Poisson, Probit, Logit)

__all__ = ["LIKELIHOODS", "GaussianNoise", "Likelihood", "Logit", "Poisson", "Probit", "StudentT", "Units"]
__all__ += ["as_likelihood", "expected_log_density", "likelihood_for", "log_predictive_density", "predictive_moments"]


def as_likelihood(likelihood: Any) -> Likelihood:
    """One of ours as it is, one of GPJax's in the form of ours."""
    if isinstance(likelihood, Likelihood):
        return likelihood
    gpjax = sys.modules.get("gpjax")
    if gpjax is None or not isinstance(likelihood, gpjax.likelihoods.AbstractLikelihood):
        raise InputError(f"likelihood must be an odvff.likelihoods.Likelihood or one of GPJax's, got {likelihood!r}.")
    return FromGPJax(likelihood)


def likelihood_for(likelihood: Any, *, labels: bool) -> Likelihood:
    """What an estimator of numbers, or of labels, is given as its likelihood: a name, or a likelihood itself."""
    choices = {cls.name: cls for cls in LIKELIHOODS if cls.for_labels == labels}
    if isinstance(likelihood, str) and likelihood in choices:
        return choices[likelihood]()
    if likelihood is None or isinstance(likelihood, str | int | float):
        raise InputError(Argument("likelihood"), f" must be one of {', '.join(choices)}, got {likelihood!r}.")
    found = as_likelihood(likelihood)
    if isinstance(found, FromGPJax):
        found = found.ours() or found
    if found.for_labels != labels:
        raise InputError(
            f"the likelihood {found.name!r} is for {'classes' if found.for_labels else 'numbers'}; use "
            f"{'ODVFFClassifier' if found.for_labels else 'ODVFFRegressor'}, or one of {', '.join(choices)}."
        )
    if found.n_processes > 1:
        raise InputError(
            f"the likelihood {found.name!r} has a second process for its noise, which estimators do not have; use "
            "odvff.inference.sites.fit_sites with `noise_terms`."
        )
    return found


def choices_in_words(*, labels: bool) -> str:
    """The names of likelihoods of numbers, or of labels, with what they suit."""
    chosen = (cls for cls in LIKELIHOODS if cls.for_labels == labels)
    return ", ".join(f'"{cls.name}"' + f" ({cls.suits})" * bool(cls.suits) for cls in chosen)


def expected_log_density(likelihood: Any, y: Any, mean: Row, variance: Row) -> Row:
    """E log p(y_n | f_n) for every row."""
    return as_likelihood(likelihood).expected_log_density(vector(y, "y", size=mean.shape[0]), mean, variance)


def log_predictive_density(likelihood: Any, y: Any, mean: Row, variance: Row) -> Row:
    """log E p(y_n | f_n) for every row: how well the model foresaw it."""
    return as_likelihood(likelihood).log_predictive_density(vector(y, "y", size=mean.shape[0]), mean, variance)


def predictive_moments(likelihood: Any, mean: Row, variance: Row) -> tuple[Row, Row]:
    """Mean and variance of y, row by row, infinite where it has none; for 0 and 1 the mean is the probability of 1."""
    return as_likelihood(likelihood).moments(mean, variance)
