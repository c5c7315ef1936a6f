"""Inducing features: `base` says what they are to everything downstream, and each kind has a file."""

from odvff.features.base import Features, FixedFeatures
from odvff.features.fourier import Fourier
from odvff.features.interval import Functions, IntervalFeatures
from odvff.features.kronecker import Kronecker
from odvff.features.levels import Levels
from odvff.features.points import InducingPoints

__all__ = [
    "Features",
    "FixedFeatures",
    "Fourier",
    "Functions",
    "InducingPoints",
    "IntervalFeatures",
    "Kronecker",
    "Levels",
]
