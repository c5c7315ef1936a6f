"""The Matérn correlation as a function of the scaled distance, for NumPy and JAX alike."""

from odvff.support.arrays import Array

VANISHED = 1e3
"""Distances are cut off here, in units of 1/λ: e^{−1000} is zero, and powers of larger numbers would overflow."""


def polynomial(order: int, r: Array) -> Array:
    """Σ_{k≤p} c_k rᵏ, what e⁻ʳ is multiplied with; order is p + 1 = ν + ½."""
    return 1.0 if order == 1 else 1 + r if order == 2 else 1 + r * (1 + r / 3)
