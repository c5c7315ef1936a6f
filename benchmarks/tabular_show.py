"""What the libraries did on real tables: a table for each measure, ranks, who is better where, and two pictures."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import fmean, geometric_mean, median
from typing import Any

from benchmarks.cells import Results
from benchmarks.showing import NOTHING, circumstances, markdown, picture, pyplot, short, spread

OURS = "odvff"
CLEAR = 0.01  # difference in mean log density that is worth telling

Run = dict[str, Any]
Runs = dict[tuple[str, str], dict[int, Run]]  # by table and library, and by seed


@dataclass(frozen=True)
class Measure:
    """A number of a run, and how far it is from the best that it can be."""

    key: str
    title: str
    loss: Callable[[float], float]


LOG_DENSITY = Measure("log_density", "Mean log predictive density (more is better)", lambda value: -value)
QUALITY = (
    LOG_DENSITY,
    Measure("rmse", "RMSE", lambda value: value),
    Measure("crps", "CRPS", lambda value: value),
    Measure("coverage", "Coverage of 95 % intervals", lambda value: abs(value - 0.95)),
)
RATIOS = {
    "processor": "fit, processor time",
    "fit": "fit, wall time",
    "wall": "whole process, wall time",
    "predict": "prediction",
    "peak_gb": "memory",
}


def cell_name(table: str, library: str) -> str:
    return f"{table} | {library}"


def show(tables: tuple[str, ...], uses: dict[str, str], minutes: int, results: Results) -> str:
    """All that there is so far; `uses` says how each library was used, for so many minutes at most."""
    runs = {(table, library): results.by_seed(cell_name(table, library)) for table in tables for library in uses}
    tables = tuple(table for table in tables if any(runs[table, library] for library in uses))
    libraries = tuple(uses)
    if not _ended(runs, tables, libraries):
        return NOTHING
    parts = [
        _introduction(runs, tables, libraries, minutes),
        markdown(["library", "how it was used"], [[name, how] for name, how in uses.items()]),
        "**In short.** Mean ranks over the tables that all were tried on (1 is best, who did not end is last), and "
        "geometric means of ratios to ours over the tables that both ended on.",
        _summary(runs, tables, libraries),
        _who_is_better(runs, tables, libraries),
        _picture_of_quality(runs, tables, libraries),
        *(f"**{one.title}**\n\n{_quality(runs, tables, libraries, one)}" for one in QUALITY),
        "**Processor time of the fit, as a ratio to ours**\n\n" + _ratios(runs, tables, libraries, "processor", "s"),
        _picture_of_time(runs, tables, libraries),
        "**Peak memory in GB**\n\n" + _memory(runs, tables, libraries),
        _not_ended(runs),
    ]
    return "\n\n".join(part for part in parts if part)


def _good(runs: dict[int, Run]) -> list[Run]:
    return [run for run in runs.values() if "failed" not in run]


def _ended(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...]) -> list[Run]:
    return [run for table in tables for library in libraries for run in _good(runs[table, library])]


def _values(runs: dict[int, Run], key: str) -> list[float]:
    return [run[key] for run in _good(runs)]


def _mean(runs: dict[int, Run], key: str) -> float | None:
    return fmean(values) if (values := _values(runs, key)) else None


def _on_common_splits(runs: Runs, table: str, libraries: tuple[str, ...]) -> dict[str, dict[int, Run]]:
    """Of all libraries that were tried on a table, the runs on the splits that all of them have."""
    tried = [set(runs[table, library]) for library in libraries if runs[table, library]]
    common = set.intersection(*tried) if tried else set()
    return {k: {seed: run for seed, run in runs[table, k].items() if seed in common} for k in libraries}


def _introduction(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...], minutes: int) -> str:
    most = max(len(runs[table, library]) for table in tables for library in libraries)
    times = "once" if most == 1 else f"up to {most} times"
    return (
        f"{len(tables)} tables (docs/tables.md says which), of which a random tenth is tested on, {times}. "
        "Scores are means over the splits that all libraries tried on a table have, gains in log density over those "
        "that both have; times and memory are medians (least–most), ratios those of the same split. Scores are in "
        "units of the target's standard deviation in the training rows; the target of sgemmProd is a logarithm. Every "
        f"run is a process of its own with two threads. It is given {minutes} minutes of processor time, as wall time "
        "depends on who else uses the machine; a run that needs more is kept as "
        "such.\n\n" + circumstances(_ended(runs, tables, libraries))
    )


# tables


def _text(runs: dict[int, Run], value: str) -> str:
    """A mean, with those runs that it lacks; or why there is none."""
    if not runs:
        return "–"
    failures = [run["failed"].partition(":")[0] for run in runs.values() if "failed" in run]
    if len(failures) == len(runs):
        return failures[0]
    return value + (f" ({len(failures)} of {len(runs)} {failures[0]})" if failures else "")


def _quality(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...], measure: Measure) -> str:
    rows = []
    for table in tables:
        common = _on_common_splits(runs, table, libraries)
        means = {library: _mean(common[library], measure.key) for library in libraries}
        shown = {library: f"{mean:.3f}" for library, mean in means.items() if mean is not None}
        least = min((measure.loss(float(value)) for value in shown.values()), default=0.0)
        bold = {k: f"**{v}**" if measure.loss(float(v)) <= least + 1e-9 else v for k, v in shown.items()}
        splits = max(len(common[library]) for library in libraries)
        rows.append([table, str(splits), *(_text(common[k], bold.get(k, "")) for k in libraries)])
    return markdown(["table", "splits", *libraries], rows)


def _ratio(runs: Runs, key: str, table: str, library: str) -> float | None:
    return median(found) if (found := _ratios_of(runs, key, table, library)) else None


def _ratios_of(runs: Runs, key: str, table: str, library: str) -> list[float]:
    """To ours, on every split that both ended on."""
    return [theirs / ours for theirs, ours in _pairs(runs, key, table, library)]


def _gain(runs: Runs, table: str, library: str) -> float | None:
    pairs = _pairs(runs, "log_density", table, library)
    return fmean(theirs - ours for theirs, ours in pairs) if pairs else None


def _pairs(runs: Runs, key: str, table: str, library: str) -> list[tuple[float, float]]:
    """A library's number and ours, of the splits that both ended on."""
    theirs, ours = runs[table, library], runs[table, OURS]
    both = [(theirs[seed], ours[seed]) for seed in theirs if seed in ours]
    return [(one[key], other[key]) for one, other in both if "failed" not in one and "failed" not in other]


