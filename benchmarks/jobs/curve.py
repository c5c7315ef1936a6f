"""`curve.py MODULE ROWS.npz SEED RATES STEPS…`: scores on test rows against seconds, after so many steps of an SVGP.

Rates are "constant", or "cooled": down in a line to a hundredth over the last quarter of all steps.
"""

import sys
from importlib import import_module
from typing import Any

from common import Clock, report, scores

COOLING, COLD, BLOCK = 0.75, 0.01, 50


def main(module: str, path: str, seed: int, rates: str, steps: list[int]) -> None:
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
        _advance(model, done, n_steps, COOLING * steps[-1] if rates == "cooled" else steps[-1], steps[-1])
        done, now = n_steps, {"step": n_steps, "at": clock(), "processor": clock.processor()}
        with clock.paused():
            model.settle()
            curve.append({**now, **scores(*model.predict(rows["X_test"]), rows["y_test"])})
    report(*library.PACKAGES, imported=imported, first_step=first_step, total=clock(), curve=curve)


def _advance(model: Any, done: int, to: int, cooling: float, last: int) -> None:
    """Go on to a step: in one go while the rates stay as they are, then in blocks, each colder than the one before."""
    while done < to:
        n = to - done if to <= cooling else min(BLOCK, to - done)
        if done >= cooling:
            model.cool(max((last - done) / (last - cooling), COLD))
        model.advance(n)
        done += n


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], [int(n) for n in sys.argv[5:]])
