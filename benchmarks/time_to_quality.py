"""Test log-likelihood against wall time on the paper's synthetic rows: SVGP and SGPR of three libraries, and ours."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
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
STEPS = (50, 100, 150, 250, 400, 600, 1000, 1600, 2500, 4000, 6000, 8000)
SVGP = {"GPflow": "gpflow", "GPyTorch": "gpytorch", "GPJax": "gpjax"}
# all rows are in memory at once, several times over for the gradient: with 500 points about 2 GB for each column
SGPR = {1: (100, 500), 5: (100,), 10: (100,)}
SGPR_LIMIT = 480.0
HARMONICS, ITERATIONS = ("default", "10", "40"), ("1", "3", "10", "default")
LEAST_GAP = 2e-4  # of what is drawn; what is closer to the true process differs from it by chance

Curve = list[dict[str, float]]  # "at", in seconds, and the scores by then


def oracle(D: int, seed: int) -> dict[str, Any]:
    """The Gaussian process with the parameters that made the rows."""
    return asdict(quality.oracle(additive_rows(D, seed=seed)))


def svgp(environment: str, D: int, seed: int) -> dict[str, Any]:
    return fresh(environment, "curve", f"{environment}_svgp", saved_rows(D, seed), seed, *STEPS)


def sgpr(n_points: int, D: int, seed: int) -> dict[str, Any]:
    return fresh("gpflow", "gpflow_sgpr", saved_rows(D, seed), seed, n_points, SGPR_LIMIT)


def ours(n_harmonics: str, max_iter: str, D: int, seed: int) -> dict[str, Any]:
    return fresh("odvff", "odvff_fit", saved_rows(D, seed), n_harmonics, max_iter)


def _our_name(n_harmonics: str, max_iter: str, D: int) -> str:
    return f"odvff | D={D} | harmonics={n_harmonics} | iterations={max_iter}"


def cells() -> list[Cell]:
    made = []
    for D in COLUMNS:
        made.append(Cell(f"oracle | D={D}", partial(oracle, D), REPEATS, 0.3))
        for F in HARMONICS:
            made += [Cell(_our_name(F, n, D), partial(ours, F, n, D), REPEATS, 0.05) for n in ITERATIONS]
        for name, environment in SVGP.items():
            made.append(Cell(f"{name} SVGP | D={D}", partial(svgp, environment, D), REPEATS, 3.0 + 0.3 * D))
        for M in SGPR[D]:
            made.append(Cell(f"GPflow SGPR | D={D} | points={M}", partial(sgpr, M, D), REPEATS, 9.0))
    return made


TEXT = f"""\
50,000 rows of a sum of D functions, one for each column (Matérn-3/2 with lengthscale 0.1 and unit variance, noise
variance 0.2, uniform inputs), and 20,000 rows to test. SVGP has 100 inducing points, an additive Matérn-3/2 kernel with
a lengthscale and a variance for each column, batches of 500, natural gradients (rate 0.1) for q and Adam (rate 0.01)
for everything else, as the tutorials of all three libraries have it. It starts from rows taken at random as points, a
third of the range as lengthscale, and a tenth of the variance of y as noise. GPflow and GPJax are in float64, GPyTorch
in float32, as is usual there. SGPR is GPflow's, by L-BFGS on all rows, for at most 200 iterations or
{SGPR_LIMIT:.0f} seconds; with 500 points it needs about 2 GB for each column, so that D = 1 is all there is of it.
Ours is `ODVFFRegressor`, fitted in one go; the points of its curve are separate fits, stopped after 1, 3 and 10
iterations.

