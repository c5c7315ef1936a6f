"""Student-t noise, which outliers hardly move."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import special

from odvff.kernels import parameter
from odvff.likelihoods.by_gpjax import ByGPJax
from odvff.likelihoods.units import TargetMoments, Units, robust_units
from odvff.support.arrays import Array, in_double_precision


@dataclass(frozen=True)
class StudentT(ByGPJax):
    """y = f(x) + scale·ε, ε ~ t(degrees of freedom)."""

    name = "student-t"
    mean_is_f = True
    suits = "outliers"

    degrees_of_freedom: Any = 4.0
    scale: Any = 0.5

    @in_double_precision
    def in_gpjax(self) -> Any:
        from gpjax.likelihoods import StudentT

        return StudentT(np.float64(self.degrees_of_freedom), np.float64(self.scale))

    @classmethod
    def of(cls, module: Any) -> Self:
        return cls(parameter(module.degrees_of_freedom), parameter(module.scale))

    def given(self, f: Array) -> Any:
        from scipy import stats

        return stats.t(self.degrees_of_freedom, f, self.scale)

    def units(self, moments: TargetMoments, sample: Callable[[], tuple[Any, Any]]) -> Units:
        """By median and quartiles: outliers dominate the mean and the standard deviation."""
        return robust_units(*sample())

    def cdf_given(self, y: Array, f: Array) -> Array:
        return special.stdtr(self.degrees_of_freedom, (y - f) / self.scale)

    def around(self, q: float, f: Array) -> tuple[Array, Array]:
        at = self.scale * special.stdtrit(self.degrees_of_freedom, q)
        return f.min(axis=0) + at, f.max(axis=0) + at

    def draw(self, f: Array, rng: np.random.Generator) -> Array:
        return f + self.scale * rng.standard_t(self.degrees_of_freedom, f.shape)

    def in_words(self, scale: float) -> str:
        return f"{self.name}, {self.degrees_of_freedom:.3g} degrees of freedom, scale {scale * self.scale:.4g}"

    def noise_in_words(self, scale: float, shown: Callable[[float], str]) -> str:
        return (
            f"What it cannot explain is taken as Student-t noise of scale {shown(scale * self.scale)} with "
            f"{shown(self.degrees_of_freedom)} degrees of freedom: outliers are expected."
        )
