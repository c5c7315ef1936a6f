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
from operator import add
from typing import Any

import numpy as np

from odvff.errors import InputError, NumericalError
from odvff.inference.collapsed.bound import Blocks, CollapsedBound
from odvff.inference.collapsed.fit import kernel_limits
from odvff.inference.maximise import Until, maximise
from odvff.inference.notes import CONVERGED, INTERRUPTED, unfinished_sites
from odvff.likelihoods import Likelihood, as_likelihood
from odvff.likelihoods.base import BLOCK_ROWS, Adjustable
from odvff.likelihoods.units import TargetMoments
from odvff.policy import DEFAULT, Policy
from odvff.posterior import Posterior
from odvff.posterior.residual import residual_variance
from odvff.rows import RowSource, chunks_of, key_generator
from odvff.statistics import Rows, Statistics
from odvff.statistics.basis import check_columns, check_outside, fill_features, outside
from odvff.statistics.collect import weighted_rows
from odvff.support.arrays import Array
from odvff.support.checks import whole
from odvff.support.journal import NO_JOURNAL, Journal
from odvff.support.run import Tell, warn
from odvff.support.shapes import Float
from odvff.support.threads import one_blas_thread, side_by_side
from odvff.terms import Sum, Term

STAGE = "sites"
SITE_VARIANCE = (1e-12, 1e15)  # of f, whose scale is not that of y
REACH = 3.0  # of logarithms of hyper-parameters, in one round
SMALLEST_STEP = 1e-8
KEPT_ENTRIES = 2**25  # of X: a quarter of a gigabyte; more is read again in every round


@dataclass(frozen=True)
class SiteFit:
    """The posterior, the likelihood with its parameters, the ELBO after every round, and how it ended."""

    posterior: Posterior
    likelihood: Likelihood
    bound: float
    history: tuple[float, ...]
    converged: bool
    message: str
    noise_posterior: Posterior | None = None  # of a second process, for the noise
    noise_offset: float = 0.0  # what is added to it

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


@dataclass(frozen=True)
class Course:
    """How the rounds go: what they train, where they end, and who hears of them."""

    train: bool = True  # all hyper-parameters
    rescale: bool = True  # start with variances that add up to that of y, where y is on the scale of f
    max_rounds: int = 50
    tolerance: float = 1e-6  # they end when one raises the ELBO by less than so many nats a row
    progress: Callable[[int, float], None] | None = None  # is called with the number of every round and the ELBO
    journal: Journal = NO_JOURNAL  # a run that was broken off goes on after its last round there
    tell: Tell = warn
    policy: Policy = DEFAULT

    def __post_init__(self) -> None:
        whole(self.max_rounds, "max_rounds", at_least=1, remedy="ten to fifty are usual")


def fit_sites(
    terms: Sum | Iterable[Term],
    likelihood: Any,
    chunks: Iterable[tuple[Any, ...]] | RowSource,
    *,
    noise_terms: Sum | Iterable[Term] | None = None,
    **course: Any,
) -> SiteFit:
    """Fit q, and all hyper-parameters if `train`, to the rows of the chunks `(X, y)` or `(X, y, weights)`.

    The likelihood is ours or one of GPJax's; a heteroscedastic one needs `noise_terms` for its second process. The rest
    are fields of `Course`: leave `rescale` off for kernels that are a good start already, or where outliers dominate
    the variance. Chunks are kept in memory; those of a `RowSource` are gone through again in every round if they are
    many. Interrupting (Ctrl-C) returns what was reached.
    """
    how = Course(**course)
    processes = [Sum.of(terms)] + ([] if noise_terms is None else [Sum.of(noise_terms)])
    rows = _Rows(chunks, how.policy.marginal_rows)
    likelihood = as_likelihood(likelihood)
    _check_processes(likelihood, len(processes))
    model = likelihood.adjustable()
    with one_blas_thread():
        scale = rows.variance if how.train and how.rescale and likelihood.same_scale else None
        first, *second = (_Process(t, rows, centred=i > 0) for i, t in enumerate(processes))
        beliefs = (first.start(0.0, scale), *(process.start(np.log(rows.variance / 2)) for process in second))
        rounds = _Rounds(model, rows, how)
        now = rounds.reached(beliefs)
        try:
            rounds.climb(now)
        except KeyboardInterrupt:
            now.ended = INTERRUPTED
    converged, bound = now.ended == CONVERGED, now.history[-1]
    if not converged:
        how.tell(unfinished_sites(now.ended, bound))
    q, *of_noise = (belief.posterior() for belief in now.guess.beliefs)
    end = (bound, tuple(now.history), converged, now.ended, of_noise[0] if of_noise else None)
    return SiteFit(q, model.at(now.guess.likelihood), *end, now.guess.beliefs[-1].offset)


