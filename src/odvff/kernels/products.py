"""Kernels over several columns that are made of kernels of one: sums and products."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from odvff.errors import FileError, InputError, KernelError
from odvff.kernels.plain import Kernel, Matern
from odvff.kernels.reading import is_gpjax, matern, name_of, one_column
from odvff.support.arrays import Array
from odvff.support.checks import matrix


@dataclass(frozen=True)
class _OfColumns(Kernel):
    """Made of one-column kernels: factor i reads column i."""

    factors: tuple[Matern, ...]

    def __post_init__(self) -> None:
        name, factors = type(self).__name__, self.factors
        if not isinstance(factors, list | tuple) or not factors:
            raise InputError(f"{name} takes a list of one-column Matérn kernels, got {factors!r}.")
        object.__setattr__(self, "factors", tuple(matern(factor) for factor in factors))

    def _by_column(self, X: Array, Z: Array) -> list[Array]:
        X, Z = (matrix(A, name, n_columns=len(self.factors)) for A, name in ((X, "X"), (Z, "Z")))
        return [k.covariance(X[:, [i]], Z[:, [i]]) for i, k in enumerate(self.factors)]

    @property
    def scales(self) -> tuple[Any, ...]:
        return tuple(k.lengthscale for k in self.factors)

    def columns(self, width: int) -> list[int]:
        return list(range(len(self.factors)))

    def to_words(self) -> dict[str, Any]:
        return {"factors": [{"kind": k.kind(), **k.to_words()} for k in self.factors]}

    @classmethod
    def from_words(cls, words: dict[str, Any], inner: Callable[[Any], Kernel]) -> "_OfColumns":
        if not isinstance(words["factors"], list):
            raise FileError(f"a list is missing; there is {str(words['factors'])[:40]!r}.")
        return cls(tuple(matern(inner(w)) for w in words["factors"]))


@dataclass(frozen=True)
class Separable(_OfColumns):
    """A product of one-column kernels: factor i reads column i."""

    def covariance(self, X: Array, Z: Array) -> Array:
        return prod(self._by_column(X, Z))

    def variances(self, X: Array) -> Array:
        return prod(k.variances(X) for k in self.factors)

    @property
    def total_variance(self) -> Any:
        return prod(k.variance for k in self.factors)

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> "Separable":
        # the first factor has all of the variance
        each = zip(self.factors, scales, strict=True)
        return Separable(tuple(Matern(k.smoothness, l, variance if i == 0 else 1.0) for i, (k, l) in enumerate(each)))

    def logs(self) -> list[dict[str, Any]]:
        # one variance for the product: the others would only trade it to and fro
        first, *rest = (k.logs() for k in self.factors)
        return [first, *({"lengthscale": logs["lengthscale"]} for logs in rest)]

    def template(self) -> "Separable":
        first, *rest = self.factors
        return Separable((first.template(), *(Matern(k.smoothness, 1.0, k.variance) for k in rest)))

    def with_logs(self, logs: list[dict[str, Any]]) -> "Separable":
        first, *rest = self.factors
        scales = [{**own, "variance": np.log(k.variance)} for k, own in zip(rest, logs[1:], strict=True)]
        return Separable((first.with_logs(logs[0]), *(k.with_logs(own) for k, own in zip(rest, scales, strict=True))))


@dataclass(frozen=True)
class Additive(_OfColumns):
    """A sum of one-column kernels as one kernel: part i reads column i.

    For inducing points that see all columns at once (SVGP). With features for each column use a `Sum` of terms instead.
    """

    def covariance(self, X: Array, Z: Array) -> Array:
        return sum(self._by_column(X, Z))

    def variances(self, X: Array) -> Array:
        return sum(k.variances(X) for k in self.factors)

    @property
    def total_variance(self) -> Any:
        return sum(k.variance for k in self.factors)

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> "Additive":
        # shares of the variance stay
        share = variance / self.total_variance
        each = zip(self.factors, scales, strict=True)
        return Additive(tuple(Matern(k.smoothness, l, k.variance * share) for k, l in each))

    def logs(self) -> list[dict[str, Any]]:
        return [k.logs() for k in self.factors]

    def template(self) -> "Additive":
        return Additive(tuple(k.template() for k in self.factors))

    def with_logs(self, logs: list[dict[str, Any]]) -> "Additive":
        return Additive(tuple(k.with_logs(own) for k, own in zip(self.factors, logs, strict=True)))


def separable(kernel: Any, n: int) -> list[Matern]:
    """The n one-column factors of a product kernel, by their plain numbers."""
    if isinstance(kernel, Separable):
        factors: tuple[Any, ...] = kernel.factors
    elif is_gpjax(kernel, "ProductKernel"):
        factors = kernel.kernels
    else:
        raise KernelError(
            f"Kronecker features need a product of one-column Matérn kernels, got {name_of(kernel)}. Multiply GPJax "
            "kernels that each have `active_dims=[i]`, or use odvff.kernels.Separable. (A Matérn kernel over several "
            "columns is a function of the Euclidean distance and is not such a product.)"
        )
    if len(factors) != n:
        raise KernelError(
            f"Kronecker features over {n} columns need a product of {n} kernels, got {len(factors)}; give one Fourier "
            "for each factor."
        )
    return [matern(factor) for factor in factors]


def separable_columns(kernel: Any, width: int) -> list[int]:
    """The column that each factor of a product kernel reads; no two may read the same."""
    if isinstance(kernel, Separable):
        if len(kernel.factors) != width:
            raise InputError(
                f"a Separable kernel of {len(kernel.factors)} factors reads as many columns, got {width}; choose them "
                "with `columns` in the term."
            )
        return list(range(width))
    read = [one_column(factor, width) for factor in kernel.kernels]
    if len(set(read)) != len(read) or max(read) >= width:
        raise InputError(
            f"the factors of the product kernel read the columns {read} of {width}; each must read one of its own. "
            "Set `active_dims=[i]` in each factor."
        )
    return read
