"""A fitted model of a table: everything that prediction needs, in the user's units, and nothing of the data.

    table ──schema──▶ coded rows ──predictive──▶ f, y

Rows are taken in blocks, side by side on all cores with one BLAS thread each, so that memory is bounded and a
prediction does not depend on how many rows are asked for at once.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from odvff.design import TIMES
from odvff.inference.notes import INTERRUPTED
from odvff.model.predictive import Marginals, Predictive
from odvff.model.quality import Evaluation
from odvff.model.task import Task
from odvff.posterior import Posterior
from odvff.posterior.effects import Centre, CentredEffects, Part
from odvff.posterior.orthogonal import JOINT_ROWS, REFINEMENT
from odvff.posterior.samples import with_detail
from odvff.rows import row_slices
from odvff.support.threads import one_blas_thread, side_by_side
from odvff.tables import Category, Schema, Table, as_table
from odvff.tables.schema import check_names
from odvff.tables.table import is_frame

BLOCK_ROWS = 4096
LONG_BLOCK_ROWS = 2**14  # of predictions that make features of few rows at a time themselves
GRID, SURFACE = 200, 50
MOST_AXES = 2  # columns of an effect that has a picture
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
    def interrupted(self) -> bool:
        """Did a person end the fit?"""
        return self.message == INTERRUPTED

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
    kind: str  # "numeric", "category", "missing", "surface", or "mixed" of several columns, some of labels
    values: Any  # of the column; labels of a category; of several columns rows of them
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
        return self._blocks(table, p.mean_of_f, _rows_at_once(p.posterior))

    def samples(self, table: Table, n_samples: int, seed: int, output: int = 0) -> Any:
        """Samples of f, (n_samples, N): jointly exact up to 1000 rows, sampled functions in blocks of rows beyond.

        Detail that is finer than these functions resolve is drawn for each row on its own, with its variance.
        """
        q = self.outputs[output].posterior
        if table.n_rows <= JOINT_ROWS:
            return q.sample(self.schema.encode(table), n_samples, seed=seed, method="exact")
        # these functions have many times the features, so fewer rows at a time
        rows = self._blocks(table, q.paths(n_samples, seed=seed).with_unresolved, BLOCK_ROWS // REFINEMENT)
        return with_detail(rows, seed, f"up to {JOINT_ROWS} rows at a time are drawn jointly", stacklevel=4)

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
        terms = self.outputs[output].posterior.terms.names
        # by its place, as a column may be called intercept too
        own = (self.schema.width - 1,) if self.schema.intercept else None
        parts = [(p, self._name(part), part) for p, part in enumerate(self._told(output).parts) if part.columns != own]
        times = Counter(name for _, name, _ in parts)
        # a column of a term of several may be called as another term
        return [
            (p, name if part.name or times[name] == 1 else f"{terms[part.place]}: {name}", part)
            for p, name, part in parts
        ]

    def _told(self, output: int) -> CentredEffects:
        return CentredEffects(self.outputs[output].posterior, self.outputs[output].centre, self.schema.width)

    def columns_of(self, part: Part) -> tuple[Any, ...]:
        """The columns of the table that a part depends on."""
        coded = [column for column in self.schema.columns for _ in range(column.width)]
        return tuple(coded[place] for place in part.columns)

    def intercept(self, output: int = 0) -> float:
        """What all effects are added to, in the units of `effects`."""
        o = self.outputs[output]
        return o.predictive.units.shift + o.scale * self._told(output).level()

    def effects(self, table: Table | None, output: int = 0, names: Collection[str] | None = None) -> dict[str, Effect]:
        """Every part's effect, or those of some names: on a grid of its own, or at the rows of a table.

        Parts of more than two columns have no grid: without a table they are left out.
        """
        o, told = self.outputs[output], self._told(output)
        parts = [
            (p, name, part)
            for p, name, part in self.parts(output)
            if (names is None or name in names) and (table is not None or len(part.columns) <= MOST_AXES)
        ]
        if table is None:
            grids = [(p, *self._grid(part)) for p, _, part in parts]
            shown = [(values, told.at(p, coded)) for p, values, coded in grids]
        else:
            found = self._blocks(table, lambda X: np.array([told.at(p, X) for p, _, _ in parts]))
            shown = [(self._at_rows(part, table), one) for (_, _, part), one in zip(parts, found, strict=True)]
        return {
            name: Effect(name, self.kind_of(part), values, o.scale * mean, o.scale * np.sqrt(variance))
            for (_, name, part), (values, (mean, variance)) in zip(parts, shown, strict=True)
        }

    def kind_of(self, part: Part) -> str:
        """Of its effect: "numeric", "category", "missing", "surface" or "mixed"."""
        columns = self.columns_of(part)
        labels = any(isinstance(column, Category) for column in columns)
        if len(columns) > 1:
            return "mixed" if labels else "surface"
        numeric = part.columns[0] == self.schema.places()[columns[0].name]
        return "category" if labels else "numeric" if numeric else "missing"

    def has_picture(self, part: Part) -> bool:
        """All have but those of more than two columns, and of several of which some are of labels."""
        return len(part.columns) <= MOST_AXES and self.kind_of(part) != "mixed"

    def _name(self, part: Part) -> str:
        if part.name:
            return part.name
        columns = self.columns_of(part)
        return columns[0].missing_name if self.kind_of(part) == "missing" else TIMES.join(c.name for c in columns)

    def _grid(self, part: Part) -> tuple[Any, Any]:
        """Values and coded rows to show a part at."""
        columns, kind = self.columns_of(part), self.kind_of(part)
        if kind == "missing":
            values, codes = [None], np.zeros((1, 1))
        elif len(columns) == 1:
            values, code = columns[0].axis(GRID, part.features.n_levels)
            codes = code[:, None]
        else:
            axes, coded_axes = zip(*(column.axis(SURFACE) for column in columns), strict=True)
            values, codes = _product(_points(axes, kind)), _product(coded_axes)
        coded = np.zeros((len(values), self.schema.width))
        coded[:, part.columns] = codes
        return values, coded

    def _at_rows(self, part: Part, table: Table) -> Any:
        """The values that a part has in a table."""
        each = [
            (table.labels if isinstance(column, Category) else table.numbers)(self.schema.names.index(column.name))
            for column in self.columns_of(part)
        ]
        return each[0] if len(each) == 1 else np.stack(_points(each, self.kind_of(part)), axis=1)

    def rows_of_summary(self, output: int = 0) -> list[dict[str, Any]]:
        """Every term: kind, lengthscale and standard deviation in the user's units, share of the variance of f."""
        o, parts, rows = self.outputs[output], self.parts(output), []
        total = float(sum(o.centre.variances[p] for p, _, _ in parts)) or 1.0
        for p, name, part in parts:
            scales = zip(self.columns_of(part), part.features.lengthscales(part.kernel), strict=False)
            prior = float(np.ravel(part.variances(np.zeros((1, self.schema.width))))[0])
            rows.append(
                {
                    "term": name,
                    "features": part.features.words(),
                    "lengthscales": {column.name: scale * column.size for column, scale in scales},
                    "std": o.scale * np.sqrt(prior),
                    "share": float(o.centre.variances[p]) / total,
                }
            )
        return rows


def _points(axes: Iterable[Any], kind: str) -> list[Any]:
    """Values of several columns as arrays that can stand side by side."""
    return [np.array(values, dtype=object if kind == "mixed" else np.float64) for values in axes]


def _product(axes: Iterable[Any]) -> Any:
    """Every value of the first with every one of the second, row by row."""
    return np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)


def _rows_at_once(q: Posterior) -> int:
    return LONG_BLOCK_ROWS if q.terms.is_fixed else BLOCK_ROWS
