"""A job in a new process of its own environment: seconds from start to end, peak memory, and what it printed.

All libraries get the same number of threads, by the variables that their arithmetic reads. Threads of OpenMP that wait
sleep: on a core that others want as well, waiting in circles made PyTorch four times slower.
"""

import json
import os
import platform
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.environments import python_of

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


class Failed(Exception):
    """A job that did not end well, with the end of what it said."""


class TooLong(Failed):
    """A job that was ended at its limit, with the seconds that processors had worked for it."""

    def __init__(self, text: str, processor: float):
        super().__init__(text)
        self.processor = processor


def fresh(environment: str, job: str, *arguments: Any, limit: float = 3600.0) -> dict[str, Any]:
    """Run `jobs/JOB.py` in a new process; its last line is JSON. A job tells its own time since `BENCHMARK_BEGAN`."""
    command = [str(python_of(environment)), f"{job}.py", *map(str, arguments)]
    threads = {**{name: str(THREADS) for name in VARIABLES}, "OMP_WAIT_POLICY": "PASSIVE"}
    where = machine()  # how busy it was before
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        began = time.time()
        variables = {**os.environ, **threads, "TF_CPP_MIN_LOG_LEVEL": "2", "BENCHMARK_BEGAN": repr(began)}
        process = subprocess.Popen(command, cwd=JOBS, env=variables, stdout=out, stderr=error)
        status, usage = _wait(process.pid, began + limit)
        seconds = time.time() - began
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
        "machine": where,
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


def machine() -> str:
    """The processor, its cores, and how busy it is."""
    models = [line.partition(":")[2].strip() for line in _cpu_lines() if line.startswith("model name")]
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
