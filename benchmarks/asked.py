"""What is asked of speed, what was measured, and whether that holds: from the results of all benchmarks."""

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from statistics import median

from benchmarks import limits, prediction, rows, time_to_quality
from benchmarks.cells import Experiment, Results
from benchmarks.showing import each, markdown, short

Claim = tuple[str, str, str, bool]  # what is measured, what is asked, what was found, whether it holds


def show(results: Results) -> str:
    """Medians of what has been measured."""
    found = list(_claims(results.path.parent))
    shown = [[what, asked, measured, "yes" if holds else "**no**"] for what, asked, measured, holds in found]
    return markdown(["what", "asked for", "measured", "holds"], shown)


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
        yield from found or [(f"`{name}`", "–", "nothing yet", False)]


def _race(results: Results) -> Iterable[Claim]:
    for D in (5, 10):
        for use, (who, sgpr) in product(time_to_quality.USES, (("any SVGP", False), ("any, SGPR included", True))):
            if race := time_to_quality.race(results, D, use, sgpr=sgpr):
                what = f"D = {D}, {use}: times faster than {who} to the quality of the best SVGP after 8000 steps"
                yield what, "≥ 60", short(median(race.ratio), 2), median(race.ratio) >= 60
        if race := time_to_quality.race(results, D, time_to_quality.DEFAULT):
            what = f"D = {D}, {time_to_quality.DEFAULT}: log-likelihood below the true process"
            yield what, "≤ 0.005", short(-median(race.gap), 2), -median(race.gap) <= 0.005


def _streamed(results: Results) -> Iterable[Claim]:
    many, few = rows.rate(results, 10**8), rows.rate(results, 10**6)
    if many and few:
        peak = median(each(results.of(f"{rows.OURS} | N={10**8}"), "peak_gb"))
        yield "memory of a fit to 100,000,000 × 8 rows", "< 2 GB", f"{peak:.2f} GB", peak < 2
        share = 100 * many / few
        yield "its rows a second, of those of 1,000,000 rows", "≥ 70 %", f"{share:.0f} %", share >= 70


def _predicted(results: Results) -> Iterable[Claim]:
    for name in ("odvff, 10 harmonics", "odvff, 10 harmonics, no points for the mean"):
        if rates := prediction.rates(results, name, "both"):
            what = f"rows a second with standard deviations, D = 10: {name}"
            yield what, "≥ 500,000", f"{1e3 * median(rates):,.0f}", median(rates) >= 500


def _started(results: Results) -> Iterable[Claim]:
    if runs := results.of("odvff"):
        imported, whole = (median(each(runs, key)) for key in ("imported", "total"))
        yield "`import odvff`, from the start of the process", "< 0.3 s", f"{imported:.2f} s", imported < 0.3
        yield "1,000 × 5 rows fitted, from the start of the process", "< 1 s", f"{whole:.2f} s", whole < 1


def _limits(results: Results) -> Iterable[Claim]:
    for name, where, ours, limit, asked in limits.PAIRS:
        runs = results.of(name)
        if runs and asked:
            times = median([a / b for a, b in zip(each(runs, "took", ours), each(runs, "took", limit), strict=True)])
            if ours == "bound":
                yield f"{name}: Choleskys of its size", "≤ 4", f"{times:.1f}", times <= 4
            else:
                bar = 50 if ours == "product" else 60
                of = "ΦᵀΦ" if ours == "product" else "FINUFFT"
                yield f"{name}: of the rate of {of}", f"≥ {bar} %", f"{100 / times:.0f} %", 100 / times >= bar
        if ours == "product" and (share := limits.share_of_dgemm(results, name, where)):
            yield f"{name}: of the rate of a square product", "≥ 50 %", f"{share:.0f} %", share >= 50


ASKED = [Experiment("asked", "what is asked, and whether it holds", list, show)]
