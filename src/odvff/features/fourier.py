"""RKHS Fourier features of a one-column Matérn kernel on [a, b]: start reading here.

The inducing variables are β_i = ⟨f, φ_i⟩ with the inner product of the kernel's RKHS on [a, b], and

    φ = [1, cos ω_m(x−a), sin ω_m(x−a), ((x−a)/L)^k],    ω_m = 2πm/L,  m = 1…F,  k = 1…p+1,

the monomials being the completion: without them the span holds periodic functions only. Cov(β_i, f(x)) = φ_i(x) in the
box (`interval` says what it is outside), and Cov(β_i, β_j) = ⟨φ_i, φ_j⟩, which `odvff.features.matern_gram` computes.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from odvff.errors import InputError
from odvff.features.base import Axis, FixedFeatures, OnUnitBox, at_most
from odvff.features.cells import Table
from odvff.features.harmonics import harmonics
from odvff.features.interval import Curve, IntervalFeatures, checked_interval
from odvff.features.matern_gram import gram, harmonic_states, monomial_states
from odvff.features.orthogonal import OrthogonalFourier
from odvff.features.remainders import column_map
from odvff.features.whitening import FourierGroup, Kind
from odvff.kernels import Matern
from odvff.linalg import Covariance
from odvff.support.arrays import Array, concatenate, namespace
from odvff.support.checks import whole
from odvff.support.words import number


@dataclass(frozen=True)
class Fourier(IntervalFeatures):
    """RKHS Fourier features on an interval.

    Parameters
    ----------
    n_harmonics : number F of cosines and of sines.
    interval : (a, b), the box. Rows outside it are allowed: there the features decay, and f returns to its prior.
    completion : add the monomials that make the span dense (default), or keep the paper's basis.
    smoothness : of the kernel, 0.5, 1.5 or 2.5: it sets how many monomials complete the basis. By default that of the
        kernel of the term.

    >>> phi = Fourier(n_harmonics=2, interval=(0, 1), smoothness=1.5)
    >>> phi.inside([[0.25]]).ravel().round(4)   # 1, two cosines, two sines, t, t²
    array([ 1.    ,  0.    , -1.    ,  1.    ,  0.    ,  0.25  ,  0.0625])
    """

    n_harmonics: int
    interval: tuple[float, float]
    completion: bool = True
    smoothness: float | None = None

    def __post_init__(self) -> None:
        F = whole(self.n_harmonics, "n_harmonics", at_least=1, remedy="10 is a good start")
        object.__setattr__(self, "interval", checked_interval(self.interval))
        object.__setattr__(self, "n_harmonics", F)

    @property
    def size(self) -> int:
        return 2 * self.n_harmonics + 1 + (self.order if self.completion else 0)

    def values(self, t: Array, order: int) -> Array:
        """[1, cos θ_m t, sin θ_m t, t^k]."""
        degrees = range(1, order + 1) if self.completion else ()
        one = namespace(t).ones_like(t)[None]
        return concatenate([one, harmonics(t, self.n_harmonics), *((t**k)[None] for k in degrees)])

    def states(self, order: int) -> tuple[Any, Any]:
        degree = order if self.completion else 0
        at = [monomial_states(degree, t, order) for t in (0.0, 1.0)]
        left, right = (np.concatenate([m[:1], harmonic_states(self.n_harmonics, order), m[1:]]) for m in at)
        return left, right

    def Kuu(self, kernel: Any) -> Covariance:
        """⟨φ_i, φ_j⟩, in linear memory."""
        k = self.kernel_of(kernel)
        return gram(self.n_harmonics, k.order, k.rate * self.length, k.variance, self.completion)

    # abilities

    @property
    def key(self) -> Hashable:
        return self.n_harmonics, self.completion, self.smoothness

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Any) -> FourierGroup:
        return FourierGroup.at(Kind(self.n_harmonics, self.order, completed=False), self.smoothness, parameters)

    def on_unit_box(self, kernel: Any, X: Array) -> OnUnitBox:
        k = self.kernel_of(kernel)
        unit = replace(self, interval=(0.0, 1.0), smoothness=k.smoothness)
        t = (self._column(kernel, X) - self.interval[0]) / self.length
        return OnUnitBox(unit, (k.lengthscale / self.length, k.variance), partial(Matern, k.smoothness), t[:, None])

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (Axis(self.interval, self.n_harmonics, 0),)

    def orthogonal(self) -> FixedFeatures:
        return OrthogonalFourier(self) if self.completion else self

    def curve(self, kernel: Any, weights: Any) -> Curve:
        one, cosines, sines = np.split(weights, [1, self.n_harmonics + 1])
        table = Table.of(cosines, sines, one)
        left, right = (weights @ edge for edge in self.edges(self.order))
        return Curve(self.interval, self.kernel_of(kernel), table, left, right)

    def refined(self, factor: int) -> "Fourier":
        """These among `factor` times as many harmonics."""
        factor = whole(factor, "factor", at_least=1, remedy="16 resolves most paths")
        return replace(self, n_harmonics=factor * self.n_harmonics)

    def positions(self, fine: "Fourier") -> np.ndarray:
        F, G = self.n_harmonics, fine.n_harmonics
        m = np.arange(1, F + 1)
        return np.concatenate([[0], m, G + m, 2 * G + 1 + np.arange(self.order if self.completion else 0)])

    @property
    def resolution(self) -> int:
        return self.n_harmonics

    def with_resolution(self, n: int) -> "Fourier":
        return replace(self, n_harmonics=n)

    def holds(self, fewer: Any) -> bool:
        few = getattr(fewer, "n_harmonics", self.n_harmonics + 1)
        return few <= self.n_harmonics and self.with_resolution(few) == fewer

    def coarsening(self, fewer: Any) -> Any | None:
        if not isinstance(fewer, Fourier) or self.with_resolution(fewer.n_harmonics) != fewer:
            raise InputError(f"{self!r} do not contain {fewer!r}.")
        if self == fewer:
            return None
        return column_map(self.n_harmonics, fewer.n_harmonics, self.order if self.completion else 0)

    def words(self) -> str:
        return f"{self.n_harmonics} harmonics"

    def to_words(self, arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
        # the smoothness is that of the kernel
        interval = [float(end) for end in self.interval]
        return {"n_harmonics": self.n_harmonics, "interval": interval, "completion": bool(self.completion)}

    @classmethod
    def from_words(cls, words: dict[str, Any], arrays: dict[str, Any], prefix: str, most: int) -> "Fourier":
        low, high = (number(end) for end in words["interval"])
        return cls(at_most(words["n_harmonics"], most), (low, high), words["completion"] is True)
