"""Test log-likelihood against wall time on the paper's synthetic rows: SVGP and SGPR of three libraries, and ours."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, product
from math import inf
from typing import Any

from benchmarks import quality
from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh
from benchmarks.saved_rows import saved_rows
from benchmarks.showing import circumstances, markdown, picture, pyplot, spread
from benchmarks.synthetic import additive_rows

COLUMNS = (1, 5, 10)
REPEATS = {1: 1, 5: 3, 10: 3}
# of an SVGP with 8000 steps, the last quarter of which is watched more closely, and shorter ones
WATCHED = (50, 100, 150, 250, 400, 600, 1000, 1600, 2500, 4000, 6000)
LONG, SHORT = 8000, (2000, 4000)
SVGP = {"GPflow": "gpflow", "GPyTorch": "gpytorch", "GPJax": "gpjax"}
# all rows are in memory at once, several times over for the gradient: 3.9 GB with 500 points at D = 1, and every column
# adds a kernel matrix of its own
SGPR = {1: (100, 500), 5: (100,), 10: (100,)}
SGPR_LIMIT = 240.0
# how our regressor is used: its harmonics and its points for the mean
DEFAULT = "default arguments"
USES = {
    DEFAULT: ("default", "default"),
    "20 harmonics, no points": ("20", "0"),
    "40 harmonics": ("40", "default"),
}
ITERATIONS = ("1", "3", "10", "default")
LEAST_GAP = 2e-4  # of what is drawn; what is closer to the true process differs from it by chance

Curve = list[dict[str, float]]  # seconds "at" the wall and of the "processor", and the scores by then


def oracle(D: int, seed: int) -> dict[str, Any]:
    """The Gaussian process with the parameters that made the rows."""
    return asdict(quality.oracle(additive_rows(D, seed=seed)))


def svgp(environment: str, last: int, D: int, seed: int) -> dict[str, Any]:
    return fresh(environment, "curve", f"{environment}_svgp", saved_rows(D, seed), seed, *watched(last))


def watched(last: int) -> list[int]:
    """Steps after which an SVGP is scored: more of them as its rates fall, and its quality rises."""
    warm = 3 * last // 4
    return [step for step in WATCHED if step <= warm] + [warm + k * (last - warm) // 8 for k in range(1, 9)]


def sgpr(n_points: int, D: int, seed: int) -> dict[str, Any]:
    return fresh("gpflow", "gpflow_sgpr", saved_rows(D, seed), seed, n_points, SGPR_LIMIT)


def ours(use: str, max_iter: str, D: int, seed: int) -> dict[str, Any]:
    return fresh("odvff", "odvff_fit", saved_rows(D, seed), *USES[use], max_iter)


def _our_name(use: str, max_iter: str, D: int) -> str:
    return f"odvff, {use} | D={D} | iterations={max_iter}"


def _svgp_name(library: str, last: int, D: int) -> str:
    return f"{library} SVGP | D={D} | steps={last}"


def _sgpr_names(D: int) -> list[str]:
    return [f"GPflow SGPR | D={D} | points={M}" for M in SGPR[D]]


def cells() -> list[Cell]:
    made = []
    for D in reversed(COLUMNS):  # what takes the most is what is asked for most
        made.append(Cell(f"oracle | D={D}", partial(oracle, D), REPEATS[D], 0.3))
        for use in USES:
            made += [Cell(_our_name(use, n, D), partial(ours, use, n, D), REPEATS[D], 0.05) for n in ITERATIONS]
        for last in (LONG, *(SHORT if D > 1 else ())):
            for name, environment in SVGP.items():
                minutes = (1.2 + 0.13 * D) * last / LONG
                made.append(Cell(_svgp_name(name, last, D), partial(svgp, environment, last, D), REPEATS[D], minutes))
        for M, name in zip(SGPR[D], _sgpr_names(D), strict=True):
            made.append(Cell(name, partial(sgpr, M, D), REPEATS[D], 4.5))
    return made


TEXT = f"""\
50,000 rows of a sum of D functions, one for each column (Matérn-3/2 with lengthscale 0.1 and unit variance, noise
variance 0.2, uniform inputs), and 20,000 rows to test. SVGP has 100 inducing points, an additive Matérn-3/2 kernel with
a lengthscale and a variance for each column, batches of 500, natural gradients (rate 0.1) for q and Adam (rate 0.01)
for everything else. It starts from rows taken at random as points, a third of the range as lengthscale, and a tenth of
the variance of y as noise. Rates are constant, as in the tutorials, until the last quarter of the steps, over which
both fall to a hundredth: that makes the noise of the batches small, and the end better. Runs of {SHORT[0]:,} and
{SHORT[1]:,} steps show what less time would do. GPflow and GPJax are in float64, GPyTorch in float32, as is usual
there. SGPR is GPflow's, by L-BFGS on all rows, for at most 200 iterations or {SGPR_LIMIT:.0f} seconds; with
500 points it took 4 GB at D = 1 and was not tried with more columns, each of which adds a kernel matrix. Ours is
`ODVFFRegressor`, fitted in one go; the points of its curve are separate fits, stopped after 1, 3 and 10 iterations. Who
is in a hurry asks for 20 harmonics a column and no points for the mean (`n_harmonics=20, n_inducing=0`).

