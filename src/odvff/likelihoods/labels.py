"""What likelihoods of 0 and 1 share: a link that makes f a probability."""

from abc import abstractmethod
from typing import Any

from odvff.likelihoods.by_gpjax import ByGPJax
from odvff.likelihoods.quadrature import Row
from odvff.support.arrays import Array
from odvff.support.shapes import Bool, Float


class Labels(ByGPJax):
    """p(y = 1 | f) = link(f)."""

    for_labels = discrete = True
    same_scale = False
    wants = "0 or 1"
    unexplained = "Effects are on a score; the probability of a class rises with its score."
    # of what the link adds to f, in standard deviations and variance: f is known no better from one row
    spread = least_noise = 1.0

    @abstractmethod
    def link(self, f: Float[Array, "*many"]) -> Float[Array, "*many"]:
        """The probability of 1."""

    def given(self, f: Array) -> Any:
        from scipy import stats

        return stats.bernoulli(self.link(f))

    def takes(self, y: Any) -> Bool[Array, " N"]:
        return (y == 0) | (y == 1)

    def pseudo_target(self, y: Row) -> Row:
        return (2.0 * y - 1.0) * self.spread
