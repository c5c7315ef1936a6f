"""Test log-likelihood against wall time on the paper's synthetic rows: SVGP and SGPR of three libraries, and ours."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain, product, zip_longest
from math import inf
from typing import Any

from benchmarks import quality
from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh
from benchmarks.saved_rows import saved_rows
from benchmarks.showing import circumstances, markdown, picture, pyplot, spread
from benchmarks.synthetic import additive_rows

COLUMNS = (1, 5, 10)
REPEATS = 3
LONG_REPEATS = 1  # of SGPR, and of constant rates, whose end is less certain than that of cooled ones
STEPS = (50, 100, 150, 250, 400, 600, 1000, 1600, 2500, 4000, 6000, 8000)
SVGP = {"GPflow": "gpflow", "GPyTorch": "gpytorch", "GPJax": "gpjax"}
RATES = ("constant", "cooled")
# all rows are in memory at once, several times over for the gradient: 3.9 GB with 500 points at D = 1, and every column
# adds a kernel matrix of its own
SGPR = {1: (100, 500), 5: (100,), 10: (100,)}
SGPR_LIMIT = 480.0
HARMONICS, ITERATIONS = ("default", "10", "40"), ("1", "3", "10", "default")
LEAST_GAP = 2e-4  # of what is drawn; what is closer to the true process differs from it by chance

Curve = list[dict[str, float]]  # seconds "at" the wall and of the "processor", and the scores by then


def oracle(D: int, seed: int) -> dict[str, Any]:
    """The Gaussian process with the parameters that made the rows."""
    return asdict(quality.oracle(additive_rows(D, seed=seed)))


def svgp(environment: str, rates: str, D: int, seed: int) -> dict[str, Any]:
    return fresh(environment, "curve", f"{environment}_svgp", saved_rows(D, seed), seed, rates, *STEPS)


def sgpr(n_points: int, D: int, seed: int) -> dict[str, Any]:
    return fresh("gpflow", "gpflow_sgpr", saved_rows(D, seed), seed, n_points, SGPR_LIMIT)


def ours(n_harmonics: str, max_iter: str, D: int, seed: int) -> dict[str, Any]:
    return fresh("odvff", "odvff_fit", saved_rows(D, seed), n_harmonics, max_iter)


def _our_name(n_harmonics: str, max_iter: str, D: int) -> str:
    return f"odvff | D={D} | harmonics={n_harmonics} | iterations={max_iter}"


def _svgp_name(library: str, rates: str, D: int) -> str:
    return f"{library} SVGP | D={D} | rates={rates}"


def cells() -> list[Cell]:
    made = []
    for D in COLUMNS:
        made.append(Cell(f"oracle | D={D}", partial(oracle, D), REPEATS, 0.3))
        for F in HARMONICS:
            made += [Cell(_our_name(F, n, D), partial(ours, F, n, D), REPEATS, 0.05) for n in ITERATIONS]
        for name, environment in SVGP.items():
            for rates in RATES:
                job = partial(svgp, environment, rates, D)
                repeats = REPEATS if rates == "cooled" else LONG_REPEATS
                made.append(Cell(_svgp_name(name, rates, D), job, repeats, 1.5 + 0.15 * D))
        for M in SGPR[D]:
            made.append(Cell(f"GPflow SGPR | D={D} | points={M}", partial(sgpr, M, D), LONG_REPEATS, 9.0))
    return made


TEXT = f"""\
50,000 rows of a sum of D functions, one for each column (Matérn-3/2 with lengthscale 0.1 and unit variance, noise
variance 0.2, uniform inputs), and 20,000 rows to test. SVGP has 100 inducing points, an additive Matérn-3/2 kernel with
a lengthscale and a variance for each column, batches of 500, natural gradients (rate 0.1) for q and Adam (rate 0.01)
for everything else, as the tutorials of all three libraries have it. It starts from rows taken at random as points, a
third of the range as lengthscale, and a tenth of the variance of y as noise. Rates are *constant*, as in the tutorials,
or *cooled*: over the last 2000 steps both fall to a hundredth, which averages the noise of the batches away. GPflow and
GPJax are in float64, GPyTorch in float32, as is usual there. SGPR is GPflow's, by L-BFGS on all rows, for at most 200
iterations or {SGPR_LIMIT:.0f} seconds; with 500 points it took 3.9 GB at D = 1 and was not tried with more columns,
each of which adds a kernel matrix. Ours is `ODVFFRegressor`, fitted in one go; the points of its curve are separate
fits, stopped after 1, 3 and 10 iterations.

