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
from typing import Any, Self

import numpy as np

from odvff.inference.collapsed.fit import Fit, fit_quietly
from odvff.policy import DEFAULT, Policy
from odvff.rows import Chunk, MemoryRows
from odvff.statistics import Statistics, collect
from odvff.statistics.basis import outside
from odvff.statistics.sums import holds, with_fewer_harmonics
from odvff.terms import Sum, Term

LIMITED = "would need more than the limit allows"  # in the report of a search, of terms that may lack detail


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
    terms, rows = Sum.of(terms), MemoryRows(X, y, weights)
    order = np.random.default_rng(seed).permutation(rows.n_rows)
    few = rows.at(order[: policy.harmonics_rows])
    is_large = rows.n_rows > policy.harmonics_rows
    rule = _Rule.of(terms, rows.n_rows, least_noise, policy)
    plenty = policy.first_harmonics[: max(sum(t.fixed.resolution > 0 for t in terms), 1)][-1]
    first = {d: min(most, plenty if d == 1 else policy.first_joint_harmonics) for d, most in rule.most.items()}
    terms = Sum(tuple(_with(t, first[len(t.fixed.boxes)]) for t in terms))
    noise: float | None = None
    for _ in range(1 if is_large else policy.harmonics_rounds):  # or the larger sample says how many more
        fit = fit_quietly(terms, _centred(collect(terms, [few])), policy, policy.quick_iterations, noise)
        before = terms
        terms, report = rule.wanted(fit, few)
        noise = fit.noise
        if not any(new.fixed.resolution > old.fixed.resolution for new, old in zip(terms, before, strict=True)):
            break
    if not is_large:
        return Harmonics(terms, fit, report)
    many = rows.everything() if rows.n_rows <= policy.whole_rows else rows.at(order[: policy.sample_rows])
    fit, tried, statistics = _grown(terms, fit.noise, many, rule)
    terms, report = rule.wanted(fit, few)  # these are shuffled
    enough = len(many[0]) == rows.n_rows and holds(tried, terms)
    return Harmonics(terms, fit, report, with_fewer_harmonics(statistics, tried, terms) if enough else None)


def adjust_harmonics(terms: Sum, noise: float, rows: Chunk, least_noise: float, policy: Policy) -> Harmonics:
    """Harmonics for the terms of one column, after joint effects were added whose own are known.

    These took variance from the noise, so that finer detail of the others stands out of it. It takes one fit to rows
    (X, y, weights), which starts at the kernels of the terms.
    """
    fit = fit_quietly(terms, _centred(collect(terms, [rows])), policy, policy.adjusting_iterations, noise)
    joint = sum(term.size for term in terms if len(term.fixed.boxes) > 1)
    rule = _Rule.of(terms, len(rows[0]), least_noise, policy, joint)
    wanted, report = rule.wanted(fit, rows, joint=False)
    return Harmonics(wanted, fit, report)


def harmonics_within(max_features: float, n_columns: int) -> int:
    """The most harmonics, and at least one, of a joint effect with so many features: F have (2F + 3)ᵈ of them."""
    return max(1, int((max_features ** (1 / n_columns) - 3) / 2))


