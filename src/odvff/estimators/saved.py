"""Fitted estimators in files: the model, and which estimator it was with which arguments."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from odvff.errors import FileError
from odvff.estimators.classifier import ODVFFClassifier
from odvff.estimators.regressor import ODVFFRegressor
from odvff.likelihoods import LIKELIHOODS
from odvff.model import file
from odvff.model.model import Model

ESTIMATORS: dict[str, Any] = {made.__name__: made for made in (ODVFFRegressor, ODVFFClassifier)}


def load(path: str | os.PathLike[str], *, known: Iterable[type] = ()) -> Any:
    """The fitted estimator in a file that its method `save` wrote: the same predictions, to the bit.

    A file holds names of classes, never their code: likelihoods, features and kernels that are written outside the
    package must be among the `known`, as in `load(path, known=[MyLikelihood])`.
    """
    model = file.load(path, known)
    try:
        return _estimator(model)
    except FileError as error:
        raise FileError(f"{path} is damaged: {error}") from error


def _estimator(model: Model) -> Any:
    """The estimator of a model that says by which it was made, and what that was asked for."""
    if model.made_by not in ESTIMATORS:
        raise FileError(f"it holds an unknown estimator, {model.made_by[:40]!r}.")
    made = ESTIMATORS[model.made_by]
    if made._labels != (model.task.classes is not None):
        raise FileError(f"it holds a {model.task.name}, which its estimator does not do.")
    unknown = set(model.asked) - set(made._get_param_names())
    if unknown:
        raise FileError(f"it has the unknown parameter {sorted(unknown)[0][:40]!r}.")
    likelihood = model.outputs[0].predictive.likelihood
    # one from outside has no name that an estimator knows
    own: dict[str, Any] = {} if type(likelihood) in LIKELIHOODS else {"likelihood": likelihood}
    if model.asked.get("terms") is not None:
        fitted, n = model.outputs[0].posterior.terms.terms, model.asked["terms"]
        if not isinstance(n, int) or not 0 < n <= len(fitted):
            raise FileError(f"it has {str(n)[:40]!r} terms of its user's, and {len(fitted)} in all.")
        own["terms"] = model.schema.named(fitted[:n])
    estimator = made(**model.asked | own)
    estimator.model_ = model
    estimator.n_features_in_ = len(model.schema.columns)
    if model.named_columns:
        estimator.feature_names_in_ = np.asarray(model.schema.names, dtype=object)
    return estimator
