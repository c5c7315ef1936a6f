"""Covariance operators that know their structure."""

from odvff.linalg.blocks import BlockDiagonal, BlockFactor
from odvff.linalg.dense import Dense, DenseFactor
from odvff.linalg.diagonal import Diagonal, DiagonalFactor
from odvff.linalg.kronecker import KroneckerFactor, KroneckerProduct
from odvff.linalg.low_rank import Bordered, BorderedFactor, DiagonalPlusLowRank, LowRankFactor
from odvff.linalg.operator import Covariance, Factor

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
