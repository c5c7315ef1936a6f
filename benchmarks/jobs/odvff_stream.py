"""`odvff_stream.py FILE`: a fit to a Parquet file that is read chunk by chunk and never held."""

import sys
import time
import warnings

from common import report, scores

from odvff import ODVFFRegressor
from odvff.data.file_source import FileSource
from odvff.data.files import TableFiles


def main(path: str) -> None:
    source = FileSource(TableFiles([path]), "y", holdout=0.001)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ODVFFRegressor().fit_source(source)
    seconds = time.perf_counter() - began
    table, y, _ = next(source.held_out())
    mean, std = model.predict(table.native, return_std=True)
    report("odvff", "pyarrow", rows=source.n_rows, fit=seconds, **scores(mean, std**2, y))


if __name__ == "__main__":
    main(sys.argv[1])
