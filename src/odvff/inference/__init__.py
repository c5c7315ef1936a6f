"""From data to a posterior."""

from odvff.inference.closed_form import collapsed_bound, optimal_posterior
from odvff.inference.collapsed import CollapsedBound
from odvff.inference.fit import Fit, FitWarning, fit_collapsed
from odvff.inference.harmonics import choose_harmonics
from odvff.inference.inducing import add_inducing, greedy_points, kmeans_points

__all__ = [
    "CollapsedBound",
    "Fit",
    "FitWarning",
    "add_inducing",
    "choose_harmonics",
    "collapsed_bound",
    "fit_collapsed",
    "greedy_points",
    "kmeans_points",
    "optimal_posterior",
]
