"""Options of commands, each said once: its type, its default and its words in the help."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

Data = Annotated[
    list[str],
    Argument(
        help="CSV, TSV, Parquet or Arrow files, also gzipped; folders or globs of these; - for CSV on standard input."
    ),
]
ModelFile = Annotated[Path, Argument(help="A model that `odvff fit` wrote.")]
KnownTarget = Annotated[
    str | None, Option("--target", "-t", help="The column with what really happened; by default as in training.")
]
Strict = Annotated[bool, Option("--strict", help="Refuse rows without a target instead of leaving them out.")]


def listed(values: list[str] | None) -> list[str]:
    """Names given several times or with commas; a comma that belongs to a name is written \\,"""
    split = [name for value in values or [] for name in re.split(r"(?<!\\),", value)]
    return [name.replace("\\,", ",").strip() for name in split if name.strip()]


Names = list[str] | None
names_option = partial(Option, callback=listed)


@dataclass(frozen=True)
class Csv:
    """How CSV files are read."""

    delimiter: Annotated[str | None, Option(help="Of CSV files; found out by default.")] = None
    encoding: Annotated[str, Option(help="Of CSV files; latin-1 is the other usual one.")] = "utf-8"


@dataclass(frozen=True)
class PredictOptions:
    """What `odvff predict` is asked for."""

    output: Annotated[
        Path | None,
        Option("--output", "-o", help="A .parquet, .csv, .tsv or .arrow file; by default CSV on standard output."),
    ] = None
    interval: Annotated[float, Option(help="The probability that intervals hold.")] = 0.95
    effects: Annotated[bool, Option("--effects", help="Also what each term adds to the prediction.")] = False
    keep: Annotated[
        Names, names_option("--keep", "-k", help="Columns of the data to carry over, such as an identifier.")
    ] = None


@dataclass(frozen=True)
class FitOptions:
    """What `odvff fit` is asked for; arguments of estimators have their names."""

    target: Annotated[str, Option("--target", "-t", help="The column to predict.")]
    model: Annotated[
        Path | None,
        Option("--model", "-m", help="Where to write the model; by default beside you, named after the data."),
    ] = None
    exclude: Annotated[
        Names, names_option("--exclude", "-x", help="Columns to leave out; several times or with commas.")
    ] = None
    categorical: Annotated[
        Names,
        names_option("--categorical", "-c", help="Columns of numbers to take as categories. Text is taken so anyway."),
    ] = None
    weights: Annotated[str | None, Option(help="A column of how often each row counts.")] = None
    task: Annotated[
        Literal["auto", "regression", "classification"],
        Option(help="By default classification if the target holds text, booleans or two values."),
    ] = "auto"
    holdout: Annotated[
        float,
        Option(help="Share of rows kept apart to measure how good the model is, by a hash of each row; 0 for none."),
    ] = 0.1
    method: Annotated[
        Literal["odvff", "vff", "odvgp", "svgp", "sgpr", "exact"], Option(help="How the model is approximated.")
    ] = "odvff"
    structure: Annotated[
        Literal["additive", "separable"],
        Option(help="One effect for each column, or one joint effect of two or three."),
    ] = "additive"
    smoothness: Annotated[float, Option(help="Of effects: 0.5, 1.5 or 2.5.")] = 1.5
    n_harmonics: Annotated[str, Option("--harmonics", help="Features of each numeric column, or auto.")] = "auto"
    n_inducing: Annotated[str, Option("--inducing", help="Inducing points, or auto.")] = "auto"
    interactions: Annotated[
        str,
        Option(
            help="Pairs of numeric columns with a joint effect: auto looks for those that pay, a number for up to so "
            "many, 0 for none, or their names as width:height,depth:mass."
        ),
    ] = "auto"
    inference: Annotated[Literal["auto", "collapsed", "sites", "stochastic"], Option(help="How it is fitted.")] = "auto"
    likelihood: Annotated[
        str | None,
        Option(help="gaussian, or probit for classes, unless you name another; a name that is none lists all."),
    ] = None
    max_iter: Annotated[int | None, Option(help="The most iterations, rounds or steps.")] = None
    random_state: Annotated[int, Option("--seed", help="Of samples and minibatches.")] = 0
    strict: Strict = False
    resume: Annotated[bool, Option("--resume", help="Go on with a run of the same command that was broken off.")] = (
        False
    )


# the fields of `FitOptions` that are arguments of estimators, and how they are spelled in a shell
_SPELLED_ALIKE = ("categorical", "inference", "interactions", "likelihood", "method", "smoothness", "structure")
_SPELLED = {"n_harmonics": "harmonics", "n_inducing": "inducing", "max_iter": "max-iter", "random_state": "seed"}
ARGUMENTS = {name: f"--{_SPELLED.get(name, name)}" for name in (*_SPELLED_ALIKE, *_SPELLED)}
