"""ODVFFRegressor: a Gaussian process for the mean of y and its spread, from any table."""

import warnings
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from odvff.errors import Argument, FitWarning, InputError
from odvff.estimators.base import TableEstimator, say
from odvff.estimators.parameters import described, seed_of
from odvff.fitting import Named
from odvff.inference import fit_collapsed
from odvff.likelihoods import Units
from odvff.likelihoods.units import TargetMoments, moments_of
from odvff.methods import choose_terms, method_of
from odvff.model.model import Model
from odvff.model.task import Numbers, numbers_of
from odvff.rows import MemoryRows, RowSource, Sampler
from odvff.statistics import Statistics, collect
from odvff.support.checks import positive
from odvff.support.progress import Step
from odvff.support.run import Run, Tell
from odvff.tables import MemorySource, Schema, Table, TableSource
from odvff.tables.source import EncodedRows
from odvff.terms import Sum


@dataclass(frozen=True)
class Parts:
    """A fit in parts: what was decided with the first one, and the sums of all so far, as statistics add up.

    A sample of coded rows is kept to centre effects on, the same one however the rows came.
    """

    schema: Schema
    terms: Sum
    report: tuple[str, ...]
    noise: float | None  # relative to the variance of y; with it the kernels of the terms are a place to start from
    units: Units  # of y, as it enters the statistics: near its mean, so that no digits are lost
    sampler: Sampler
    sample: Any
    sample_weights: Any
    statistics: Statistics | None = None

    def added(self, table: Table, y: Any, weights: Any | None) -> "Parts":
        """With the rows of one more part."""
        self.schema.refuse_new(table)
        source = MemorySource(table, y, weights)
        statistics = collect(self.terms, EncodedRows(self.schema, source, self.units.standardised).chunks())
        sampler = deepcopy(self.sampler)
        new, kept = sampler.add(table.n_rows)
        statistics = statistics if self.statistics is None else self.statistics + statistics
        X = np.concatenate([self.sample, self.schema.encode(table.take(new))])
        w = np.concatenate([self.sample_weights, np.ones(len(new)) if weights is None else weights[new]])
        return replace(self, sampler=sampler, statistics=statistics, sample=X[kept], sample_weights=w[kept])

    def standardised(self) -> tuple[Statistics, Units]:
        """The statistics of y with mean 0 and variance 1, and the units that it has them in."""
        assert self.statistics is not None
        mean, variance = self.statistics.mean(), self.statistics.variance()
        spread = float(np.sqrt(variance)) if variance > 1e-28 * max(mean**2, 1e-300) else 1.0
        units = Units(self.units.shift + self.units.scale * mean, self.units.scale * spread)
        return self.statistics.standardised(mean, spread), units


