"""Covariance operators that know their structure."""

from odvff.linalg.composed import BlockDiagonal, BlockFactor, KroneckerFactor, KroneckerProduct
from odvff.linalg.low_rank import Bordered, BorderedFactor, DiagonalPlusLowRank, LowRankFactor
from odvff.linalg.operator import Covariance, Dense, DenseFactor, Diagonal, DiagonalFactor, Factor

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