def _ratios(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...], key: str, unit: str) -> str:
    others = [library for library in libraries if library != OURS]
    rows = []
    for table in tables:
        ours = _values(runs[table, OURS], key)
        rows.append(
            [table, _size(runs, table, libraries), f"{spread(ours, 2)} {unit}" if ours else "–"]
            + [_text(runs[table, one], spread(_ratios_of(runs, key, table, one), 2)) for one in others]
        )
    return markdown(["table", "rows × columns", OURS, *others], rows)


def _size(runs: Runs, table: str, libraries: tuple[str, ...]) -> str:
    ended = _ended(runs, (table,), libraries)
    return f"{ended[0]['rows']:,} × {ended[0]['columns']}" if ended else "–"


def _memory(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    rows = []
    for table in tables:
        ended = {library: _values(runs[table, library], "peak_gb") for library in libraries}
        peaks = {library: median(values) for library, values in ended.items() if values}
        least = min(peaks.values(), default=None)
        texts = {k: f"**{v:.2f}**" if v == least else f"{v:.2f}" for k, v in peaks.items()}
        rows.append([table, *(_text(runs[table, library], texts.get(library, "")) for library in libraries)])
    return markdown(["table", *libraries], rows)


# in short


def _summary(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    common = [table for table in tables if all(runs[table, library] for library in libraries)]
    ranks = {measure.key: _mean_ranks(runs, common, libraries, measure) for measure in QUALITY}
    rows = []
    for library in libraries:
        ended = sum(bool(_good(runs[table, library])) for table in tables)
        row = [library, str(ended), *(f"{ranks[measure.key][library]:.1f}" if common else "–" for measure in QUALITY)]
        for key in RATIOS:
            values = [value for table in tables if (value := _ratio(runs, key, table, library))]
            row.append(short(geometric_mean(values), 2) if values else "–")
        failed = sum("failed" in run for table in tables for run in runs[table, library].values())
        rows.append([*row, str(failed)])
    names = ["log density", "RMSE", "CRPS", "coverage"]
    head = [
        "library",
        "tables",
        *(f"rank in {name}" for name in names),
        *(f"{name}, × ours" for name in RATIOS.values()),
    ]
    return (
        f"Ranks are over {len(common)} tables; ratios of libraries with different tables do not compare.\n\n"
        + markdown([*head, "runs that did not end"], rows)
    )


def _mean_ranks(runs: Runs, tables: list[str], libraries: tuple[str, ...], measure: Measure) -> dict[str, float]:
    ranks: dict[str, list[float]] = {library: [] for library in libraries}
    for table in tables:
        common = _on_common_splits(runs, table, libraries)
        means = {library: _mean(common[library], measure.key) for library in libraries}
        losses = {k: float("inf") if mean is None else measure.loss(mean) for k, mean in means.items()}
        for library in libraries:
            better = sum(loss < losses[library] for loss in losses.values())
            equal = sum(loss == losses[library] for loss in losses.values())
            ranks[library].append(better + (equal + 1) / 2)
    return {library: fmean(values) if values else float("nan") for library, values in ranks.items()}


def _who_is_better(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    wins = []
    for library in libraries:
        gains = {table: _gain(runs, table, library) for table in tables if library != OURS}
        clear = {table: gain for table, gain in gains.items() if gain is not None and gain > CLEAR}
        if clear:
            found = ", ".join(f"{table} (+{gain:.2f})" for table, gain in clear.items())
            wins.append(f"- {library}, on {len(clear)} of {sum(g is not None for g in gains.values())}: {found}.")
    return (
        f"**Where others are better** in log density, by more than {CLEAR}:\n\n" + "\n".join(wins) + "\n\n"
        "By default our model is a sum of effects of single columns and of up to six pairs of numeric columns, with "
        "noise that is the same everywhere. Trees (LightGBM, NGBoost) and a process of all columns (GPyTorch, GPR) can "
        "hold interactions of more columns and of more pairs, and jumps; `tabular-interactions` below takes "
        "interactions away from LightGBM. NGBoost and the quantiles of LightGBM also let the noise depend on the row; "
        "how much of their gain in log density that makes has not been measured."
    )


def show_interactions(tables: tuple[str, ...], results: Results) -> str:
    """RMSE of LightGBM with and without interactions, beside ours in the other benchmark."""
    ours = Results(results.path.with_name("tabular.json"))
    rows = []
    for table in tables:
        both = {"theirs": results.by_seed(table), "ours": ours.by_seed(cell_name(table, OURS))}
        common = sorted(set(both["theirs"]) & set(both["ours"]))
        theirs, own = ({seed: runs[seed] for seed in common} for runs in both.values())
        if common:
            means = [_mean(own, "rmse"), *(_mean(theirs, key) for key in ("additive", "free"))]
            rows.append([table, str(len(common)), *("–" if mean is None else f"{mean:.3f}" for mean in means)])
    if not rows:
        return NOTHING
    head = ["table", "splits", OURS, "LightGBM, trees of one column", "LightGBM"]
    return (
        "RMSE of LightGBM's model of the mean as it is, and with trees that see one column each, so that it is a sum "
        "of effects of single columns; all else is the same. Ours has pairs too.\n\n" + markdown(head, rows)
    )


def _not_ended(runs: Runs) -> str:
    """Every run that failed, by what it said."""
    lines = []
    for (table, library), of_cell in runs.items():
        for seed, run in of_cell.items():
            if "failed" in run:
                worked = f" ({run['processor']} s of processor time)" if "processor" in run else ""
                lines.append(f"- {library} on {table}, split {seed}: {run['failed']}{worked}.")
    return "**Runs that did not end**\n\n" + "\n".join(lines) if lines else ""


# pictures


def _picture_of_quality(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    label = "mean log density less ours: to the right is better than ours"
    scale = {"value": "symlog", "linthresh": 0.5, "linscale": 1.5}  # some are far worse
    return _dots(tables, libraries, partial(_gain, runs), label, "tabular-log-density", scale)


def _picture_of_time(runs: Runs, tables: tuple[str, ...], libraries: tuple[str, ...]) -> str:
    label = "processor time of the fit, × ours: to the right is slower than ours"
    ratio = partial(_ratio, runs, "processor")
    return _dots(tables, libraries, ratio, label, "tabular-time", {"value": "log"})


def _dots(
    tables: tuple[str, ...],
    libraries: tuple[str, ...],
    value: Callable[[str, str], float | None],
    label: str,
    name: str,
    scale: dict[str, Any],
) -> str:
    """A row for each table, a dot for each other library; the line in the middle is ours."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(9, 2 + 0.3 * len(tables)), layout="constrained")
    for i, library in enumerate(library for library in libraries if library != OURS):
        points = [(value(table, library), row) for row, table in enumerate(tables)]
        points = [(x, row) for x, row in points if x is not None]
        marker = "osD^vPX"[i % 7]
        ax.plot(
            [x for x, _ in points], [row for _, row in points], marker, color=f"C{i}", ms=6, alpha=0.85, label=library
        )
    ax.set_xscale(**scale)
    ax.axvline(1.0 if scale["value"] == "log" else 0.0, color="0.2", lw=1)
    ax.set_yticks(range(len(tables)), tables)
    ax.set_ylim(len(tables) - 0.5, -0.5)
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel(label)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    shown = picture(figure, name)
    plt.close(figure)
    return shown
