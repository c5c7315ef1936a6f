"""NGBoost with a Normal distribution, its default; the number of trees by early stopping.

The default, 500 trees at a rate of 0.01, was worse on the first split of two tables and took three times as long; 0.1
was a little better there than 0.05, and faster.
"""

from typing import Any

from ngboost import NGBRegressor

from tables import asked, held_out, measure

TREES, RATE, PATIENCE = 2000, 0.1, 20

split, seed = asked()
X, X_test = split.X, split.X_test
learned, kept = held_out(len(X), seed)


def fit() -> NGBRegressor:
    model = NGBRegressor(n_estimators=TREES, learning_rate=RATE, verbose=False, random_state=seed)
    return model.fit(X[learned], split.y[learned], X[kept], split.y[kept], early_stopping_rounds=PATIENCE)


def predict(model: NGBRegressor) -> tuple[Any, Any]:
    predicted = model.pred_dist(X_test, max_iter=model.best_val_loss_itr + 1)  # trees are counted from 0
    return predicted.loc, predicted.scale


measure(split, fit, predict, "ngboost", "scikit-learn")
