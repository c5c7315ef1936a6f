"""What jobs of all libraries share; NumPy is all it needs. A job is a script, run in the environment of its library.

Clocks run meanwhile, so that little is imported here, and that every library needs itself.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Clock:
    """Seconds since the process was started, less those that measuring itself took."""

    def __init__(self) -> None:
        self._began = float(os.environ.get("BENCHMARK_BEGAN", time.time()))
        self._paused = self._paused_processor = 0.0

    def __call__(self) -> float:
        return time.time() - self._began - self._paused

    def processor(self) -> float:
        """Seconds that processors have worked for it, all threads together: others on the machine hardly matter."""
        return time.process_time() - self._paused_processor

    @contextmanager
    def paused(self) -> Iterator[None]:
        began, worked = time.time(), time.process_time()
        yield
        self._paused += time.time() - began
        self._paused_processor += time.process_time() - worked


def scores(mean: Any, variance: Any, y: Any) -> dict[str, float]:
    """Mean log density, RMSE, CRPS and coverage of 95 % intervals of Gaussian predictions of y."""
    import numpy as np
    from scipy.special import ndtr

    mean, variance, y = (np.asarray(a, dtype=np.float64).reshape(-1) for a in (mean, variance, y))
    std = np.sqrt(variance)
    z = (y - mean) / std
    density = -0.5 * (np.log(2 * np.pi * variance) + z**2)
    crps = std * (z * (2 * ndtr(z) - 1) + 2 * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi) - 1 / np.sqrt(np.pi))
    return {
        "log_density": float(density.mean()),
        "rmse": float(np.sqrt(((y - mean) ** 2).mean())),
        "crps": float(crps.mean()),
        "coverage": float((np.abs(z) <= 1.959963984540054).mean()),
    }


def report(*packages: str, **measured: Any) -> None:
    """The last line of a job."""
    import json
    from importlib.metadata import version

    versions = {name: version(name) for name in packages}
    print(json.dumps({**_peak(), **measured, "versions": versions}))


def _peak() -> dict[str, float]:
    """The most memory that this program has had, where Linux tells it.

    What a parent is told of an ended child counts from before the program was loaded, and so holds the parent's own.
    """
    from pathlib import Path

    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    peaks = [float(line.split()[1]) / 1e6 for line in lines if line.startswith("VmHWM:")]
    return {"peak_gb": peaks[0]} if peaks else {}
