"""Inducing features. Each gives `Kuu(kernel)`, a covariance operator, and `Kuf(kernel, X)` of shape (|β|, N).

Everything downstream uses only these two. Features that take no hyper-parameter inside their box say so with a
method `inside`, which has no kernel among its arguments; `refined` and `positions` nest features in richer ones.
"""

from typing import Any, Protocol, runtime_checkable

from odvff.features.fourier import Fourier
from odvff.features.kronecker import Kronecker
from odvff.features.levels import Levels
from odvff.features.points import InducingPoints
from odvff.linalg import Covariance
from odvff.support.arrays import Array


@runtime_checkable
class Features(Protocol):
    """What features must offer."""

    def Kuu(self, kernel: Any) -> Covariance: ...

    def Kuf(self, kernel: Any, X: Array) -> Array: ...


@runtime_checkable
class Refinable(Features, Protocol):
    """Features that stand among richer ones of their kind: what sample paths need."""

    def refined(self, factor: int) -> Any: ...

    def positions(self, kernel: Any, fine: Any) -> Any: ...


__all__ = ["Features", "Fourier", "InducingPoints", "Kronecker", "Levels", "Refinable"]
