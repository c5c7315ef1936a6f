"""Rows spread over threads of our own, and one BLAS thread meanwhile, however many ask for it at once."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

# glibc gives blocks above a threshold back to the system as soon as they are freed, and fetches them anew, page by
# page, for the next array of the same size: arithmetic on arrays of a megabyte spends most of its time there (an
# exponential of 1 ns takes 8). The threshold adapts: it rises to the largest block, up to 32 MB, that was ever freed.
# So free one. Nothing of it is touched, so nothing is used; with other allocators nothing happens
LARGEST_KEPT = 2**25 - 2**15  # bytes, a little below the most that glibc adapts to


_lock = threading.Lock()
_held: list[threadpool_limits] = []  # the limit, once for each that asked for it


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread. The number belongs to the process, and predictions may run side by side: the first to
    begin sets the limit, and the last to end takes it away, or one of them would leave it behind for good.
    """
    with _lock:
        if not _held:
            np.empty(LARGEST_KEPT, dtype=np.uint8)  # what runs like this is long, and makes many arrays
        _held.append(_held[0] if _held else threadpool_limits(1, user_api="blas"))
    try:
        yield
    finally:
        with _lock:
            limit = _held.pop()
            if not _held:
                limit.restore_original_limits()


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
