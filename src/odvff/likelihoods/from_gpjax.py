"""Any likelihood of GPJax's, in the form of ours."""

from dataclasses import dataclass
from typing import Any, Self

from odvff.errors import InputError
from odvff.kernels import parameter
from odvff.likelihoods.base import Likelihood
from odvff.likelihoods.by_gpjax import ByGPJax
from odvff.likelihoods.gaussian import GaussianNoise
from odvff.likelihoods.poisson import Poisson
from odvff.likelihoods.probit import Probit
from odvff.likelihoods.student_t import StudentT
from odvff.support.arrays import Array, in_double_precision


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

    @in_double_precision
    def ours(self) -> Likelihood | None:
        """The same likelihood among ours, if it is there."""
        import gpjax.likelihoods as gl

        from odvff.likelihoods.gpjax_logit import GPJaxLogit
        from odvff.likelihoods.logit import Logit

        if isinstance(self.module, gl.Gaussian):
            return GaussianNoise(parameter(self.module.obs_stddev) ** 2)
        pairs = ((gl.StudentT, StudentT), (gl.Poisson, Poisson), (gl.Bernoulli, Probit), (GPJaxLogit, Logit))
        return next((own.of(self.module) for theirs, own in pairs if isinstance(self.module, theirs)), None)

    def given(self, f: Array) -> Any:
        same: Likelihood | None = self.ours()
        if same is None:
            raise InputError(
                f"quantiles and draws of GPJax's {self.name} are not known to SciPy; write it as an "
                "odvff.likelihoods.Likelihood (CONTRIBUTING.md says how)."
            )
        return same.given(f)

    def pseudo_target(self, y: Any) -> Any:
        same: Likelihood | None = self.ours()
        return super().pseudo_target(y) if same is None else same.pseudo_target(y)

    def expected_log_density(self, y: Array, mean: Array, variance: Array) -> Array:
        return self._by().expected_log_density(y, mean, variance)

    def log_predictive_density(self, y: Array, mean: Array, variance: Array) -> Array:
        return self._by().log_predictive_density(y, mean, variance)

    def moments(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        first, second = self._by().moments(mean, variance)
        return first, second

    def parameters(self) -> dict[str, float]:
        raise InputError(
            f"GPJax's {self.name} has no place in a file of a model; write it as an odvff.likelihoods.Likelihood "
            "(CONTRIBUTING.md says how)."
        )

    def in_words(self, scale: float) -> str:
        return self.name

    @in_double_precision
    def variance_of(self, mean: Array, variance: Array) -> Array:
        """E σ²(g) of a noise process g ~ N(mean, variance)."""
        import jax.numpy as jnp
        import numpy as np

        return np.asarray(self.module.noise_statistics(jnp.asarray(mean), jnp.asarray(variance)).variance)

    @in_double_precision
    def _by(self) -> Any:
        """Who answers: of plain Gaussian noise the closed forms that are ours, else what is compiled."""
        import gpjax.likelihoods as gl

        if self.n_processes == 2:
            raise InputError(
                f"{self.name} has a second process for its noise; fit it with odvff.inference.sites.fit_sites and "
                "`noise_terms`."
            )
        return self.ours() if type(self.module) is gl.Gaussian else super()
