"""An experiment is a list of cells; what each run of one gave is kept at once, so that a run of all can end anywhere.

A cell has a name, and is run once for every seed. Results are JSON: {cell: {seed: {what was measured}}}. What was timed
says on which machine, and is run again on another one, so that a table compares what is comparable.
"""

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fresh import machine
from odvff.support.threads import one_blas_thread


class Unavailable(Exception):
    """What a cell needs cannot be had here: it is left out, with this reason."""


@dataclass(frozen=True)
class Cell:
    """One number of a table, or one run of a figure: how it is obtained for a seed, and how often."""

    name: str
    run: Callable[[int], dict[str, Any]]
    repeats: int  # as planned
    minutes: float  # of one run, about
    absent: bool = False  # its data are not here, and would have to be fetched


@dataclass(frozen=True)
class Experiment:
    """Cells that make a table or a figure, and how it is shown."""

    name: str
    what: str
    cells: Callable[[], list[Cell]]
    show: Callable[["Results"], str]
    on_request: bool = False  # not one of `all`


class Results:
    """What has been measured so far, in a file that is written anew after every run."""

    def __init__(self, path: Path):
        self.path = path
        self._kept = self._read()

    def _read(self) -> dict[str, dict[str, Any]]:
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def by_seed(self, cell: str) -> dict[int, dict[str, Any]]:
        """All runs of a cell, in the order of their seeds."""
        runs = self._kept.get(cell, {})
        return {int(seed): runs[seed] for seed in sorted(runs, key=int)}

    def of(self, cell: str) -> list[dict[str, Any]]:
        return list(self.by_seed(cell).values())

    def __bool__(self) -> bool:
        """Has anything been measured?"""
        return bool(self._kept)

    def has(self, cell: str, seed: int, calm: float = 1.0) -> bool:
        """Is there a run of this machine, of which others took no more than such a part of the processors' time?"""
        run = self._kept.get(cell, {}).get(str(seed))
        if run is None or run.get("machine", machine()) != machine():  # scores are the same on any
            return False
        return run.get("taken", 0.0) <= calm

    def again(self) -> "Results":
        """As they are now: others may have run other cells meanwhile."""
        return Results(self.path)

    def keep(self, cell: str, seed: int, measured: dict[str, Any]) -> None:
        """For good, unless there is a run of this machine that was disturbed less."""
        self.path.parent.mkdir(exist_ok=True)
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # others may run other cells
            self._kept = self._read()
            if "taken" in measured and self.has(cell, seed, measured["taken"]):
                return
            self._kept.setdefault(cell, {})[str(seed)] = measured
            new = self.path.with_suffix(".part")
            new.write_text(_one_run_a_line(self._kept))
            os.replace(new, self.path)


def _one_run_a_line(kept: dict[str, dict[str, Any]]) -> str:
    """JSON whose changes can be read: a line for each run."""
    cells = []
    for name in sorted(kept):
        runs = (
            f"  {json.dumps(seed)}: {json.dumps(kept[name][seed], sort_keys=True)}"
            for seed in sorted(kept[name], key=int)
        )
        cells.append(f" {json.dumps(name)}: {{\n" + ",\n".join(runs) + "\n }")
    return "{\n" + ",\n".join(cells) + "\n}\n"


def run(
    experiment: Experiment,
    results: "Results",
    repeats: int | None,
    only: str,
    say: Callable[[str], None],
    calm: float = 1.0,
) -> int:
    """Run what is missing: first every cell once, then every cell a second time, and so on. How many failed?

    Also what was run on another machine, or of which others took more than `calm` of the processors' time.
    """
    cells = [cell for cell in experiment.cells() if only in cell.name]
    todo = list(_missing(cells, repeats, results, calm))
    planned = [60 * cell.minutes for cell, _ in todo]
    took, failed = 0.0, 0
    say(f"{experiment.name}: {len(todo)} runs to do, about {sum(planned) / 60:.0f} minutes")
    for i, (cell, seed) in enumerate(todo, 1):
        began, code, where = time.perf_counter(), _code(), f"[{i}/{len(todo)}] {cell.name}, seed {seed}"
        if results.again().has(cell.name, seed, calm):
            say(f"{where}: somebody else has run it meanwhile")
            planned[i - 1] = 0.0
            continue
        try:
            with one_blas_thread():
                measured = _uninterrupted(cell.run, seed)
        except Unavailable as reason:
            say(f"{where}: absent: {reason}")
            planned[i - 1] = 0.0
            continue
        except Exception as error:  # one cell that fails should not keep a night's run from the others
            say(f"{where}: failed: {type(error).__name__}: {error}")
            planned[i - 1], failed = 0.0, failed + 1
            continue
        seconds = time.perf_counter() - began
        results.keep(cell.name, seed, {**measured, "seconds": round(seconds, 1), "code": code})
        numbers = ", ".join(f"{k} {v:.4f}" for k, v in measured.items() if isinstance(v, float))
        took += seconds
        left = sum(planned[i:]) * took / max(sum(planned[:i]), 1e-9)  # as planned, at the pace so far
        say(f"{where}: {numbers}; {seconds:.0f} s, about {left / 60:.0f} minutes left")
    return failed


CODE = ("src", "benchmarks/*.py", "benchmarks/jobs")


def _code() -> str:
    """The last commit that changed what is measured and how, with a + if the files differ from it."""
    last = _git("log", "-1", "--format=%h", "--", *CODE)
    return f"{last or 'unknown'}{'+' * bool(_git('status', '--porcelain', '--', *CODE))}"


def _git(*arguments: str) -> str:
    root = Path(__file__).parent.parent
    try:
        found = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return found.stdout.strip()


def _uninterrupted(job: Callable[[int], dict[str, Any]], seed: int) -> dict[str, Any]:
    """What a job gives, unless it was interrupted: a fit that is ended by Ctrl-C returns what it has so far."""
    interrupted = False

    def note(number: int, frame: Any) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        measured = job(seed)
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        raise KeyboardInterrupt
    return measured


def _missing(cells: list[Cell], repeats: int | None, results: Results, calm: float) -> Iterable[tuple[Cell, int]]:
    most = {cell.name: cell.repeats if repeats is None else repeats for cell in cells}
    for seed in range(max(most.values(), default=0)):
        for cell in cells:
            if seed < most[cell.name] and not results.has(cell.name, seed, calm):
                yield cell, seed
