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
from odvff.statistics import Statistics, collect
from odvff.statistics.basis import outside
from odvff.statistics.fewer import holds, with_fewer_harmonics
from odvff.support.checks import matrix, vector
from odvff.terms import Sum, Term

SAMPLE_ROWS, MANY_ROWS, RESIDUAL_ROWS, ROUNDS = 4000, 40_000, 1000, 3
ALL_ROWS = 50_000  # up to so many are taken instead of a sample of most: their statistics may do for the fit itself
LADDER = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
PROBE, PROBE_PAIR = {1: 64, 2: 48, 3: 32}, 8  # by the number of columns
PROBE_MANY = 24
FEWEST, MOST, MOST_HARMONICS = 200, 1000, 192
LEFT = 500  # features of single columns beside many of joint effects
TOLERANCE, FINER = 0.02, 0.25  # a quarter of it where there are many rows
GAIN = 0.002  # of the bound, in nats a row


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
    tolerance: float = TOLERANCE,
    max_harmonics: int = MOST_HARMONICS,
    max_features: int | None = None,
    least_noise: float = 0.0,
    seed: int = 0,
) -> Harmonics:
    """Choose the harmonics of Fourier and Kronecker terms; those they come with do not matter.

    At most `max_harmonics` in a column and about `max_features` in all, by default twice as many as rows and at most
    1000. The noise is the yardstick: all terms together may leave out `tolerance` times its variance, a
    quarter of that if there are more than 4000 rows. Where y only stands in for labels, the noise in it is not that of
    the labels, of which `least_noise` is known.
    """
    terms = Sum.of(terms)
    X = matrix(X, "X")
    y = vector(y, "y", size=len(X))
    weights = None if weights is None else vector(weights, "weights", size=len(X))
    max_features = _most_features(len(X)) if max_features is None else max_features
    tolerance = _strict(tolerance, len(X))
    order = np.random.default_rng(seed).permutation(len(X))
    some = slice(None) if len(X) <= ALL_ROWS else order[:MANY_ROWS]
    few, many = ((X[rows], y[rows], None if weights is None else weights[rows]) for rows in (order[:SAMPLE_ROWS], some))
    most = _limits(terms, max_features, max_harmonics)
    probe = PROBE.get(sum(_harmonics(t) > 0 for t in terms), PROBE_MANY)
    terms = Sum(tuple(_with(t, min(most[_columns(t)], PROBE_PAIR if _columns(t) > 1 else probe)) for t in terms))
    limited: list[str] = []
    noise: float | None = None
    for _ in range(ROUNDS if len(X) <= SAMPLE_ROWS else 1):  # or the larger sample says how many more
        fit = _fitted(terms, few, noise)
        wanted, limited = _wanted(fit, few, tolerance, most, least_noise)
        more = [_harmonics(new) > _harmonics(old) for new, old in zip(wanted, terms, strict=True)]
        terms, noise = wanted, fit.noise
        if not any(more):
            break
    if len(X) <= SAMPLE_ROWS:
        return Harmonics(terms, fit, _report(terms, limited))
    fit, tried, statistics = _grown(terms, fit.noise, many, most, max_features)
    terms, limited = _wanted(fit, few, tolerance, most, least_noise)  # these are in an order of chance
    enough = len(many[0]) == len(X) and holds(tried, terms)
    own = with_fewer_harmonics(statistics, tried, terms) if enough else None
    return Harmonics(terms, fit, _report(terms, limited), own)


def adjust_harmonics(terms: Sum, noise: float, rows: tuple[Any, Any, Any], *, least_noise: float = 0.0) -> Harmonics:
    """Harmonics for the terms of one column, after joint effects were added whose own are known.

    These took variance from the noise, so that finer detail of the others stands out of it. It takes one fit to rows
    (X, y, weights), which starts at the kernels of the terms.
    """
    fit = _fitted(terms, rows, noise, max_iter=15)
    joint = sum(term.Kuu().size for term in terms if _columns(term) > 1)
    limit = _most_features(len(rows[0]))
    most = _limits(terms, max(limit - joint, min(limit, LEFT)), MOST_HARMONICS)
    wanted, limited = _wanted(fit, rows, _strict(TOLERANCE, len(rows[0])), most, least_noise, joint=False)
    return Harmonics(wanted, fit, _report(wanted, limited))


