"""Tables of any length, made chunk by chunk: a sum of functions of eight columns, noise variance 0.2.

None of them is periodic, two have a kink, and their detail is of different sizes.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHUNK, COLUMNS, NOISE = 2**18, 8, 0.2


FUNCTIONS = (
    lambda x: np.sin(5 * x),
    lambda x: 2 * np.abs(x - 0.37),
    lambda x: np.exp(-2 * x),
    lambda x: np.sin(20 * x**2),
    lambda x: np.tanh(10 * (x - 0.6)),
    lambda x: x,
    lambda x: np.maximum(x - 0.8, 0.0) * 3,
    lambda x: np.cos(30 * x) / 3,
)


@contextmanager
def generated(n_rows: int, seed: int) -> Iterator[Path]:
    """A Parquet file with so many rows, which is gone in the end: 100,000,000 of them take 7 GB."""
    names = [*(f"x{d}" for d in range(COLUMNS)), "y"]
    with TemporaryDirectory(dir=Path(__file__).parent, prefix="rows.made-") as folder:
        path = Path(folder) / "rows.parquet"
        with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names]), compression="none") as writer:
            for start in range(0, n_rows, CHUNK):
                writer.write_table(_chunk(min(CHUNK, n_rows - start), names, np.random.default_rng([seed, start])))
        yield path


def _chunk(n: int, names: list[str], rng: np.random.Generator) -> pa.Table:
    X = rng.uniform(0, 1, (COLUMNS, n))
    y = sum(f(x) for f, x in zip(FUNCTIONS, X, strict=True)) + np.sqrt(NOISE) * rng.standard_normal(n)
    return pa.table([*X, y], names=names)