def _check_processes(likelihood: Likelihood, n: int) -> None:
    name = type(getattr(likelihood, "module", likelihood)).__name__
    if n < likelihood.n_processes:
        raise InputError(f"{name} has a second process for its noise; give its terms as `noise_terms`.")
    if n > likelihood.n_processes:
        raise InputError(
            f"`noise_terms` are for a heteroscedastic likelihood, got {name}; leave them out, or use "
            "gpjax.likelihoods.HeteroscedasticGaussian."
        )


class _Rows:
    """Rows with weights, gone through in every round, a block at a time; some of them make up a sample."""

    def __init__(self, chunks: Any, sample_rows: int):
        self._sample_rows = sample_rows
        self._chunks = chunks_of(chunks)
        self._kept: list[tuple[Any, Any, Any]] | None = []
        self.n_columns, entries, moments = 0, 0, TargetMoments()
        for X, y, w in weighted_rows(self._chunks()):
            entries += X.size
            self._kept = [*self._kept, (X, y, w)] if self._kept is not None and entries <= KEPT_ENTRIES else None
            self.n_columns = X.shape[1]
            moments.add(y, w)
        self.n_rows, self.weight = moments.n_rows, moments.weight
        if not self.weight > 0:
            raise InputError("there are no rows to fit to.")
        self.variance = max(moments.spread**2, 1e-12)

    def blocks(self) -> Iterable[tuple[Any, Any, Any, Any]]:
        """(X, y, weights, in the sample?) of a few thousand rows."""
        rng = key_generator(0)  # the same rows in every pass
        for X, y, w in weighted_rows(self._chunks()) if self._kept is None else self._kept:
            for start in range(0, len(X), BLOCK_ROWS):
                rows = slice(start, start + BLOCK_ROWS)
                chosen = rng.random(len(X[rows])) * self.n_rows < self._sample_rows
                yield X[rows], y[rows], w[rows], chosen


class _Process:
    """One process as all rounds see it."""

    def __init__(self, terms: Sum, rows: _Rows, *, centred: bool):
        self.original, self.terms, self.centred = terms, terms.canonical, centred
        check_columns(self.terms, np.zeros((0, rows.n_columns)))
        n = self.terms.size
        no_rows = Rows(np.zeros((0, rows.n_columns)), np.zeros((0, 1)), np.zeros(0))
        self._no_sites = Statistics(np.zeros((n + 2, n + 2)), n, rows.n_rows, no_rows)
        self.blocks = Blocks(self.terms)
        self._limits = kernel_limits(self.blocks, np.log(SITE_VARIANCE))

    def start(self, level: float, scale: float | None = None) -> "_Belief":
        """The prior, with the hyper-parameters of the terms; their variances add up to `scale`, if it is given."""
        parameters = np.concatenate(self.blocks.start)
        if scale is not None:
            variances = self.blocks.variances
            parameters[variances] += np.log(scale) - np.log(sum(np.exp(own[-1]) for own in self.blocks.start))
        return _Belief(self, parameters, level, self._no_sites)

    def bound(self, sites: Statistics, offset: float) -> CollapsedBound:
        return CollapsedBound(self.terms, sites.standardised(offset, 1.0), count=0.0)

    def improve(self, bound: CollapsedBound, parameters: Float[Array, " K"]) -> Float[Array, " K"]:
        """A few iterations on the collapsed bound of the sites, with unit noise.

        Sites of a likelihood that is not log-concave may have negative precisions, and their bound no maximum: sites
        are of where q is, and say nothing of kernels that are further away than `REACH`.
        """
        low, high = self._limits.T
        start = np.clip(parameters, low, high)
        limits = np.stack([np.maximum(low, start - REACH), np.minimum(high, start + REACH)], axis=1)
        here = bound(np.append(start, 0.0))

        def value(p: Any) -> tuple[float, Any]:
            evaluation = here if np.array_equal(p, start) else bound(np.append(p, 0.0))
            return evaluation.value, evaluation.gradient[:-1]

        return maximise(value, start, limits, bound.information(here)[:-1], Until(max_iter=10, precision=0.01)).x


