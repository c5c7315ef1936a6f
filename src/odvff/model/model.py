"""A fitted model of a table: everything that prediction needs, in the user's units, and nothing of the data.

    table ──schema──▶ coded rows ──predictive──▶ f, y

Rows are taken in blocks, side by side on all cores with one BLAS thread each, so that memory is bounded and a
prediction does not depend on how many rows are asked for at once.
"""

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from odvff.design import TIMES
from odvff.model.predictive import Marginals, Predictive
from odvff.model.quality import Evaluation
from odvff.model.task import Task
from odvff.posterior import Posterior
from odvff.posterior.effects import Centre, Part, centred_effect, part_levels, parts_of
from odvff.posterior.orthogonal import JOINT_ROWS, REFINEMENT
from odvff.rows import row_slices
from odvff.support.threads import one_blas_thread, side_by_side
from odvff.tables import Category, Schema, Table, as_table
from odvff.tables.schema import check_names
from odvff.tables.table import is_frame

BLOCK_ROWS = 4096
LONG_BLOCK_ROWS = 2**14  # of predictions that make features of few rows at a time themselves
GRID, SURFACE = 200, 50
MOST_AXES = 2  # columns of an effect that has a picture
UNRESOLVED = 0.01  # share of the variance that sampled functions may leave out without a warning
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Output:
    """One predictive and how it was found: the only one, or that of a class against the rest."""

    label: Any
    predictive: Predictive
    centre: Centre
    bound: float
    history: tuple[float, ...]
    converged: bool
    message: str
    report: tuple[str, ...]

    @property
    def posterior(self) -> Posterior:
        """Of the effects."""
        return self.predictive.posterior

    @property
    def scale(self) -> float:
        """Of effects, in the units of y."""
        return self.predictive.units.scale


@dataclass(frozen=True)
class Effect:
    """What a term adds to f, centred: mean, standard deviation and 95 % band, at values in the user's units."""

    name: str
    kind: str  # "numeric", "category", "missing" or "surface"
    values: Any  # of the column; labels of a category; for a surface rows of several columns
    mean: Any
    std: Any

    @property
    def lower(self) -> Any:
        return self.mean - Z95 * self.std

    @property
    def upper(self) -> Any:
        return self.mean + Z95 * self.std


