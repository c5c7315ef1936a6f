"""Any likelihood from statistics: Gaussian sites, one pass over the rows for each round.

At the current marginals N(f̄_n, v_n) the expected log-likelihood has derivatives a_n (in the mean) and b_n (in the
variance). The Gaussian site with precision w_n = −2b_n and pseudo-target ỹ_n = f̄_n + a_n/w_n has the same ones. So a
round is

1. a pass over the rows: Σ E_q log p(y_n|f_n), and the statistics ΦᵀWΦ, ΦᵀWỹ of the sites;
2. between passes, hyper-parameters by the collapsed bound of the sites (unit noise, weights w), free of N and with the
   gradient of the ELBO where it starts; parameters of the likelihood at the marginals of a sample of the rows;
3. q in closed form.

At a fixed point this is the optimum of the ELBO over q. A full step may overshoot: if the ELBO falls, the round is
taken back and repeated with half the step, on statistics that are averaged, (1−ρ) old + ρ new, as natural parameters
are.

**Two processes.** With GPJax's heteroscedastic Gaussian, y = f + ε with Var ε a function of a second process g, both
have their sites, from the same pass. The level of g is not near zero, so the mean of its pseudo-targets is taken off.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from odvff.errors import InputError, NumericalError
from odvff.inference.collapsed.bound import CollapsedBound, Evaluation
from odvff.inference.collapsed.fit import kernel_limits
from odvff.inference.maximise import maximise
from odvff.inference.notes import unfinished_sites
from odvff.inference.sites.rows import SiteRows
from odvff.likelihoods import Likelihood, as_likelihood
from odvff.likelihoods.adjustable import Adjustable
from odvff.policy import DEFAULT, Policy
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.rows import RowSource
from odvff.statistics import Rows, Statistics
from odvff.statistics.basis import check_columns, check_outside, fill_features, outside
from odvff.support.arrays import Array
from odvff.support.checks import whole
from odvff.support.journal import NO_JOURNAL, Journal
from odvff.support.run import Tell, warn
from odvff.support.threads import one_blas_thread, side_by_side
from odvff.terms import Sum, Term

STAGE = "sites"
SITE_VARIANCE = (1e-12, 1e15)  # of f, whose scale is not that of y
REACH = 3.0  # of logarithms of hyper-parameters, in one round
SMALLEST_STEP = 1e-8


@dataclass(frozen=True)
class SiteFit:
    """The posterior, the likelihood with its parameters, the ELBO after every round, and how it ended.

    With a second process for the noise: `noise_offset` plus a process with `noise_posterior`.
    """

    posterior: Posterior
    likelihood: Likelihood
    bound: float
    history: tuple[float, ...]
    converged: bool
    message: str
    noise_posterior: Posterior | None = None
    noise_offset: float = 0.0

    @property
    def terms(self) -> Sum:
        return self.posterior.terms

    def predictive_moments(self, X: Array) -> tuple[Array, Array]:
        """Mean and variance of y at the rows of X; for 0 and 1 the mean is the probability of 1."""
        mean, variance = self.posterior.predict(X)
        if self.noise_posterior is None:
            return self.likelihood.moments(mean, variance)
        g, v = self.noise_posterior.predict(X)
        return mean, variance + self.likelihood.variance_of(self.noise_offset + g, v)


def fit_sites(
    terms: Sum | Iterable[Term],
    likelihood: Any,
    chunks: Iterable[tuple[Any, ...]] | RowSource,
    *,
    noise_terms: Sum | Iterable[Term] | None = None,
    train: bool = True,
    rescale: bool = True,
    max_rounds: int = 50,
    tolerance: float = 1e-6,
    progress: Callable[[int, float], None] | None = None,
    journal: Journal = NO_JOURNAL,
    tell: Tell = warn,
    policy: Policy = DEFAULT,
) -> SiteFit:
    """Fit q, and all hyper-parameters if `train`, to the rows of the chunks `(X, y)` or `(X, y, weights)`.

    The likelihood is ours or one of GPJax's; a heteroscedastic one needs `noise_terms` for its second process. Ends
    when a round raises the ELBO by less than `tolerance` nats a row. Interrupting (Ctrl-C) returns what was reached.
    With `rescale`, training starts with variances that add up to that of y, where y is on the scale of f; leave it off
    for kernels that are a good start already, or where outliers dominate the variance.

    Chunks are kept in memory; those of a `RowSource` are gone through again in every round if they are many. With a
    `journal`, a run that was broken off goes on after its last round there.
    """
    max_rounds = whole(max_rounds, "max_rounds", at_least=1, remedy="ten to fifty are usual")
    originals = [Sum.of(terms)] + ([] if noise_terms is None else [Sum.of(noise_terms)])
    rows = SiteRows(chunks, policy.marginal_rows)
    likelihood = as_likelihood(likelihood)
    _check_processes(likelihood, len(originals))
    latents = [_Latent(t, rows, centred=i > 0) for i, t in enumerate(originals)]
    rounds = _Rounds(latents, likelihood.adjustable(), rows, policy)
    message = f"the limit of {max_rounds} rounds"
    with one_blas_thread():
        scale = rows.variance if train and rescale and likelihood.same_scale else None
        starts = [latents[0].start(0.0, scale)] + [latent.start(np.log(rows.variance / 2)) for latent in latents[1:]]
        guess = _Guess(tuple(starts), rounds.model.start)
        kept = _read(journal, guess)
        if kept is None:
            elbo, fresh = rounds.fresh(guess)
            # the prior may be far from the rows (counts of a thousand): take the first sites near them
            there = rounds.model.first_guess(guess.likelihood, fresh.sample)
            near, fresh = rounds.fresh(guess, there)
            if not np.isfinite(near):
                raise NumericalError(
                    "the expected log-likelihood is not finite; the likelihood may not suit y (counts for Poisson, 0 "
                    "and 1 for Bernoulli)."
                )
            now = _Reached(guess, [elbo if np.isfinite(elbo) else -np.inf], 1.0, "")
        else:
            now = kept
            fresh = rounds.fresh(now.guess)[1]
        try:
            while len(now.history) <= max_rounds and not now.ended:
                # sites of the prior say little about kernels: let q settle first, and the noise
                learn = train and len(now.history) > policy.warm_up_rounds
                new = rounds.next(now.guess, fresh, now.step, kernels=learn, likelihood=train)
                elbo, new_fresh = rounds.fresh(new)
                gain = elbo - now.history[-1]
                if not gain > -1e-9 * rows.weight:  # also if it is NaN
                    now.step /= 2
                    if now.step < SMALLEST_STEP:
                        now.ended = "no step raised the ELBO any further"
                    continue
                now.guess, fresh = new, new_fresh
                now.history.append(elbo)
                if progress is not None:
                    progress(len(now.history) - 1, elbo)
                # half a step is worth half a gain; much less than that says nothing
                if gain < tolerance * rows.weight * now.step and now.step >= 0.25 and learn == train:
                    now.ended = "converged"
                now.step = min(1.0, 2 * now.step)
                if journal.due():
                    _write(journal, now)
            message = now.ended or message
            now.ended = message
            _write(journal, now)
        except KeyboardInterrupt:
            message = "interrupted"
    if message != "converged":
        tell(unfinished_sites(message, now.history[-1]))
    posteriors = [lat.posterior(own, g) for lat, own, g in zip(latents, originals, now.guess.latents, strict=True)]
    return SiteFit(
        posteriors[0],
        rounds.model.at(now.guess.likelihood),
        now.history[-1],
        tuple(now.history),
        message == "converged",
        message,
        posteriors[1] if len(posteriors) == 2 else None,
        now.guess.latents[-1].offset,
    )


def _check_processes(likelihood: Likelihood, n: int) -> None:
    name = type(getattr(likelihood, "module", likelihood)).__name__
    if n < likelihood.n_processes:
        raise InputError(f"{name} has a second process for its noise; give its terms as `noise_terms`.")
    if n > likelihood.n_processes:
        raise InputError(
            f"`noise_terms` are for a heteroscedastic likelihood, got {name}; leave them out, or use "
            "gpjax.likelihoods.HeteroscedasticGaussian."
        )


@dataclass(frozen=True)
class _LatentGuess:
    """What is believed of one process: hyper-parameters (logarithms), q(u), the level, and the sites behind them."""

    parameters: Any
    q: Evaluation
    offset: float
    sites: Statistics


@dataclass(frozen=True)
class _Guess:
    latents: tuple[_LatentGuess, ...]
    likelihood: Any  # flat parameters


@dataclass
class _Reached:
    """How far the rounds have come."""

    guess: _Guess
    history: list[float]
    step: float
    ended: str  # why, or nothing


def _write(journal: Journal, now: _Reached) -> None:
    """Enter into the journal all that the next round needs; fresh sites follow from it."""
    arrays = {"history": np.array(now.history), "step": np.array([now.step]), "likelihood": now.guess.likelihood}
    for i, latent in enumerate(now.guess.latents):
        q = {"parameters": latent.parameters, "mean": latent.q.mean, "root": latent.q.inverse_root}
        arrays |= {f"{i}.{name}": array for name, array in (q | latent.sites.arrays()).items()}
        arrays[f"{i}.offset"] = np.array([latent.offset])
    journal.write(STAGE, arrays, {"ended": now.ended})


def _read(journal: Journal, like: _Guess) -> _Reached | None:
    """Where the journal says that a run of the same model was."""
    entry = journal.read(STAGE)
    if entry is None:
        return None
    arrays, words = entry
    latents = []
    for i, start in enumerate(like.latents):
        own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{i}.")}
        if own["parameters"].shape != start.parameters.shape or own["mean"].shape != start.q.mean.shape:
            return None
        q = replace(start.q, mean=own["mean"], inverse_root=own["root"])
        latents.append(_LatentGuess(own["parameters"], q, float(own["offset"][0]), Statistics.from_arrays(own)))
    guess = _Guess(tuple(latents), arrays["likelihood"])
    return _Reached(guess, arrays["history"].tolist(), float(arrays["step"][0]), str(words["ended"]))


@dataclass(frozen=True)
class _Fresh:
    """What a pass brings: sites at the current marginals, and the marginals of the sample."""

    sites: tuple[Statistics, ...]
    sample: tuple[Any, ...]  # y, weights, means and variances


class _Latent:
    """One process as a round sees it."""

    def __init__(self, terms: Sum, rows: SiteRows, *, centred: bool):
        self.terms = terms.canonical
        check_columns(self.terms, np.zeros((0, rows.n_columns)))
        self.centred = centred
        self.size = self.terms.size
        self._no_sites = Statistics(np.zeros((self.size + 2,) * 2), self.size, rows.n_rows, rows.no_rows())
        self._template = CollapsedBound(self.terms, self._no_sites)
        self._limits = kernel_limits(self._template.blocks, np.log(SITE_VARIANCE))

    def start(self, level: float, scale: float | None = None) -> _LatentGuess:
        """The prior, with the hyper-parameters of the terms; their variances add up to `scale`, if it is given."""
        n = self.size
        nothing = np.zeros(len(self.terms))
        prior = Evaluation(0.0, np.zeros(0), np.zeros(n), np.eye(n), nothing, nothing)
        blocks = self._template.blocks.start
        if scale is not None:
            # the last parameter of a block is the logarithm of its variance
            shift = np.log(scale) - np.log(sum(np.exp(p[-1]) for p in blocks))
            blocks = [np.append(p[:-1], p[-1] + shift) for p in blocks]
        return _LatentGuess(np.concatenate(blocks), prior, level, self._no_sites)

    def terms_at(self, parameters: Any) -> Sum:
        return self._template.terms_at(np.append(parameters, 0.0))

    def next(self, now: _LatentGuess, fresh: Statistics, step: float, learn: bool) -> _LatentGuess:
        """Sites averaged with fresh ones, then hyper-parameters and q."""
        sites = _average(now.sites, fresh, step)
        offset = sites.mean() if self.centred else 0.0
        bound = CollapsedBound(self.terms, sites.standardised(offset, 1.0) if self.centred else sites, count=0.0)
        parameters = now.parameters
        if learn:
            parameters = parameters + step * (self._improve(bound, parameters) - parameters)
        return _LatentGuess(parameters, bound(np.append(parameters, 0.0)), offset, sites)

    def _improve(self, bound: CollapsedBound, parameters: Any, max_iter: int = 10) -> Any:
        """A few iterations on the collapsed bound of the sites, with unit noise.

        Sites of a likelihood that is not log-concave may have negative precisions, and their bound no maximum: sites
        are of where q is, and say nothing of kernels that are further away than `REACH`.
        """
        start = np.clip(parameters, self._limits[:, 0], self._limits[:, 1])
        limits = np.stack(
            [np.maximum(self._limits[:, 0], start - REACH), np.minimum(self._limits[:, 1], start + REACH)], 1
        )
        here = bound(np.append(start, 0.0))

        def value(p: Any) -> tuple[float, Any]:
            evaluation = here if np.array_equal(p, start) else bound(np.append(p, 0.0))
            return evaluation.value, evaluation.gradient[:-1]

        return maximise(value, start, limits, bound.information(here)[:-1], max_iter=max_iter, precision=0.01).x

    def posterior(self, own: Sum, guess: _LatentGuess) -> Posterior:
        """On the user's own features: their whitened coordinates are those of the statistics."""
        return Posterior(own.with_kernels(self.terms_at(guess.parameters)), guess.q.mean, guess.q.inverse_root.T)


