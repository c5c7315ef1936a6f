"""Options of commands, each said once: its type, its default and its words in the help.

Options that go together are a class; a command takes one of it, and typer sees each option.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Data = Annotated[
    list[str],
    typer.Argument(
        help="CSV, TSV, Parquet or Arrow files, also gzipped; folders or globs of these; - for CSV on standard input."
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model that `odvff fit` wrote.")]
KnownTarget = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The column with what really happened; by default as in training."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse rows without a target instead of leaving them out.")]


def listed(values: list[str] | None) -> list[str]:
    """Names given several times or with commas; a comma that belongs to a name is written \\,"""
    split = [name for value in values or [] for name in re.split(r"(?<!\\),", value)]
    return [name.replace("\\,", ",").strip() for name in split if name.strip()]


@dataclass(frozen=True)
class Csv:
    """How CSV files are read."""

    delimiter: Annotated[str | None, typer.Option(help="Of CSV files; found out by default.")] = None
    encoding: Annotated[str, typer.Option(help="Of CSV files; latin-1 is the other usual one.")] = "utf-8"


@dataclass(frozen=True)
class PredictOptions:
    """What `odvff predict` is asked for."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A .parquet, .csv, .tsv or .arrow file; by default CSV on standard output."
        ),
    ] = None
    interval: Annotated[float, typer.Option(help="The probability that intervals hold.")] = 0.95
    effects: Annotated[bool, typer.Option("--effects", help="Also what each term adds to the prediction.")] = False
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", "-k", callback=listed, help="Columns of the data to carry over, such as an identifier."),
    ] = None


@dataclass(frozen=True)
class FitOptions:
    """What `odvff fit` is asked for; arguments of estimators have their names."""

    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.")]
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Where to write the model; by default beside you, named after the data."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", "-x", callback=listed, help="Columns to leave out; several times or with commas."),
    ] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            "--categorical",
            "-c",
            callback=listed,
            help="Columns of numbers to take as categories. Text is taken so anyway.",
        ),
    ] = None
    weights: Annotated[str | None, typer.Option(help="A column of how often each row counts.")] = None
    task: Annotated[
        Literal["auto", "regression", "classification"],
        typer.Option(help="By default classification if the target holds text, booleans or two values."),
    ] = "auto"
    holdout: Annotated[
        float,
        typer.Option(
            help="Share of rows kept apart to measure how good the model is, by a hash of each row; 0 for none."
        ),
    ] = 0.1
    method: Annotated[
        Literal["odvff", "vff", "odvgp", "svgp", "sgpr", "exact"], typer.Option(help="How the model is approximated.")
    ] = "odvff"
    structure: Annotated[
        Literal["additive", "separable"],
        typer.Option(help="One effect for each column, or one joint effect of two or three."),
    ] = "additive"
    smoothness: Annotated[float, typer.Option(help="Of effects: 0.5, 1.5 or 2.5.")] = 1.5
    n_harmonics: Annotated[str, typer.Option("--harmonics", help="Features of each numeric column, or auto.")] = "auto"
    n_inducing: Annotated[str, typer.Option("--inducing", help="Inducing points, or auto.")] = "auto"
    interactions: Annotated[
        str,
        typer.Option(
            help="Pairs of numeric columns with a joint effect: auto looks for those that pay, a number for up to so "
            "many, 0 for none, or their names as width:height,depth:mass."
        ),
    ] = "auto"
    inference: Annotated[
        Literal["auto", "collapsed", "sites", "stochastic"], typer.Option(help="How it is fitted.")
    ] = "auto"
    likelihood: Annotated[
        str | None,
        typer.Option(help="gaussian, or probit for classes, unless you name another; a name that is none lists all."),
    ] = None
    max_iter: Annotated[int | None, typer.Option(help="The most iterations, rounds or steps.")] = None
    random_state: Annotated[int, typer.Option("--seed", help="Of samples and minibatches.")] = 0
    strict: Strict = False
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run of the same command that was broken off.")
    ] = False


# the fields of `FitOptions` that are arguments of estimators, and how they are spelled in a shell
ARGUMENTS = {
    **{name: f"--{name}" for name in ("categorical", "inference", "interactions", "likelihood", "method")},
    **{name: f"--{name}" for name in ("smoothness", "structure")},
    "n_harmonics": "--harmonics",
    "n_inducing": "--inducing",
    "max_iter": "--max-iter",
    "random_state": "--seed",
}


def one_by_one(command: Callable[..., None], groups: tuple[type, ...]) -> Callable[..., None]:
    """A command that takes instances of these classes, as one that takes each option of theirs."""
    own = inspect.signature(command).parameters.values()
    options = {p.name: inspect.signature(p.annotation).parameters for p in own if p.annotation in groups}

    @wraps(command)
    def taken(**given: Any) -> None:
        made = {p.name: p.annotation(**{o: given.pop(o) for o in options[p.name]}) for p in own if p.name in options}
        command(**given, **made)

    each = [q for p in own for q in (options[p.name].values() if p.name in options else [p])]
    taken.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in each]
    )
    return taken
