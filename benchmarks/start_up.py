"""How long the first answer takes in a fresh process, imports included."""

from functools import partial
from typing import Any

from benchmarks.cells import Cell, Experiment, Results
from benchmarks.fresh import fresh
from benchmarks.showing import circumstances, each, markdown, spread

REPEATS = 11
JOBS = {"odvff": "start_up", "Python alone": "nothing"}


def _run(job: str, seed: int) -> dict[str, Any]:
    return fresh("odvff", job)


def cells() -> list[Cell]:
    return [Cell(name, partial(_run, job), REPEATS, 0.03) for name, job in JOBS.items()]


TEXT = """\
Seconds in a fresh process, without a cache of our own: from its start until `import odvff` has ended, of
`ODVFFRegressor().fit` on 1,000 rows of 5 columns with what it imports, and from its start to the end of the fit.
Python alone is how long the interpreter takes to its first line. Median (least–most)."""


def show(results: Results) -> str:
    runs, alone = results.of("odvff"), results.of("Python alone")
    row = [spread(each(alone, "total")), *(spread(each(runs, key)) for key in ("imported", "fit", "total"))]
    table = markdown(["Python alone", "until it is imported", "the fit", "until the fit has ended"], [row])
    return f"{TEXT}\n\n{table}\n\n{circumstances(runs)}"


START_UP = [Experiment("start-up", "a fit to 1,000 rows in a fresh process", cells, show)]
