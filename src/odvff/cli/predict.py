"""`odvff predict`: every row of files, in their order, a batch at a time."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from odvff.cli.evaluate import reading_for
from odvff.cli.options import Csv, PredictOptions
from odvff.cli.terminal import Terminal
from odvff.errors import FileError, InputError
from odvff.model.file import load
from odvff.model.model import Model
from odvff.support.progress import Progress, Step
from odvff.support.storage import check_output, replacing
from odvff.tables import Table
from odvff.tables.file_source import ahead, refuse_infinite
from odvff.tables.files import TableFiles, check_columns, check_usable

SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")


def predict(model: Path, data: list[str], options: PredictOptions, csv: Csv, terminal: Terminal) -> None:
    """Predict, write, and say where."""
    output, interval, keep = options.output, options.interval, options.keep or []
    if output is not None and output.suffix.lower() not in SUFFIXES:
        raise InputError(f"predictions are written to {', '.join(SUFFIXES)} files, got {output.name!r}.")
    if output is None and terminal.as_json:
        raise InputError("predictions themselves are no JSON; with --json say where they go by --output.")
    if not 0 < interval < 1:
        raise InputError(f"--interval must lie between 0 and 1, got {interval:g}; 0.95 is usual.")
    learned = load(model)
    names = list(learned.schema.names)
    if not learned.named_columns:
        raise InputError(f"{model} was fitted to an array, whose columns have no names; predict with it in Python.")
    reading = reading_for(learned, csv)
    # what is kept goes out as it came in, unless it is learned from
    files = TableFiles(data, replace(reading, text=reading.text | (set(keep) - set(names))))
    if output is not None:
        check_output(output, [model, *(entry[0] for entry in files.fingerprint())])
    check_columns([*names, *keep], files.names)
    for name in names:
        check_usable(name, files.schema.field(name).type)
    with terminal.progress() as progress:
        done = _write(_predictions(learned, files, options, progress), output)
    if output is not None:
        terminal.show({"output": str(output), "rows": done}, f"{done:,} predictions written to {output}")


def _predictions(model: Model, files: TableFiles, options: PredictOptions, progress: Progress) -> Iterator[pa.Table]:
    """Columns that are kept and what is predicted, a batch of rows at a time."""
    names, keep, done = list(model.schema.names), options.keep or [], 0
    predicted = _numbers if model.task.classes is None else _classes
    for batch, place in ahead(files.placed(list(dict.fromkeys([*names, *keep])))):
        refuse_infinite(batch, names, place)
        rows = pa.Table.from_batches([batch])
        table = model.table(rows.select(names))
        made = {name: rows.column(name).combine_chunks() for name in keep}
        effects = _effects(model, table) if options.effects else {}
        for part in (predicted(model, table, options.interval), effects):
            for name in made.keys() & part.keys():
                both = f"two columns of the predictions would be called {name!r}"
                raise InputError(f"{both}; rename the one in the data, or leave it out of --keep.")
            made |= part
        done += batch.num_rows
        progress(Step("predicting", done, files.expected_rows))
        yield pa.table(made)


def _numbers(model: Model, table: Table, interval: float) -> dict[str, Any]:
    predictive, f = model.outputs[0].predictive, model.latent(table)
    mean, std = predictive.moments(f)
    lower, upper = predictive.quantiles([(1 - interval) / 2, (1 + interval) / 2], f).T
    return {"mean": mean, "std": std, "lower": np.ascontiguousarray(lower), "upper": np.ascontiguousarray(upper)}


def _classes(model: Model, table: Table, interval: float) -> dict[str, Any]:
    probabilities, classes = model.probabilities(table), model.task.classes
    best = classes[probabilities.argmax(axis=1)]
    each = {f"probability of {c}": np.ascontiguousarray(probabilities[:, i]) for i, c in enumerate(classes)}
    return {"prediction": pa.array(best.tolist()), **each}


def _effects(model: Model, table: Table) -> dict[str, Any]:
    """What each term adds, on the scale of f; of the class in brackets, if there are several."""
    made: dict[str, Any] = {}
    for i, output in enumerate(model.outputs):
        which = f" ({output.label})" if len(model.outputs) > 1 else ""
        made[f"intercept{which}"] = np.full(table.n_rows, model.intercept(i))
        made |= {f"effect of {name}{which}": effect.mean for name, effect in model.effects(table, i).items()}
    return made


def _write(tables: Iterator[pa.Table], output: Path | None) -> int:
    """Write tables to a file, which appears when all is done, or to standard output; how many rows they have."""
    first = next(tables, None)
    if first is None:
        raise InputError("there are no rows to predict.")

    def written(suffix: str, sink: Any) -> int:
        done = 0
        with _writer(suffix, sink, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
                done += table.num_rows
        return done

    if output is None:
        done = written(".csv", pa.PythonFile(sys.stdout.buffer, mode="w"))
        sys.stdout.buffer.flush()  # not closed: it is not ours
        return done
    try:
        with replacing(output) as temporary, pa.OSFile(temporary, "wb") as sink:
            return written(output.suffix.lower(), sink)
    except pa.ArrowInvalid as error:
        raise FileError(f"{output} cannot be written: {error}.") from error


def _writer(suffix: str, sink: Any, schema: pa.Schema) -> Any:
    if suffix == ".parquet":
        return pa.parquet.ParquetWriter(sink, schema)
    if suffix in (".csv", ".tsv"):
        options = pa.csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",", quoting_style="needed")
        return pa.csv.CSVWriter(sink, schema, write_options=options)
    return pa.ipc.new_file(sink, schema)
