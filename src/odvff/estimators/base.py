"""What the regressor and the classifier share: input, fitting by name, effects, summary and files."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from odvff.design import Design
from odvff.errors import Argument, FileError, FitWarning, InputError
from odvff.estimators.parameters import Parameters, seed_of
from odvff.fitting import Named, Options
from odvff.likelihoods import LIKELIHOODS, Units
from odvff.methods import fit_rows, method_of
from odvff.model.model import Effect, Model, Output
from odvff.model.predictive import Predictive
from odvff.model.summary import Summary, plot_effects, summarise
from odvff.model.task import Task
from odvff.posterior.effects import centre_of
from odvff.rows import RowSource, merged
from odvff.support.journal import NO_JOURNAL, Journal
from odvff.support.progress import Lines, Progress, Step, silent
from odvff.support.run import Run
from odvff.support.threads import one_blas_thread
from odvff.support.words import plain
from odvff.tables import MemorySource, Schema, Table, TableSource, as_table, learn_schema
from odvff.tables.schema import check_names
from odvff.tables.source import EncodedRows
from odvff.tables.table import is_frame

MOST_WEIGHT = 1e6  # on average: repeated rows call for less and less noise, and Gram / noise runs out of digits
MANY_FEATURES = 1000
ENGINE = {"max_rounds": "max_iter"}  # what functions underneath call an argument of ours


class TableEstimator(Parameters, BaseEstimator, ABC):  # type: ignore[misc]
    """A Gaussian process for a table."""

    model_: Model
    _targets: Callable[[Any], Any]  # y as labels or numbers, checked

    # input

    def _table(self, X: Any, *, reset: bool) -> Table:
        """The table, checked as scikit-learn expects; names and number of columns are kept on the first call."""
        if is_frame(X):
            table = as_table(X)
            if not reset and hasattr(self, "feature_names_in_"):
                # a message about names is better than one about their number
                check_names(self.model_.schema.names, table.names)
            validate_data(self, X, reset=reset, skip_check_array=True)
            if table.n_rows == 0:
                raise InputError(f"Found array with 0 sample(s) (shape=(0, {len(table.names)})): the table is empty.")
            return table
        return as_table(validate_data(self, X, reset=reset, dtype="numeric", ensure_all_finite=False))

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Table, Any, Any | None]:
        """The table, targets and weights, without rows of weight zero; no weights if all are 1."""
        if y is None:
            raise InputError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        self._check_arguments()
        table = self._table(X, reset=reset)
        y = self._targets_of(table, y)
        if sample_weight is None:
            return table, y, None
        weights = _check_sample_weight(sample_weight, np.empty((table.n_rows, 1)), dtype=np.float64)
        if (weights < 0).any():
            i = int(np.argmin(weights))
            raise InputError(
                f"sample_weight has {weights[i]:g} in row {i}; weights count how often a row is there, so from 0 up."
            )
        _check_mean_weight(float(np.mean(weights / MOST_WEIGHT)))
        if not weights.all():
            keep = np.flatnonzero(weights)
            table, y, weights = table.take(keep), y[keep], weights[keep]
        return table, y, None if (weights == 1).all() else weights

    def _targets_of(self, table: Table, y: Any) -> Any:
        """y as numbers or labels, one for each row."""
        y = self._targets(y)
        check_consistent_length(np.empty((table.n_rows, 1)), y)
        return y

    # fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X and their targets y; weights count how often a row is there."""
        name = getattr(y, "name", None)
        rows = self._checked(X, y, sample_weight, reset=True)
        source = MemorySource(*rows, seed_of(self.random_state), name if name and isinstance(name, str) else "y")
        return self._fit_and_say(source, self._progress())

    def fit_source(self, source: TableSource, *, progress: Progress = silent, journal: Journal = NO_JOURNAL) -> Self:
        """Learn from files, chunk by chunk (`odvff.tables.FileSource`): the same fit as to their rows in memory.

        `progress` is told how it goes on, and what is reached is kept in a `journal`, to resume after a crash.
        """
        self._check_arguments()
        self._fit_and_say(source, progress, journal)
        return self._with(replace(self.model_, named_columns=True))

    def _with(self, model: Model) -> Self:
        """Fitted, with what scikit-learn wants to be known of columns that did not come as an array or data frame."""
        self.model_, self.n_features_in_ = model, len(model.schema.columns)
        if model.named_columns:
            self.feature_names_in_ = np.asarray(model.schema.names, dtype=object)
        return self

    def _fit_and_say(self, source: TableSource, progress: Progress, journal: Journal = NO_JOURNAL) -> Self:
        """Fit, and in the end say what is to be said of it."""
        notes: list[FitWarning] = []
        self._fit(source, Run(progress, journal, notes.append))
        say(notes, stacklevel=4)
        return self

    @abstractmethod
    def _fit(self, source: TableSource, run: Run) -> None:
        """Learn the schema, the posteriors and the model of a source."""

    def _merges(self, source: TableSource) -> bool:
        """Are the rows put in an order of their own, and equal ones merged? So in small tables, with weights taken."""
        weighted = method_of(self.method).takes_terms and self.inference != "stochastic"
        return weighted and source.n_rows <= self._policy.merged_rows

    def _rows(self, schema: Schema, source: TableSource, target: Callable[[Any], Any] = np.asarray) -> RowSource:
        """The rows of the fit as numbers."""
        rows = EncodedRows(schema, source, target)
        return merged(rows, seed_of(self.random_state)) if self._merges(source) else rows

    def _fit_output(self, schema: Schema, rows: RowSource, units: Units, run: Run, label: Any = None) -> Output:
        """One posterior, and how to read it."""
        options, design = self._options(schema.names), self._design(schema)
        self._note_many_features(options, design, rows.n_rows, run)
        run = run.in_units(units.shift, units.scale)
        named = fit_rows(self.method, rows, design, options, likelihood=self._likelihood(), run=run)
        X, _, weights = rows.sample(self._policy.centre_rows)
        return self._output(named, X, weights, units, label)

    def _design(self, schema: Schema) -> Design:
        """The terms that the columns call for, or those that were given."""
        return schema.design(self.structure) if self.terms is None else schema.design_of(self.terms)

    def _note_many_features(self, options: Options, design: Design, n_rows: int, run: Run) -> None:
        """A fit with many times more features than rows takes long, and nobody would know why."""
        harmonics = options.n_harmonics
        if not method_of(self.method).takes_terms or not isinstance(harmonics, int | np.integer):
            return
        each, columns = 2 * int(harmonics) + 1, len(design.numeric)
        n = each ** min(columns, 3) if design.joint else each * columns  # joint effects have up to three columns
        if n > MANY_FEATURES and n > 2 * n_rows:
            note = FitWarning(
                Argument("n_harmonics", int(harmonics)),
                f" makes {n:,} features for {n_rows:,} rows, which takes long and brings little; ",
                Argument("n_harmonics", "auto"),
                " takes as many as the data call for.",
            )
            run.tell(note)

    @one_blas_thread()
    def _output(self, named: Named, X: Any, weights: Any | None, units: Units, label: Any) -> Output:
        """The output of a fit, centred on these rows."""
        q = named.fit.posterior
        return Output(
            label,
            Predictive(q, named.likelihood, units),
            centre_of(q, X, weights),
            float(named.fit.bound),
            tuple(float(v) for v in named.fit.history),
            bool(named.fit.converged),
            named.fit.message,
            named.report,
        )

    def _learn(self, source: TableSource, look: Callable[[Any, Any], None], progress: Progress = silent) -> Schema:
        """The schema of a source in one pass, on which `look` is shown all targets and weights."""
        total = 0.0

        def seen(y: Any, weights: Any, n_rows: int) -> None:
            nonlocal total
            total += len(y) / MOST_WEIGHT if weights is None else float(np.sum(weights / MOST_WEIGHT))
            look(y, weights)
            progress(Step("reading", n_rows, source.expected_rows))

        schema = learn_schema(source, self.categorical, seed_of(self.random_state), seen, self._policy)
        if source.n_rows == 0:
            raise InputError("there are no rows to fit to.")
        _check_mean_weight(total / source.n_rows)
        return schema if self.terms is None else schema.in_units_of(self.terms)

    def _made(self, schema: Schema, n_rows: int, outputs: tuple[Output, ...], task: Task, target: str) -> Model:
        """The model of a fit, with what was asked for."""
        return Model(
            schema,
            self.structure,
            self.method,
            self._inference(),
            n_rows,
            outputs,
            task,
            target,
            hasattr(self, "feature_names_in_"),
            type(self).__name__,
            {name: plain(value) for name, value in self.get_params(deep=False).items()}
            | {"likelihood": self._likelihood().name, "terms": None if self.terms is None else len(self.terms)},
        )

    def _progress(self) -> Progress:
        return Lines() if self.verbose else silent

    # what was learned

    def _model(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def _seen(self, X: Any) -> tuple[Model, Table]:
        """The model and the table at which it is asked."""
        return self._model(), self._table(X, reset=False)

    @property
    def n_iter_(self) -> int:
        """Iterations, rounds or steps that the fit took."""
        return max(1, max(len(output.history) for output in self._model().outputs))

    @property
    def intercept_(self) -> Any:
        """What all effects are added to; for more than two classes an array, one for each."""
        model = self._model()
        intercepts = [model.intercept(i) for i in range(len(model.outputs))]
        return intercepts[0] if len(intercepts) == 1 else np.array(intercepts)

    def predict_latent(self, X: Any, *, label: Any = None) -> tuple[Any, Any]:
        """Mean and standard deviation of f, before noise or link: for a Gaussian likelihood in the units of y.

        With likelihood='poisson' it is the log-rate; with more than two classes say of which `label`.
        """
        model, table = self._seen(X)
        i = model.output_of(label)
        return model.outputs[i].predictive.in_units(model.latent(table, i))

    def log_predictive_density(self, X: Any, y: Any) -> Any:
        """log p(y) at every row, in the units of y (of labels log P(y)): how well the model foresaw it."""
        model, table = self._seen(X)
        return model.log_density(table, model.task.coded(self._targets_of(table, y)))

    def effects(self, X: Any = None, *, label: Any = None) -> dict[str, Effect]:
        """What each term adds to the prediction, by name: mean, standard deviation and 95 % band, centred.

        Without X on a grid of each column, with X at its rows, where `intercept_` and the means add up to the
        prediction of f (for a Gaussian or Student-t likelihood, of y). An effect of more than two columns has no grid:
        without X it is left out. With more than two classes say of which `label`.
        """
        model = self._model()
        return model.effects(None if X is None else self._table(X, reset=False), model.output_of(label))

    def plot_effects(self, names: Any = None, *, label: Any = None, n_columns: int = 3) -> Any:
        """A picture of every effect with its band, and of where the rows are; returns matplotlib's figure.

        `names` are those of the effects to draw, or a single one; by default all of up to two columns.
        """
        return plot_effects(self._model(), self._model().output_of(label), names, n_columns)

    def summary(self) -> Summary:
        """Terms, noise, evidence and how the model was made: prints as a table, shows as one in notebooks."""
        return summarise(self._model())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `odvff.load` reads: whole or not at all, without any data."""
        from odvff.model.file import save

        save(path, self._model())

    def _repr_html_inner(self) -> str:
        # fitted estimators show what they learned, others scikit-learn's diagram
        if hasattr(self, "model_"):
            return self.summary()._repr_html_()
        return str(super()._repr_html_inner())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


def load(path: str | os.PathLike[str], *, known: Iterable[type] = ()) -> Any:
    """The fitted estimator in a file that its method `save` wrote: the same predictions, to the bit.

    A file holds names of classes, never their code: likelihoods, features and kernels that are written outside the
    package must be among the `known`, as in `load(path, known=[MyLikelihood])`.
    """
    from odvff.model import file

    model = file.load(path, known)
    try:
        return _estimator(model)
    except FileError as error:
        raise FileError(f"{path} is damaged: {error}") from error


def _estimator(model: Model) -> Any:
    """The estimator of a model that says by which it was made, and what that was asked for."""
    from odvff import estimators

    if model.made_by not in estimators.__all__:
        raise FileError(f"it holds an unknown estimator, {model.made_by[:40]!r}.")
    made = getattr(estimators, model.made_by)
    if made._labels != (model.task.classes is not None):
        raise FileError(f"it holds a {model.task.name}, which its estimator does not do.")
    unknown = set(model.asked) - set(made._get_param_names())
    if unknown:
        raise FileError(f"it has the unknown parameter {sorted(unknown)[0][:40]!r}.")
    likelihood = model.outputs[0].predictive.likelihood
    # one from outside has no name that an estimator knows
    own: dict[str, Any] = {} if type(likelihood) in LIKELIHOODS else {"likelihood": likelihood}
    if model.asked.get("terms") is not None:
        fitted, n = model.outputs[0].posterior.terms.terms, model.asked["terms"]
        if not isinstance(n, int) or not 0 < n <= len(fitted):
            raise FileError(f"it has {str(n)[:40]!r} terms of its user's, and {len(fitted)} in all.")
        own["terms"] = model.schema.named(fitted[:n])
    return made(**model.asked | own)._with(model)


def say(notes: Iterable[FitWarning], stacklevel: int) -> None:
    """Notes of a fit as Python's warnings, each once, in the words that estimators have."""
    heard = {str(note): note for note in (note.renamed(ENGINE) for note in notes)}
    for note in heard.values():
        warnings.warn(note, stacklevel=stacklevel)


def _check_mean_weight(mean: float) -> None:
    """Weights are not so large that nothing would be left as noise; their mean is in units of the largest."""
    if mean > 1:
        raise InputError(
            f"weights count how often a row is there, and these are {mean * MOST_WEIGHT:.3g} on average, more than "
            f"{MOST_WEIGHT:,.0f}; if they are relative, divide them by their mean."
        )