@dataclass(frozen=True)
class _Rule:
    """What calls for harmonics, and what limits them."""

    share: float  # of the noise variance that all terms together may leave out
    features: int  # of all terms
    most: dict[int, int]  # harmonics in a column, by how many columns a term has
    least_noise: float
    policy: Policy

    @classmethod
    def of(cls, terms: Sum, n_rows: int, least_noise: float, policy: Policy, taken: int = 0) -> Self:
        """The rule for so many rows, where joint effects have taken features already."""
        # with many rows finer detail stands out
        share = policy.left_out * (policy.left_out_finer if n_rows > policy.harmonics_rows else 1.0)
        features = int(np.clip(2 * n_rows, policy.least_features, policy.column_features))
        left = max(features - taken, min(features, policy.beside_joint_features))
        joint = {d: max(2, harmonics_within(left, d)) for d in (2, 3)}
        # all columns may have the same number; levels have features of their own
        columns = max(sum(term.fixed.resolution > 0 and len(term.fixed.boxes) == 1 for term in terms), 1)
        levels = sum(term.fixed.size for term in terms if term.fixed.resolution == 0)
        single = int(np.clip(max(left - levels, left / 2) / columns / 2 - 2, 2, policy.most_harmonics))
        return cls(share, features, {1: single, **joint}, least_noise, policy)

    def wanted(self, fit: Fit, rows: Chunk, joint: bool = True) -> tuple[Sum, str]:
        """The terms of a fit with the harmonics that they call for, and in words which, and for what they are too few.

        Those of several columns stay as they are if not `joint`. The rows are shuffled.
        """
        allowed = max(fit.noise, self.least_noise) * self.share / len(fit.terms)
        some = slice(self.policy.residual_rows)
        X, shares = rows[0][some], None if rows[2] is None else rows[2][some]
        wanted, limited = [], []
        for term in fit.terms:
            n_columns = len(term.fixed.boxes)
            if term.fixed.resolution == 0 or (n_columns > 1 and not joint):
                wanted.append(term)
                continue
            rungs = [*(n for n in self.policy.harmonics_ladder if n < self.most[n_columns]), self.most[n_columns]]
            few = _too_few(term, X, shares, allowed, rungs)
            wanted.append(_with(term, rungs[min(few, len(rungs) - 1)]))
            if few == len(rungs):
                limited.append(term.name)
        chosen = [f"{t.fixed.words().removesuffix(' harmonics')} for {t.name}" for t in wanted if t.fixed.resolution]
        report = "harmonics chosen: " + (", ".join(chosen) or "none, there is no Fourier term")
        if limited:
            report += f"; {', '.join(limited)} {LIMITED}, so finer detail is taken as noise"
        return Sum(tuple(wanted)), report

    def doubled(self, terms: Sum) -> Sum:
        """The terms with twice as many harmonics, up to their limits; as they are, if that is too many features."""
        numbers = [max(min(2 * t.fixed.resolution, self.most[len(t.fixed.boxes)]), t.fixed.resolution) for t in terms]
        more = Sum(tuple(map(_with, terms, numbers)))
        return terms if more.size > self.features else more


def _grown(terms: Sum, noise: float, rows: Chunk, rule: _Rule) -> tuple[Fit, Sum, Statistics]:
    """The fit to many rows with twice, four times, … as many harmonics, as long as the bound rises by it.

    With it the terms with the most harmonics that were tried, and their statistics, which contain those of fewer.
    """
    policy, tried = rule.policy, rule.doubled(terms)
    statistics = collect(tried, [rows])
    fewer = with_fewer_harmonics(statistics, tried, terms)
    best = fit_quietly(terms, _centred(fewer), policy, policy.quick_iterations, noise)
    while tried.size > best.terms.size:
        again = tried.with_kernels(best.terms)
        candidate = fit_quietly(again, _centred(statistics), policy, policy.quick_iterations, best.noise, known=True)
        if not candidate.bound > best.bound + policy.finer_gain * statistics.weight:
            break
        best, more = candidate, rule.doubled(tried)
        if more.size > tried.size:
            tried, statistics = more, collect(more, [rows])
    return best, tried, statistics


def _centred(statistics: Statistics) -> Statistics:
    return statistics.standardised(statistics.mean(), 1.0)


def _with(term: Term, n_harmonics: int) -> Term:
    """The term with this many harmonics in every column."""
    return replace(term, features=term.fixed.with_resolution(n_harmonics))


def _too_few(term: Term, X: Any, weights: Any | None, allowed: float, rungs: list[int]) -> int:
    """How many of the first rungs leave more than this variance, on average over the rows inside the box: beyond it no
    number of harmonics explains anything.
    """
    inside = ~outside(Sum((term,)).canonical, X)
    if inside.any():
        X, weights = X[inside], None if weights is None else weights[inside]

    def is_enough(n: int) -> bool:
        candidate = _with(term, n)
        psi = candidate.Kuu().factor().solve(candidate.Kuf(X))
        return bool(np.average(candidate.variances(X) - (psi**2).sum(axis=0), weights=weights) <= allowed)

    return bisect_left(rungs, True, key=is_enough)  # but for rounding more leave less
