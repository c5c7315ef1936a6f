"""A fit on rows made chunk by chunk and never held: `python -m benchmarks.large_fit N`. Prints its peak memory."""

import json
import resource
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from odvff import Fourier, Matern, Term
from odvff.inference import fit_collapsed
from odvff.statistics import collect

CHUNK, COLUMNS, NOISE = 200_000, 10, 0.2


def chunks(n_rows: int) -> Iterator[tuple[Any, Any]]:
    """y = Σ_d sin(2π (d+1) x_d)/(d+1) + ε."""
    rng = np.random.default_rng(0)
    k = np.arange(1, COLUMNS + 1)
    for start in range(0, n_rows, CHUNK):
        X = rng.uniform(0, 1, (min(CHUNK, n_rows - start), COLUMNS))
        f = (np.sin(2 * np.pi * k * X) / k).sum(axis=1)
        yield X, f + np.sqrt(NOISE) * rng.standard_normal(len(X))


def main(n_rows: int) -> None:
    terms = [Term(Matern(1.5), Fourier(10, (0, 1)), [d]) for d in range(COLUMNS)]
    fit = fit_collapsed(terms, collect(terms, chunks(n_rows)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kB to GB
    print(json.dumps({"noise": fit.noise, "peak": peak}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
