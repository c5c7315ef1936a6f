"""What a model is to be made of: how many harmonics, which pairs of columns, where inducing points go."""

from odvff.search.harmonics import choose_harmonics
from odvff.search.points import add_inducing, greedy_points, kmeans_points

__all__ = ["add_inducing", "choose_harmonics", "greedy_points", "kmeans_points"]
