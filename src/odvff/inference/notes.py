"""What a fit may have to say about how it ended, as data."""

from typing import Any

from odvff.errors import Argument, FitWarning

CONVERGED, INTERRUPTED = "converged", "interrupted"  # how fits end; other endings are said in words of their own
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


def unfinished_fit(message: str, bound: float) -> Unfinished:
    """Of the collapsed bound."""
    return Unfinished(
        f"the fit stopped before it converged ({message}); its bound is {bound:.6g}. Raise `",
        Argument("max_iter"),
        "`, or use the model as it is if the bound no longer rises.",
    )


def unfinished_sites(message: str, elbo: float) -> Unfinished:
    """Of sites."""
    return Unfinished(
        f"the sites stopped before they converged ({message}); the ELBO is {elbo:.6g}. Raise `",
        Argument("max_rounds"),
        "`, or use the model as it is if the ELBO no longer rises.",
    )
