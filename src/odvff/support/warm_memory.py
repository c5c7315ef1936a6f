"""Memory that was used before is fast; memory that the system has just handed out is slow.

glibc gives blocks above a threshold back to the system as soon as they are freed, and fetches them anew, page by page,
for the next array of the same size: arithmetic on arrays of a megabyte spends most of its time there (an exponential of
1 ns takes 8). The threshold adapts: it rises to the largest block, up to 32 MB, that was ever freed. So free one.
Nothing of it is touched, so nothing is used; with other allocators nothing happens.
"""

import numpy as np

LARGEST_KEPT = 2**25 - 2**15  # bytes, a little below the most that glibc adapts to


def keep_memory_warm() -> None:
    """Let freed arrays stay with the process, to be used again."""
    np.empty(LARGEST_KEPT, dtype=np.uint8)
