"""Our whole fit in a process of its own: `python -m benchmarks.collapsed_fit ROWS.npz F`. Prints its scores as JSON."""

import json
import sys
from dataclasses import asdict

import numpy as np

from benchmarks.synthetic import scores
from odvff import Fourier, Matern, Term
from odvff.inference import fit_collapsed
from odvff.statistics import collect


def main(path: str, n_harmonics: int) -> None:
    rows = np.load(path)
    X, y = rows["X"], rows["y"]
    terms = [Term(Matern(1.5), Fourier(n_harmonics, (0, 1)), [d]) for d in range(X.shape[1])]
    fit = fit_collapsed(terms, collect(terms, [(X, y)]))
    mean, variance = fit.posterior.predict(rows["X_test"])
    print(json.dumps({"noise": fit.noise, **asdict(scores(mean, variance + fit.noise, rows["y_test"]))}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