@dataclass(frozen=True)
class Model:
    """A fitted model: how a table is coded, how it was made, a posterior for each output, and what it answers with."""

    schema: Schema
    structure: str
    method: str
    inference: str
    n_rows: int
    outputs: tuple[Output, ...]
    task: Task
    target: str = "y"  # its name
    named_columns: bool = True  # or they came as an array
    made_by: str = "Model"  # the estimator
    asked: dict[str, Any] = field(default_factory=dict)  # what it was asked for, in plain words
    evaluation: Evaluation | None = None  # on rows that were held out

    def table(self, X: Any) -> Table:
        """Rows to ask the model at: a data frame or an array with the columns of training."""
        table = as_table(X if is_frame(X) else check_array(X, dtype="numeric", ensure_all_finite=False))
        check_names(self.schema.names, table.names)
        return table

    def probabilities(self, table: Table) -> Any:
        """The probability of every class at every row, averaged over the posterior, (N, classes)."""
        return self.task.probabilities(self._marginals(table))

    def log_density(self, table: Table, y: Any) -> Any:
        """log p(y) at every row, in the units of y; y is coded by the task."""
        return self.task.log_density(y, self._marginals(table))

    def _marginals(self, table: Table) -> list[tuple[Predictive, Marginals]]:
        """The predictive of every output, with the marginals of its f."""
        return [(o.predictive, self.latent(table, i)) for i, o in enumerate(self.outputs)]

    def output_of(self, label: Any) -> int:
        """The position of the output for a label; None where there is just one."""
        return self.task.place(label, [output.label for output in self.outputs])

    def latent(self, table: Table, output: int = 0) -> Marginals:
        """Mean and variance of f, on the scale of the likelihood."""
        p = self.outputs[output].predictive
        return Marginals(*self._blocks(table, lambda X: np.stack(p.latent(X)), _rows_at_once(p.posterior)))

    def mean(self, table: Table, output: int = 0) -> Any:
        """The mean of f alone, which is cheaper."""
        p = self.outputs[output].predictive
        return self._blocks(table, lambda X: p.mean_of_f(X)[None], _rows_at_once(p.posterior))[0]

    def samples(self, table: Table, n_samples: int, seed: int, output: int = 0) -> Any:
        """Samples of f, (n_samples, N): jointly exact up to 1000 rows, sampled functions in blocks of rows beyond.

        Detail that is finer than these functions resolve is drawn for each row on its own, with its variance.
        """
        q = self.outputs[output].posterior
        if table.n_rows <= JOINT_ROWS:
            return q.sample(self.schema.encode(table), n_samples, seed=seed, method="exact")
        paths = q.paths(n_samples, seed=seed)

        def block(X: Any) -> Any:
            return np.concatenate([paths(X), paths.unresolved(X)[None], q.terms.variances(X)[None]])

        # these functions have many times the features, so fewer rows at a time
        *values, unresolved, prior = self._blocks(table, block, BLOCK_ROWS // REFINEMENT)
        share = float((unresolved / prior).max())
        if share > UNRESOLVED:
            warnings.warn(
                f"up to {100 * share:.0f} % of the prior variance at these rows is finer than sampled functions "
                f"resolve, or far from the training rows; it is drawn for each row on its own. Up to {JOINT_ROWS} rows "
                "at a time are drawn jointly.",
                stacklevel=3,
            )
        noise = np.random.default_rng([seed, 1]).standard_normal((n_samples, table.n_rows))
        return np.stack(values) + np.sqrt(unresolved) * noise

    def _blocks(self, table: Table, function: Callable[[Any], Any], block_rows: int = BLOCK_ROWS) -> Any:
        """The function of all coded rows, joined along its last axis."""

        def one(s: slice) -> Any:
            return function(self.schema.encode(table.take(s)))

        blocks = list(row_slices(table.n_rows, block_rows))
        if not blocks:
            return function(np.zeros((0, self.schema.width)))
        with one_blas_thread():
            if len(blocks) == 1:
                return one(blocks[0])
            return np.concatenate(list(side_by_side(one, blocks)), axis=-1)

    def parts(self, output: int = 0) -> list[tuple[int, str, Part]]:
        """Position, name and part of all that has an effect (the intercept has none)."""
        q = self.outputs[output].posterior
        # by its place, as a column may be called intercept too
        own = (self.schema.width - 1,) if self.schema.intercept else None
        parts = [(p, part) for p, part in enumerate(parts_of(q, self.schema.width)) if part.columns != own]
        names = [self._name(part) for _, part in parts]
        # a column of a term of several may be called as another term
        return [
            (p, name if part.name or names.count(name) == 1 else f"{q.terms.names[part.term]}: {name}", part)
            for (p, part), name in zip(parts, names, strict=True)
        ]

    def columns_of(self, part: Part) -> tuple[Any, ...]:
        """The columns of the table that a part depends on."""
        return tuple(self._column(c) for c in part.columns)

    def intercept(self, output: int = 0) -> float:
        """What all effects are added to, in the units of `effects`."""
        o = self.outputs[output]
        levels = part_levels(o.posterior, o.centre, self.schema.width)
        return o.predictive.units.shift + o.scale * float(levels.sum())

    def effects(self, table: Table | None, output: int = 0, names: Collection[str] | None = None) -> dict[str, Effect]:
        """Every part's effect, or those of some names: on a grid of its own, or at the rows of a table.

        Parts of more than two columns have no grid: without a table they are left out.
        """
        parts = [one for one in self.parts(output) if names is None or one[1] in names]
        if table is not None:
            return self._effects_at_rows(table, output, parts)
        o, effects = self.outputs[output], {}
        for p, name, part in parts:
            if len(part.columns) <= MOST_AXES:
                values, coded = self._grid(part)
                mean, variance = centred_effect(o.posterior, o.centre, p, coded)
                effects[name] = Effect(name, self._kind(part), values, o.scale * mean, o.scale * np.sqrt(variance))
        return effects

    def _effects_at_rows(self, table: Table, output: int, parts: list[tuple[int, str, Part]]) -> dict[str, Effect]:
        o, effects = self.outputs[output], {}

        def block(X: Any) -> Any:
            return np.array([centred_effect(o.posterior, o.centre, p, X) for p, _, _ in parts])

        for (_, name, part), (mean, variance) in zip(parts, self._blocks(table, block), strict=True):
            values = self._at_rows(part, table)
            effects[name] = Effect(name, self._kind(part), values, o.scale * mean, o.scale * np.sqrt(variance))
        return effects

    def _kind(self, part: Part) -> str:
        """Of its effect: "numeric", "category", "missing" or "surface"."""
        column, *others = self.columns_of(part)
        if others:
            return "surface"
        if isinstance(column, Category):
            return "category"
        return "numeric" if part.columns[0] == self.schema.places()[column.name] else "missing"

    def _name(self, part: Part) -> str:
        if part.name:
            return part.name
        columns = self.columns_of(part)
        return columns[0].missing_name if self._kind(part) == "missing" else TIMES.join(c.name for c in columns)

    def _grid(self, part: Part) -> tuple[Any, Any]:
        """Values and coded rows to show a part at."""
        kind, columns = self._kind(part), self.columns_of(part)
        values: Any
        if kind == "surface":
            axes = [column.grid(SURFACE) for column in columns]
            values = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
            codes = [column.encode(values[:, i])[:, 0] for i, column in enumerate(columns)]
        elif kind == "numeric":
            values = columns[0].grid(GRID)
            codes = [columns[0].encode(values)[:, 0]]
        else:  # codes of levels, or of missing values
            values = list(columns[0].levels) if kind == "category" else [None]
            codes = [np.arange(len(values))]
        coded = np.zeros((len(values), self.schema.width))
        coded[:, part.columns] = np.stack(codes, axis=1)
        return values, coded

    def _at_rows(self, part: Part, table: Table) -> Any:
        """The values that a part has in a table."""
        places = [self.schema.names.index(column.name) for column in self.columns_of(part)]
        if self._kind(part) == "category":
            return table.labels(places[0])
        numbers = [table.numbers(i) for i in places]
        return numbers[0] if len(numbers) == 1 else np.stack(numbers, axis=1)

    def _column(self, coded: int) -> Any:
        """The column that a coded one belongs to."""
        starts = self.schema.places()
        return next(c for c in self.schema.columns if starts[c.name] <= coded < starts[c.name] + c.width)

    def rows_of_summary(self, output: int = 0) -> list[dict[str, Any]]:
        """Every term: kind, lengthscale and standard deviation in the user's units, share of the variance of f."""
        o = self.outputs[output]
        variances = {p: o.centre.variances[p] for p, _, _ in self.parts(output)}
        total = float(sum(variances.values())) or 1.0
        rows = []
        for p, name, part in self.parts(output):
            scales = zip(self.columns_of(part), part.features.lengthscales(part.kernel), strict=False)
            lengthscales = {column.name: scale * column.size for column, scale in scales}
            prior = float(np.ravel(part.variances(np.zeros((1, self.schema.width))))[0])
            rows.append(
                {
                    "term": name,
                    "features": part.features.words(),
                    "lengthscales": lengthscales,
                    "std": o.scale * np.sqrt(prior),
                    "share": float(variances[p]) / total,
                }
            )
        return rows


def _rows_at_once(q: Posterior) -> int:
    return LONG_BLOCK_ROWS if q.terms.is_fixed else BLOCK_ROWS
