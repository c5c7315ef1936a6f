"""Seconds of a stochastic step: ODVFF, ODVGP and SVGP of ours, and SVGP of three libraries."""

from functools import partial
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh
from benchmarks.saved_rows import saved_rows
from benchmarks.showing import circumstances, markdown, spread

D, REPEATS = 10, 3
OURS = {
    "odvff, ODVFF: \\|γ\\| = 90, 5 harmonics in each column": "odvff",
    "odvff, ODVGP: 50 + 50 points": "odvgp",
    "odvff, SVGP: 100 points": "svgp",
}
PEERS = {
    "GPJax, SVGP: 100 points": "gpjax",
    "GPflow, SVGP: 100 points": "gpflow",
    "GPyTorch, SVGP: 100 points, float32": "gpytorch",
}


def ours(method: str, seed: int) -> dict[str, Any]:
    return fresh("odvff", "step", "odvff_stochastic", saved_rows(D, seed), seed, method)


def peer(environment: str, seed: int) -> dict[str, Any]:
    return fresh(environment, "step", f"{environment}_svgp", saved_rows(D, seed), seed)


def cells() -> list[Cell]:
    return [
        *(Cell(f"odvff | {method}", partial(ours, method), REPEATS, 0.7) for method in OURS.values()),
        *(Cell(environment, partial(peer, environment), REPEATS, 1.0) for environment in PEERS.values()),
    ]


TEXT = f"""\
One step of natural gradients for q and of Adam for everything else, locations of points included, on a batch of 500 of
50,000 rows, D = {D}: the median over blocks of 50 steps in a fresh process. Imports are what has passed from the start
of the process until they end, the first step what has passed from then until it ends: tracing and compilation are in
it, and not in the others. All in float64 but GPyTorch, whose default is float32. The ratio is to the fastest of the
other libraries in the same round. Median over rounds (least–most)."""


def show(results: Results) -> str:
    steps = {name: _steps(results, name) for _, name in _all()}
    rounds = set.intersection(*(set(steps[name]) for name in PEERS.values()))
    fastest = {seed: min(steps[name][seed] for name in PEERS.values()) for seed in rounds}
    rows, everything = [], []
    for title, name in _all():
        runs = results.of(name)
        everything += runs
        ratios = [step / fastest[seed] for seed, step in steps[name].items() if seed in fastest]
        imports = spread([run["imported"] for run in runs], 2)
        first = spread([run["first_step"] - run["imported"] for run in runs])
        rows.append([title, spread([1e3 * s for s in steps[name].values()]), spread(ratios, 2), imports, first])
    table = markdown(["", "ms a step", "in steps of the fastest peer", "imports, s", "first step, s"], rows)
    return f"{TEXT}\n\n{table}\n\n{circumstances(everything)}"


def _all() -> list[tuple[str, str]]:
    """Titles and cells."""
    return [*((title, f"odvff | {method}") for title, method in OURS.items()), *PEERS.items()]


def _steps(results: Results, name: str) -> dict[int, float]:
    """By seed, which is the round."""
    return {seed: run["step"] for seed, run in results.by_seed(name).items()}


STEP = [Experiment("step", "seconds of a stochastic step, D = 10, batches of 500", cells, show)]
