"""The probit link for 0 and 1."""

from dataclasses import dataclass

from scipy import special

from odvff.likelihoods.labels import Labels
from odvff.support.arrays import Array


@dataclass(frozen=True)
class Probit(Labels):
    """p(y = 1 | f) = Φ(f)."""

    name = "probit"
    theirs = "Bernoulli"

    def link(self, f: Array) -> Array:
        return special.ndtr(f)

    def log_density(self, y: Array, f: Array) -> Array:
        return special.log_ndtr((2 * y - 1) * f)
