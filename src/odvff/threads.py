"""One BLAS thread while rows are spread over threads of our own, however many ask for it at once.

The number of BLAS threads belongs to the process. Predictions may run side by side: the first to begin sets the limit,
and the last to end takes it away, or one of them would leave it behind for good.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits


class _Limit:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limits: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
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
