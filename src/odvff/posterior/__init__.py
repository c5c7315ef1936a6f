"""The orthogonally decoupled family of posteriors, and the families that it replaced."""

from odvff.posterior.decoupled import Decoupled, Hybrid
from odvff.posterior.orthogonal import Effects, Posterior
from odvff.posterior.samples import Paths

__all__ = ["Decoupled", "Effects", "Hybrid", "Paths", "Posterior"]
