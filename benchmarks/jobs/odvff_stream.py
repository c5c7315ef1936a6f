"""`odvff_stream.py FILE`: a fit to a Parquet file that is read chunk by chunk and never held."""

import sys
import time
import warnings

import numpy as np
from common import report, scores

from odvff import ODVFFRegressor
from odvff.tables.file_source import FileSource
from odvff.tables.files import TableFiles

MOST_HELD_OUT = 10_000


def main(path: str) -> None:
    files = TableFiles([path])
    assert files.expected_rows is not None  # Parquet says so
    source = FileSource(files, "y", holdout=min(0.1, MOST_HELD_OUT / files.expected_rows))
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ODVFFRegressor().fit_source(source)
    seconds = time.perf_counter() - began
    held_out = [(*model.predict(table.native, return_std=True), y) for table, y, _ in source.held_out()]
    mean, std, y = (np.concatenate(parts) for parts in zip(*held_out, strict=True))
    report("odvff", "pyarrow", rows=source.n_rows, fit=seconds, **scores(mean, std**2, y))


if __name__ == "__main__":
    main(sys.argv[1])
