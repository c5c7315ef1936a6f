"""Kernels by their plain numbers, so that a model of a table runs on NumPy; and GPJax's, read without importing it.

A kernel of your own is a subclass of `Kernel`, or of `Scaled`, which is what fixed features need.
"""

from odvff.kernels.plain import Categorical, Kernel, Matern, Scaled
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

__all__ = ["Additive", "Categorical", "Kernel", "Matern", "Scaled", "Separable"]
__all__ += ["categorical", "columns", "covariance", "matern", "one_column", "parameter", "plain", "point_sum"]
__all__ += ["separable", "separable_columns", "variances"]
