"""Which pairs of columns act together: found one after the other in what the effects so far leave over.

**A quick look at all pairs.** The residuals r of a fit with noise variance σ² are sorted into cells by the quantiles of
both columns. If every cell c had a level of its own with variance ρσ², the evidence would be higher by

    ½ Σ_c [ρ s_c² / (σ² (1 + ρ n_c)) − log(1 + ρ n_c)],     n_c = Σ w,  s_c = Σ w r in the cell,

which is told for the best of a few ρ. **A fit of the best one.** A smooth joint effect of the two columns is fitted to
the residuals; if that raises the evidence enough, the pair is taken, its effect is subtracted, and the next one is
looked for. Then the joint effects get more harmonics where that pays. The final fit moves all terms together.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.errors import Argument, InputError
from odvff.inference.collapsed.fit import Fit, fit_quietly
from odvff.policy import DEFAULT, Policy
from odvff.rows import Chunk
from odvff.search.harmonics import harmonics_within
from odvff.statistics import collect
from odvff.terms import Sum, Term

Pair = tuple[int, int]

N_BINS = 8
RATIOS = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0])[:, None]  # ρ


@dataclass(frozen=True)
class Interactions:
    """Joint effects of pairs as they were found, the noise variance that they leave, and in words what was found."""

    terms: tuple[Term, ...]
    noise: float
    report: str


def choose_pairs(
    pairs: Collection[Pair],
    term_of: Callable[[Pair, tuple[int, int]], Term],
    rows: Chunk,
    *,
    noise: float,
    most: int | None = None,
    policy: Policy = DEFAULT,
) -> Interactions:
    """Those of the pairs that explain most of the residuals, one after the other: up to `most`, or all of them.

    The rows are (X, residuals, weights or None). `term_of` makes the term of a pair with so many harmonics in its
    columns; its kernel is fitted here. All are found with the fewest harmonics of the policy's ladder; then, the
    strongest first, these go up as long as the evidence calls for it, and not beyond what the values of a column can
    tell apart. In all there are about a thousand features.
    """
    X, residuals, weights = rows
    w = np.ones(len(X)) if weights is None else weights
    limit = policy.pair_limit
    number = len(pairs) if most is None else min(most, len(pairs))
    if number > limit:
        raise InputError(
            Argument("interactions"),
            f" asks for {number} joint effects, and a thousand features do for {limit} of them; name fewer, or "
            "give a smaller number to have the strongest found.",
        )
    first, *further = policy.pair_ladder
    first = min(first, harmonics_within(policy.pair_features / max(number, 1), 2))
    enough = {c: max(1, len(np.unique(X[:, c])) // 2) for c in {c for pair in pairs for c in pair}}

    def rung(pair: Any, n: int) -> Term:
        return term_of(pair, (min(n, enough[pair[0]]), min(n, enough[pair[1]])))

    found = _Found((), (), residuals.astype(np.float64), noise, policy)
    if most is None:
        for pair in _by_gain(list(pairs), X, found, w):
            found = found.with_effect(_best_fit([rung(pair, first)], (X, found.residuals, w), found.noise, policy), X)
    else:
        found = _searched(list(pairs), lambda pair: rung(pair, first), (X, w), found, number)
    for k, term in enumerate(found.terms):
        found = found.finer(k, [rung(term.columns, n) for n in further], X, w)
    return Interactions(found.terms, found.noise, _report(found.terms))


@dataclass(frozen=True)
class _Found:
    """Joint effects so far, their means at the rows, and the residuals and the noise variance that they leave."""

    terms: tuple[Term, ...]
    means: tuple[Any, ...]
    residuals: Any
    noise: float
    policy: Policy

    def with_effect(self, fit: Fit, X: Any) -> "_Found":
        """With one more, fitted to the residuals."""
        mean = fit.posterior.mean(X)
        return _Found((*self.terms, *fit.terms), (*self.means, mean), self.residuals - mean, fit.noise, self.policy)

    def finer(self, k: int, rungs: list[Term], X: Any, w: Any) -> "_Found":
        """With more harmonics in the k-th, if the evidence calls for them and there are features left."""
        term = self.terms[k]
        own, others = term.Kuu().size, sum(t.Kuu().size for i, t in enumerate(self.terms) if i != k)
        room = self.policy.pair_features - others
        by_size = {one.Kuu().size: one for one in rungs}
        finer = [one for size, one in by_size.items() if own < size <= room]
        if not finer:
            return self
        without = self.residuals + self.means[k]
        fit = _best_fit([term, *finer], (X, without, w), self.noise, self.policy)
        mean = fit.posterior.mean(X)
        terms = (*self.terms[:k], *fit.terms, *self.terms[k + 1 :])
        return _Found(terms, (*self.means[:k], mean, *self.means[k + 1 :]), without - mean, fit.noise, self.policy)


def _by_gain(pairs: list[Pair], X: Any, found: _Found, w: Any) -> list[Pair]:
    """The pairs in the order of what a quick look finds, the strongest first."""
    gains = quick_look(pairs, (X, found.residuals, w), found.noise, found.policy)
    return [pairs[k] for k in np.argsort(-gains, kind="stable")]


def _searched(
    pairs: list[Pair], term_of: Callable[[Pair], Term], rows: tuple[Any, Any], found: _Found, number: int
) -> _Found:
    """Up to so many pairs that pay: the best of a quick look is fitted, and the rest looked at again without it."""
    (X, w), policy = rows, found.policy
    # to be the best of many by chance is easier than to be the best of few
    least = max(policy.pair_nats + np.log(max(len(pairs), 1)), policy.pair_gain * float(w.sum()))
    refused = 0
    while pairs and len(found.terms) < number and refused < policy.pair_refusals:
        gains = quick_look(pairs, (X, found.residuals, w), found.noise, policy)
        order = np.argsort(-gains, kind="stable")
        if gains[order[0]] < least:
            break
        fit = _best_fit([term_of(pairs[order[0]])], (X, found.residuals, w), found.noise, policy)
        pairs = [pairs[k] for k in order[1 : policy.pair_candidates]]
        if fit.bound - _without(found.residuals, w) < least:
            refused += 1
        else:
            refused, found = 0, found.with_effect(fit, X)
    return found


def _best_fit(ladder: list[Term], rows: Chunk, noise: float, policy: Policy) -> Fit:
    """The fit of the first term to these rows, or of one further up as long as the evidence rises by it."""
    best: Fit | None = None
    for term in ladder:
        terms = Sum((term if best is None else replace(term, kernel=best.terms.terms[0].kernel),))
        fit = fit_quietly(terms, collect(terms, [rows]), policy, policy.pair_iterations, noise)
        if best is not None:
            more = terms.Kuu().size - best.terms.Kuu().size
            if not fit.bound > best.bound + max(policy.finer_gain * rows[2].sum(), policy.pair_feature_gain * more):
                break
        best, noise = fit, fit.noise
    assert best is not None
    return best


def quick_look(pairs: Collection[Pair], rows: Chunk, noise: float, policy: Policy = DEFAULT) -> Any:
    """The evidence, in nats of all rows, that levels of their own in the cells of each pair would bring."""
    X, residuals, weights = rows
    some = slice(0, max(policy.least_look_rows, int(policy.look_work / max(len(pairs), 1))))
    share = float(weights[some].sum() / weights.sum())
    if share == 0:
        return np.zeros(len(pairs))
    codes = {c: _bins(X[some, c]) for c in {c for pair in pairs for c in pair}}
    w, wr = weights[some], weights[some] * residuals[some]
    gains = []
    for i, j in pairs:
        cell = N_BINS * codes[i] + codes[j]
        n, s = (np.bincount(cell, values, minlength=N_BINS**2) for values in (w, wr))
        gain = RATIOS * s**2 / (noise * (1 + RATIOS * n)) - np.log1p(RATIOS * n)
        gains.append(0.5 * gain.sum(axis=1).max() / share)
    return np.array(gains)


def _bins(x: Any) -> Any:
    """0 … 7, about equally often; a value that is common has a bin of its own."""
    inner, times = np.unique(np.quantile(x, np.arange(1, N_BINS) / N_BINS), return_counts=True)
    # a value that is several quantiles at once is cut before and behind
    cuts = np.sort(np.concatenate([inner, np.nextafter(inner[times > 1], np.inf)]))
    return np.searchsorted(cuts, x, side="right")


def _without(residuals: Any, weights: Any) -> float:
    """The log density of residuals that are nothing but noise, with its best variance."""
    weight = weights.sum()
    return float(-0.5 * weight * (np.log(2 * np.pi * (weights @ residuals**2) / weight) + 1))


def _report(found: tuple[Term, ...]) -> str:
    if not found:
        return "no pair of columns was found to act together"
    return "columns that act together: " + ", ".join(term.name for term in found)
