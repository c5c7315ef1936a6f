"""The arguments of the estimators: of each its default, its check and its words, once, and what they ask of a method.

They are the fields of a dataclass: its `__init__` names them and stores them, as scikit-learn wants. scikit-learn's
`_parameter_constraints` are not used: they tell of the first wrong argument only, and of no remedy.
"""

import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, ClassVar

import numpy as np

from odvff.design import STRUCTURES
from odvff.errors import Argument, InputError
from odvff.fitting import Options
from odvff.kernels import Matern
from odvff.likelihoods import Likelihood, choices_in_words, likelihood_for
from odvff.methods import check_method, method_of
from odvff.policy import DEFAULT, Policy
from odvff.support.checks import gathered, positive, whole
from odvff.tables.schema import listed_columns, place_of
from odvff.terms import Term

AS_MANY_AS_PAY = "or 'auto', which takes as many as pay"
Check = Callable[[Any, str], object]  # raises an InputError about a value with this name


def argument(default: Any, words: str, check: Check = lambda value, name: None) -> Any:
    """The field of an argument: its default, its words and its check."""
    return field(default=default, metadata={"words": words, "check": check})


def is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def or_auto(check: Check) -> Check:
    return lambda value, name: None if is_auto(value) else check(value, name)


def or_none(check: Check) -> Check:
    return lambda value, name: None if value is None else check(value, name)


def a_name(value: Any, name: str) -> None:
    if not isinstance(value, str):
        raise InputError(Argument(name), f" must be a name, such as {getattr(Parameters, name)!r}, got {value!r}.")


def a_method(value: Any, name: str) -> None:
    a_name(value, name)
    method_of(value)


def a_structure(value: Any, name: str) -> None:
    if value not in STRUCTURES:
        raise InputError(Argument("structure"), f" must be 'additive' or 'separable', got {value!r}.")


def true_or_false(value: Any, name: str) -> None:
    if not isinstance(value, bool | np.bool_):
        raise InputError(Argument("completion"), f" must be True or False, got {value!r}.")


def share_of_a_step(value: Any, name: str) -> None:
    if positive(value, name, "0.1 is usual") > 1:
        raise InputError(Argument("natural_step"), f" must be up to 1, got {value!r}; 0.1 is usual.")


def pairs(value: Any, name: str) -> None:
    """A number, or a list of pairs?"""
    if not isinstance(value, list | tuple):
        whole(value, name, at_least=0, remedy="0 is none; or 'auto', or a list of pairs of columns")
    elif not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in value):
        raise InputError(
            Argument("interactions"),
            " must be 'auto', a number of pairs, or a list of pairs of columns such as [('width', 'height')], got "
            f"{value!r}.",
        )


def a_seed(value: Any, name: str) -> None:
    if value is not None and not isinstance(value, np.random.RandomState | np.random.Generator):
        whole(value, name, at_least=0, remedy="give a whole number, or None")


def own_terms(value: Any, name: str) -> None:
    """Terms of which each says its columns?"""
    if not isinstance(value, list | tuple) or not value or not all(isinstance(term, Term) for term in value):
        raise InputError(
            Argument(name), f" must be a list of odvff.Term, got {value!r}; leave it out for effects by column."
        )
    silent = next((term for term in value if term.columns is None), None)
    if silent is not None:
        raise InputError(Argument(name), f" holds the term {silent.name!r}, which says no columns; give their names.")


def seed_of(random_state: Any) -> int:
    """A whole number from what scikit-learn's users give as `random_state`."""
    a_seed(random_state, "random_state")
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    return int(random_state or 0)


