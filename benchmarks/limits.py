"""How near passes and bound come to the arithmetic that they cannot do without."""

from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import SLEEPING, fresh
from benchmarks.showing import circumstances, each, markdown, spread

REPEATS = 5
MACHINE = {
    "dgemm_gflops": "product of 2000 × 2000, float64, GFLOP/s",
    "sgemm_gflops": "the same in float32, GFLOP/s",
    "gram_seconds": "ΦᵀΦ of 100,000 × 505, seconds",
    "cholesky_ms": "Cholesky of 1000 × 1000, ms",
    "nufft1_million_points": "FINUFFT type 1 at 1e-9, 200 modes, million points a second",
    "nufft2_million_points": "the same with 200 × 200 modes",
    "copy_gb": "copy, GB/s read and written",
}
LIMIT_NAMES = {"ready": "ΦᵀΦ", "transforms": "FINUFFT", "cholesky": "Choleskys of its size"}


@dataclass(frozen=True)
class Pair:
    """What is measured beside its limit, at (D, F, N); a percentage of its rate is asked for, or at most so many."""

    name: str
    where: tuple[int, int, int]
    ours: str
    limit: str
    bar: float

    @property
    def asked(self) -> str:
        return f"≤ {self.bar:g} Choleskys" if self.ours == "bound" else f"≥ {self.bar:g} % of {LIMIT_NAMES[self.limit]}"

    def times(self, results: Results) -> list[tuple[float, float]]:
        """Seconds of ours and of the limit, in every run."""
        runs = results.of(self.name)
        return list(zip(each(runs, "took", self.ours), each(runs, "took", self.limit), strict=True))


PAIRS = [
    Pair("statistics by products, D=10, F=10", (10, 10, 1_000_000), "product", "ready", 50),
    Pair("statistics by products, D=5, F=40", (5, 40, 500_000), "product", "ready", 50),
    Pair("statistics by NUFFT, D=1, F=200", (1, 200, 2_000_000), "nufft", "transforms", 60),
    Pair("statistics by NUFFT, D=2, F=200", (2, 200, 1_000_000), "nufft", "transforms", 60),
    Pair("bound and gradient, D=10, F=40", (10, 40, 20_000), "bound", "cholesky", 4),
    Pair("bound and gradient, D=10, F=10", (10, 10, 20_000), "bound", "cholesky", 4),
]


def _engine(pair: Pair, seed: int) -> dict[str, Any]:
    return fresh("odvff", "odvff_engine", *pair.where, pair.ours, pair.limit, variables=SLEEPING)


def cells() -> list[Cell]:
    machine = Cell("machine", lambda seed: fresh("odvff", "machine_limits", variables=SLEEPING), REPEATS, 0.5)
    return [machine, *(Cell(pair.name, partial(_engine, pair), REPEATS, 0.5) for pair in PAIRS)]


def share_of_dgemm(results: Results, pair: Pair) -> float | None:
    """Percent of the rate of a square product: ΦᵀΦ is symmetric, so half of its products count."""
    machine, runs = results.of("machine"), results.of(pair.name)
    if not machine or not runs or pair.ours != "product":
        return None
    D, F, N = pair.where
    operations = N * (D * (2 * F + 3)) ** 2  # N n²/2 products, and as many sums
    return 100 * operations / median(each(runs, "took", "product")) / (1e9 * median(each(machine, "dgemm_gflops")))


TEXT = """\
Median of runs in fresh processes, and the range. A limit is measured in turn with what it limits: a busy machine slows
both. Products are compared with ΦᵀΦ of features that are there already, in one call with two BLAS threads, which
notices that the result is symmetric, and with the rate of a square product, of which half of ΦᵀΦ is counted (with all
of it, as a plain product does it, the percentage is twice that). Transforms are compared with FINUFFT's own of the same
moments with its default options and threads that sleep while they wait, which is faster; in one column, where ours
does without FINUFFT, these are two, one of them for the remainders of the completed basis. Bound and Cholesky have one
BLAS thread. Copying says what memory allows: a pass by products reads 8 bytes a row and column, and is far from it."""


def show(results: Results) -> str:
    machine = results.of("machine")
    rows, everything = [], [*machine]
    for pair in PAIRS:
        everything += results.of(pair.name)
        share, times = share_of_dgemm(results, pair), pair.times(results)
        rows.append(
            [
                pair.name,
                spread([1e3 * a for a, _ in times]),
                spread([1e3 * b for _, b in times]),
                spread([100 * b / a for a, b in times]),
                "" if share is None else f"{share:.0f}",
                spread([a / b for a, b in times]),
                pair.asked,
            ]
        )
    head = ["what", "ours, ms", "limit, ms", "% of the limit", "% of dgemm", "times the limit", "asked for"]
    able = [[text, spread(each(machine, key))] for key, text in MACHINE.items()]
    return "\n\n".join(
        [
            TEXT,
            markdown(head, rows),
            "The machine itself:",
            markdown(["what", "measured"], able),
            circumstances(everything),
        ]
    )


LIMITS = [Experiment("limits", "passes and bound against the arithmetic they need", cells, show)]
