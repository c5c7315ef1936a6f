"""Gaussian processes for real tables: orthogonally decoupled variational Fourier features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odvff.errors import (
        FactorizationError,
        FileError,
        InputError,
        KernelError,
        NumericalError,
        OdvffError,
        PrecisionError,
    )
    from odvff.estimators import ODVFFClassifier, ODVFFRegressor
    from odvff.estimators.saved import load
    from odvff.features import Fourier, InducingPoints, Kronecker, Levels
    from odvff.kernels import Additive, Categorical, Matern, Separable
    from odvff.likelihoods import GaussianNoise
    from odvff.posterior import Posterior
    from odvff.terms import Sum, Term

__version__ = "0.1.0"

# what a name needs is imported when it is asked for: a program waits for what it uses, and for nothing else
_PLACES = {
    "odvff.errors": (
        "FactorizationError",
        "FileError",
        "InputError",
        "KernelError",
        "NumericalError",
        "OdvffError",
        "PrecisionError",
    ),
    "odvff.estimators": ("ODVFFClassifier", "ODVFFRegressor"),
    "odvff.estimators.saved": ("load",),
    "odvff.features": ("Fourier", "InducingPoints", "Kronecker", "Levels"),
    "odvff.kernels": ("Additive", "Categorical", "Matern", "Separable"),
    "odvff.likelihoods": ("GaussianNoise",),
    "odvff.posterior": ("Posterior",),
    "odvff.terms": ("Sum", "Term"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

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
    if name in _PLACE_OF:
        return getattr(import_module(_PLACE_OF[name]), name)
    raise AttributeError(f"module 'odvff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
