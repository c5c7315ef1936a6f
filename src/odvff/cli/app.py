"""The commands, as typer sees them. What does one is imported when it runs, so that help comes at once."""

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Exit, Option, Typer

from odvff.cli.options import Csv, Data, FitOptions, KnownTarget, ModelFile, PredictOptions, Strict
from odvff.cli.terminal import CODES, Terminal

app = Typer(
    name="odvff",
    help="Gaussian processes for tables: fit a file, predict with intervals, and see what each column does.",
    epilog=CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"odvff {version('odvff')}")
        raise Exit


@app.callback()
def _main(
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


def command(module: str, *examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with examples of it: the function of its name in a module does it, and errors become messages.

    Options that go together are a class: the function takes one of it, and typer sees each option.
    """

    def added(declared: Callable[..., None]) -> Callable[..., None]:
        own = signature(declared).parameters.values()
        groups: dict[str, Any] = {p.name: p.annotation for p in own if is_dataclass(p.annotation)}
        options = {name: signature(group).parameters for name, group in groups.items()}

        @wraps(declared)
        def one_by_one(**given: Any) -> None:
            made = {name: group(**{o: given.pop(o) for o in options[name]}) for name, group in groups.items()}
            with made["terminal"].reporting():
                getattr(import_module(f"odvff.cli.{module}"), declared.__name__)(**given, **made)

        each = [q for p in own for q in (options[p.name].values() if p.name in options else [p])]
        one_by_one.__signature__ = Signature(  # type: ignore[attr-defined]
            [p.replace(kind=Parameter.KEYWORD_ONLY) for p in each]
        )
        return app.command(epilog="\n\n".join(f"Example: {example}" for example in examples))(one_by_one)

    return added


@command(
    "fit",
    "odvff fit flights.parquet --target arr_delay --exclude tailnum --model delay.odvff",
    "zcat big.csv.gz | odvff fit - --target y --holdout 0.2 --json",
)
def fit(data: Data, options: FitOptions, csv: Csv, terminal: Terminal) -> None:
    """Fit a model to a table and write it to a file. Tables larger than memory are streamed."""


@command(
    "predict",
    "odvff predict delay.odvff new.parquet --output predictions.parquet --interval 0.9",
    "odvff predict delay.odvff - < new.csv > predictions.csv",
)
def predict(model: ModelFile, data: Data, options: PredictOptions, csv: Csv, terminal: Terminal) -> None:
    """Predict every row of a table in its order: mean, standard deviation and interval, or probabilities of classes."""


@command("evaluate", "odvff evaluate delay.odvff january.parquet --json")
def evaluate(
    model: ModelFile, data: Data, *, target: KnownTarget = None, strict: Strict = False, csv: Csv, terminal: Terminal
) -> None:
    """Measure how good a model is on a table whose target is known."""


@command("evaluate", "odvff report delay.odvff january.parquet --output delay.html")
def report(
    model: ModelFile,
    data: Annotated[
        list[str] | None,
        Argument(help="Rows with a known target to measure the model on; by default those held out in training."),
    ] = None,
    output: Annotated[
        Path | None, Option("--output", "-o", help="The HTML file; by default named after the model.")
    ] = None,
    target: KnownTarget = None,
    *,
    csv: Csv,
    terminal: Terminal,
) -> None:
    """Write a report for people: one HTML file with effects, uncertainty and warnings, which needs no network."""


@command("evaluate", "odvff inspect delay.odvff --json")
def inspect(model: ModelFile, terminal: Terminal) -> None:
    """Show what is inside a model file."""


@command("demo", "odvff demo --folder trial")
def demo(
    *,
    folder: Annotated[Path, Option(help="Where the table, the model and the report go.")] = Path("odvff-demo"),
    terminal: Terminal,
) -> None:
    """Predict the arrival delays of all flights out of New York in 2013, and write a report."""