Every run is a fresh process, and its clock starts with the process: imports and compilation count, predicting the test
rows does not. Seconds of the processor are those that all threads worked, whoever else was on the machine. *True* is
the Gaussian process with the parameters that made the rows. Median over seeds (least–most)."""


HEADLINE = """\
**Seconds to the quality that the best SVGP has after 8000 steps**, of the fastest of all runs of other libraries that
reach it and keep it, SGPR and shorter runs included; and to a quality that is so much less, in nats a row. Over the
seeds for which all have been run."""
LESS = (0.0, 0.001, 0.005, 0.02)


def show(results: Results) -> str:
    parts = [TEXT, HEADLINE, _headline(results)]
    parts += ["**Whole runs**", _whole_runs(results), _picture(results)]
    everything = [run for cell in cells() if "oracle" not in cell.name for run in results.of(cell.name)]
    return "\n\n".join([*parts, circumstances(everything)])


@dataclass(frozen=True)
class Race:
    """To the quality of the best SVGP, a number for each seed: seconds of the fastest other and of ours."""

    target: list[float]
    fastest: list[float]
    worked: list[float]  # by processors, for who needs the least of that
    ours: list[float]
    our_work: list[float]
    gap: list[float]  # from the true process to ours in the end

    @property
    def ratio(self) -> list[float]:
        return _ratio(self.fastest, self.ours)


def race(results: Results, D: int, use: str, less: float = 0.0, sgpr: bool = True) -> Race | None:
    """Over the seeds that all have; to a quality that is so much less than that of the best SVGP."""
    peers, true = targets_and_peers(results, D, less, sgpr), results.by_seed(f"oracle | D={D}")
    own = _curves(results, _our_name(use, "default", D))
    seeds = [seed for seed in peers if seed in own and seed in true]
    if not seeds:
        return None

    def moments(curves: Callable[[int], list[Curve]], clock: str = "at") -> list[float]:
        return [_fastest_to(peers[seed][0], curves(seed), clock) for seed in seeds]

    return Race(
        target=[peers[seed][0] for seed in seeds],
        fastest=moments(lambda seed: peers[seed][1]),
        worked=moments(lambda seed: peers[seed][1], "processor"),
        ours=moments(lambda seed: [own[seed]]),
        our_work=moments(lambda seed: [own[seed]], "processor"),
        gap=[own[seed][-1]["log_density"] - true[seed]["log_density"] for seed in seeds],
    )


def _headline(results: Results) -> str:
    rows = [
        _row(D, less, use, run, race(results, D, use, less, sgpr=False))
        for D, less, use in product(COLUMNS, LESS, USES)
        if (run := race(results, D, use, less))
    ]
    head = ["D", "less by", "log-likelihood to reach", "fastest other, s", "ours", "s", "ratio", "ratio, to SVGP alone"]
    head += ["ratio of processor seconds", "ours in the end, less the true process", "seeds"]
    return markdown(head, rows)


def _row(D: int, less: float, use: str, run: Race, svgp_alone: Race | None) -> list[str]:
    seconds, ratio = _against(run.fastest, run.ours)
    shown = [f"{less:g}", spread(run.target), spread(run.fastest), use, seconds, ratio]
    shown += [_against(svgp_alone.fastest, svgp_alone.ours)[1] if svgp_alone else "–"]
    shown += [_against(run.worked, run.our_work)[1], spread(run.gap, 2), str(len(run.gap))]
    return [str(D), *shown]


def targets_and_peers(results: Results, D: int, less: float, sgpr: bool = True) -> dict[int, tuple[float, list[Curve]]]:
    """Of every seed that all others have: the best SVGP's end, less so much, and the curves of all who might reach it.

    A seed that some lack is left out: they might have been the fastest.
    """
    long = [_curves(results, _svgp_name(library, LONG, D)) for library in SVGP]
    planned = [_svgp_name(library, last, D) for library in SVGP for last in SHORT if D > 1]
    planned += _sgpr_names(D) if sgpr else []
    everyone = [*long, *(_curves(results, name) for name in planned)]
    return {
        seed: (
            max(curves[seed][-1]["log_density"] for curves in long) - less,
            [curves[seed] for curves in everyone],
        )
        for seed in sorted(set.intersection(*(set(curves) for curves in everyone)))
    }


def _fastest_to(target: float, curves: Iterable[Curve], clock: str = "at") -> float:
    """The first moment from which on any of the curves stays as good as the target."""
    moments = [inf]
    for curve in curves:
        kept = [all(p["log_density"] >= target for p in curve[i:]) for i in range(len(curve))]
        moments += [curve[kept.index(True)][clock]] if True in kept else []
    return min(moments)


def _against(peer: list[float], own: list[float]) -> list[str]:
    """Our seconds, and how many times as many the peer took."""
    if inf in own:
        return ["not reached", "–"]
    return [spread(own), spread(_ratio(peer, own), 2)]


def _ratio(peer: list[float], own: list[float]) -> list[float]:
    return [theirs / ours for theirs, ours in zip(peer, own, strict=True)]


def _whole_runs(results: Results) -> str:
    rows = []
    for D in COLUMNS:
        raced = results.by_seed(_our_name(DEFAULT, "default", D))
        oracles = {seed: run for seed, run in results.by_seed(f"oracle | D={D}").items() if seed in raced}
        true = {seed: run["log_density"] for seed, run in oracles.items()}
        own = [str(D), "true", "", "", "", spread(list(true.values()), 4), ""]
        rows.append([*own, *_scores(list(oracles.values())), ""])
        for title, name in [*((f"odvff, {use}", _our_name(use, "default", D)) for use in USES), *_peers(D)]:
            by_seed = results.by_seed(name)
            runs = list(by_seed.values())
            if not runs:
                continue
            ends = [run["curve"][-1] for run in runs]
            gaps = [run["curve"][-1]["log_density"] - true[seed] for seed, run in by_seed.items() if seed in true]
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
        *((f"{name} SVGP, {last:,} steps", _svgp_name(name, last, D)) for name in SVGP for last in (LONG, *SHORT)),
        *((f"GPflow SGPR, {M} points", name) for M, name in zip(SGPR[D], _sgpr_names(D), strict=True)),
    ]


def _curves(results: Results, name: str) -> dict[int, Curve]:
    """By seed."""
    return {seed: run["curve"] for seed, run in results.by_seed(name).items()}


def _our_curves(results: Results, use: str, D: int) -> dict[int, Curve]:
    """Of each seed our fits with few iterations and with all, in the order of time."""
    fits = [_curves(results, _our_name(use, n, D)) for n in ITERATIONS]
    seeds = set(chain(*fits))
    joined = {seed: [point for fit in fits for point in fit.get(seed, [])] for seed in seeds}
    return {seed: sorted(curve, key=lambda point: point["at"]) for seed, curve in joined.items()}


def _picture(results: Results) -> str:
    """How far below the true process, against time; a line for each seed."""
    plt = pyplot()
    figure, axes = plt.subplots(1, len(COLUMNS), figsize=(13, 4.2), sharex=True, sharey=True, layout="constrained")
    for ax, D in zip(axes, COLUMNS, strict=True):
        true = {seed: run["log_density"] for seed, run in results.by_seed(f"oracle | D={D}").items()}
        drawn = [(f"odvff, {use}", _our_curves(results, use, D)) for use in USES]
        drawn += [(title, _curves(results, name)) for title, name in _peers(D)]
        for title, curves in drawn:
            for i, seed in enumerate(seed for seed in sorted(curves) if seed in true):
                curve = curves[seed]
                gaps = [max(true[seed] - point["log_density"], LEAST_GAP) for point in curve]
                label = None if i else title
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
        "no points": "s:",
        "40 harmonics": "^--",
        "default arguments": "o-",
        "2,000 steps": ":",
        "4,000 steps": "--",
        "500 points": "--",
    }
    way = next((way for end, way in ways.items() if title.endswith(end)), "-")
    return {"color": color, "marker": way[0] if way[0] not in "-:" else "", "linestyle": way.lstrip("os^")}


TIME_TO_QUALITY = [
    Experiment("time-to-quality", "log-likelihood against wall time, N = 50,000, D = 1, 5, 10", cells, show)
]
