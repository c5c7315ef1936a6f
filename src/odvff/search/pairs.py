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
    """Joint effects of pairs as far as they were found, and the residuals and noise variance that they leave."""

    rows: Chunk  # X, residuals and weights
    noise: float
    policy: Policy
    terms: tuple[Term, ...] = ()
    means: tuple[Any, ...] = ()  # of the effects at the rows

    @property
    def report(self) -> str:
        """What was found, in words."""
        names = ", ".join(term.name for term in self.terms)
        return f"columns that act together: {names}" if names else "no pair of columns was found to act together"

    def by_gain(self, pairs: list[Pair]) -> tuple[list[Pair], Any]:
        """The pairs in the order of what a quick look finds, the strongest first, and what that is."""
        gains = quick_look(pairs, self.rows, self.noise, self.policy)
        order = np.argsort(-gains, kind="stable")
        return [pairs[k] for k in order], gains[order]

    def fit(self, first: Term, *finer: Term) -> Fit:
        """The fit of a term to the residuals, or of a finer one as long as the evidence rises by it."""
        policy = self.policy

        def fitted(term: Term, noise: float) -> Fit:
            terms = Sum((term,))
            return fit_quietly(terms, collect(terms, [self.rows]), policy, policy.pair_iterations, noise)

        best = fitted(first, self.noise)
        for term in finer:
            fit = fitted(replace(term, kernel=best.terms.terms[0].kernel), best.noise)
            more = policy.pair_feature_gain * (fit.terms.size - best.terms.size)
            if not fit.bound > best.bound + max(policy.finer_gain * self.rows[2].sum(), more):
                break
            best = fit
        return best

    def with_effect(self, fit: Fit) -> "Interactions":
        """With one more, fitted to the residuals."""
        X, residuals, w = self.rows
        terms, means = (*self.terms, *fit.terms), (*self.means, fit.posterior.mean(X))
        return replace(self, rows=(X, residuals - means[-1], w), noise=fit.noise, terms=terms, means=means)

    def finer(self, rungs: list[Term]) -> "Interactions":
        """With the first one last, with more harmonics if the evidence calls for them and there are features left."""
        X, residuals, w = self.rows
        (term, *others), (mean, *means) = self.terms, self.means
        room = self.policy.pair_features - sum(t.size for t in others)
        finer = [one for size, one in {one.size: one for one in rungs}.items() if term.size < size <= room]
        if not finer:
            return replace(self, terms=(*others, term), means=(*means, mean))
        without = replace(self, rows=(X, residuals + mean, w), terms=tuple(others), means=tuple(means))
        return without.with_effect(without.fit(term, *finer))


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
    limit, left = policy.pair_limit, list(pairs)
    number = len(left) if most is None else min(most, len(left))
    if number > limit:
        raise InputError(
            Argument("interactions"),
            f" asks for {number} joint effects, and a thousand features do for {limit} of them; name fewer, or "
            "give a smaller number to have the strongest found.",
        )
    first, *further = policy.pair_ladder
    first = min(first, harmonics_within(policy.pair_features / max(number, 1), 2))
    enough = {c: max(1, len(np.unique(X[:, c])) // 2) for c in {c for pair in left for c in pair}}

    def rung(pair: Any, n: int) -> Term:
        return term_of(pair, (min(n, enough[pair[0]]), min(n, enough[pair[1]])))

    found = Interactions((X, residuals.astype(np.float64), w), noise, policy)
    if most is None:
        for pair in found.by_gain(left)[0]:
            found = found.with_effect(found.fit(rung(pair, first)))
    # to be the best of many by chance is easier than to be the best of few
    least = max(policy.pair_nats + np.log(max(len(left), 1)), policy.pair_gain * float(w.sum()))
    refused = 0
    while most is not None and left and len(found.terms) < number and refused < policy.pair_refusals:
        (best, *left), gains = found.by_gain(left)
        if gains[0] < least:
            break
        left = left[: policy.pair_candidates - 1]
        fit = found.fit(rung(best, first))
        if fit.bound - _without(*found.rows[1:]) < least:
            refused += 1
        else:
            refused, found = 0, found.with_effect(fit)
    for term in found.terms:
        found = found.finer([rung(term.columns, n) for n in further])
    return found


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
