"""`gpflow_sgpr.py ROWS.npz SEED POINTS LIMIT`: SGPR in GPflow by L-BFGS on all rows, until LIMIT seconds have passed.

Prints scores on test rows against seconds, like `curve.py`; a step is an iteration.
"""

import sys
from typing import Any

from common import Clock, report, scores

WATCHED = (1, 2, 4, 7, 12, 20, 30, 50, 80, 120, 200)


def main(path: str, seed: int, n_points: int, limit: float) -> None:
    clock = Clock()
    import gpflow
    import numpy as np
    import starts
    from gpflow_svgp import PACKAGES, additive_kernel, parts

    imported = clock()
    rows = np.load(path)
    X, y = rows["X"], rows["y"]
    begin = starts.start(X, y, seed, n_points)
    model = gpflow.models.SGPR((X, y[:, None]), additive_kernel(X.shape[1], begin), begin.Z, noise_variance=begin.noise)
    reached: dict[int, dict[str, float]] = {}  # seconds after an iteration
    curve: list[dict[str, float]] = []

    def score(iteration: int) -> None:
        with clock.paused():
            posterior = model.posterior()
            found = [posterior.predict_f(part) for part in parts(rows["X_test"])]
            mean, variance = (np.concatenate([f[i].numpy()[:, 0] for f in found]) for i in (0, 1))
            noise = model.likelihood.variance.numpy()
            curve.append({**reached[iteration], **scores(mean, variance + noise, rows["y_test"])})

    def watch(step: int, variables: Any, values: Any) -> None:
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)  # a line search may have left them elsewhere
        iteration = step + 1
        reached[iteration] = {"step": iteration, "at": clock(), "processor": clock.processor()}
        if iteration in WATCHED:
            score(iteration)
        if clock() > limit:
            raise StopIteration

    gpflow.optimizers.Scipy().minimize(
        model.training_loss,
        model.trainable_variables,
        step_callback=watch,
        options={"maxiter": WATCHED[-1]},
    )
    total = clock()
    if max(reached) not in WATCHED:
        score(max(reached))
    report(*PACKAGES, imported=imported, first_step=reached[1]["at"], total=total, curve=curve)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
