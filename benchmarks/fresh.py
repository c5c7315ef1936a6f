"""A job in a new process of its own environment: seconds from start to end, peak memory, and what it printed.

All libraries get the same number of cores and of threads, by the variables that their arithmetic reads, and nothing
else of the caller's environment that could matter. How threads wait for each other is left as it is by default: told to
sleep (`OMP_WAIT_POLICY=PASSIVE`), LightGBM took twelve times as long on 10,000 rows and PyTorch's steps half as long
again; on a core that others want as well it is the other way round, so such runs are to be made on a calm machine.
FINUFFT is faster with threads that sleep, and where it is a limit it is to have them (`SLEEPING`).
The first process of an environment reads its files from the disk; so one that imports the library comes before those
that are timed.
"""

import json
import os
import platform
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.environments import MODULES, python_of

JOBS = Path(__file__).parent / "jobs"
THREADS = 2
VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)
SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH")


class Failed(Exception):
    """A job that did not end well, with the end of what it said."""


class TooLong(Failed):
    """A job that was ended at its limit, with the seconds that processors had worked for it."""

    def __init__(self, text: str, processor: float):
        super().__init__(text)
        self.processor = processor


def fresh(
    environment: str, job: str, *arguments: Any, limit: float = 3600.0, variables: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run `jobs/JOB.py` in a new process; its last line is JSON. A job tells its own time since `BENCHMARK_BEGAN`."""
    _read_from_disk(environment)
    command = [str(python_of(environment)), f"{job}.py", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        before, began = _ticks(), time.time()
        told = {**_variables(), **(variables or {}), "BENCHMARK_BEGAN": repr(began)}
        with _few_cores():
            process = subprocess.Popen(command, cwd=JOBS, env=told, stdout=out, stderr=error)
        status, usage = _wait(process.pid, began + limit)
        seconds = time.time() - began
        taken = _taken(before, _ticks(), usage.ru_utime + usage.ru_stime)
        out.seek(0)
        error.seek(0)
        printed, said = out.read().strip(), error.read().strip()
    if status in (None, -signal.SIGXCPU):  # the latter where a job has limited its own work
        raise TooLong(f"{job} in {environment} took too long", usage.ru_utime + usage.ru_stime)
    if status != 0:
        raise Failed(f"{job} in {environment} ended with {status}: {said[-2000:]}")
    return {
        "wall": seconds,
        "peak_gb": usage.ru_maxrss / 1e6,
        "machine": machine(),
        "taken": taken,
        **json.loads(printed.splitlines()[-1]),
    }


def _wait(pid: int, until: float) -> tuple[int | None, Any]:
    """The exit status of a child and what it used; None if it had to be ended."""
    try:
        while time.time() < until:
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status), usage
            time.sleep(0.002)
    except KeyboardInterrupt:
        os.kill(pid, signal.SIGKILL)
        raise
    os.kill(pid, signal.SIGKILL)
    _, _, usage = os.wait4(pid, 0)
    return None, usage


@cache
def _read_from_disk(environment: str) -> None:
    command = [str(python_of(environment)), "-c", f"import {MODULES[environment]}"]
    subprocess.run(command, env=_variables(), check=True, capture_output=True)


def _variables() -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    threads = {name: str(THREADS) for name in VARIABLES}
    return {**kept, **threads, "TF_CPP_MIN_LOG_LEVEL": "2"}


@contextmanager
def _few_cores() -> Iterator[None]:
    """For this thread, whose children inherit it: to set it in each would cost them a copy of this one's memory."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:THREADS])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def machine() -> str:
    """The processor and its cores."""
    models = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores"


def _ticks() -> tuple[float, float]:
    """Seconds of all cores since the machine was started: in all, and idle."""
    first = next(iter(_lines("/proc/stat")), "cpu 0 0 0 0 0")
    seconds = [float(n) / os.sysconf("SC_CLK_TCK") for n in first.split()[1:9]]
    return sum(seconds), sum(seconds[3:5])


def _taken(before: tuple[float, float], after: tuple[float, float], own: float) -> float:
    """Which part of the time of all cores others took meanwhile: other programs, and other guests of the hardware."""
    total, idle = after[0] - before[0], after[1] - before[1]
    return round(max(total - idle - own, 0.0) / total, 3) if total > 0 else 0.0


def _lines(name: str) -> list[str]:
    path = Path(name)
    return path.read_text().splitlines() if path.exists() else []