class _Belief:
    """What is believed of one process: hyper-parameters (logarithms), the level, sites, and q(u), which follows."""

    def __init__(self, process: _Process, parameters: Any, offset: float, sites: Statistics):
        self.process, self.parameters, self.offset, self.sites = process, parameters, offset, sites
        self._q = process.bound(sites, offset)(np.append(parameters, 0.0))
        self.terms = process.blocks.at(parameters)
        self._factor = self.terms.Kuu().factor()

    def next(self, fresh: Statistics, step: float, learn: bool) -> "_Belief":
        """Sites averaged with fresh ones, then hyper-parameters and q."""
        sites, parameters = _average(self.sites, fresh, step), self.parameters
        offset = sites.mean() if self.process.centred else 0.0
        if learn:
            better = self.process.improve(self.process.bound(sites, offset), parameters)
            parameters = parameters + step * (better - parameters)
        return _Belief(self.process, parameters, offset, sites)

    def marginals(self, x: Float[Array, "N D"]) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
        """Means and variances at rows."""
        psi = self._factor.solve(self.terms.Kuf(x))
        spread = ((self._q.inverse_root @ psi) ** 2).sum(axis=0)
        return self.offset + self._q.mean @ psi, residual_variance(self.terms.variances(x), psi) + spread

    def kl(self) -> float:
        """½[tr S − log|S| − |β| + mᵀm]."""
        m, root = self._q.mean, self._q.inverse_root
        return float(0.5 * ((root**2).sum() - 2 * np.log(np.abs(np.diagonal(root))).sum() - len(root) + m @ m))

    def posterior(self) -> Posterior:
        """On the user's own features: their whitened coordinates are those of the statistics."""
        return Posterior(self.process.original.with_kernels(self.terms), self._q.mean, self._q.inverse_root.T)


@dataclass(frozen=True)
class _Guess:
    """What is believed, and what a pass over the rows says of it."""

    beliefs: tuple[_Belief, ...]
    likelihood: Any  # flat parameters
    elbo: float
    sites: tuple[Statistics, ...]  # fresh ones, at the marginals of the beliefs
    sample: tuple[Any, ...]  # of the rows: y, weights, means and variances of the marginals


@dataclass
class _Reached:
    """How far the rounds have come."""

    guess: _Guess
    history: list[float]
    step: float = 1.0
    ended: str = ""  # why


