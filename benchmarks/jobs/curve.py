"""`curve.py MODULE ROWS.npz SEED STEPS…`: scores on test rows against seconds, after so many steps of an SVGP."""

import sys
from importlib import import_module

from common import Clock, report, scores


def main(module: str, path: str, seed: int, steps: list[int]) -> None:
    clock = Clock()
    library = import_module(module)
    import numpy as np

    imported = clock()
    rows = np.load(path)
    X, y = rows["X"], rows["y"]
    model = library.Model(X, y, seed)
    model.advance(1)
    first_step, curve, done = clock(), [], 1
    for n_steps in steps:
        model.advance(n_steps - done)
        done, seconds = n_steps, clock()
        with clock.paused():
            model.settle()
            curve.append({"step": done, "at": seconds, **scores(*model.predict(rows["X_test"]), rows["y_test"])})
    report(*library.PACKAGES, imported=imported, first_step=first_step, total=seconds, curve=curve)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(n) for n in sys.argv[4:]])
