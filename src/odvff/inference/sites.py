"""Any likelihood from statistics: Gaussian sites, one pass over the rows for each round.

At the current marginals N(f̄_n, v_n) the expected log-likelihood has derivatives a_n (in the mean) and b_n (in the
variance). The Gaussian site with precision w_n = −2b_n and pseudo-target ỹ_n = f̄_n + a_n/w_n has the same ones. So a
round is

1. a pass over the rows: Σ E_q log p(y_n|f_n), and the statistics ΦᵀWΦ, ΦᵀWỹ of the sites;
2. between passes, hyper-parameters by the collapsed bound of the sites (unit noise, weights w): free of N, and with
the gradient of
   the ELBO where it starts;
3. q in closed form.

At a fixed point this is the optimum of the ELBO over q. A full step may overshoot: if the ELBO falls, the round is
taken back and repeated with half the step, on statistics that are averaged, (1−ρ) old + ρ new, as natural parameters
are.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from odvff.arrays import in_double_precision
from odvff.checks import matrix, vector, whole
from odvff.errors import InputError, NumericalError
from odvff.inference.collapsed import CollapsedBound, Evaluation
from odvff.inference.fit import LENGTHSCALE
from odvff.likelihoods import expected_log_density
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.statistics import Rows, Statistics
from odvff.statistics.basis import fill_features, orthogonal, outside
from odvff.terms import Sum, Term

BLOCK_ROWS, WARM_UP = 4096, 3
VARIANCE = (1e-6, 1e6)


@dataclass(frozen=True)
class SiteFit:
    """The posterior, its ELBO after every round, and how it ended."""

    posterior: Posterior
    likelihood: Any
    bound: float
    history: tuple[float, ...]
    converged: bool

    @property
    def terms(self) -> Sum:
        return self.posterior.terms


def fit_sites(
    terms: Sum | Iterable[Term],
    likelihood: Any,
    chunks: list[tuple[Any, Any]],
    *,
    train: bool = True,
    max_rounds: int = 50,
    tolerance: float = 1e-6,
    progress: Callable[[int, float], None] | None = None,
) -> SiteFit:
    """Fit q, and the kernels' hyper-parameters if `train`, to the rows of the chunks `(X, y)`, read once a round.

    The likelihood is one of GPJax's with its parameters as they are. Ends when a round raises the ELBO by less than
    `tolerance` nats a row.
    """
    terms = Sum.of(terms)
    rows = _Rows(terms, likelihood, chunks)
    max_rounds = whole(max_rounds, "max_rounds", at_least=1, remedy="ten to fifty are usual")
    # no sites: q is the prior
    parameters, q, accepted = rows.parameters(), rows.prior(), rows.no_sites()
    step, converged = 1.0, False
    with threadpool_limits(1, user_api="blas"):
        elbo, fresh = rows.round(q, parameters)
        history = [elbo]
        for _ in range(max_rounds):
            statistics = _average(accepted, fresh, step)
            bound = CollapsedBound(rows.terms, statistics)
            # sites of the prior say little about hyper-parameters: let q settle first
            learn = train and len(history) > WARM_UP
            new_parameters = parameters + step * (_improve(bound, parameters) - parameters) if learn else parameters
            new_q = bound(np.append(new_parameters, 0.0))
            elbo, new_fresh = rows.round(new_q, new_parameters)
            gain = elbo - history[-1]
            if not gain > -1e-9 * rows.n_rows:
                step /= 2
                if step < 1e-4:
                    break
                continue
            q, parameters, accepted, fresh = new_q, new_parameters, statistics, new_fresh
            history.append(elbo)
            if progress is not None:
                progress(len(history) - 1, elbo)
            if gain < tolerance * rows.n_rows and step == 1.0 and learn == train:
                converged = True
                break
            step = min(1.0, 2 * step)
    fitted = rows.terms_at(parameters)
    own = Sum(tuple(replace(t, kernel=new.kernel) for t, new in zip(terms, fitted, strict=True)))
    posterior = Posterior(own, q.mean, q.inverse_root.T)
    return SiteFit(posterior, likelihood, history[-1], tuple(history), converged)


class _Rows:
    """The data as a round sees it."""

    def __init__(self, terms: Sum, likelihood: Any, chunks: list[tuple[Any, Any]]):
        self.terms = Sum(tuple(orthogonal(term) for term in terms))
        self.likelihood = likelihood
        self.chunks = []
        for X, y in chunks:
            X = matrix(X, "X")
            self.chunks.append((X, vector(y, "y", size=len(X))))
        self.n_rows = sum(len(X) for X, _ in self.chunks)
        if self.n_rows == 0:
            raise InputError("there are no rows to fit to.")
        self._template = CollapsedBound(self.terms, self.no_sites())

    def no_sites(self) -> Statistics:
        """The statistics of sites that say nothing."""
        n = self.terms.Kuu().size
        return Statistics(np.zeros((n + 2, n + 2)), n, self.n_rows, _no_rows(self.chunks[0][0]))

    def prior(self) -> Evaluation:
        n = self.terms.Kuu().size
        return Evaluation(0.0, np.zeros(0), np.zeros(n), np.eye(n), np.zeros(len(self.terms)))

    def parameters(self) -> Any:
        """Logarithms of the hyper-parameters that the terms came with."""
        return np.concatenate([block.parameters() for block in self._template.blocks])

    def terms_at(self, parameters: Any) -> Sum:
        return self._template.terms_at(np.append(parameters, 0.0))

    def round(self, q: Evaluation, parameters: Any) -> tuple[float, Statistics]:
        """The ELBO of q, and the statistics of the sites at its marginals.

        Where the likelihood is not log-concave a site's precision is negative; it is kept so, or the fixed point moved.
        """
        m, root = q.mean, q.inverse_root.T
        terms = self.terms_at(parameters)
        C = terms.Kuu().factor()
        n, layout = C.size, C.slices
        moments, total, kept = np.zeros((n + 2, n + 2)), 0.0, _no_rows(self.chunks[0][0])
        for X, y in self.chunks:
            for start in range(0, len(X), BLOCK_ROWS):
                x, target = X[start : start + BLOCK_ROWS], y[start : start + BLOCK_ROWS]
                psi = C.solve(terms.Kuf(x))
                mean = m @ psi
                variance = residual_variance(terms.variances(x), psi) + ((root.T @ psi) ** 2).sum(axis=0)
                value, a, b = _expectations(self.likelihood, target, mean, variance)
                total += value
                w = np.where(np.abs(b) > 1e-12, -2 * b, 1e-12)
                pull = w * mean + a  # w ỹ
                out = outside(terms, x)
                if out.any():
                    kept = kept + Rows(x[out], (pull / w)[out, None], w[out])
                inside = ~out
                Z = np.empty((n + 1, int(inside.sum())))
                for term, s in zip(terms, layout, strict=True):
                    fill_features(term, x[inside], Z[s])
                Z[n] = 1.0
                moments[: n + 1, : n + 1] += (Z * w[inside]) @ Z.T
                moments[: n + 1, n + 1] += Z @ pull[inside]
        kl = 0.5 * ((root**2).sum() - 2 * np.log(np.abs(np.diagonal(root))).sum() - n + m @ m)
        if not np.isfinite(total):
            raise NumericalError(
                "the expected log-likelihood is not finite; the likelihood may not suit y (counts for Poisson, 0 and 1 "
                "for Bernoulli)."
            )
        return float(total - kl), Statistics(moments, n, self.n_rows, kept)


def _no_rows(X: Any) -> Rows:
    return Rows(np.zeros((0, X.shape[1])), np.zeros((0, 1)), np.zeros(0))


def _average(old: Statistics, new: Statistics, step: float) -> Statistics:
    """(1−ρ) old + ρ new. Rows outside the box keep both sites, with their share of the weight."""
    rows = Rows(old.outside.X, old.outside.Y, (1 - step) * old.outside.weights)
    rows = rows + Rows(new.outside.X, new.outside.Y, step * new.outside.weights)
    if step == 1.0:
        rows = new.outside
    return replace(new, moments=(1 - step) * old.moments + step * new.moments, outside=rows)


def _improve(bound: CollapsedBound, parameters: Any, max_iter: int = 15) -> Any:
    """A few steps of L-BFGS-B on the collapsed bound of the sites, with unit noise."""
    limits = []
    for block in bound.blocks:
        limits += [np.log(LENGTHSCALE)] * (len(block.parameters()) - 1) + [np.log(VARIANCE)]

    def loss(p: Any) -> tuple[float, Any]:
        evaluation = bound(np.append(p, 0.0))
        return -evaluation.value, -evaluation.gradient[:-1]

    start = np.clip(parameters, [low for low, _ in limits], [high for _, high in limits])
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": max_iter}).x


@in_double_precision
def _expectations(likelihood: Any, y: Any, mean: Any, variance: Any) -> tuple[float, Any, Any]:
    """Σ E log p, and its derivatives with respect to the means and the variances."""

    def total(mean: Any, variance: Any) -> Any:
        return expected_log_density(likelihood, y, mean, variance).sum()

    value, (a, b) = jax.value_and_grad(total, argnums=(0, 1))(jnp.asarray(mean), jnp.asarray(variance))
    return float(value), np.asarray(a), np.asarray(b)