Every run is a fresh process, and its clock starts with the process: imports and compilation count, predicting the test
rows does not. Seconds of the processor are those that all threads worked, whoever else was on the machine. *True* is
the Gaussian process with the parameters that made the rows. Median over seeds (least–most)."""


def show(results: Results) -> str:
    parts = [TEXT, "**Seconds to the quality that the best SVGP has after 8000 steps**", _headline(results)]
    parts += ["**Whole runs**", _whole_runs(results), _picture(results)]
    everything = [run for cell in cells() if "oracle" not in cell.name for run in results.of(cell.name)]
    return "\n\n".join([*parts, circumstances(everything)])


def _headline(results: Results) -> str:
    """Seconds to the target of each seed, and the ratio of the fastest peer's to ours."""
    rows = []
    for D, rates in product(COLUMNS, RATES):
        svgps = _together(_curves(results, _svgp_name(library, rates, D)) for library in SVGP)
        sgprs = _together(_curves(results, f"GPflow SGPR | D={D} | points={M}") for M in SGPR[D])
        targets = [max(curve[-1]["log_density"] for curve in curves) for curves in svgps]
        fastest, worked = _fastest_to(targets, svgps), _fastest_to(targets, svgps, "processor")
        reached = [seconds for seconds in _fastest_to(targets, sgprs) if seconds < inf]
        for F in HARMONICS if targets else ():
            whole = [[curve] for curve in _curves(results, _our_name(F, "default", D))]
            seconds, ratio = _against(fastest, _fastest_to(targets, whole))
            _, processor_ratio = _against(worked, _fastest_to(targets, whole, "processor"))
            early, early_ratio = _against(fastest, _fastest_to(targets, _ours(results, F, D)))
            columns = [spread(targets), spread(fastest), spread(reached), _title(F), seconds, ratio, processor_ratio]
            rows.append([str(D), rates, *columns, early, early_ratio])
    head = ["D", "rates", "log-likelihood to reach", "fastest SVGP, s", "SGPR, s", "ours", "s", "ratio"]
    return markdown([*head, "ratio of processor seconds", "ours at its earliest, s", "ratio"], rows)


def _ours(results: Results, n_harmonics: str, D: int) -> list[list[Curve]]:
    """Of each seed our fits with few iterations and with all."""
    return _together(_curves(results, _our_name(n_harmonics, n, D)) for n in ITERATIONS)


def _together(curves: Iterable[list[Curve]]) -> list[list[Curve]]:
    """The curves of one seed after the other, as far as there are any."""
    return [[curve for curve in of_a_seed if curve] for of_a_seed in zip_longest(*curves)]


def _fastest_to(targets: list[float], by_seed: Sequence[Sequence[Curve]], clock: str = "at") -> list[float]:
    """The first moment at which any of a seed's curves is as good as its target."""
    return [
        min((point[clock] for curve in curves for point in curve if point["log_density"] >= target), default=inf)
        for target, curves in zip(targets, by_seed, strict=False)
    ]


def _against(peer: list[float], own: list[float]) -> list[str]:
    """Our seconds, and how many times as many the peer took."""
    if inf in own:
        return ["not reached", "–"]
    return [spread(own), spread([theirs / ours for theirs, ours in zip(peer, own, strict=False)], 2)]


