"""Data sets by name: from a folder of Parquet files with the target in the column `y`, else from where they are public.

The folder is `ODVFF_DATA` if that is set, else `../shared/data` or `data`, whichever has the file. A set that cannot be
had is absent, with the reason, and is never replaced by another.
"""

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.cells import Unavailable

FOLDERS = ("../shared/data", "data")


@dataclass(frozen=True)
class DataSet:
    """A data set of the benchmark table: its file, where else it can be had, and how it differs from the paper's."""

    name: str  # in the paper; of the file, if that is another set
    pmlb: str = ""  # its name in the package pmlb, which begins with its number at OpenML
    uci: int | None = None  # its number in the package ucimlrepo
    logarithm: bool = False  # of the target
    note: str = ""
    paper: str = ""  # the paper's name, if the set is only like it


SETS = {
    one.name: one
    for one in (
        DataSet("3droad"),
        DataSet("3droad_first5000", note="the first 5,000 of 434,874 rows, without the identifier", paper="3droad"),
        DataSet("airline"),
        DataSet("airline_nyc2013", note="flights out of New York in 2013, not those of 2008", paper="airline"),
        DataSet("bike", uci=275),
        DataSet("kegg_directed", note="a filtered version: 48,827 × 20 instead of 53,413 × 19"),
        DataSet("protein", uci=265),
        DataSet("sgemmProd", uci=440, logarithm=True, note="the logarithm of the mean time"),
        DataSet("tamilelectric", note="three columns instead of two; the target looks like uniform noise"),
        DataSet("215_2dplanes", pmlb="215_2dplanes"),
        DataSet("537_houses", pmlb="537_houses"),
        DataSet("BNG_breastTumor", pmlb="1201_BNG_breastTumor"),
        DataSet("BNG_echoMonths", pmlb="1199_BNG_echoMonths"),
        DataSet("BNG_lowbwt", pmlb="1193_BNG_lowbwt"),
        DataSet("BNG_pbc", pmlb="1191_BNG_pbc"),
        DataSet("BNG_pharynx", pmlb="1196_BNG_pharynx"),
        DataSet("BNG_pwLinear", pmlb="1203_BNG_pwLinear"),
        DataSet("564_fried", pmlb="564_fried"),
        DataSet("344_mv", pmlb="344_mv"),
    )
}


class Absent(Unavailable):
    """A data set cannot be had here."""


def load(name: str) -> tuple[Any, Any]:
    """Columns and target of a set of the benchmark table, as numbers."""
    one = SETS[name]
    X, y = read(name) if is_here(name) else _public(one)
    return X, np.log(y) if one.logarithm else y


def read(name: str) -> tuple[Any, Any]:
    """Columns and target in a file of this name."""
    import pyarrow.parquet as parquet

    path = _file(name)
    if path is None:
        raise Absent(f"{name}: there is no file {name}.parquet")
    table = parquet.read_table(path).to_pandas()
    y = table.pop("y").to_numpy(dtype=np.float64)
    return table.to_numpy(dtype=np.float64), y


def is_here(name: str) -> bool:
    """Is there a file of it, so that no one need be asked?"""
    return _file(name) is not None


def split(n: int, seed: int) -> tuple[Any, Any]:
    """Training rows and a tenth to test on."""
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[n // 10 :]), np.sort(order[: n // 10])


def _file(name: str) -> Path | None:
    chosen = os.environ.get("ODVFF_DATA")
    for folder in [chosen] if chosen else FOLDERS:
        path = Path(folder) / f"{name}.parquet"
        if path.exists():
            return path
    return None


@lru_cache(maxsize=1)
def _public(one: DataSet) -> tuple[Any, Any]:
    """From the packages of the field, which fetch it."""
    sources = [lambda: _from_pmlb(one.pmlb), lambda: _from_openml(int(one.pmlb.partition("_")[0]))] if one.pmlb else []
    sources += [lambda: _from_uci(one.uci)] if one.uci is not None else []
    if not sources:
        raise Absent(f"{one.name}: no file, and no public source that is known")
    failures = []
    for source in sources:
        try:
            return source()
        except Exception as error:  # packages that are not there, and networks
            failures.append(f"{type(error).__name__}: {str(error)[:100]}")
    raise Absent(f"{one.name}: no file, and it cannot be fetched ({'; '.join(failures)})")


def _from_pmlb(name: str) -> tuple[Any, Any]:
    import pmlb

    X, y = pmlb.fetch_data(name, return_X_y=True)
    return np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _from_openml(number: int) -> tuple[Any, Any]:
    """By scikit-learn; labels are counted in the order of the alphabet, as pmlb does."""
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml(data_id=number, return_X_y=True, as_frame=True, parser="auto")
    columns = [
        column if column.dtype.kind in "iuf" else np.unique(column.astype(str), return_inverse=True)[1]
        for _, column in X.items()
    ]
    return np.column_stack(columns).astype(np.float64), np.asarray(y, dtype=np.float64)


def _from_uci(number: int) -> tuple[Any, Any]:
    import ucimlrepo

    found = ucimlrepo.fetch_ucirepo(id=number).data
    targets = found.targets.to_numpy(dtype=np.float64)
    numbers = found.features.select_dtypes("number")  # bike has dates too
    return numbers.to_numpy(dtype=np.float64), targets.mean(axis=1)
