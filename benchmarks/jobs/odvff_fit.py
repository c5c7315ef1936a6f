"""`odvff_fit.py ROWS.npz N_HARMONICS N_INDUCING MAX_ITER`: seconds of a fit, and its scores: a curve of one point."""

import sys

from common import Clock, report, scores


def main(path: str, n_harmonics: str, n_inducing: str, max_iter: str) -> None:
    clock = Clock()
    from odvff_regressor import PACKAGES, Model

    imported = clock()
    import numpy as np

    rows = np.load(path)
    model = Model(rows["X"], rows["y"], n_harmonics, max_iter, n_inducing)
    now = {"at": clock(), "processor": clock.processor()}
    found = scores(*model.predict(rows["X_test"]), rows["y_test"])
    report(*PACKAGES, imported=imported, total=now["at"], curve=[{**now, **found}])


if __name__ == "__main__":
    main(*sys.argv[1:])
