"""`curve.py MODULE ROWS.npz SEED STEPS…`: scores on test rows against seconds, after so many steps of an SVGP.

Over the last quarter of all steps its rates go down in a line to a hundredth of what they were.
"""

import sys
from importlib import import_module
from typing import Any

from common import Clock, report, scores

COOLING, COLD, BLOCK = 0.75, 0.01, 50


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
        _advance(model, done, n_steps, steps[-1])
        done, now = n_steps, {"step": n_steps, "at": clock(), "processor": clock.processor()}
        with clock.paused():
            model.settle()
            curve.append({**now, **scores(*model.predict(rows["X_test"]), rows["y_test"])})
    report(*library.PACKAGES, imported=imported, first_step=first_step, total=clock(), curve=curve)


def _advance(model: Any, done: int, to: int, last: int) -> None:
    """Go on to a step: in one go while the rates stay as they are, then in blocks, each colder than the one before."""
    while done < to:
        n = min(BLOCK, to - done) if to > COOLING * last else to - done
        model.cool(warmth(done + n, last))
        model.advance(n)
        done += n


def warmth(step: int, last: int) -> float:
    """What the rates are at a step, as a part of what they were at first."""
    cooled = (step / last - COOLING) / (1 - COOLING)
    return 1 - (1 - COLD) * max(cooled, 0.0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(n) for n in sys.argv[4:]])
