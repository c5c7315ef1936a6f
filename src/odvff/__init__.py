"""Gaussian processes for real tables: orthogonally decoupled variational Fourier features."""

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

__version__ = "0.1.0"

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
    "OdvffError",
    "Posterior",
    "PrecisionError",
    "Separable",
    "Sum",
    "Term",
]