def _strict(tolerance: float, n_rows: int) -> float:
    """With many rows finer detail stands out."""
    return FINER * tolerance if n_rows > SAMPLE_ROWS else tolerance


def _grown(
    terms: Sum, noise: float, rows: tuple[Any, Any, Any], limit: dict[int, int], max_features: int
) -> tuple[Fit, Sum, Statistics]:
    """The fit to many rows with twice, four times, … as many harmonics, as long as the bound rises by it.

    With it the statistics, and the terms of which they are: with the most harmonics that were tried. They contain those
    of fewer.
    """
    tried = _doubled(terms, limit, max_features)
    statistics = collect(tried, [rows])
    best = _fitted_to(terms, with_fewer_harmonics(statistics, tried, terms), noise)
    while tried.Kuu().size > best.terms.Kuu().size:
        candidate = _fitted_to(_with_kernels(tried, best.terms), statistics, best.noise, known=True)
        if not candidate.bound > best.bound + GAIN * statistics.weight:
            break
        best, more = candidate, _doubled(tried, limit, max_features)
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


def _fitted(terms: Sum, rows: tuple[Any, Any, Any], noise: float | None, max_iter: int = 50) -> Fit:
    return _fitted_to(terms, collect(terms, [rows]), noise, max_iter)


def _fitted_to(terms: Sum, statistics: Statistics, noise: float | None, max_iter: int = 50, known: bool = False) -> Fit:
    centred = statistics.standardised(statistics.mean(), 1.0)
    return fit_quietly(terms, centred, max_iter=max_iter, noise=noise, known=known)


def _wanted(
    fit: Fit,
    rows: tuple[Any, Any, Any],
    tolerance: float,
    most: dict[int, int],
    least_noise: float,
    joint: bool = True,
) -> tuple[Sum, list[str]]:
    """The terms of a fit with the harmonics that they call for, and the names of those for which there are too few.

    Those of several columns stay as they are if not `joint`. The rows are in an order of chance.
    """
    allowed = max(fit.noise, least_noise) * tolerance / len(fit.terms)
    X, shares = rows[0][:RESIDUAL_ROWS], None if rows[2] is None else rows[2][:RESIDUAL_ROWS]
    wanted, limited = [], []
    for term in fit.terms:
        if _columns(term) > 1 and not joint:
            wanted.append(term)
            continue
        enough, fits = _enough(term, X, shares, allowed, most[_columns(term)])
        wanted.append(_with(term, enough))
        if not fits:
            limited.append(term.name)
    return Sum(tuple(wanted)), limited


def _most_features(n_rows: int) -> int:
    return int(np.clip(2 * n_rows, FEWEST, MOST))


def _limits(terms: Sum, max_features: int, max_harmonics: int) -> dict[int, int]:
    """The most harmonics in a column, by how many columns a term has."""
    joint = {d: max(2, most_harmonics(max_features, d)) for d in (2, 3)}
    return {1: _most(terms, max_features, max_harmonics), **joint}


def most_harmonics(max_features: float, n_columns: int) -> int:
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


def _enough(term: Term, X: Any, weights: Any | None, allowed: float, most: int) -> tuple[int, bool]:
    """The fewest harmonics that leave no more than this variance on average, and whether there are that many.

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

    rungs = [*(n for n in LADDER if n < most), most]
    first = bisect_left(rungs, True, key=is_enough)  # but for rounding more leave less
    return (rungs[first], True) if first < len(rungs) else (most, False)


def _report(terms: Sum, limited: list[str]) -> str:
    chosen = [f"{_features(t).words().removesuffix(' harmonics')} for {t.name}" for t in terms if _harmonics(t)]
    text = "harmonics chosen: " + (", ".join(chosen) or "none, there is no Fourier term")
    if limited:
        text += f"; {', '.join(limited)} would need more than the limit allows, so finer detail is taken as noise"
    return text
