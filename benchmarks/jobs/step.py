"""`step.py MODULE ROWS.npz SEED [METHOD]`: seconds of a stochastic step; compilation is the first step's affair."""

import sys
import time
from importlib import import_module
from statistics import median

from common import Clock, report

BLOCK, BLOCKS = 50, 16


def main(module: str, path: str, seed: int, *method: str) -> None:
    clock = Clock()
    library = import_module(module)
    import numpy as np

    imported = clock()
    rows = np.load(path)
    model = library.Model(rows["X"], rows["y"], seed, *method)
    model.advance(1)
    first_step = clock()
    model.advance(BLOCK - 1)  # what is done once more than once: traces, caches, threads
    seconds = [_timed(model) for _ in range(BLOCKS)]
    report(
        *library.PACKAGES,
        imported=imported,
        first_step=first_step,
        step=median(seconds),
        least=min(seconds),
        most=max(seconds),
    )


def _timed(model: object) -> float:
    began = time.perf_counter()
    model.advance(BLOCK)  # type: ignore[attr-defined]
    return (time.perf_counter() - began) / BLOCK


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
