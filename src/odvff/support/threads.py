"""Rows spread over threads of our own, and one BLAS thread meanwhile, however many ask for it at once.

The number of BLAS threads belongs to the process. Predictions may run side by side: the first to begin sets the limit,
and the last to end takes it away, or one of them would leave it behind for good.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any

from threadpoolctl import threadpool_limits

from odvff.support.warm_memory import keep_memory_warm


class _Limit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
                keep_memory_warm()  # what runs like this is long, and makes many arrays
                self._limits = threadpool_limits(1, user_api="blas")
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limits.restore_original_limits()


_LIMIT = _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread."""
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


def side_by_side(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
    """The function of every item, in order; a few at a time on all cores, so that not all items are there at once."""
    n = n_threads()
    with ThreadPoolExecutor(n) as pool:
        items = iter(items)
        running = deque(pool.submit(function, item) for item in islice(items, 2 * n))
        while running:
            yield running.popleft().result()
            running.extend(pool.submit(function, item) for item in islice(items, 1))


def n_threads() -> int:
    """As many threads as there are cores that this process may use, up to eight."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, 8)
