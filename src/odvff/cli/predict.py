"""`odvff predict`: every row of files, in their order, a batch at a time."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from odvff.cli.places import check_output
from odvff.cli.quality import reading_for
from odvff.cli.terminal import Terminal
from odvff.errors import FileError, InputError
from odvff.model.file import load
from odvff.model.model import Model
from odvff.support.atomic import replacing
from odvff.support.progress import Step
from odvff.tables import Table
from odvff.tables.file_source import ahead, refuse_infinite
from odvff.tables.files import TableFiles, check_columns, check_usable

SUFFIXES = (".parquet", ".csv", ".tsv", ".arrow", ".feather")


def predict_files(
    model: Path,
    data: list[str],
    output: Path | None,
    interval: float,
    effects: bool,
    keep: list[str],
    csv: tuple[str | None, str],
    terminal: Terminal,
) -> None:
    """Predict, write, and say where."""
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
    reading = reading_for(learned, *csv)
    # what is kept goes out as it came in, unless it is learned from
    files = TableFiles(data, replace(reading, text=reading.text | (set(keep) - set(names))))
    if output is not None:
        check_output(output, [model, *(entry[0] for entry in files.fingerprint())])
    check_columns([*names, *keep], files.names)
    for name in names:
        check_usable(name, files.schema.field(name).type)
    predicted = _numbers if learned.task.classes is None else _classes
    columns = list(dict.fromkeys([*names, *keep]))
    done, total = 0, files.expected_rows
    with ExitStack() as stack:
        progress = stack.enter_context(terminal.progress())
        write = stack.enter_context(_writer(output))
        for batch, place in ahead(files.placed(columns)):
            refuse_infinite(batch, names, place)
            rows = pa.Table.from_batches([batch])
            table = learned.table(rows.select(names))
            made = {name: rows.column(name).combine_chunks() for name in keep}
            made = _beside(made, predicted(learned, table, interval))
            if effects:
                made = _beside(made, _effects(learned, table))
            write(pa.table(made))
            done += batch.num_rows
            progress(Step("predicting", done, total))
        if not done:
            raise InputError("there are no rows to predict.")
    if output is not None:
        terminal.show({"output": str(output), "rows": done}, f"{done:,} predictions written to {output}")


def _beside(made: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Both, if no name is in both."""
    for name in made.keys() & more.keys():
        raise InputError(
            f"two columns of the predictions would be called {name!r}; rename the one in the data, or leave it out of "
            "--keep."
        )
    return made | more


def _numbers(model: Model, table: Table, interval: float) -> dict[str, Any]:
    predictive, f = model.outputs[0].predictive, model.latent(table)
    mean, std = predictive.moments(f)
    ends = predictive.quantiles([(1 - interval) / 2, (1 + interval) / 2], f)
    return {
        "mean": mean,
        "std": std,
        "lower": np.ascontiguousarray(ends[:, 0]),
        "upper": np.ascontiguousarray(ends[:, 1]),
    }


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


@contextmanager
def _writer(output: Path | None) -> Iterator[Callable[[pa.Table], None]]:
    """Writes tables one after the other: to a file that appears when all is done, or to standard output."""
    if output is None:
        with ExitStack() as stack:
            yield _writing(".csv", pa.PythonFile(sys.stdout.buffer, mode="w"), stack)
        sys.stdout.buffer.flush()  # not closed: it is not ours
        return
    with replacing(output) as temporary:
        try:
            with pa.OSFile(temporary, "wb") as sink, ExitStack() as stack:
                yield _writing(output.suffix.lower(), sink, stack)
        except pa.ArrowInvalid as error:
            raise FileError(f"{output} cannot be written: {error}.") from error


def _writing(suffix: str, sink: Any, stack: ExitStack) -> Callable[[pa.Table], None]:
    """Writes tables in one of the formats; the first says what columns there are."""
    writers: list[Any] = []

    def write(table: pa.Table) -> None:
        if not writers:
            writers.append(stack.enter_context(_opened(suffix, sink, table.schema)))
        writers[0].write_table(table)

    return write


def _opened(suffix: str, sink: Any, schema: pa.Schema) -> Any:
    if suffix == ".parquet":
        return pa.parquet.ParquetWriter(sink, schema)
    if suffix in (".csv", ".tsv"):
        options = pa.csv.WriteOptions(delimiter="\t" if suffix == ".tsv" else ",", quoting_style="needed")
        return pa.csv.CSVWriter(sink, schema, write_options=options)
    return pa.ipc.new_file(sink, schema)
