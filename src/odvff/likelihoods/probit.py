"""The probit link for 0 and 1."""

from dataclasses import dataclass

from scipy import special

from odvff.likelihoods.labels import Labels
from odvff.likelihoods.quadrature import Row
from odvff.support.arrays import Array
from odvff.support.shapes import Float


@dataclass(frozen=True)
class Probit(Labels):
    """p(y = 1 | f) = Φ(f)."""

    name = "probit"
    theirs = "Bernoulli"

    def link(self, f: Float[Array, "*many"]) -> Float[Array, "*many"]:
        return special.ndtr(f)

    def log_density(self, y: Row, f: Float[Array, "*K N"]) -> Float[Array, "*K N"]:
        return special.log_ndtr((2 * y - 1) * f)
