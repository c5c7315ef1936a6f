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

from odvff.inference.fit import Fit, fit_quietly
from odvff.inference.harmonics import GAIN
from odvff.statistics import collect
from odvff.terms import Sum, Term

Pair = tuple[int, int]

N_BINS = 8
RATIOS = np.array([0.003, 0.01, 0.03, 0.1, 0.3, 1.0])[:, None]  # ρ
LEAST, WORTH = 5.0, 2e-3  # nats, besides those for the choice among many, and nats a row
WORK, FEWEST_ROWS = 2e7, 2000  # rows times pairs in a quick look
MOST_CANDIDATES = 500  # after the first look, which is at all
REFUSALS = 5  # pairs in a row that a quick look liked and a fit did not
LADDER = (5, 8, 12)  # harmonics in each of the two columns: up to 13², 19² and 27² features
FEATURE = 0.1  # nats that a feature further up must bring
MOST_FEATURES = 1100


@dataclass(frozen=True)
class Interactions:
    """Joint effects of pairs as they were found, the noise variance that they leave, and in words what was found."""

    terms: tuple[Term, ...]
    noise: float
    report: str


def choose_pairs(
    pairs: Collection[Pair],
    term_of: Callable[[Pair, tuple[int, int]], Term],
    X: Any,
    residuals: Any,
    *,
    weights: Any | None = None,
    noise: float,
    most: int | None = None,
    ladder: tuple[int, ...] = LADDER,
) -> Interactions:
    """Those of the pairs that explain most of the residuals, one after the other: up to `most`, or all of them.

    `term_of` makes the term of a pair with so many harmonics in its columns; its kernel is fitted here. All are found
    with the fewest harmonics of the ladder; then, the strongest first, these go up as long as the evidence calls for
    it, and not beyond what the values of a column can tell apart. In all there are about a thousand features.
    """
    w = np.ones(len(X)) if weights is None else weights
    r, candidates, found = residuals.astype(np.float64), list(pairs), list[Term]()
    # to be the best of many by chance is easier than to be the best of few
    least = -np.inf if most is None else max(LEAST + np.log(max(len(candidates), 1)), WORTH * float(w.sum()))
    if most is None:
        # all of them, with fewer harmonics if there are many
        fits = max(1, int((np.sqrt(MOST_FEATURES / max(len(candidates), 1)) - 3) / 2))
        ladder, most, left, patience = tuple(dict.fromkeys(min(n, fits) for n in ladder)), len(candidates), None, np.inf
    else:
        left, patience = MOST_FEATURES, REFUSALS
    enough = {c: max(1, len(np.unique(X[:, c])) // 2) for c in {c for pair in candidates for c in pair}}

    def rung(pair: Pair, n: int) -> Term:
        return term_of(pair, (min(n, enough[pair[0]]), min(n, enough[pair[1]])))

    means, refused, full = [], 0, False
    while candidates and len(found) < most and refused < patience:
        gains = quick_look(candidates, X, r, w, noise)
        best = int(np.argmax(gains))
        if gains[best] < least:
            break
        term = rung(candidates[best], ladder[0])
        candidates = [candidates[k] for k in np.argsort(-gains, kind="stable")[:MOST_CANDIDATES] if k != best]
        if left is not None and term.Kuu().size > left:
            refused, full = refused + 1, True
            continue
        fit = _best_fit([term], (X, r, w), noise)
        if fit.bound - _without(r, w) < least:
            refused += 1
            continue
        refused, noise = 0, fit.noise
        found.append(fit.terms.terms[0])
        left = None if left is None else left - term.Kuu().size
        means.append(fit.posterior.mean(X))
        r -= means[-1]
    left = MOST_FEATURES - sum(term.Kuu().size for term in found) if left is None else left
    for k, term in enumerate(found):
        room = left + term.Kuu().size
        rungs = [rung((term.columns[0], term.columns[1]), n) for n in ladder[1:]]  # type: ignore[index]
        by_size = {one.Kuu().size: one for one in rungs}
        finer = [one for size, one in by_size.items() if term.Kuu().size < size <= room]
        if finer:
            r += means[k]
            fit = _best_fit([term, *finer], (X, r, w), noise)
            found[k], left, noise = fit.terms.terms[0], room - fit.terms.Kuu().size, fit.noise
            r -= fit.posterior.mean(X)
    return Interactions(tuple(found), noise, _report(found, full))


def _best_fit(ladder: list[Term], rows: tuple[Any, Any, Any], noise: float) -> Fit:
    """The fit of the first term to these rows, or of one further up as long as the evidence rises by it."""
    best: Fit | None = None
    for term in ladder:
        terms = Sum((term if best is None else replace(term, kernel=best.terms.terms[0].kernel),))
        fit = fit_quietly(terms, collect(terms, [rows]), max_iter=30, noise=noise)
        if best is not None:
            more = terms.Kuu().size - best.terms.Kuu().size
            if not fit.bound > best.bound + max(GAIN * rows[2].sum(), FEATURE * more):
                break
        best, noise = fit, fit.noise
    assert best is not None
    return best


def quick_look(pairs: Collection[Pair], X: Any, residuals: Any, weights: Any, noise: float) -> Any:
    """The evidence, in nats of all rows, that levels of their own in the cells of each pair would bring."""
    some = slice(0, max(FEWEST_ROWS, int(WORK / max(len(pairs), 1))))
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
    """0 … 7, about equally often; values that are common have a bin of their own."""
    inner = np.quantile(x, np.arange(1, N_BINS) / N_BINS)
    return np.searchsorted(np.unique(inner), x, side="right")


def _without(residuals: Any, weights: Any) -> float:
    """The log density of residuals that are nothing but noise, with its best variance."""
    weight = weights.sum()
    return float(-0.5 * weight * (np.log(2 * np.pi * (weights @ residuals**2) / weight) + 1))


def _report(found: list[Term], full: bool) -> str:
    if not found:
        return "no pair of columns was found to act together"
    more = "; the features of more would be too many" if full else ""
    return "columns that act together: " + ", ".join(term.name for term in found) + more
