"""Likelihoods whose expectations GPJax compiles: JAX is imported when the first of them is asked for."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from odvff.likelihoods.adjustable import Adjustable
from odvff.likelihoods.base import Likelihood
from odvff.support.arrays import Array, in_double_precision, is_traced
from odvff.support.modules import MakeModule, take_module_apart


class ByGPJax(Likelihood):
    """A likelihood with one of GPJax's behind it."""

    @abstractmethod
    def in_gpjax(self) -> Any:
        """The same likelihood as GPJax has it."""

    @classmethod
    def of(cls, module: Any) -> Self:
        """The inverse of `in_gpjax`."""
        return cls()

    def expected_log_density(self, y: Array, mean: Array, variance: Array) -> Array:
        return self._compiled("expected_log", y, mean, variance)

    def derivatives(self, y: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        return self._compiled("derivatives", y, mean, variance)  # type: ignore[no-any-return]

    def log_predictive_density(self, y: Array, mean: Array, variance: Array) -> Array:
        return self._compiled("log_expected", y, mean, variance)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        first, second = self._compiled("moments", mean, variance)
        return first, second

    def _compiled(self, function: str, *rows: Array) -> Any:
        from odvff.likelihoods import compiled

        return compiled.evaluate(getattr(compiled, function), self.in_gpjax(), *rows)

    def adjustable(self) -> Adjustable:
        from odvff.likelihoods.compiled import CompiledAdjustable

        return CompiledAdjustable(self)

    @in_double_precision
    def take_apart(self) -> tuple[Any, Callable[[Any], Any]]:
        numbers, make = take_module_apart(self.in_gpjax())
        return numbers, _OfModule(type(self), make)


@dataclass(frozen=True)
class _OfModule:
    """A likelihood of a class from GPJax's numbers; while JAX traces them, by the bare module."""

    cls: type[ByGPJax]
    make: MakeModule

    def __call__(self, numbers: Any) -> Likelihood:
        import jax

        from odvff.likelihoods.from_gpjax import FromGPJax

        traced = any(is_traced(leaf) for leaf in jax.tree.leaves(numbers))
        return (FromGPJax if traced else self.cls).of(self.make(numbers))