There = Callable[[Any, Any], tuple[Any, Any]]  # mean and variance of f at targets, given the variance of its prior


@dataclass(frozen=True)
class _Rounds:
    """What all rounds work with: processes, the likelihood, and the rows."""

    latents: list[_Latent]
    model: Adjustable
    rows: SiteRows
    policy: Policy

    def next(self, now: _Guess, fresh: _Fresh, step: float, *, kernels: bool, likelihood: bool) -> _Guess:
        """The guess after a round; what is trained is said by the last two."""
        flat = now.likelihood
        if likelihood:
            flat = flat + step * (self.model.improve(flat, fresh.sample, self.policy) - flat)
        processes = zip(self.latents, now.latents, fresh.sites, strict=True)
        return _Guess(tuple(latent.next(guess, sites, step, kernels) for latent, guess, sites in processes), flat)

    def fresh(self, now: _Guess, there: There | None = None) -> tuple[float, _Fresh]:
        """One pass over the rows: the ELBO of a guess, and the statistics of the sites at its marginals (with the first
        process as if it were `there`, for the very first sites).

        Blocks of rows are done side by side and added in their order, so that the same rows give the same bits.
        """
        terms = [latent.terms_at(guess.parameters) for latent, guess in zip(self.latents, now.latents, strict=True)]
        factors = [t.Kuu().factor() for t in terms]
        moments = [np.zeros((C.size + 2,) * 2) for C in factors]
        kept = [self.rows.no_rows() for _ in factors]
        total, sample = 0.0, []
        one = partial(self._block, terms, factors, now, there)
        for value, marginals, own_moments, own_kept in side_by_side(one, self.rows.blocks()):
            total += value
            sample.append(marginals)
            for i, out in enumerate(own_kept):
                moments[i] += own_moments[i]
                if out is not None:
                    kept[i] = kept[i] + out
                    check_outside(terms[i], kept[i].X, self.rows.n_rows)
        n = self.rows.n_rows
        sites = tuple(Statistics(m, C.size, n, k) for m, C, k in zip(moments, factors, kept, strict=True))
        joined = tuple(np.concatenate(part, axis=-1) for part in zip(*sample, strict=True))
        return float(total - sum(_kl(guess.q) for guess in now.latents)), _Fresh(sites, joined)

    def _block(
        self, terms: list[Sum], factors: list[Any], now: _Guess, there: There | None, block: tuple[Any, Any, Any, Any]
    ) -> tuple[float, tuple[Any, ...], list[Any], list[Rows | None]]:
        """What a few thousand rows add: to the ELBO, to the sample of marginals, to the sites in and outside the box.

        Where the likelihood is not log-concave a site's precision is negative; it is kept so, or the fixed point moved.
        A guess that overshoots may give values that are not finite; they are not used, and no cause for a warning.
        """
        x, y, weights, chosen = block
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            marginals = [_marginals(t, C, guess, x) for t, C, guess in zip(terms, factors, now.latents, strict=True)]
            means, variances = (np.stack(part) for part in zip(*marginals, strict=True))
            if there is not None:
                means[0], variances[0] = there(y, variances[0])
            value, a, b = self.model.expectations(now.likelihood, y, weights, means, variances)
            w = np.where(np.abs(b) > 1e-12, -2 * b, 1e-12)
            pull = w * means + a  # w ỹ
            moments, kept = [], []
            for i, (t, C) in enumerate(zip(terms, factors, strict=True)):
                out = outside(t, x)
                kept.append(Rows(x[out], (pull[i] / w[i])[out, None], w[i, out]) if out.any() else None)
                moments.append(_moments(t, C, x[~out], w[i, ~out], pull[i, ~out]))
        return value, (y[chosen], weights[chosen], means[:, chosen], variances[:, chosen]), moments, kept


