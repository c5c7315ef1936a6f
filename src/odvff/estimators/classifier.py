"""ODVFFClassifier: probabilities of classes from any table, averaged over the posterior."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from odvff.errors import InputError
from odvff.estimators.base import TableEstimator
from odvff.estimators.parameters import argument, described
from odvff.likelihoods import Likelihood, Units, choices_in_words
from odvff.model.task import Labels, labels_of, log_of
from odvff.support.run import Run
from odvff.tables import TableSource
from odvff.tables.table import plain


@described
@dataclass(eq=False, repr=False)
class ODVFFClassifier(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """Gaussian-process classification for tables; more than two classes one against the rest.

    A latent f is a sum of smooth effects of numeric columns and of effects of levels; the probability of a class
    follows from it by a probit or logistic link. Labels may be of any kind.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    classes_ : the labels, in order.
    model_ : the fitted `odvff.model.model.Model`.
    n_features_in_, feature_names_in_ : the columns of the training table.

    Examples
    --------
    >>> import numpy as np
    >>> from odvff import ODVFFClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (200, 1))
    >>> y = np.where(X[:, 0] + 0.1 * rng.standard_normal(200) > 0.5, "high", "low")
    >>> model = ODVFFClassifier(n_harmonics=4).fit(X, y)
    >>> model.predict([[0.1], [0.9]])
    array(['low', 'high'], dtype='<U4')
    """

    likelihood: str | Likelihood = argument(
        "probit", f"{choices_in_words(labels=True)}, or an `odvff.likelihoods.Likelihood` of labels."
    )
    _labels = True
    _targets = staticmethod(labels_of)

    def _fit(self, source: TableSource, run: Run) -> None:
        classes: list[Any] = []

        def look(y: Any, weights: Any | None) -> None:
            classes[:] = [np.unique(np.concatenate([*classes, y]))]
            if len(classes[0]) > (most := self._policy.most_classes):
                raise InputError(
                    f"y holds more than {most} classes, each of which takes a fit of its own; join rare ones, "
                    "or use regression if they are numbers."
                )

        schema = self._learn(source, look, run.progress).with_intercept()
        (found,) = classes
        if len(found) < 2:
            raise InputError(
                f"y holds one class only, {plain(found[0])!r} (the number of classes has to be greater than one); "
                "check the target column, and weights of zero."
            )
        several, outputs = len(found) > 2, []
        for c in range(0 if several else 1, len(found)):
            label = plain(found[c])
            rows = self._rows(schema, source, lambda y, label=label: (y == label).astype(np.float64))  # type: ignore[misc]
            own = run.of_class(c, label) if several else run
            output = self._fit_output(schema, rows, Units(), own, label)
            if output.interrupted and several:
                raise KeyboardInterrupt  # the classes without a fit make no model
            outputs.append(output)
        self.model_ = self._made(schema, source.n_rows, tuple(outputs), Labels(found), source.target)

    @property
    def classes_(self) -> Any:
        """The labels, in order."""
        return self._model().task.classes

    def predict_proba(self, X: Any) -> Any:
        """The probability of every class at every row, averaged over the posterior, (N, classes)."""
        model, table = self._seen(X)
        return model.probabilities(table)

    def predict(self, X: Any) -> Any:
        """The most probable class of every row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba`."""
        return log_of(self.predict_proba(X))
