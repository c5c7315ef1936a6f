"""Tables of any length, made chunk by chunk: y = Σ_d sin(2π(d+1)x_d)/(d+1) + ε, noise variance 0.2, eight columns."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHUNK, COLUMNS, NOISE = 2**18, 8, 0.2


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
    k = np.arange(1, COLUMNS + 1)[:, None]
    y = (np.sin(2 * np.pi * k * X) / k).sum(axis=0) + np.sqrt(NOISE) * rng.standard_normal(n)
    return pa.table([*X, y], names=names)