Every run is a fresh process, and its clock starts with the process: imports and compilation count, predicting the test
rows does not. *True* is the Gaussian process with the parameters that made the rows. Median over seeds (least–most)."""


def show(results: Results) -> str:
    parts = [TEXT, "**Seconds to the quality that the best SVGP has after 8000 steps**", _headline(results)]
    parts += ["**Whole runs**", _whole_runs(results), _picture(results)]
    everything = [run for cell in cells() if "oracle" not in cell.name for run in results.of(cell.name)]
    return "\n\n".join([*parts, circumstances(everything)])


def _headline(results: Results) -> str:
    """Seconds to the target of each seed, and the ratio of the fastest peer's to ours."""
    rows = []
    for D in COLUMNS:
        svgps = _together(_curves(results, f"{name} SVGP | D={D}") for name in SVGP)
        sgprs = _together(_curves(results, f"GPflow SGPR | D={D} | points={M}") for M in SGPR[D])
        targets = [max(curve[-1]["log_density"] for curve in curves) for curves in svgps]
        fastest = _fastest_to(targets, svgps)
        reached = [seconds for seconds in _fastest_to(targets, sgprs) if seconds < inf]
        for F in HARMONICS:
            whole = [[curve] for curve in _curves(results, _our_name(F, "default", D))]
            found = [_against(fastest, _fastest_to(targets, curves)) for curves in (whole, _ours(results, F, D))]
            rows.append([str(D), _title(F), spread(targets), spread(fastest), spread(reached), *found[0], *found[1]])
    head = ["D", "ours", "log-likelihood to reach", "fastest SVGP, s", "SGPR, s"]
    return markdown([*head, "ours, s", "ratio", "ours at its earliest, s", "ratio"], rows)


def _ours(results: Results, n_harmonics: str, D: int) -> list[tuple[Curve, ...]]:
    """Of each seed our fits with few iterations and with all."""
    return _together(_curves(results, _our_name(n_harmonics, n, D)) for n in ITERATIONS)


def _together(curves: Iterable[list[Curve]]) -> list[tuple[Curve, ...]]:
    """The curves of one seed after the other, of those seeds that all have."""
    return list(zip(*curves, strict=False))


def _fastest_to(targets: list[float], by_seed: Sequence[Sequence[Curve]]) -> list[float]:
    """The first moment at which any of a seed's curves is as good as its target."""
    return [
        min((point["at"] for curve in curves for point in curve if point["log_density"] >= target), default=inf)
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
        *((f"{name} SVGP", f"{name} SVGP | D={D}") for name in SVGP),
        *((f"GPflow SGPR, {M} points", f"GPflow SGPR | D={D} | points={M}") for M in SGPR[D]),
    ]


def _title(n_harmonics: str) -> str:
    return "default arguments" if n_harmonics == "default" else f"{n_harmonics} harmonics"


def _curves(results: Results, name: str) -> list[Curve]:
    return [run["curve"] for run in results.of(name)]


def _picture(results: Results) -> str:
    """How far below the true process, against time; a line for each seed."""
    plt = pyplot()
    figure, axes = plt.subplots(1, len(COLUMNS), figsize=(13, 4.2), sharey=True, layout="constrained")
    for ax, D in zip(axes, COLUMNS, strict=True):
        true = [run["log_density"] for run in results.of(f"oracle | D={D}")]
        drawn = [(f"odvff, {_title(F)}", [list(chain(*c)) for c in _ours(results, F, D)], "o-") for F in HARMONICS]
        drawn += [(title, _curves(results, name), "-") for title, name in _peers(D)]
        for color, (title, curves, style) in enumerate(drawn):
            for seed, (curve, best) in enumerate(zip(curves, true, strict=False)):
                gaps = [max(best - point["log_density"], LEAST_GAP) for point in curve]
                label = None if seed else title
                ax.plot([p["at"] for p in curve], gaps, style, ms=3.5, lw=1.2, color=f"C{color}", label=label)
        ax.set(xscale="log", yscale="log", xlabel="wall seconds since the start of the process", title=f"D = {D}")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("log-likelihood lost to the true process")
    axes[0].invert_yaxis()
    handles = {label: line for ax in axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    text = picture(figure, "time-to-quality")
    plt.close(figure)
    return text


TIME_TO_QUALITY = [
    Experiment("time-to-quality", "log-likelihood against wall time, N = 50,000, D = 1, 5, 10", cells, show)
]
