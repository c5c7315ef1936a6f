"""The logistic link for 0 and 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from odvff.likelihoods.labels import Labels
from odvff.likelihoods.quadrature import Row
from odvff.support.arrays import Array
from odvff.support.shapes import Float


@dataclass(frozen=True)
class Logit(Labels):
    """p(y = 1 | f) = 1/(1 + e^{−f}).

    >>> probability, _ = Logit().moments(np.array([0.0, 2.0]), np.array([1.0, 0.0]))
    >>> probability.round(4)
    array([0.5   , 0.8808])
    """

    name = "logit"
    spread = 1.7
    least_noise = 1.7**2

    @classmethod
    def class_in_gpjax(cls) -> Any:
        from odvff.likelihoods.compiled import GPJaxLogit

        return GPJaxLogit

    def link(self, f: Float[Array, "*many"]) -> Float[Array, "*many"]:
        return special.expit(f)

    def log_density(self, y: Row, f: Float[Array, "*K N"]) -> Float[Array, "*K N"]:
        return -np.logaddexp(0.0, (1 - 2 * y) * f)
