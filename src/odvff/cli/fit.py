"""`odvff fit`: from files to a model file."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

import odvff
from odvff.cli.evaluate import in_tables, measure, warn_of_rows
from odvff.cli.options import ARGUMENTS, Csv, FitOptions
from odvff.cli.terminal import Terminal, as_option, table
from odvff.errors import Argument, FileError, InputError
from odvff.model.file import inspect, save
from odvff.model.model import Model
from odvff.model.summary import COLUMNS, summarise
from odvff.model.task import is_number
from odvff.support.journal import EVERY, Journal
from odvff.support.storage import check_output
from odvff.support.threads import n_threads
from odvff.tables import FileSource, TableFiles
from odvff.tables.csv_file import Reading
from odvff.tables.files import STANDARD_INPUT, check_columns, check_target, is_text

PEEK_ROWS, MANY_VALUES = 100_000, 1000
FEW_CLASSES = 10


def fit(data: list[str], options: FitOptions, csv: Csv, terminal: Terminal) -> None:
    """Fit, measure on held-out rows, save, and say what came of it."""
    model, place, source = fitted(data, options, csv, terminal)
    summary, evaluation = summarise(model, as_option), model.evaluation
    facts, tables = summary.facts, summary.tables
    result = {
        "model": str(place),
        "task": model.task.name,
        "target": source.target,
        "rows": source.n_rows,
        "held_out_rows": source.n_held,
        "dropped_rows": source.dropped,
        "facts": facts,
        "terms": {of or "all": [dict(zip(COLUMNS, row, strict=True)) for row in rows] for of, rows in tables.items()},
        "notes": list(summary.notes),
        "evaluation": None if evaluation is None else evaluation.to_words(),
    }
    parts = [table(COLUMNS, rows, heading) for heading, rows in tables.items()]
    parts += ["\n".join(f"note: {note}" for note in summary.notes)]
    if evaluation is not None:
        parts += in_tables(evaluation, f"on {source.n_held:,} rows that were held out")
    chief = ", ".join(f"{name} {facts[name]}" for name in ("method", "features", "likelihood", "evidence"))
    written = f"model written to {place}; see it with: odvff report {place}"
    terminal.show(result, *parts, f"{source.n_rows:,} rows, {chief}", written)


def fitted(data: list[str], options: FitOptions, csv: Csv, terminal: Terminal) -> tuple[Model, Path, FileSource]:
    """The fitted model, where it was saved, and the rows it was fitted to."""
    categorical, exclude = options.categorical or [], options.exclude or []
    if options.target in exclude:
        raise InputError(f"the target {options.target!r} is excluded; leave it in.")
    reading = Reading(csv.delimiter, csv.encoding, frozenset(categorical), frozenset(exclude))
    files = TableFiles(data, reading)
    check_columns([options.target], files.names)
    task: str = options.task
    if task == "auto":
        task, reason = _guessed(files, options.target)
        terminal.say(f"{task}, as the target {options.target!r} {reason}")
    source = FileSource(
        files,
        options.target,
        labels=task == "classification",
        weights=options.weights,
        holdout=options.holdout,
        strict=options.strict,
        seed=options.random_state,
    )
    check_columns(categorical, [*source.features, options.target])
    if "" in files.names:
        terminal.warn("a column without a name, a row index perhaps, was left out")
    before = files.fingerprint()
    place = options.model or _named_after(data[0])
    check_output(place, [entry[0] for entry in before])
    if place.exists():  # a model may replace a model, and nothing else
        try:
            inspect(place)
        except FileError as error:
            raise FileError(f"{place} is there already and is no model; choose another name, or remove it.") from error
    estimator = _estimator(task, options)
    journal = _journal(place, options, csv, {"files": before, "task": task}, terminal)
    with terminal.progress() as progress:
        try:
            model = estimator.fit_source(source, progress=progress, journal=journal).model_
            if any(output.interrupted for output in model.outputs):
                raise KeyboardInterrupt
            warn_of_rows(source, terminal)
            if source.n_held:
                measured = measure(model, source.held_out(), source.n_held, progress, terminal)
                model = replace(model, evaluation=measured)
            if files.fingerprint() != before:
                raise InputError(f"{data[0]} changed while it was read; run the command again.")
        except Exception as error:
            if not isinstance(error, FileError):  # a full disk, perhaps: there is something to go on with
                journal.clear()
            raise
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(
                f"interrupted: {place} was not written; the same command with --resume goes on"
            ) from error
    save(place, model)
    journal.clear()
    return model, place, source


def _named_after(data: str) -> Path:
    """Where the model goes if nobody says so."""
    name = "" if data == STANDARD_INPUT or set("*?[") & set(Path(data).name) else Path(data).name.split(".")[0]
    return Path(f"{name or 'model'}.odvff")


def _guessed(files: TableFiles, target: str) -> tuple[str, str]:
    """The task that a column calls for, and why."""
    import pyarrow as pa

    kind = files.schema.field(target).type
    check_target(target, kind)
    if is_text(kind):
        labels = _peek(files, target, MANY_VALUES)
        others = sorted(label for label in labels if not is_number(label))
        if len(labels) > FEW_CLASSES and len(others) < len(labels) / 2:  # no classes, but numbers with a slip
            raise InputError(
                f"the target {target!r} holds numbers, and also {str(others[0])[:40]!r}; leave it empty where it is "
                "missing, or say --task classification if these are classes."
            )
        return "classification", "holds text (--task regression refuses that)"
    if pa.types.is_boolean(kind):
        return "classification", "is true or false"
    n = sum(v == v and abs(v) != float("inf") for v in _peek(files, target, FEW_CLASSES))
    if n == 2:
        return "classification", "has two values (--task regression overrides)"
    few = f"; it has just {n} values: --task classification takes them as classes" if 0 < n <= FEW_CLASSES else ""
    return "regression", f"holds numbers{few}"


def _peek(files: TableFiles, column: str, most: int) -> set[Any]:
    """Different values of a column in the first rows, until there are more than so many."""
    values: set[Any] = set()
    seen = 0
    for batch in files.batches([column]):
        values |= set(batch.column(0).drop_null().unique().to_pylist())
        seen += batch.num_rows
        if len(values) > most or seen > PEEK_ROWS:
            break
    return values


def _estimator(task: str, options: FitOptions) -> Any:
    from odvff.estimators import ODVFFClassifier, ODVFFRegressor

    made: Any = ODVFFRegressor if task == "regression" else ODVFFClassifier
    # each estimator has defaults of its own
    asked = {name: value for name in ARGUMENTS if (value := getattr(options, name)) is not None}
    asked |= {name: _number_or_auto(asked[name], name) for name in ("n_harmonics", "n_inducing")}
    asked["interactions"] = _pairs(options.interactions)
    asked["categorical"] = [name for name in options.categorical or [] if name != options.target] or "auto"
    return made(**asked)


def _number_or_auto(text: str, name: str) -> int | str:
    if text == "auto":
        return text
    if not text.isdecimal():
        raise InputError(Argument(name), f" must be a whole number or auto, got {text!r}.")
    return int(text)


def _pairs(text: str) -> int | str | list[tuple[str, ...]]:
    """auto, a number, or pairs of columns."""
    if text == "auto" or text.isdecimal():
        return _number_or_auto(text, "interactions")
    pairs = [tuple(name.strip() for name in pair.split(":")) for pair in text.split(",")]
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise InputError(f"--interactions must be auto, a number, or pairs such as width:height, got {text!r}.")
    return pairs


def _journal(place: Path, options: FitOptions, csv: Csv, data: dict[str, Any], terminal: Terminal) -> Journal:
    """Where the run keeps what it has reached: a folder beside the model."""
    asked = {name: str(value) for name, value in (asdict(options) | asdict(csv)).items()}
    del asked["resume"], asked["model"]
    # rows are cut into as many pieces as there are threads, and sums of other pieces are rounded otherwise
    fingerprint = {**data, "options": asked, "version": odvff.__version__, "threads": n_threads()}
    every = float(os.environ.get("ODVFF_JOURNAL_EVERY", EVERY))  # seconds
    folder = place.with_name(place.name + ".progress")
    journal, begun = Journal(folder, fingerprint, every), folder.exists()
    if options.resume and begun and journal.read("run") is None:
        other = f"the run in {folder} had other files or options, another version, or another number of cores"
        raise FileError(f"{other}; give the same, or do without --resume.")
    if options.resume and not begun:
        terminal.say("there is no run to go on with; this one begins at the beginning")
    if begun and not options.resume:
        terminal.say("a run that was broken off is begun anew (--resume goes on with it)")
        journal.clear()
    journal.write("run", {"nothing": np.zeros(1)}, {})
    return journal
