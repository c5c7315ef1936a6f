"""Rows predicted in a second, with and without standard deviation."""

from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh
from benchmarks.saved_rows import saved_rows
from benchmarks.showing import circumstances, markdown, short, spread

D, REPEATS = 10, 3


@dataclass(frozen=True)
class Way:
    """How a model is made and how many rows it is asked for."""

    environment: str
    module: str
    rows: int
    training: tuple[str, ...]  # steps, or "whole" and the arguments of the model


WAYS = {
    "odvff, default arguments": Way("odvff", "odvff_regressor", 1_000_000, ("whole",)),
    "odvff, 10 harmonics": Way("odvff", "odvff_regressor", 1_000_000, ("whole", "10")),
    "odvff, 10 harmonics, no points for the mean": Way(
        "odvff", "odvff_regressor", 1_000_000, ("whole", "10", "default", "0")
    ),
    "GPyTorch, SVGP: 100 points, float32": Way("gpytorch", "gpytorch_svgp", 200_000, ("200",)),
    "GPflow, SVGP: 100 points": Way("gpflow", "gpflow_svgp", 200_000, ("200",)),
    "interpret, EBM without interactions": Way("interpret", "interpret_ebm", 1_000_000, ("whole", "0")),
    "interpret, EBM with default interactions": Way("interpret", "interpret_ebm", 1_000_000, ("whole", "default")),
}


def predict(way: Way, seed: int) -> dict[str, Any]:
    return fresh(way.environment, "prediction", way.module, saved_rows(D, seed), way.rows, *way.training)


def cells() -> list[Cell]:
    return [Cell(name, partial(predict, way), REPEATS, 1.5) for name, way in WAYS.items()]


TEXT = f"""\
Thousands of rows in a second, D = {D}, by models of 50,000 rows: the median of five predictions of 1,000,000 rows
(200,000 for SVGP, in parts of 5,000), after one of 10,000 that compiles and warms up. GPflow predicts by a
compiled function of `model.posterior()`, GPyTorch in its evaluation mode without gradients, both with what does not
depend on the rows kept. interpret has no standard deviation; its rounds of boosting are few here, and its prediction
reads tables that do not grow with them. Median over rounds (least–most)."""


def show(results: Results) -> str:
    rows, everything = [], []
    best = {
        what: max((median(r) for n in WAYS if _is_peer(n) and (r := rates(results, n, what))), default=0.0)
        for what in WHAT
    }
    for name in WAYS:
        everything += results.of(name)
        row = [name]
        for what in WHAT:
            found = rates(results, name, what)
            row += [spread(found), short(median(found) / best[what], 2) if found and best[what] else "–"]
        rows.append(row)
    head = ["", "mean", "× the fastest other", "mean and standard deviation", "× the fastest other"]
    return f"{TEXT}\n\n{markdown(head, rows)}\n\n{circumstances(everything)}"


WHAT = ("mean", "both")


def _is_peer(name: str) -> bool:
    return not name.startswith("odvff")


def rates(results: Results, name: str, what: str) -> list[float]:
    """Thousands of rows a second."""
    return [run["rows"] / run[what] / 1e3 for run in results.of(name) if what in run]


PREDICTION = [Experiment("prediction", "rows predicted in a second, D = 10", cells, show)]
