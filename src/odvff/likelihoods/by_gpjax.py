"""Likelihoods whose expectations GPJax compiles: ours that have one of GPJax's behind them, and GPJax's as they come.

JAX is imported when the first expectation is asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from odvff.errors import InputError
from odvff.kernels import parameter
from odvff.likelihoods.base import Adjustable, Likelihood
from odvff.likelihoods.quadrature import Row
from odvff.support.arrays import Array, in_double_precision, is_traced
from odvff.support.modules import MakeModule, take_module_apart


class ByGPJax(Likelihood):
    """A likelihood with one of GPJax's behind it, whose parameters have the same names."""

    theirs: str = ""  # the name of GPJax's

    @classmethod
    def class_in_gpjax(cls) -> Any:
        import gpjax

        return getattr(gpjax.likelihoods, cls.theirs)

    @in_double_precision
    def in_gpjax(self) -> Any:
        """The same likelihood as GPJax has it."""
        return self.class_in_gpjax()(**{key: np.float64(value) for key, value in self.parameters().items()})

    @classmethod
    def of(cls, module: Any) -> Self:
        """The inverse of `in_gpjax`."""
        return cls(**{key: parameter(getattr(module, key)) for key in cls._fields()})

    def expected_log_density(self, y: Row, mean: Row, variance: Row) -> Row:
        return self._compiled("expected_log_density", y, mean, variance)

    def derivatives(self, y: Row, mean: Row, variance: Row) -> tuple[Row, Row, Row]:
        return self._compiled("derivatives", y, mean, variance)  # type: ignore[no-any-return]

    def log_predictive_density(self, y: Row, mean: Row, variance: Row) -> Row:
        return self._compiled("log_predictive_density", y, mean, variance)

    def moments(self, mean: Row, variance: Row) -> tuple[Row, Row]:
        return self._compiled("moments", mean, variance)  # type: ignore[no-any-return]

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

        traced = any(is_traced(leaf) for leaf in jax.tree.leaves(numbers))
        return (FromGPJax if traced else self.cls).of(self.make(numbers))


@dataclass(frozen=True)
class FromGPJax(ByGPJax):
    """One of GPJax's. It is trained as GPJax does; facts and SciPy's distribution are those of ours that it equals."""

    module: Any

    @in_double_precision
    def __post_init__(self) -> None:
        import gpjax.likelihoods as gl

        two = isinstance(self.module, gl.AbstractHeteroscedasticLikelihood)
        facts: Any = self.ours()
        own = {"name": type(self.module).__name__, "n_processes": 1 + two, "same_scale": two}
        same = ("for_labels", "discrete", "same_scale", "mean_is_f", "tells_level", "least_noise", "wants")
        if facts is not None:
            own |= {key: getattr(facts, key) for key in same}
        for key, value in own.items():
            object.__setattr__(self, key, value)

    def in_gpjax(self) -> Any:
        return self.module

    @classmethod
    def of(cls, module: Any) -> Self:
        return cls(module)

    def ours(self) -> Likelihood | None:
        """The same likelihood among ours, if it is there. (A subclass may compute something else.)"""
        from gpjax.likelihoods import Gaussian

        from odvff.likelihoods import LIKELIHOODS, GaussianNoise

        if type(self.module) is Gaussian:
            return GaussianNoise(parameter(self.module.obs_stddev) ** 2)
        behind = (own for own in LIKELIHOODS if issubclass(own, ByGPJax))
        return next((own.of(self.module) for own in behind if type(self.module) is own.class_in_gpjax()), None)

    def given(self, f: Array) -> Any:
        same = self.ours()
        if same is None:
            raise InputError(
                f"quantiles and draws of GPJax's {self.name} are not known to SciPy; write it as an "
                "odvff.likelihoods.Likelihood (CONTRIBUTING.md says how)."
            )
        return same.given(f)

    def pseudo_target(self, y: Row) -> Row:
        same = self.ours()
        return super().pseudo_target(y) if same is None else same.pseudo_target(y)

    def parameters(self) -> dict[str, float]:
        raise InputError(
            f"GPJax's {self.name} has no place in a file of a model; write it as an odvff.likelihoods.Likelihood "
            "(CONTRIBUTING.md says how)."
        )

    def in_words(self, scale: float) -> str:
        return self.name

    @in_double_precision
    def variance_of(self, mean: Row, variance: Row) -> Row:
        """E σ²(g) of a noise process g ~ N(mean, variance)."""
        import jax.numpy as jnp

        return np.asarray(self.module.noise_statistics(jnp.asarray(mean), jnp.asarray(variance)).variance)

    def _compiled(self, function: str, *rows: Array) -> Any:
        from gpjax.likelihoods import Gaussian

        if self.n_processes == 2:
            raise InputError(
                f"{self.name} has a second process for its noise; fit it with odvff.inference.sites.fit_sites and "
                "`noise_terms`."
            )
        if type(self.module) is Gaussian:  # whose closed forms are ours
            return getattr(self.ours(), function)(*rows)
        return super()._compiled(function, *rows)
