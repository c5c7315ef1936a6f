"""Gaussian processes for real tables: orthogonally decoupled variational Fourier features."""

from typing import TYPE_CHECKING, Any

from odvff.errors import (
    FactorizationError,
    FileError,
    InputError,
    KernelError,
    NumericalError,
    OdvffError,
    PrecisionError,
)
from odvff.features import Fourier, InducingPoints, Kronecker, Levels
from odvff.kernels import Additive, Categorical, Matern, Separable
from odvff.likelihoods import GaussianNoise
from odvff.posterior import Posterior
from odvff.terms import Sum, Term

if TYPE_CHECKING:
    from odvff.estimators import ODVFFClassifier, ODVFFRegressor
    from odvff.model_file import load

__version__ = "0.1.0"

_LATER = {"ODVFFClassifier": "odvff.estimators", "ODVFFRegressor": "odvff.estimators", "load": "odvff.model_file"}

__all__ = [
    "Additive",
    "Categorical",
    "FactorizationError",
    "FileError",
    "Fourier",
    "GaussianNoise",
    "InducingPoints",
    "InputError",
    "KernelError",
    "Kronecker",
    "Levels",
    "Matern",
    "NumericalError",
    "ODVFFClassifier",
    "ODVFFRegressor",
    "OdvffError",
    "Posterior",
    "PrecisionError",
    "Separable",
    "Sum",
    "Term",
    "load",
]


def __getattr__(name: str) -> Any:
    """What scikit-learn is needed for is imported when it is asked for."""
    if name in _LATER:
        from importlib import import_module

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'odvff' has no attribute {name!r}")
