"""`odvff evaluate`, `report` and `inspect`: what a model that was fitted is, and how good."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from odvff.cli.options import Csv
from odvff.cli.terminal import Terminal, as_option, table
from odvff.errors import InputError
from odvff.model import file
from odvff.model.evaluation import Evaluator
from odvff.model.file import load
from odvff.model.model import Model
from odvff.model.quality import METRICS, Evaluation
from odvff.model.summary import COLUMNS, summarise
from odvff.support.progress import Progress, Step
from odvff.support.storage import check_output
from odvff.tables import Category, FileSource, Numeric, TableFiles
from odvff.tables.csv_file import Reading
from odvff.tables.table import FrameTable

SHOWN_LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
Chunks = Iterable[tuple[FrameTable, Any, Any]]  # rows, targets and weights


def evaluate(model: Path, data: list[str], target: str | None, strict: bool, csv: Csv, terminal: Terminal) -> None:
    """Measure, and say what came of it."""
    evaluation, source = evaluated(load(model), data, target, csv, terminal, strict=strict)
    result = {"model": str(model), "dropped_rows": source.dropped, **evaluation.to_words()}
    terminal.show(result, *in_tables(evaluation, f"on {evaluation.n_rows:,} rows"))


def report(
    model: Path, data: list[str] | None, output: Path | None, target: str | None, csv: Csv, terminal: Terminal
) -> None:
    """Write the report, and say where it is."""
    from odvff.report import write_report

    learned = load(model)
    evaluation = learned.evaluation
    place = model.with_suffix(".html") if output is None else output
    check_output(place, [model, *(data or [])])
    if data:
        evaluation, _ = evaluated(learned, data, target, csv, terminal)
    if evaluation is None:
        terminal.warn("the model has no held-out rows and no data were given: the report cannot say how good it is")
    write_report(place, learned, evaluation, name=model.stem)
    terminal.show({"report": str(place)}, f"report written to {place}; open it in a browser")


def inspect(model: Path, terminal: Terminal) -> None:
    """Show the columns, the terms and how the model was made."""
    learned, header = load(model), file.inspect(model)
    summary = summarise(learned, as_option)
    facts = {
        "file": f"{model} ({model.stat().st_size / 1e3:,.0f} kB)",
        "estimator": learned.made_by,
        "target": learned.target,
        **summary.facts,
        "made with": ", ".join(f"{name} {number}" for name, number in header["versions"].items()),
    }
    parts = [
        table(("what", "value"), list(facts.items())),
        table(("column", "kind", "values", "missing"), [_column(c) for c in learned.schema.columns], "Columns"),
        *(table(COLUMNS, rows, heading or "Terms") for heading, rows in summary.tables.items()),
        *(f"note: {note}" for note in summary.notes),
    ]
    if (evaluation := learned.evaluation) is not None:
        parts += in_tables(evaluation, f"on {evaluation.n_rows:,} rows that were held out")
    terminal.show({"facts": facts, "header": header}, *parts)


def _column(column: Numeric | Category) -> tuple[str, ...]:
    if isinstance(column, Numeric):
        return column.name, "numbers", f"{column.least:g} to {column.most:g}", "yes" if column.missing else "no"
    levels = [str(level) for level in column.levels if level is not None]
    shown = ", ".join(levels[:6]) + (f", … ({len(levels)} in all)" if len(levels) > 6 else "")
    return column.name, "categories", shown, "yes" if None in column.levels else "no"


def measure(
    model: Model, chunks: Chunks, total: int | None, progress: Progress, terminal: Terminal
) -> Evaluation | None:
    """Everything about these rows, but for those of classes that the model does not know; None if none is left."""
    evaluator, done, unknown, weighted = Evaluator(model), 0, 0, False
    for rows, y, weights in chunks:
        done += rows.n_rows
        weighted |= weights is not None
        if not (known := model.task.known(y)).all():
            unknown += int((~known).sum())
            rows, y = rows.take(np.flatnonzero(known)), y[known]
        evaluator.add(rows.native, y)
        progress(Step("measuring", done, total))
    if unknown:
        terminal.warn(f"{unknown:,} rows were not measured: their class was not there in training")
    if weighted:
        terminal.warn("what was measured counts every row once, whatever its weight")
    return evaluator.result() if done > unknown else None


def reading_for(model: Model, csv: Csv) -> Reading:
    """How a file must be read so that its columns have the types of training."""
    columns = model.schema.columns
    kinds = {c.name: {type(v) for v in c.levels if v is not None} for c in columns if isinstance(c, Category)}
    text = frozenset(name for name, some in kinds.items() if str in some)
    numbers = {c.name for c in columns if kinds.get(c.name, {float}) <= {int, float}}
    if model.task.classes is None:
        numbers.add(model.target)
    return Reading(csv.delimiter, csv.encoding, text, text=text, numbers=frozenset(numbers))


def evaluated(
    model: Model, data: list[str], target: str | None, csv: Csv, terminal: Terminal, *, strict: bool = False
) -> tuple[Evaluation, FileSource]:
    """The evaluation of a model on files, and their rows."""
    reading, classes, target = reading_for(model, csv), model.task.classes, target or model.target
    if classes is not None and any(isinstance(c, str) for c in classes.tolist()):
        reading = replace(reading, labels=reading.labels | {target}, text=reading.text | {target})
    files, features = TableFiles(data, reading), list(model.schema.names)
    source = FileSource(files, target, labels=classes is not None, features=features, strict=strict)
    with terminal.progress() as progress:
        evaluation = measure(model, source.chunks(), source.expected_rows, progress, terminal)
    warn_of_rows(source, terminal)
    if evaluation is None:
        raise InputError("there is no row with a known target to measure on.")
    return evaluation, source


def warn_of_rows(source: FileSource, terminal: Terminal) -> None:
    """Say how many rows had no target."""
    if source.dropped:
        why = "their target is missing or infinite (--strict refuses them)"
        terminal.warn(f"{source.dropped:,} rows were left out: {why}")


def in_tables(evaluation: Evaluation, where: str) -> Iterator[str]:
    """Metrics and calibration for people."""
    found, names = evaluation.metrics, METRICS[evaluation.task]
    rows = [(words, f"{found[name]:.4g}") for name, words in names.items() if name in found]
    yield table(("measured", "value"), rows, f"How good it is {where}")
    shown = [(level, share) for level, share in evaluation.calibration if level in SHOWN_LEVELS]
    if shown:
        cells = [(f"{100 * level:.0f} %", f"{100 * share:.1f} %") for level, share in shown]
        yield table(("intervals of", "held"), cells, "Calibration")
    for one in evaluation.reliability[:1]:
        bins = [(f"{100 * p:.1f} %", f"{100 * share:.1f} %", f"{n:,}") for p, share, n in one.bins]
        yield table(("said", "happened", "rows"), bins, f"Calibration of class {one.label!r}")
