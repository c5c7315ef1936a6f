"""From data to a posterior."""

from odvff.inference.closed_form import collapsed_bound, optimal_posterior

__all__ = ["collapsed_bound", "optimal_posterior"]