def _whole_runs(results: Results) -> str:
    rows = []
    for D in COLUMNS:
        true = [run["log_density"] for run in results.of(f"oracle | D={D}")]
        rows.append([str(D), "true", "", "", "", spread(true, 4), "", *_scores(results.of(f"oracle | D={D}")), ""])
        for title, name in [*((f"odvff, {_title(F)}", _our_name(F, "default", D)) for F in HARMONICS), *_peers(D)]:
            runs = results.of(name)
            if not runs:
                continue
            ends = [run["curve"][-1] for run in runs]
            gaps = [end["log_density"] - best for end, best in zip(ends, true, strict=False)]
            rows.append(
                [
                    str(D),
                    title,
                    spread([run["imported"] for run in runs], 2),
                    spread([run["first_step"] - run["imported"] for run in runs if "first_step" in run], 2),
                    spread([run["total"] for run in runs]),
                    spread([end["log_density"] for end in ends], 4),
                    spread(gaps, 2),
                    *_scores(ends),
                    spread([run["peak_gb"] for run in runs], 2),
                ]
            )
    head = ["D", "", "imports, s", "to the end of the first step, s", "in all, s", "log-likelihood", "less the true"]
    return markdown([*head, "RMSE", "coverage of 95 %", "memory, GB"], rows)


def _scores(ends: list[dict[str, Any]]) -> list[str]:
    return [spread([end[name] for end in ends], 3) for name in ("rmse", "coverage")]


def _peers(D: int) -> list[tuple[str, str]]:
    """Titles and cells."""
    return [
        *((f"{name} SVGP, {rates} rates", _svgp_name(name, rates, D)) for name in SVGP for rates in RATES),
        *((f"GPflow SGPR, {M} points", f"GPflow SGPR | D={D} | points={M}") for M in SGPR[D]),
    ]


def _title(n_harmonics: str) -> str:
    return "default arguments" if n_harmonics == "default" else f"{n_harmonics} harmonics"


def _curves(results: Results, name: str) -> list[Curve]:
    return [run["curve"] for run in results.of(name)]


def _picture(results: Results) -> str:
    """How far below the true process, against time; a line for each seed."""
    plt = pyplot()
    figure, axes = plt.subplots(1, len(COLUMNS), figsize=(13, 4.2), sharex=True, sharey=True, layout="constrained")
    for ax, D in zip(axes, COLUMNS, strict=True):
        true = [run["log_density"] for run in results.of(f"oracle | D={D}")]
        drawn = [(f"odvff, {_title(F)}", [list(chain(*c)) for c in _ours(results, F, D)]) for F in HARMONICS]
        drawn += [(title, _curves(results, name)) for title, name in _peers(D)]
        for title, curves in drawn:
            for seed, (curve, best) in enumerate(zip(curves, true, strict=False)):
                gaps = [max(best - point["log_density"], LEAST_GAP) for point in curve]
                label = None if seed else title
                ax.plot([point["at"] for point in curve], gaps, lw=1.2, ms=4, label=label, **_look(title))
        ax.set(xscale="log", yscale="log", xlabel="wall seconds since the start of the process", title=f"D = {D}")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("log-likelihood lost to the true process")
    axes[0].invert_yaxis()
    handles = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    text = picture(figure, "time-to-quality")
    plt.close(figure)
    return text


def _look(title: str) -> dict[str, str]:
    """A colour for each library and a line for each of its ways; ours are points that were separate fits."""
    library = title.partition(",")[0]
    color = {"odvff": "C3", "GPflow SVGP": "C0", "GPyTorch SVGP": "C1", "GPJax SVGP": "C2", "GPflow SGPR": "C4"}[
        library
    ]
    ways = {
        "10 harmonics": "s:",
        "40 harmonics": "^--",
        "default arguments": "o-",
        "cooled rates": "--",
        "500 points": "--",
    }
    way = next((way for end, way in ways.items() if title.endswith(end)), "-")
    return {"color": color, "marker": way[0] if way[0] not in "-:" else "", "linestyle": way.lstrip("os^")}


TIME_TO_QUALITY = [
    Experiment("time-to-quality", "log-likelihood against wall time, N = 50,000, D = 1, 5, 10", cells, show)
]