@described
class ODVFFRegressor(RegressorMixin, TableEstimator):  # type: ignore[misc]
    """Gaussian-process regression for tables of a hundred to a billion rows.

    The mean is a sum of smooth effects, one for each numeric column and for pairs of them that act together, and of
    effects of levels for categorical columns; how smooth each is, how strong, and how much noise there is are learned
    from the data. Missing values are welcome.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    model_ : the fitted `odvff.model.model.Model`.
    n_features_in_, feature_names_in_ : the columns of the training table.

    Examples
    --------
    >>> import numpy as np
    >>> from odvff import ODVFFRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 1, (500, 2))
    >>> y = 10 + np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(500)
    >>> model = ODVFFRegressor().fit(X, y)
    >>> mean, std = model.predict([[0.25, 0.5]], return_std=True)
    >>> bool(abs(mean[0] - 11) < 0.1), bool(0.08 < std[0] < 0.13)
    (True, True)
    """

    _labels = False
    _targets = staticmethod(numbers_of)
    _parts: Parts

    def _fit(self, source: TableSource, run: Run) -> None:
        likelihood = self._likelihood()
        moments = TargetMoments(likelihood.check)
        schema = self._learn(source, moments.add, run.progress)
        if not likelihood.same_scale:
            schema = schema.with_intercept()
        rows, units = self._standardised(schema, source, moments)
        output = self._fit_output(schema, rows, units, run)
        self.model_ = self._made(schema, source.n_rows, (output,), Numbers(), source.target)
        if hasattr(self, "_parts"):
            del self._parts

    def _standardised(self, schema: Schema, source: TableSource, moments: TargetMoments) -> tuple[RowSource, Units]:
        """Rows with targets in the likelihood's units; those of a small table by its rows in an order of their own."""
        likelihood = self._likelihood()
        if not self._merges(source):
            units = likelihood.units(moments, lambda: source.sample(self._policy.middle_rows)[1:])
            return self._rows(schema, source, units.standardised), units
        X, y, weights = self._rows(schema, source).everything()
        units = likelihood.units(moments_of(y, weights), lambda: (y, weights))
        return MemoryRows(X, units.standardised(y), weights, seed_of(self.random_state)), units

    # in parts

    def _in_parts(self) -> bool:
        try:
            summed = method_of(self.method).takes_terms and self._likelihood().closed_form
        except InputError:  # `fit` says so
            summed = False
        if not summed or self.inference not in ("auto", "collapsed"):
            raise AttributeError(
                "partial_fit adds up statistics: it is for likelihood='gaussian', method 'odvff' or 'vff', and "
                "collapsed inference"
            )
        return True

    @available_if(_in_parts)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> "ODVFFRegressor":
        """Learn from some more rows, as if all had been there at once.

        The first part decides how columns are coded (boxes, levels, whether values may be missing) and how many
        harmonics there are, so let it be a fair one; rows outside the boxes are dealt with exactly. No rows are kept,
        but for those outside; so there are no inducing points.
        """
        if self.n_inducing not in ("auto", 0):
            raise InputError(
                "partial_fit keeps no rows, which inducing points need; ",
                Argument("n_inducing"),
                f" must be 'auto' or 0, got {self.n_inducing!r}.",
            )
        first = not hasattr(self, "_parts")
        if first and hasattr(self, "model_"):  # scikit-learn's checks do so, or it would be an error
            note = FitWarning(
                "partial_fit goes on from partial_fit, and this model was fitted at once or loaded, without the sums "
                "that rows are added to: a new model begins, and the rows before are forgotten. Begin with "
                "partial_fit, or `clone` the estimator for a new model."
            )
            warnings.warn(note, stacklevel=2)
        table, y, weights = self._checked(X, y, sample_weight, reset=first)
        parts = self._first_part(table, y, weights) if first else self._parts
        parts = parts.added(table, y, weights)
        # both or none: an interrupt on the way leaves what was there
        notes: list[FitWarning] = []
        self.model_, self._parts = self._model_of(parts, notes.append), parts
        say(notes, stacklevel=3)
        return self

    def _first_part(self, table: Table, y: Any, weights: Any | None) -> Parts:
        """How columns are coded, and how many harmonics they have."""
        source, moments = MemorySource(table, y, weights, seed_of(self.random_state)), TargetMoments()
        schema = self._learn(source, moments.add)
        rows, units = self._standardised(schema, source, moments)
        options = self._options(schema.names)
        start = choose_terms(rows, self._design(schema), options)
        if method_of(self.method).gamma:
            start = start.saying("no inducing points: fitting in parts keeps no rows for them")
        # kernels that a look at one part found are no place to start from with all, but those of a user are
        noise = None if start.known else start.noise
        sampler = Sampler(self._policy.centre_rows, options.seed)
        return Parts(schema, start.terms, start.report, noise, units, sampler, np.zeros((0, schema.width)), np.zeros(0))

    def _model_of(self, parts: Parts, tell: Tell) -> Model:
        """The model of all parts so far."""
        (statistics, units), progress = parts.standardised(), self._progress()
        fit = fit_collapsed(
            parts.terms,
            statistics,
            noise=parts.noise,
            max_iter=self._options(parts.schema.names).max_iter,
            progress=lambda n, bound: progress(Step("fitting", n, None, "iterations", bound)),
            tell=lambda note: tell(note.in_units(units.shift, units.scale)),
        )
        output = self._output(Named(fit, parts.report), parts.sample, parts.sample_weights, units, None)
        return self._made(parts.schema, statistics.n_rows, (output,), Numbers(), "y")

    # asking

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of y at every row, and its standard deviation if asked for (noise included)."""
        model, table = self._seen(X)
        predictive = model.outputs[0].predictive
        if not return_std and predictive.likelihood.mean_is_f:
            return predictive.units.shift + predictive.units.scale * model.mean(table)
        mean, std = predictive.moments(model.latent(table))
        return (mean, std) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.95) -> Any:
        """Lower and upper end of the central interval that holds y with this probability, (N, 2)."""
        coverage = positive(coverage, "coverage", "0.95 is usual")
        if coverage >= 1:
            raise InputError(f"coverage must be below 1, got {coverage:g}; 0.95 is usual.")
        return self.predict_quantiles(X, [(1 - coverage) / 2, (1 + coverage) / 2])

    def predict_quantiles(self, X: Any, q: Any) -> Any:
        """Quantiles of y at every row, (N, len(q))."""
        model, table = self._seen(X)
        return model.outputs[0].predictive.quantiles(q, model.latent(table))

    def predict_cdf(self, X: Any, y: Any) -> Any:
        """P(Y ≤ y) at every row: the probability integral transform, uniform if the model is right."""
        model, table = self._seen(X)
        return model.outputs[0].predictive.cdf(self._targets_of(table, y), model.latent(table))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> Any:
        """Draws of y at the rows of X, (N, n_samples), joint in f.

        Up to 1000 rows exactly so; for more, f is drawn as functions that are evaluated in blocks of rows.
        """
        model, table = self._seen(X)
        rng = np.random.default_rng(seed_of(random_state))
        f = model.samples(table, n_samples, int(rng.integers(2**31)))
        return model.outputs[0].predictive.draw(f, rng).T
