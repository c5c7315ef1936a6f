"""What a fit may have to say about how it ended, as data."""

from typing import Any

from odvff.errors import Argument, FitWarning

CENTRE = ", and centre y if its mean is large"


class ConstantTarget(FitWarning):
    """y does not vary: it is `level` in every row."""

    def __init__(self, level: float, remedy: str = CENTRE):
        self.level = level
        super().__init__(
            f"y is constant ({level:g}), as far as float64 can tell: there is nothing to explain, and the noise ends "
            f"near nothing. Check the target column{remedy}."
        )

    def in_units(self, shift: float, scale: float) -> "ConstantTarget":
        return ConstantTarget(shift + scale * self.level, "")

    def __reduce__(self) -> Any:
        return type(self), (self.level,)


class Unfinished(FitWarning):
    """A fit stopped before it converged."""


def unfinished_fit(why: str, bound: float) -> Unfinished:
    """Of the collapsed bound."""
    return _unfinished(f"the fit stopped before it converged ({why}); its bound is {bound:.6g}", "max_iter", "bound")


def unfinished_sites(why: str, elbo: float) -> Unfinished:
    """Of sites."""
    return _unfinished(f"the sites stopped before they converged ({why}); the ELBO is {elbo:.6g}", "max_rounds", "ELBO")


def _unfinished(said: str, limit: str, what: str) -> Unfinished:
    rest = f"`, or use the model as it is if the {what} no longer rises."
    return Unfinished(f"{said}. Raise `", Argument(limit), rest)
