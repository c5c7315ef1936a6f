"""The commands and their options. Everything else is imported when a command runs, so that help comes at once."""

from pathlib import Path
from typing import Annotated

import typer

from odvff.cli.failures import CODES, reported
from odvff.cli.options import Delimiter, Encoding, FitOptions, Strict, listed, one_by_one
from odvff.cli.terminal import Terminal

app = typer.Typer(
    name="odvff",
    help="Gaussian processes for tables: fit a file, predict with intervals, and see what each column does.",
    epilog=CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Data = Annotated[
    list[str],
    typer.Argument(
        help="CSV, TSV, Parquet or Arrow files, also gzipped; folders or globs of these; - for CSV on standard input."
    ),
]
Model = Annotated[Path, typer.Argument(help="A model that `odvff fit` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="The result as one JSON object on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the result.")]
Interval = Annotated[float, typer.Option(help="The probability that intervals hold.")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"odvff {version('odvff')}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command(
    epilog="Example: odvff fit flights.parquet --target arr_delay --exclude tailnum --model delay.odvff\n\n"
    "Example: zcat big.csv.gz | odvff fit - --target y --holdout 0.2 --json"
)
@one_by_one
def fit(
    data: Data,
    options: FitOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Fit a model to a table and write it to a file. Tables larger than memory are streamed."""
    with reported(json):
        from odvff.cli.fit import fit_files

        fit_files(data, options, Terminal(as_json=json, quiet=quiet))


@app.command(
    epilog="Example: odvff predict delay.odvff new.parquet --output predictions.parquet --interval 0.9\n\n"
    "Example: odvff predict delay.odvff - < new.csv > predictions.csv"
)
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A .parquet, .csv, .tsv or .arrow file; by default CSV on standard output."
        ),
    ] = None,
    interval: Interval = 0.95,
    effects: Annotated[bool, typer.Option("--effects", help="Also what each term adds to the prediction.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", "-k", callback=listed, help="Columns of the data to carry over, such as an identifier."),
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict every row of a table in its order: mean, standard deviation and interval, or probabilities of classes."""
    with reported(json):
        from odvff.cli.predict import predict_files

        terminal = Terminal(as_json=json, quiet=quiet)
        predict_files(model, data, output, interval, effects, keep or [], (delimiter, encoding), terminal)


@app.command(epilog="Example: odvff evaluate delay.odvff january.parquet --json")
def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", help="The column with what really happened; by default as in training."),
    ] = None,
    strict: Strict = False,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how good a model is on a table whose target is known."""
    with reported(json):
        from odvff.cli.evaluate import evaluate_files

        evaluate_files(model, data, target, strict, (delimiter, encoding), Terminal(as_json=json, quiet=quiet))


@app.command(epilog="Example: odvff report delay.odvff january.parquet --output delay.html")
def report(
    model: Model,
    data: Annotated[
        list[str] | None,
        typer.Argument(help="Rows with a known target to measure the model on; by default those held out in training."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The HTML file; by default named after the model.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The target in the data; by default as in training.")
    ] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = "utf-8",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a report for people: one HTML file with effects, uncertainty and warnings, which needs no network."""
    with reported(json):
        from odvff.cli.report import report_model

        report_model(model, data or [], output, target, (delimiter, encoding), Terminal(as_json=json, quiet=quiet))


@app.command(epilog="Example: odvff inspect delay.odvff --json")
def inspect(model: Model, json: Json = False, quiet: Quiet = False) -> None:
    """Show what is inside a model file."""
    with reported(json):
        from odvff.cli.inspect import inspect_model

        inspect_model(model, Terminal(as_json=json, quiet=quiet))


@app.command(epilog="Example: odvff demo --folder trial")
def demo(
    folder: Annotated[Path, typer.Option(help="Where to put the table, the model and the report.")] = Path(
        "odvff-demo"
    ),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict the arrival delays of all flights out of New York in 2013, and write a report."""
    with reported(json):
        from odvff.cli.demo import run_demo

        run_demo(folder, Terminal(as_json=json, quiet=quiet))
