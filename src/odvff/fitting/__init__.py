"""The steps that methods are made of: from a problem to a start, and from a start to a fit."""

from odvff.fitting.problem import Named, Options, Problem, Start

__all__ = ["Named", "Options", "Problem", "Start"]
