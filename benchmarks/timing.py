"""Interleaved repeats of several jobs, and their medians."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

# BLAS threads spin for a while after a product, and would take their core from what comes next
PAUSE = 0.3


def interleaved(jobs: dict[str, Callable[[], Any]], repeats: int = 5) -> dict[str, float]:
    """Median seconds of each job; one round of all after the other, so that a busy moment hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            time.sleep(PAUSE)
            began = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - began)
    return {name: median(values) for name, values in seconds.items()}
