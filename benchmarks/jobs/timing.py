"""Interleaved repeats of several pieces of work in one process, and their medians."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

# BLAS threads spin for a while after a product, and would take their core from what comes next
PAUSE = 0.2


def interleaved(work: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Median seconds of each; one round of all after the other, so that a busy moment hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(repeats):
        for name, function in work.items():
            time.sleep(PAUSE)
            began = time.perf_counter()
            function()
            seconds[name].append(time.perf_counter() - began)
    return {name: median(values) for name, values in seconds.items()}
