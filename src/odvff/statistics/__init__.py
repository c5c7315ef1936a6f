"""Sums over rows: one pass over the data, whatever the hyper-parameters."""

from odvff.statistics.collect import collect
from odvff.statistics.sums import Rows, Statistics

__all__ = ["Rows", "Statistics", "collect"]
