"""Covariance operators that know their structure."""

from odvff.linalg.composed import BlockDiagonal, BlockFactor, KroneckerFactor, KroneckerProduct
from odvff.linalg.dense import Dense, DenseFactor
from odvff.linalg.low_rank import Bordered, BorderedFactor, DiagonalPlusLowRank, LowRankFactor
from odvff.linalg.operator import Covariance, Diagonal, DiagonalFactor, Factor

__all__ = [
    "BlockDiagonal",
    "BlockFactor",
    "Bordered",
    "BorderedFactor",
    "Covariance",
    "Dense",
    "DenseFactor",
    "Diagonal",
    "DiagonalFactor",
    "DiagonalPlusLowRank",
    "Factor",
    "KroneckerFactor",
    "KroneckerProduct",
    "LowRankFactor",
]
