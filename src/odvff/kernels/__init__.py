"""Kernels: GPJax's, read without importing it, and some by their plain numbers.

A Fourier term needs of its kernel only the smoothness, the lengthscale and the variance. `Matern` holds these as
numbers, so that a model of such terms runs on NumPy alone; `Categorical` and `Separable` do the same for a column
of levels and for a product. Everything else is GPJax's, or a subclass of `Kernel`.
"""

from odvff.kernels.plain import Categorical, Kernel, Matern
from odvff.kernels.products import Additive, Separable, separable, separable_columns
from odvff.kernels.reading import (
    categorical,
    columns,
    covariance,
    matern,
    one_column,
    parameter,
    plain,
    point_sum,
    variances,
)

__all__ = [
    "Additive",
    "Categorical",
    "Kernel",
    "Matern",
    "Separable",
    "categorical",
    "columns",
    "covariance",
    "matern",
    "one_column",
    "parameter",
    "plain",
    "point_sum",
    "separable",
    "separable_columns",
    "variances",
]