@dataclass(eq=False, repr=False)
class Parameters:
    """What both estimators are asked for; a classifier has likelihoods of its own."""

    method: str = argument(
        "odvff",
        '"odvff" (Fourier features, and inducing points for the mean where they pay), "vff" (without points), or '
        'for comparison "odvgp" and "svgp" (inducing points) and, for Gaussian noise, "sgpr" and "exact".',
        a_method,
    )
    structure: str = argument(
        "additive", '"additive", or "separable" for one joint effect of up to three numeric columns.', a_structure
    )
    smoothness: float = argument(1.5, "of the Matérn kernels, 0.5, 1.5 or 2.5.", lambda value, name: Matern(value))
    n_harmonics: int | str = argument(
        "auto",
        'of every column, or "auto" for as many as the data call for.',
        or_auto(partial(whole, at_least=1, remedy="10 is a good start, or 'auto'")),
    )
    n_inducing: int | str = argument(
        "auto",
        'inducing points, or "auto" for those that pay; without Gaussian noise it takes stochastic inference to have '
        "any.",
        or_auto(partial(whole, at_least=0, remedy=AS_MANY_AS_PAY)),
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
        None,
        "of iterations, rounds of sites or stochastic steps; None for 200, 100 or 8000.",
        or_none(partial(whole, at_least=1, remedy="leave it out for a good choice")),
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
        or_auto(pairs),
    )
    terms: Any = argument(
        None,
        "a list of `odvff.Term` to have as effects instead of one for each column, with kernels, features and columns "
        "(by name, in their units) as you like; None for those that the columns call for.",
        or_none(own_terms),
    )
    random_state: Any = argument(None, "of samples of rows and minibatches.", a_seed)
    verbose: int = argument(0, "print progress on standard error.")

    _labels: ClassVar[bool]  # is y one, or a number?
    _policy: ClassVar[Policy] = DEFAULT

    def _check_arguments(self) -> None:
        """Each by itself, then those that must go together; all that is wrong comes in one message."""
        each = [partial(f.metadata["check"], getattr(self, f.name), f.name) for f in fields(self)]
        gathered([*each, self._likelihood])
        gathered([self._inference, self._points, self._check_pairs, self._check_own_terms])

    def _likelihood(self) -> Likelihood:
        """The likelihood that was asked for, if it is one for this estimator."""
        return likelihood_for(self.likelihood, labels=self._labels)

    def _inference(self) -> str:
        """The inference that is to be used."""
        return check_method(self.method, self.inference, gaussian=self._likelihood().closed_form)

    def _points(self) -> tuple[int | str, int]:
        """Points for the mean and for the covariance; "auto" and 0 leave them to the fit."""
        if is_auto(self.n_inducing):
            return "auto", 0
        method = method_of(self.method)
        n = whole(self.n_inducing, "n_inducing", at_least=2 * method.on_points, remedy=AS_MANY_AS_PAY)
        if n and not (method.gamma or method.on_points):
            raise InputError(
                f"method {self.method!r} has no inducing points to choose, and ",
                Argument("n_inducing"),
                f" is {n}; leave it to 'auto', or use ",
                Argument("method", "odvff"),
                ".",
            )
        return method.points(n)

    @property
    def _has_effects(self) -> bool:
        """Has every column a term of its own, so that there may be pairs beside them, and others in their place?"""
        return method_of(self.method).takes_terms and self.structure == "additive"

    def _check_pairs(self) -> None:
        if self.interactions and not is_auto(self.interactions) and not self._has_effects:
            raise InputError(
                Argument("interactions", self.interactions),
                " adds joint effects to those of single columns: it is for method 'odvff' or 'vff' with ",
                Argument("structure", "additive"),
                f", and these are {self.method!r} and {self.structure!r}.",
            )

    def _check_own_terms(self) -> None:
        if self.terms is None:
            return
        if not self._has_effects:
            raise InputError(
                Argument("terms"),
                f" are for method 'odvff' or 'vff' with structure='additive', and these are {self.method!r} and "
                f"{self.structure!r}.",
            )
        for name in ("n_harmonics", "interactions"):
            if not is_auto(getattr(self, name)) and getattr(self, name) != 0:
                raise InputError(
                    Argument(name), " is for effects of columns, and the terms say all of theirs; leave it out."
                )

    def _pairs(self, names: tuple[str, ...], inference: str) -> int | str | tuple[tuple[str, str], ...]:
        """How many pairs of columns may act together, or which by name; "auto" looks for them if that costs little."""
        if is_auto(self.interactions):
            return "auto" if self._has_effects and inference != "stochastic" else 0
        if not isinstance(self.interactions, list | tuple):
            return int(self.interactions)
        place = partial(place_of, names=names, argument="interactions")
        return tuple((names[place(first)], names[place(second)]) for first, second in self.interactions)

    def _options(self, names: tuple[str, ...]) -> Options:
        """The arguments, which have been checked, in the words of `odvff.methods`; the columns have these names."""
        (n_gamma, n_beta), inference = self._points(), self._inference()
        limit = self.max_iter or method_of(self.method).inferences[inference].limit(self._policy)
        return Options(
            smoothness=self.smoothness,
            n_harmonics=self.n_harmonics,
            completion=bool(self.completion),
            n_beta=n_beta,
            n_gamma=n_gamma,
            inference=inference,
            batch_size=self.batch_size,
            n_steps=limit,
            learning_rate=self.learning_rate,
            natural_step=self.natural_step,
            max_iter=limit,
            interactions=self._pairs(names, inference),
            seed=seed_of(self.random_state),
            policy=self._policy,
        )


def described(made: Any) -> Any:
    """With the words of the arguments in the docstring, where it says {parameters}."""
    listed = [
        textwrap.fill(f"{f.name} : {f.metadata['words']}", 116, subsequent_indent="    ", break_on_hyphens=False)
        for f in fields(made)
    ]
    made.__doc__ = inspect.cleandoc(made.__doc__ or "").replace("{parameters}", "\n".join(listed))
    return made
