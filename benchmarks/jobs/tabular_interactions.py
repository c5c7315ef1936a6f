"""LightGBM's model of the mean as it is, and with trees that see one column each: what interactions are worth."""

from typing import Any

import lightgbm as lgb
import numpy as np
from common import report

from tables import asked, held_out

TREES, PATIENCE = 1000, 50  # as in the job that is compared with other libraries

split, seed = asked()
X, X_test = split.X, split.X_test
learned, kept = held_out(len(X), seed)


def rmse(**more: Any) -> float:
    rows = lgb.Dataset(X[learned], split.y[learned])
    others = lgb.Dataset(X[kept], split.y[kept], reference=rows)
    settings = {"objective": "l2", "seed": seed, "verbosity": -1, **more}
    stop = lgb.early_stopping(PATIENCE, verbose=False)
    model = lgb.train(settings, rows, TREES, valid_sets=[others], callbacks=[stop])
    return float(np.sqrt(((split.y_test - model.predict(X_test)) ** 2).mean()))


alone = [[column] for column in range(X.shape[1])]
report("lightgbm", additive=rmse(interaction_constraints=alone), free=rmse())
