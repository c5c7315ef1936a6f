"""What is asked of speed, what was measured, and whether that holds: from the results of all benchmarks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks import limits, prediction, rows, time_to_quality
from benchmarks.cells import Experiment, Results
from benchmarks.showing import each, markdown, spread


@dataclass(frozen=True)
class Claim:
    """What is measured, what is asked, what every run found, and whether their median is on the right side."""

    what: str
    asked: str
    found: list[float]
    holds: Callable[[float], bool]
    text: Callable[[list[float]], str]


REASONS = """\
Where it says no:

- *SGPR included.* GPflow's SGPR needs no steps, and is the fastest of the others where its 100 points suffice. To be 60
  times as fast as it in five columns, a fit would have 0.0 to 0.1 s after its imports; with 20 harmonics and no points
  it takes 0.13 ([speed.md](speed.md), under start-up). Beside the SVGPs, whose 8000 steps set the quality to reach, it
  holds.
- *20 harmonics, no points* is for who is in a hurry: detail beyond 20 waves a column is given up for time.
- *A square product.* ΦᵀΦ of a narrow Φ, made before, in one call of BLAS, does not come nearer to a square product than
  `limits` shows; our pass makes Φ besides.
- *Bound of 230 features.* Its Cholesky takes a quarter of a millisecond, less than the calls of NumPy that a bound
  needs whatever its size. Where arithmetic counts, from some 800 features on, it is about three (`columns`)."""


def show(results: Results) -> str:
    """Medians of what has been measured, and the range."""
    found = list(_claims(results.path.parent))
    shown = [
        [one.what, one.asked, one.text(one.found), str(len(one.found)), "yes" if _holds(one) else "**no**"]
        for one in found
    ]
    return markdown(["what", "asked for", "measured", "runs", "holds"], shown) + f"\n\n{REASONS}"


def _holds(claim: Claim) -> bool:
    return bool(claim.found) and claim.holds(median(claim.found))


def _claims(folder: Path) -> Iterable[Claim]:
    groups = {
        "time-to-quality": _race,
        "rows": _streamed,
        "limits": _limits,
        "prediction": _predicted,
        "start-up": _started,
    }
    for name, claims in groups.items():
        found = list(claims(Results(folder / f"{name}.json")))
        yield from found or [Claim(f"`{name}`", "–", [], lambda _: False, lambda _: "nothing yet")]


def _at_least(what: str, bar: float, found: list[float], text: Callable[[list[float]], str], unit: str = "") -> Claim:
    return Claim(what, f"≥ {bar:,g}{unit}", found, lambda value: value >= bar, text)


def _at_most(what: str, bar: float, found: list[float], text: Callable[[list[float]], str], unit: str = "") -> Claim:
    return Claim(what, f"≤ {bar:g}{unit}", found, lambda value: value <= bar, text)


def _two_digits(values: list[float]) -> str:
    return spread(values, 2)


def _race(results: Results) -> Iterable[Claim]:
    for D in (5, 10):
        for use, (who, sgpr) in product(time_to_quality.USES, (("any SVGP", False), ("any, SGPR included,", True))):
            if race := time_to_quality.race(results, D, use, sgpr=sgpr):
                what = f"D = {D}, {use}: times faster than {who} to the quality of the best SVGP after 8000 steps"
                yield _at_least(what, 60, race.ratio, _two_digits)
        for use in time_to_quality.USES:
            if race := time_to_quality.race(results, D, use):
                what = f"D = {D}, {use}: log-likelihood below the true process"
                yield _at_most(what, 0.005, [-gap for gap in race.gap], _two_digits)


def _streamed(results: Results) -> Iterable[Claim]:
    few, many = rows.rate(results, 10**6), results.of(f"{rows.OURS} | N={10**8}")
    if few and many:
        yield _at_most("memory of a fit to 100,000,000 × 8 rows", 2, each(many, "peak_gb"), _two_digits, " GB")
        shares = [100 * 10**8 / seconds / few for seconds in each(many, "fit")]
        yield _at_least("its rows a second, of those of 1,000,000 rows", 70, shares, _two_digits, " %")


def _limits(results: Results) -> Iterable[Claim]:
    for pair in limits.PAIRS:
        times, of = pair.times(results), limits.LIMIT_NAMES[pair.limit]
        if times and pair.ours == "bound":
            yield _at_most(f"{pair.name}: {of}", pair.bar, [ours / limit for ours, limit in times], _two_digits)
        elif times:
            shares = [100 * limit / ours for ours, limit in times]
            yield _at_least(f"{pair.name}: of the rate of {of}", pair.bar, shares, spread, " %")
        if (share := limits.share_of_dgemm(results, pair)) is not None:
            yield _at_least(f"{pair.name}: of the rate of a square product", pair.bar, [share], _two_digits, " %")


def _predicted(results: Results) -> Iterable[Claim]:
    for name in ("odvff, 10 harmonics", "odvff, 10 harmonics, no points for the mean"):
        if rates := [1e3 * rate for rate in prediction.rates(results, name, "both")]:
            yield _at_least(f"rows a second with standard deviations, D = 10: {name}", 500_000, rates, spread)


def _started(results: Results) -> Iterable[Claim]:
    if runs := results.of("odvff"):
        yield _at_most("`import odvff`, from the start of the process", 0.3, each(runs, "imported"), _two_digits, " s")
        whole = each(runs, "total")
        yield _at_most("1,000 × 5 rows fitted, from the start of the process", 1, whole, _two_digits, " s")


ASKED = [Experiment("asked", "what is asked, and whether it holds", list, show)]
