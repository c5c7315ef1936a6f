"""Gaussian processes for real tables: orthogonally decoupled variational Fourier features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a name that is imported as itself is for others too
    from odvff.errors import FactorizationError as FactorizationError
    from odvff.errors import FileError as FileError
    from odvff.errors import InputError as InputError
    from odvff.errors import KernelError as KernelError
    from odvff.errors import NumericalError as NumericalError
    from odvff.errors import OdvffError as OdvffError
    from odvff.errors import PrecisionError as PrecisionError
    from odvff.estimators import ODVFFClassifier as ODVFFClassifier
    from odvff.estimators import ODVFFRegressor as ODVFFRegressor
    from odvff.estimators.base import load as load
    from odvff.features import Fourier as Fourier
    from odvff.features import InducingPoints as InducingPoints
    from odvff.features import Kronecker as Kronecker
    from odvff.features import Levels as Levels
    from odvff.kernels import Additive as Additive
    from odvff.kernels import Categorical as Categorical
    from odvff.kernels import Matern as Matern
    from odvff.kernels import Separable as Separable
    from odvff.likelihoods import GaussianNoise as GaussianNoise
    from odvff.posterior import Posterior as Posterior
    from odvff.terms import Sum as Sum
    from odvff.terms import Term as Term

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
    "odvff.estimators.base": ("load",),
    "odvff.features": ("Fourier", "InducingPoints", "Kronecker", "Levels"),
    "odvff.kernels": ("Additive", "Categorical", "Matern", "Separable"),
    "odvff.likelihoods": ("GaussianNoise",),
    "odvff.posterior": ("Posterior",),
    "odvff.terms": ("Sum", "Term"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}
__all__ = sorted(_PLACE_OF)


def __getattr__(name: str) -> Any:
    if name in _PLACE_OF:
        return getattr(import_module(_PLACE_OF[name]), name)
    raise AttributeError(f"module 'odvff' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
