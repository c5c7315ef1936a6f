"""The arguments of the estimators: of each its default, its check and its words, once.

They are the fields of a dataclass: its `__init__` names them and stores them, as scikit-learn wants. scikit-learn's
`_parameter_constraints` are not used: they tell of the first wrong argument only, and of no remedy.
"""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, TypeVar

import numpy as np

from odvff.design import STRUCTURES
from odvff.errors import Argument, InputError
from odvff.estimators.own_terms import check_terms
from odvff.estimators.pairs import check_pairs
from odvff.kernels import Matern
from odvff.likelihoods import Likelihood, choices_in_words
from odvff.support.checks import positive, whole
from odvff.tables.schema import listed_columns

Check = Callable[[Any, str], object]  # raises an InputError about a value with this name


def argument(default: Any, words: str, check: Check = lambda value, name: None) -> Any:
    """The field of an argument: its default, its words and its check."""
    return field(default=default, metadata={"words": words, "check": check})


def a_name(value: Any, name: str) -> None:
    """Which names there are, and which of them go together, is for `odvff.methods` to say."""
    if not isinstance(value, str):
        raise InputError(Argument(name), f" must be a name, such as {getattr(Parameters, name)!r}, got {value!r}.")


def number_or_auto(at_least: int, remedy: str) -> Check:
    def check(value: Any, name: str) -> None:
        if not (isinstance(value, str) and value == "auto"):
            whole(value, name, at_least=at_least, remedy=remedy)

    return check


def a_structure(value: Any, name: str) -> None:
    if value not in STRUCTURES:
        raise InputError(Argument("structure"), f" must be 'additive' or 'separable', got {value!r}.")


def true_or_false(value: Any, name: str) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InputError(Argument("completion"), f" must be True or False, got {value!r}.")


def share_of_a_step(value: Any, name: str) -> None:
    if positive(value, name, "0.1 is usual") > 1:
        raise InputError(Argument("natural_step"), f" must be up to 1, got {value!r}; 0.1 is usual.")


def limit(value: Any, name: str) -> None:
    if value is not None:
        whole(value, name, at_least=1, remedy="leave it out for a good choice")


def a_seed(value: Any, name: str) -> None:
    if value is not None and not isinstance(value, np.random.RandomState | np.random.Generator):
        whole(value, name, at_least=0, remedy="give a whole number, or None")


@dataclass(eq=False, repr=False)
class Parameters:
    """What both estimators are asked for; a classifier has likelihoods of its own."""

    method: str = argument(
        "odvff",
        '"odvff" (Fourier features, and inducing points for the mean where they pay), "vff" (without points), or '
        'for comparison "odvgp" and "svgp" (inducing points) and, for Gaussian noise, "sgpr" and "exact".',
        a_name,
    )
    structure: str = argument(
        "additive", '"additive", or "separable" for one joint effect of up to three numeric columns.', a_structure
    )
    smoothness: float = argument(1.5, "of the Matérn kernels, 0.5, 1.5 or 2.5.", lambda value, name: Matern(value))
    n_harmonics: int | str = argument(
        "auto",
        'of every column, or "auto" for as many as the data call for.',
        number_or_auto(1, "10 is a good start, or 'auto'"),
    )
    n_inducing: int | str = argument(
        "auto",
        'inducing points, or "auto" for those that pay; without Gaussian noise it takes stochastic inference to have '
        "any.",
        number_or_auto(0, "or 'auto', which takes as many as pay"),
    )
    completion: bool = argument(
        True, "complete the Fourier basis, so that effects need not be periodic at the ends.", true_or_false
    )
    inference: str = argument(
        "auto",
        '"collapsed" (Gaussian noise; statistics in one pass), "sites" (other likelihoods; a few passes over the '
        'rows), "stochastic" (minibatches), or "auto".',
        a_name,
    )
    likelihood: str | Likelihood = argument(
        "gaussian", f"{choices_in_words(labels=False)}, or an `odvff.likelihoods.Likelihood`."
    )
    batch_size: int = argument(
        500, "rows of a minibatch, in stochastic inference.", partial(whole, at_least=1, remedy="500 is usual")
    )
    max_iter: int | None = argument(
        None, "of iterations, rounds of sites or stochastic steps; None for 200, 100 or 8000.", limit
    )
    learning_rate: float = argument(
        0.01, "of hyper-parameters, in stochastic inference.", partial(positive, remedy="0.01 is usual")
    )
    natural_step: float = argument(0.1, "of natural gradients, up to 1, in stochastic inference.", share_of_a_step)
    categorical: Any = argument(
        "auto",
        '"auto" (by type), or a list of columns that are to be taken as categories besides.',
        lambda value, name: listed_columns(value),
    )
    interactions: Any = argument(
        "auto",
        'pairs of numeric columns that have a joint effect besides their own: "auto" looks for those that pay (not '
        'with minibatches, inducing points or structure="separable"), a number for up to so many, 0 for none, or a '
        'list of pairs such as [("width", "height")].',
        check_pairs,
    )
    terms: Any = argument(
        None,
        "a list of `odvff.Term` to have as effects instead of one for each column, with kernels, features and columns "
        "(by name, in their units) as you like; None for those that the columns call for.",
        check_terms,
    )
    random_state: Any = argument(None, "of samples of rows and minibatches.", a_seed)
    verbose: int = argument(0, "print progress on standard error.")

    def _checks(self) -> list[Callable[[], object]]:
        """Of every argument by itself."""
        return [partial(f.metadata["check"], getattr(self, f.name), f.name) for f in fields(self)]


Made = TypeVar("Made", bound=type[Parameters])


def described(made: Made) -> Made:
    """With the words of the arguments in the docstring, where it says {parameters}."""
    listed = [
        textwrap.fill(f"{f.name} : {f.metadata['words']}", 116, subsequent_indent="    ", break_on_hyphens=False)
        for f in fields(made)
    ]
    made.__doc__ = inspect.cleandoc(made.__doc__ or "").replace("{parameters}", "\n".join(listed))
    return made
