"""`nothing.py`: seconds from the start of the process to its first line, which no program can do without."""

import time

now = time.time()

import os  # noqa: E402

from common import report  # noqa: E402

if __name__ == "__main__":
    report(total=now - float(os.environ["BENCHMARK_BEGAN"]))
