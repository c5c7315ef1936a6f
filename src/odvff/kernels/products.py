"""Kernels over several columns that are made of kernels of one: sums and products."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Self

from odvff.errors import InputError, KernelError
from odvff.kernels.plain import Kernel, Matern, Scaled
from odvff.kernels.reading import MATERNS, is_gpjax, kernel_words, make_gpjax, matern, name_of, one_column
from odvff.support.arrays import Array
from odvff.support.checks import matrix
from odvff.support.shapes import Float
from odvff.support.words import items


@dataclass(frozen=True)
class _OfColumns(Scaled):
    """Made of one-column kernels: factor i reads column i."""

    together: ClassVar[Any]  # how values of the factors become one
    in_gpjax_called: ClassVar[str]

    factors: tuple[Matern, ...]

    def __post_init__(self) -> None:
        name, factors = type(self).__name__, self.factors
        if not isinstance(factors, list | tuple) or not factors:
            raise InputError(f"{name} takes a list of one-column Matérn kernels, got {factors!r}.")
        object.__setattr__(self, "factors", tuple(matern(factor) for factor in factors))

    def covariance(self, X: Any, Z: Any) -> Float[Array, "N M"]:
        X, Z = (matrix(A, name, n_columns=len(self.factors)) for A, name in ((X, "X"), (Z, "Z")))
        return self.together(k.covariance(X[:, [i]], Z[:, [i]]) for i, k in enumerate(self.factors))

    @property
    def scales(self) -> tuple[Any, ...]:
        return tuple(k.lengthscale for k in self.factors)

    @property
    def total_variance(self) -> Any:
        return self.together(k.variance for k in self.factors)

    def _with(self, scales: Sequence[Any], variances: Sequence[Any]) -> Self:
        each = zip(self.factors, scales, variances, strict=True)
        return type(self)(tuple(Matern(k.smoothness, scale, variance) for k, scale, variance in each))

    def to_words(self) -> dict[str, Any]:
        return {"factors": [kernel_words(k) for k in self.factors]}

    @classmethod
    def from_words(cls, words: dict[str, Any], inner: Callable[[Any], Kernel]) -> Self:
        return cls(tuple(matern(inner(factor)) for factor in items(words["factors"])))

    def in_gpjax(self) -> Any:
        """GPJax's kernel of the same numbers, to train it there."""
        parts = [
            make_gpjax(MATERNS[k.smoothness], {"lengthscale": k.lengthscale, "variance": k.variance}, active_dims=[i])
            for i, k in enumerate(self.factors)
        ]
        return parts[0] if len(parts) == 1 else make_gpjax(self.in_gpjax_called, {}, kernels=parts)

    def from_gpjax(self, fitted: Any) -> Self:
        """The same with the numbers of its fitted twin."""
        return type(self)((fitted,) if len(self.factors) == 1 else tuple(fitted.kernels))


@dataclass(frozen=True)
class Separable(_OfColumns):
    """A product of one-column kernels: factor i reads column i."""

    together = staticmethod(prod)
    in_gpjax_called = "ProductKernel"

    @property
    def numbers(self) -> tuple[Any, ...]:
        # one variance for the product: others would only trade it to and fro
        return (*self.scales, self.total_variance)

    def at(self, numbers: Sequence[Any]) -> "Separable":
        # the first factor has all of the variance
        *scales, variance = numbers
        return self._with(scales, [variance] + [1.0] * (len(scales) - 1))


@dataclass(frozen=True)
class Additive(_OfColumns):
    """A sum of one-column kernels as one kernel: part i reads column i.

    For inducing points that see all columns at once (SVGP). With features for each column use a `Sum` of terms instead.
    """

    together = staticmethod(sum)
    in_gpjax_called = "SumKernel"

    @property
    def numbers(self) -> tuple[Any, ...]:
        return tuple(number for k in self.factors for number in k.numbers)

    def at(self, numbers: Sequence[Any]) -> "Additive":
        return self._with(numbers[::2], numbers[1::2])

    def with_numbers(self, scales: Sequence[Any], variance: Any) -> "Additive":
        # shares of the variance stay
        share = variance / self.total_variance
        return self._with(scales, [k.variance * share for k in self.factors])


def separable(kernel: Any, n: int) -> list[Matern]:
    """The n one-column factors of a product kernel, by their plain numbers."""
    if not isinstance(kernel, Separable) and not is_gpjax(kernel, "ProductKernel"):
        raise KernelError(
            f"Kronecker features need a product of one-column Matérn kernels, got {name_of(kernel)}. Multiply GPJax "
            "kernels that each have `active_dims=[i]`, or use odvff.kernels.Separable. (A Matérn kernel over several "
            "columns is a function of the Euclidean distance and is not such a product.)"
        )
    factors = kernel.factors if isinstance(kernel, Separable) else kernel.kernels
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
