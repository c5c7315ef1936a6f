"""One step of stochastic training: a natural gradient for q(u), Adam for everything else.

**Natural gradients.** In whitened coordinates the prior of u is N(0, I). With Λ = S⁻¹, a_n and b_n the derivatives of
(N/B) E_q log p(y_n|f_n) with respect to the mean and the variance of f_n, a step of size ρ is

    Λ  ← (1−ρ) Λ  + ρ [I − 2 Σ_n b_n ψ_nψ_nᵀ]
    Λm ← (1−ρ) Λm + ρ Σ_n (a_n − 2 b_n ψ_nᵀm) ψ_n

so one step of size 1 on all rows with Gaussian noise is the optimum. ρ is ramped up; where b_n > 0 (a likelihood that
is not log-concave) Λ could leave the cone of positive matrices, and ρ is halved until it does not.

**Everything else** (kernels, likelihood, a_γ, locations of γ and of inducing points in β) follows Adam on the ELBO,
whose one backward pass also supplies a_n and b_n. Steps are compiled in blocks; a block of a given shape is compiled
once.

**Cooling.** With constant rates the parameters keep on wandering about the optimum, and now and then are thrown off
for a while; the last ones are a draw from that. Rates that fall to nearly nothing towards the end average it away.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from odvff.inference.traced import Recipe, whiten
from odvff.likelihoods import expected_log_density
from odvff.posterior.residual import residual_variance
from odvff.support.arrays import Array
from odvff.support.shapes import Float

ADAM = optax.scale_by_adam()
COLD = 0.01


class State(NamedTuple):
    """All numbers that training changes."""

    parameters: Any  # kernels, points, likelihood, gamma, a_gamma
    precision: Any  # Λ
    shift: Any  # Λm
    optimiser: Any
    step: Any
    caution: Any  # by what the natural step is multiplied, after a block that went astray

    def moments(self) -> tuple[Float[Array, " B"], Float[Array, "B B"]]:
        """m and the upper triangular root R = L⁻ᵀ of S = Λ⁻¹, Λ = L Lᵀ."""
        lower = jnp.linalg.cholesky(self.precision)
        root = jax.scipy.linalg.solve_triangular(lower, jnp.eye(len(lower)), lower=True).T
        return root @ (root.T @ self.shift), root


@dataclass(frozen=True)
class StepModel:
    """What is compiled: the recipes of the model, without its numbers, and the step."""

    terms: Recipe
    likelihood: Recipe
    size: int  # |β|
    train_locations: bool

    def step(self, settings: Any, state: State, X: Any, y: Any) -> tuple[State, Any]:
        """One natural step and one of Adam."""
        parameters, precision, shift, optimiser, step, caution = state
        m, root = state.moments()
        scale = settings["n_rows"] / X.shape[0]
        elbo = jax.value_and_grad(self.elbo, has_aux=True)
        (value, (psi, a, b, projected)), gradient = elbo(parameters, m, root, X, y, scale)
        # Adam climbs the ELBO of a row
        gradient = jax.tree.map(lambda g: g / settings["n_rows"], gradient)
        if not self.train_locations:
            still = jax.tree.map(jnp.zeros_like, (gradient["gamma"], gradient["terms"]["points"]))
            gradient["gamma"], gradient["terms"]["points"] = still
        updates, optimiser = ADAM.update(gradient, optimiser)
        # both rates: in full up to the first step of the cooling, then down in a line to `COLD`
        first, last = settings["cooling_from"], settings["cooling_to"]
        warmth = jnp.clip((last - step) / (last - first), COLD, 1.0)
        rate = warmth * settings["learning_rate"]
        parameters = jax.tree.map(lambda p, u: p + rate * u, parameters, updates)
        target = jnp.eye(self.size) - 2 * (psi * b) @ psi.T
        target_shift = psi @ (a - 2 * b * projected)
        rho = warmth * (caution * settings["natural_step"]) * jnp.minimum(1.0, (step + 1) / settings["ramp"])
        rho = _inside_the_cone(precision, target, rho)
        precision = (1 - rho) * precision + rho * target
        shift = (1 - rho) * shift + rho * target_shift
        return State(parameters, precision, shift, optimiser, step + 1, caution), value

    def elbo(self, parameters: Any, m: Any, root: Float[Array, "B B"], X: Any, y: Any, scale: Any) -> Any:
        """The ELBO of a batch; also ψ, the derivatives a and b, and ψᵀm, for the natural step."""
        terms, likelihood = self.terms(parameters["terms"]), self.likelihood(parameters["likelihood"])
        gamma, coefficients, n = parameters["gamma"], parameters["a_gamma"], X.shape[0]
        # rows and γ in one go: half as much to compile
        everywhere = X if gamma is None else jnp.concatenate([X, gamma])
        whitened = whiten(terms, everywhere)
        psi = whitened[:, :n]
        mean = projected = m @ psi
        variance = residual_variance(terms.variances(X), psi) + ((root.T @ psi) ** 2).sum(axis=0)
        log_det_S = 2 * jnp.sum(jnp.log(jnp.abs(jnp.diagonal(root))))
        kl = 0.5 * (jnp.sum(root**2) - log_det_S - self.size + m @ m)
        if gamma is not None:
            # [k(·,γ) − ψ(·)ᵀψ(γ)] a_γ at the rows and at γ
            lift = terms.covariance(everywhere, gamma) @ coefficients - whitened.T @ (whitened[:, n:] @ coefficients)
            mean = mean + lift[:n]
            kl += 0.5 * coefficients @ lift[n:]

        def total(mean: Any, variance: Any) -> Any:
            return scale * expected_log_density(likelihood, y, mean, variance).sum()

        value = total(mean, variance)
        a, b = jax.grad(total, argnums=(0, 1))(jax.lax.stop_gradient(mean), jax.lax.stop_gradient(variance))
        return value - kl, jax.lax.stop_gradient((psi, a, b, projected))


@partial(jax.jit, static_argnums=0)
def run_block(model: StepModel, settings: Any, state: State, Xs: Any, ys: Any, n: Any) -> Any:
    """The first n steps of a block: a number, not a shape, so that a short block compiles nothing."""

    def one(i: Any, so_far: Any) -> Any:
        state, values = so_far
        state, value = model.step(settings, state, Xs[i], ys[i])
        return state, values.at[i].set(value)

    return jax.lax.fori_loop(0, n, one, (state, jnp.zeros(len(Xs))))


def _inside_the_cone(precision: Any, target: Any, rho: Any) -> Any:
    """ρ, halved until no direction loses more than half of its precision: (1−ρ)Λ + ρ·target ⪰ ½Λ.

    To be positive definite is not enough: next to the edge of the cone the variances explode.
    """

    def outside(rho: Any) -> Any:
        margin = (0.5 - rho) * precision + rho * target
        return jnp.isnan(jnp.linalg.cholesky(margin)).any() & (rho > 1e-8)

    # a target above ½Λ is safe at any step; most are, as every likelihood that is log-concave gives target ⪰ I
    return jax.lax.while_loop(outside, lambda rho: rho / 2, rho)