@dataclass(frozen=True)
class _Rounds:
    """What all rounds work with: the likelihood, the rows, and how they go."""

    model: Adjustable
    rows: _Rows
    how: Course

    def reached(self, start: tuple[_Belief, ...]) -> _Reached:
        """Where a run of the same model was, as the journal says; or the start, with its first sites."""
        kept = self._kept(start)
        if kept is not None:
            return kept
        first = self._seen(start, self.model.start)
        # the prior may be far from the rows (counts of a thousand): take the first sites near them
        near = self._seen(start, self.model.start, self.model.first_guess(self.model.start, first.sample))
        if not np.isfinite(near.elbo):
            raise NumericalError(
                "the expected log-likelihood is not finite; the likelihood may not suit y (counts for Poisson, 0 "
                "and 1 for Bernoulli)."
            )
        return _Reached(near, [first.elbo if np.isfinite(first.elbo) else -np.inf])

    def climb(self, now: _Reached) -> None:
        """Rounds, until there is a reason to end."""
        how, weight = self.how, self.rows.weight
        while len(now.history) <= how.max_rounds and not now.ended:
            # sites of the prior say little about kernels: let q settle first, and the noise
            learn = how.train and len(now.history) > how.policy.warm_up_rounds
            guess = self._next(now, learn)
            gain = guess.elbo - now.history[-1]
            if not gain > -1e-9 * weight:  # also if it is NaN
                now.step /= 2
                if now.step < SMALLEST_STEP:
                    now.ended = "no step raised the ELBO any further"
                continue
            now.guess = guess
            now.history.append(guess.elbo)
            if how.progress is not None:
                how.progress(len(now.history) - 1, guess.elbo)
            # half a step is worth half a gain; much less than that says nothing
            if gain < how.tolerance * weight * now.step and now.step >= 0.25 and learn == how.train:
                now.ended = CONVERGED
            now.step = min(1.0, 2 * now.step)
            if how.journal.due():
                self._keep(now)
        now.ended = now.ended or f"the limit of {how.max_rounds} rounds"
        self._keep(now)

    def _keep(self, now: _Reached) -> None:
        """Enter into the journal all that the next round needs; q and fresh sites follow from it."""
        arrays = {"history": np.array(now.history), "step": np.array([now.step]), "likelihood": now.guess.likelihood}
        for i, belief in enumerate(now.guess.beliefs):
            own = {"parameters": belief.parameters, "offset": np.array([belief.offset]), **belief.sites.arrays()}
            arrays |= {f"{i}.{name}": array for name, array in own.items()}
        self.how.journal.write(STAGE, arrays, {"ended": now.ended})

    def _kept(self, start: tuple[_Belief, ...]) -> _Reached | None:
        """What the journal says of a run of the same model."""
        entry = self.how.journal.read(STAGE)
        if entry is None:
            return None
        arrays, words = entry
        beliefs = []
        for i, first in enumerate(start):
            own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{i}.")}
            parameters, sites = own["parameters"], Statistics.from_arrays(own)
            if parameters.shape != first.parameters.shape or sites.n_features != first.sites.n_features:
                return None
            beliefs.append(_Belief(first.process, parameters, float(own["offset"][0]), sites))
        guess = self._seen(tuple(beliefs), arrays["likelihood"])
        return _Reached(guess, arrays["history"].tolist(), float(arrays["step"][0]), str(words["ended"]))

    def _next(self, now: _Reached, learn: bool) -> _Guess:
        """The guess after a round, which learns kernels too if it is to."""
        step, flat = now.step, now.guess.likelihood
        if self.how.train:
            flat = flat + step * (self.model.improve(flat, now.guess.sample, self.how.policy) - flat)
        pairs = zip(now.guess.beliefs, now.guess.sites, strict=True)
        return self._seen(tuple(belief.next(sites, step, learn) for belief, sites in pairs), flat)

    def _seen(self, beliefs: tuple[_Belief, ...], likelihood: Any, there: Any | None = None) -> _Guess:
        """One pass over the rows: the ELBO of a guess, and sites at its marginals (at first as if it were `there`).

        Blocks of rows are done side by side and added in their order, so that the same rows give the same bits.
        """
        total, samples, sites = 0.0, [], None
        for value, sample, own in side_by_side(partial(self._block, beliefs, likelihood, there), self.rows.blocks()):
            total += value
            samples.append(sample)
            sites = own if sites is None else tuple(map(add, sites, own))
            for belief, of_process in zip(beliefs, sites, strict=True):
                check_outside(belief.terms, of_process.outside.X, self.rows.n_rows)
        assert sites is not None
        joined = tuple(np.concatenate(part, axis=-1) for part in zip(*samples, strict=True))
        return _Guess(beliefs, likelihood, float(total - sum(belief.kl() for belief in beliefs)), sites, joined)

    def _block(
        self, beliefs: tuple[_Belief, ...], likelihood: Any, there: Any | None, block: tuple[Any, ...]
    ) -> tuple[float, tuple[Any, ...], tuple[Statistics, ...]]:
        """What a few thousand rows add: to the ELBO, to the sample of marginals, to the sites.

        Where the likelihood is not log-concave a site's precision is negative; it is kept so, or the fixed point moved.
        A guess that overshoots may give values that are not finite; they are not used, and no cause for a warning.
        """
        x, y, weights, chosen = block
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            means, variances = np.stack([belief.marginals(x) for belief in beliefs], axis=1)
            if there is not None:
                means[0], variances[0] = there(y, variances[0])
            value, a, b = self.model.expectations(likelihood, y, weights, means, variances)
            w = np.where(np.abs(b) > 1e-12, -2 * b, 1e-12)
            pull = w * means + a  # w ỹ
            sites = tuple(_sites(belief.terms, x, *own) for belief, *own in zip(beliefs, w, pull, strict=True))
        return value, (y[chosen], weights[chosen], means[:, chosen], variances[:, chosen]), sites


def _sites(terms: Sum, x: Float[Array, "N D"], w: Float[Array, " N"], pull: Float[Array, " N"]) -> Statistics:
    """Σ w z zᵀ for z = (φ̂, 1) and Σ z wỹ of rows inside the box. (Σ wỹ² would just add a constant to the bound.)"""
    n, out = terms.size, outside(terms, x)
    inside = ~out
    Z = np.empty((n + 1, int(inside.sum())))
    fill_features(terms, x[inside], Z)
    Z[n] = 1.0
    moments = np.zeros((n + 2, n + 2))
    moments[: n + 1, : n + 1] = (Z * w[inside]) @ Z.T
    moments[: n + 1, n + 1] = Z @ pull[inside]
    return Statistics(moments, n, len(x), Rows(x[out], (pull[out] / w[out])[:, None], w[out]))


def _average(old: Statistics, new: Statistics, step: float) -> Statistics:
    """(1−ρ) old + ρ new. Rows outside the box keep both sites, with their share of the weight."""
    if step == 1.0:
        return new
    parts = [replace(s.outside, weights=share * s.outside.weights) for s, share in ((old, 1 - step), (new, step))]
    return replace(new, moments=(1 - step) * old.moments + step * new.moments, outside=parts[0] + parts[1])
