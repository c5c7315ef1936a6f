"""The synthetic rows as files, for jobs that know nothing of this package; made when they are first needed."""

import os
from dataclasses import asdict
from pathlib import Path

import numpy as np

from benchmarks.synthetic import additive_rows

FOLDER = Path(__file__).parent / "rows.made"


def saved_rows(D: int, seed: int) -> Path:
    """The file of `additive_rows(D, seed=seed)`."""
    path = FOLDER / f"additive-{D}-{seed}.npz"
    if not path.exists():
        FOLDER.mkdir(exist_ok=True)
        part = path.with_suffix(".part.npz")
        np.savez(part, **asdict(additive_rows(D, seed=seed)))
        os.replace(part, path)
    return path
