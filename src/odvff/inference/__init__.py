"""From data to a posterior."""

from odvff.errors import FitWarning
from odvff.inference.closed_form import collapsed_bound, optimal_posterior
from odvff.inference.collapsed.bound import CollapsedBound
from odvff.inference.collapsed.fit import Fit, fit_collapsed

__all__ = ["CollapsedBound", "Fit", "FitWarning", "collapsed_bound", "fit_collapsed", "optimal_posterior"]
