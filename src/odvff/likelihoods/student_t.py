"""Student-t noise, which outliers hardly move."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from odvff.likelihoods.by_gpjax import ByGPJax
from odvff.likelihoods.quadrature import Nodes, Row
from odvff.likelihoods.units import TargetMoments, Units, robust_units
from odvff.support.arrays import Array
from odvff.support.shapes import Float


@dataclass(frozen=True)
class StudentT(ByGPJax):
    """y = f(x) + scale·ε, ε ~ t(degrees of freedom)."""

    name = "student-t"
    theirs = "StudentT"
    mean_is_f = True
    suits = "outliers"

    degrees_of_freedom: Any = 4.0
    scale: Any = 0.5

    def given(self, f: Array) -> Any:
        from scipy import stats

        return stats.t(self.degrees_of_freedom, f, self.scale)

    def units(self, moments: TargetMoments, sample: Callable[[], tuple[Any, Any]]) -> Units:
        """By median and quartiles: outliers dominate the mean and the standard deviation."""
        return robust_units(*sample())

    def cdf_given(self, y: Row, f: Nodes) -> Nodes:
        return special.stdtr(self.degrees_of_freedom, (y - f) / self.scale)

    def around(self, q: float, f: Nodes) -> tuple[Row, Row]:
        at = self.scale * special.stdtrit(self.degrees_of_freedom, q)
        return f.min(axis=0) + at, f.max(axis=0) + at

    def draw(self, f: Float[Array, "*many"], rng: np.random.Generator) -> Float[Array, "*many"]:
        return f + self.scale * rng.standard_t(self.degrees_of_freedom, f.shape)

    def in_words(self, scale: float) -> str:
        return f"{self.name}, {self.degrees_of_freedom:.3g} degrees of freedom, scale {scale * self.scale:.4g}"

    def noise_in_words(self, scale: float, shown: Callable[[float], str]) -> str:
        return (
            f"What it cannot explain is taken as Student-t noise of scale {shown(scale * self.scale)} with "
            f"{shown(self.degrees_of_freedom)} degrees of freedom: outliers are expected."
        )
