"""What answers questions about y, made of parts:

    effects ──posterior──▶ f ──likelihood──▶ standardised y ──units──▶ y
               + local            + noise

At coded rows `latent` gives the marginals of f; every question is asked of these. There is room for what neighbours add
(`local`), which enters in `latent` and `mean_of_f`, and for noise that depends on the row (`noise`), which becomes one
more part of `Marginals` and of what the likelihood is shown here. Both are none yet.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from odvff.errors import InputError
from odvff.likelihoods import Likelihood, Units
from odvff.posterior import Posterior
from odvff.support.arrays import Array
from odvff.support.shapes import Float


class Marginals(NamedTuple):
    """Of f at some rows, on the scale of the likelihood."""

    mean: Float[Array, " N"]
    variance: Float[Array, " N"]

    def at(self, rows: Any) -> "Marginals":
        """Those of these rows."""
        return Marginals(*(part[rows] for part in self))


@dataclass(frozen=True)
class Predictive:
    """The distribution of y at any row."""

    posterior: Posterior
    likelihood: Likelihood
    units: Units
    noise: None = None  # how its size depends on the row
    local: None = None  # what neighbours say that effects do not

    def latent(self, X: Float[Array, "N D"]) -> Marginals:
        """Mean and variance of f at coded rows."""
        return Marginals(*self.posterior.predict(X))

    def mean_of_f(self, X: Float[Array, "N D"]) -> Float[Array, " N"]:
        """The mean alone, which is cheaper."""
        return self.posterior.mean(X)

    def in_units(self, f: Marginals) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Mean and standard deviation of f, in the units of y where it is on the scale of y."""
        return self.units.shift + self.units.scale * f.mean, self.units.scale * np.sqrt(f.variance)

    def moments(self, f: Marginals) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Mean and standard deviation of y; for 0 and 1 the mean is the probability of 1."""
        first, second = self.likelihood.moments(*f)
        return self.units.shift + self.units.scale * first, self.units.scale * np.sqrt(second)

    def log_density(self, y: Float[Array, " N"], f: Marginals) -> Float[Array, " N"]:
        """log p(y), row by row; of counts and of 0 and 1 it is a log-probability."""
        return self.likelihood.log_predictive_density(self.units.standardised(y), *f) - np.log(self.units.scale)

    def cdf(self, y: Float[Array, " N"], f: Marginals) -> Float[Array, " N"]:
        """P(Y ≤ y), row by row."""
        return self.likelihood.cdf(self.units.standardised(y), *f)

    def quantiles(self, q: Any, f: Marginals) -> Float[Array, "N Q"]:
        """Quantiles of y for every row and every q."""
        q = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if not ((q > 0) & (q < 1)).all():
            raise InputError(
                f"quantiles are asked for by numbers between 0 and 1, got {q.tolist()}; 0.5 is the median."
            )
        return self.units.shift + self.units.scale * self.likelihood.quantiles(q, *f)

    def crps(self, y: Float[Array, " N"], f: Marginals) -> Float[Array, " N"] | None:
        """The continuous ranked probability score of every row, where it is a closed form."""
        score = self.likelihood.crps(self.units.standardised(y), *f)
        return None if score is None else self.units.scale * score

    def draw(self, f: Float[Array, "*many"], rng: np.random.Generator) -> Float[Array, "*many"]:
        """y for sampled f of any shape."""
        return self.units.shift + self.units.scale * self.likelihood.draw(f, rng)
