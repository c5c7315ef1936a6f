"""How many harmonics: as many as it takes until what they leave out no longer matters to the bound.

The bound loses (Σ w k_t(x,x) − tr Ã_tt)/2σ² to the variance that a term's features do not explain. With too few
harmonics a fit would rather call the detail noise than pay for it, and seem content; so start with plenty. On a small
sample of the rows: fit with many harmonics, then give each term the fewest that leave less than its part of `tolerance`
times the noise variance, at the hyper-parameters found. If that is more than it had, fit again. Many rows show detail
that few do not: on a larger sample, and then without a second look at few, double the harmonics as long as the bound
rises by it, and choose as before. Statistics of twice as many contain those of the fewer, so that both take one pass.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.inference.collapsed.fit import Fit, fit_quietly
from odvff.policy import DEFAULT, Policy
from odvff.rows import Chunk
from odvff.statistics import Statistics, collect
from odvff.statistics.basis import outside
from odvff.statistics.sums import holds, with_fewer_harmonics
from odvff.support.checks import matrix, vector
from odvff.terms import Sum, Term


@dataclass(frozen=True)
class Harmonics:
    """The terms with the harmonics chosen, and in words what was chosen and why."""

    terms: Sum
    fit: Fit  # in which the kernels of the terms were found, with the harmonics before
    report: str
    statistics: Statistics | None = None  # of all rows and these terms, if that fit was to all of them


def choose_harmonics(
    terms: Sum | Iterable[Term],
    X: Any,
    y: Any,
    *,
    weights: Any | None = None,
    least_noise: float = 0.0,
    seed: int = 0,
    policy: Policy = DEFAULT,
) -> Harmonics:
    """Choose the harmonics of Fourier and Kronecker terms; those they come with do not matter.

    The policy says how many there may be in a column (`most_harmonics`) and in all (`column_features`). The noise is
    the yardstick: all terms together may leave out a share of its variance, `left_out`. Where y only stands in for
    labels, the noise in it is not that of the labels, of which `least_noise` is known.
    """
    terms = Sum.of(terms)
    X = matrix(X, "X")
    y = vector(y, "y", size=len(X))
    weights = None if weights is None else vector(weights, "weights", size=len(X))
    order = np.random.default_rng(seed).permutation(len(X))
    some = slice(None) if len(X) <= policy.whole_rows else order[: policy.sample_rows]
    first = order[: policy.harmonics_rows]
    few, many = ((X[rows], y[rows], None if weights is None else weights[rows]) for rows in (first, some))
    is_large = len(X) > policy.harmonics_rows
    features = _most_features(len(X), policy)
    rule = _Rule(_allowed(len(X), policy), _limits(terms, features, policy), least_noise, policy)
    plenty = policy.first_harmonics[: max(sum(_harmonics(t) > 0 for t in terms), 1)][-1]
    first_of = {1: plenty, 2: policy.first_joint_harmonics, 3: policy.first_joint_harmonics}
    terms = Sum(tuple(_with(t, min(rule.most[_columns(t)], first_of[_columns(t)])) for t in terms))
    limited: list[str] = []
    noise: float | None = None
    for _ in range(1 if is_large else policy.harmonics_rounds):  # or the larger sample says how many more
        fit = fit_quietly(terms, _centred(collect(terms, [few])), policy, policy.quick_iterations, noise)
        wanted, limited = rule.wanted(fit, few)
        more = [_harmonics(new) > _harmonics(old) for new, old in zip(wanted, terms, strict=True)]
        terms, noise = wanted, fit.noise
        if not any(more):
            break
    if not is_large:
        return Harmonics(terms, fit, _report(terms, limited))
    fit, tried, statistics = _grown(terms, fit.noise, many, rule, features)
    terms, limited = rule.wanted(fit, few)  # these are shuffled
    enough = len(many[0]) == len(X) and holds(tried, terms)
    own = with_fewer_harmonics(statistics, tried, terms) if enough else None
    return Harmonics(terms, fit, _report(terms, limited), own)


def adjust_harmonics(terms: Sum, noise: float, rows: Chunk, least_noise: float, policy: Policy) -> Harmonics:
    """Harmonics for the terms of one column, after joint effects were added whose own are known.

    These took variance from the noise, so that finer detail of the others stands out of it. It takes one fit to rows
    (X, y, weights), which starts at the kernels of the terms.
    """
    fit = fit_quietly(terms, _centred(collect(terms, [rows])), policy, policy.adjusting_iterations, noise)
    joint = sum(term.Kuu().size for term in terms if _columns(term) > 1)
    n_rows = len(rows[0])
    limit = _most_features(n_rows, policy)
    most = _limits(terms, max(limit - joint, min(limit, policy.beside_joint_features)), policy)
    rule = _Rule(_allowed(n_rows, policy), most, least_noise, policy)
    wanted, limited = rule.wanted(fit, rows, joint=False)
    return Harmonics(wanted, fit, _report(wanted, limited))


def _allowed(n_rows: int, policy: Policy) -> float:
    """The share of the noise variance that may be left out: with many rows finer detail stands out."""
    return policy.left_out_finer * policy.left_out if n_rows > policy.harmonics_rows else policy.left_out


def _grown(terms: Sum, noise: float, rows: Chunk, rule: "_Rule", max_features: int) -> tuple[Fit, Sum, Statistics]:
    """The fit to many rows with twice, four times, … as many harmonics, as long as the bound rises by it.

    With it the statistics, and the terms of which they are: with the most harmonics that were tried. They contain those
    of fewer.
    """
    policy = rule.policy
    tried = _doubled(terms, rule.most, max_features)
    statistics = collect(tried, [rows])
    fewer = with_fewer_harmonics(statistics, tried, terms)
    best = fit_quietly(terms, _centred(fewer), policy, policy.quick_iterations, noise)
    while tried.Kuu().size > best.terms.Kuu().size:
        again = _with_kernels(tried, best.terms)
        candidate = fit_quietly(again, _centred(statistics), policy, policy.quick_iterations, best.noise, known=True)
        if not candidate.bound > best.bound + policy.finer_gain * statistics.weight:
            break
        best, more = candidate, _doubled(tried, rule.most, max_features)
        if more.Kuu().size > tried.Kuu().size:
            tried, statistics = more, collect(more, [rows])
    return best, tried, statistics


def _doubled(terms: Sum, limit: dict[int, int], max_features: int) -> Sum:
    """The terms with twice as many harmonics, up to their limits; as they are, if that is too many features."""
    pairs = [(t, min(2 * _harmonics(t), limit[_columns(t)])) for t in terms]
    more = Sum(tuple(_with(t, n) if n > _harmonics(t) else t for t, n in pairs))
    return terms if more.Kuu().size > max_features else more


def _with_kernels(terms: Sum, fitted: Sum) -> Sum:
    return Sum(tuple(replace(t, kernel=f.kernel) for t, f in zip(terms, fitted, strict=True)))


def _centred(statistics: Statistics) -> Statistics:
    return statistics.standardised(statistics.mean(), 1.0)


@dataclass(frozen=True)
class _Rule:
    """What calls for harmonics, and what limits them."""

    share: float  # of the noise variance that all terms together may leave out
    most: dict[int, int]  # harmonics in a column, by how many columns a term has
    least_noise: float
    policy: Policy

    def wanted(self, fit: Fit, rows: Chunk, joint: bool = True) -> tuple[Sum, list[str]]:
        """The terms of a fit with the harmonics that they call for, and the names of those for which there are too few.

        Those of several columns stay as they are if not `joint`. The rows are shuffled.
        """
        allowed = max(fit.noise, self.least_noise) * self.share / len(fit.terms)
        some = slice(self.policy.residual_rows)
        X, shares = rows[0][some], None if rows[2] is None else rows[2][some]
        wanted, limited = [], []
        for term in fit.terms:
            if _columns(term) > 1 and not joint:
                wanted.append(term)
                continue
            most = self.most[_columns(term)]
            rungs = [*(n for n in self.policy.harmonics_ladder if n < most), most]
            enough, fits = _enough(term, X, shares, allowed, rungs)
            wanted.append(_with(term, enough))
            if not fits:
                limited.append(term.name)
        return Sum(tuple(wanted)), limited


def _most_features(n_rows: int, policy: Policy) -> int:
    return int(np.clip(2 * n_rows, policy.least_features, policy.column_features))


def _limits(terms: Sum, max_features: int, policy: Policy) -> dict[int, int]:
    """The most harmonics in a column, by how many columns a term has."""
    joint = {d: max(2, harmonics_within(max_features, d)) for d in (2, 3)}
    return {1: _most(terms, max_features, policy.most_harmonics), **joint}


def harmonics_within(max_features: float, n_columns: int) -> int:
    """The most harmonics, and at least one, of a joint effect with so many features: F have (2F + 3)ᵈ of them."""
    return max(1, int((max_features ** (1 / n_columns) - 3) / 2))


def _most(terms: Sum, max_features: int, max_harmonics: int) -> int:
    """Harmonics for each column, if all were to have the same number; levels have features of their own."""
    columns = max(sum(_harmonics(term) > 0 and _columns(term) == 1 for term in terms), 1)
    levels = sum(_features(term).size for term in terms if _harmonics(term) == 0)
    return int(np.clip(max(max_features - levels, max_features / 2) / columns / 2 - 2, 2, max_harmonics))


def _features(term: Term) -> Any:
    return term.features


def _columns(term: Term) -> int:
    return len(_features(term).boxes)


def _harmonics(term: Term) -> int:
    return int(_features(term).resolution)


def _with(term: Term, n_harmonics: int) -> Term:
    """The term with this many harmonics in every column."""
    return replace(term, features=_features(term).with_resolution(n_harmonics))


def _enough(term: Term, X: Any, weights: Any | None, allowed: float, rungs: list[int]) -> tuple[int, bool]:
    """The first rung of harmonics that leaves no more than this variance on average, else the last; and if it does.

    On average over the rows inside the box: beyond it no number of harmonics explains anything.
    """
    if _harmonics(term) == 0:
        return 0, True
    inside = ~outside(Sum((term,)).canonical, X)
    if inside.any():
        X, weights = X[inside], None if weights is None else weights[inside]

    def is_enough(n: int) -> bool:
        candidate = _with(term, n)
        psi = candidate.Kuu().factor().solve(candidate.Kuf(X))
        return bool(np.average(candidate.variances(X) - (psi**2).sum(axis=0), weights=weights) <= allowed)

    first = bisect_left(rungs, True, key=is_enough)  # but for rounding more leave less
    return (rungs[first], True) if first < len(rungs) else (rungs[-1], False)


def _report(terms: Sum, limited: list[str]) -> str:
    chosen = [f"{_features(t).words().removesuffix(' harmonics')} for {t.name}" for t in terms if _harmonics(t)]
    text = "harmonics chosen: " + (", ".join(chosen) or "none, there is no Fourier term")
    if limited:
        text += f"; {', '.join(limited)} would need more than the limit allows, so finer detail is taken as noise"
    return text
