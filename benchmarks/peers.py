"""A fit of rows that are generated chunk by chunk, in a fresh process."""

import json
import subprocess
import sys
import time
from typing import Any


def fresh(module: str, *arguments: Any) -> tuple[float, dict[str, Any]]:
    """Seconds of a new process from start to end, and the JSON that it printed."""
    began = time.perf_counter()
    command = [sys.executable, "-m", module, *map(str, arguments)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return time.perf_counter() - began, json.loads(printed.splitlines()[-1])


def memory() -> None:
    """Peak memory of a fit on 10,000,000 × 10 rows, generated chunk by chunk: under 1.5 GB."""
    seconds, result = fresh("benchmarks.large_fit", 10_000_000)
    print(f"10,000,000 rows: {seconds:.0f} s, noise variance {result['noise']:.4f} (0.2 in truth)")
    print(f"peak {result['peak']:.2f} GB (under 1.5)")


PEERS = {"memory": memory}
