"""Options of commands, each said once: its type, its default and its words in the help."""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Strict = Annotated[bool, typer.Option("--strict", help="Refuse rows without a target instead of leaving them out.")]
Delimiter = Annotated[str | None, typer.Option(help="Of CSV files; found out by default.")]
Encoding = Annotated[str, typer.Option(help="Of CSV files; latin-1 is the other usual one.")]


def listed(values: list[str] | None) -> list[str]:
    """Names given several times or with commas; a comma that belongs to a name is written \\,"""
    split = [name for value in values or [] for name in re.split(r"(?<!\\),", value)]
    return [name.replace("\\,", ",").strip() for name in split if name.strip()]


@dataclass(frozen=True)
class FitOptions:
    """What `odvff fit` is asked for."""

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
    harmonics: Annotated[str, typer.Option(help="Features of each numeric column, or auto.")] = "auto"
    inducing: Annotated[str, typer.Option(help="Inducing points, or auto.")] = "auto"
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
    seed: Annotated[int, typer.Option(help="Of samples and minibatches.")] = 0
    strict: Strict = False
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run of the same command that was broken off.")
    ] = False
    delimiter: Delimiter = None
    encoding: Encoding = "utf-8"


def one_by_one(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes `options: FitOptions`, as one that takes each of them, which typer can read."""
    own, each = inspect.signature(command).parameters, inspect.signature(FitOptions).parameters

    @wraps(command)
    def taken(**given: Any) -> None:
        command(options=FitOptions(**{name: given.pop(name) for name in each}), **given)

    parameters = [p for one in own.values() for p in (each.values() if one.name == "options" else [one])]
    taken.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return taken