def _marginals(terms: Sum, C: Any, guess: _LatentGuess, x: Any) -> tuple[Any, Any]:
    psi = C.solve(terms.Kuf(x))
    spread = ((guess.q.inverse_root @ psi) ** 2).sum(axis=0)
    return guess.offset + guess.q.mean @ psi, residual_variance(terms.variances(x), psi) + spread


def _moments(terms: Sum, C: Any, x: Any, w: Any, pull: Any) -> Any:
    """Σ w z zᵀ for z = (φ̂, 1) and Σ z wỹ. (Σ wỹ² would just add a constant to the bound.)"""
    n = C.size
    Z = np.empty((n + 1, len(x)))
    fill_features(terms, x, Z)
    Z[n] = 1.0
    moments = np.zeros((n + 2, n + 2))
    moments[: n + 1, : n + 1] = (Z * w) @ Z.T
    moments[: n + 1, n + 1] = Z @ pull
    return moments


def _kl(q: Evaluation) -> float:
    """½[tr S − log|S| − |β| + mᵀm]."""
    root = q.inverse_root
    return float(0.5 * ((root**2).sum() - 2 * np.log(np.abs(np.diagonal(root))).sum() - len(root) + q.mean @ q.mean))


def _average(old: Statistics, new: Statistics, step: float) -> Statistics:
    """(1−ρ) old + ρ new. Rows outside the box keep both sites, with their share of the weight."""
    rows = Rows(old.outside.X, old.outside.Y, (1 - step) * old.outside.weights)
    rows = rows + Rows(new.outside.X, new.outside.Y, step * new.outside.weights)
    if step == 1.0:
        rows = new.outside
    return replace(new, moments=(1 - step) * old.moments + step * new.moments, outside=rows)
