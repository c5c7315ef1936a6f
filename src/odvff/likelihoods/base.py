"""The seam: what is asked of a likelihood, all of it row by row, and how it is answered where a class says no more.

    f ~ N(mean, variance) ──likelihood──▶ y

A likelihood is a frozen dataclass whose fields are its parameters, positive numbers; facts are class attributes,
without a type, so that they are no fields. A class of your own needs only a `name` and `given`, the distribution of y
at known f as SciPy freezes it: all else is by quadrature on NumPy (CONTRIBUTING.md has an example). Estimators that
standardise y (`same_scale`) speak to the likelihood in standardised units.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize

from odvff.errors import Argument, InputError, NumericalError
from odvff.likelihoods import quadrature
from odvff.likelihoods.quadrature import Nodes, Row
from odvff.likelihoods.units import TargetMoments, Units
from odvff.policy import Policy
from odvff.support.arrays import Array, in_double_precision, namespace
from odvff.support.checks import positive
from odvff.support.shapes import Bool, Float
from odvff.support.words import number

OUTLIER = 6.0
GRID = np.linspace(-15.0, 15.0, 121)[:, None]  # of f, for a first look
ABOUT = 4.0  # variance of f about its level, for the same
BISECTIONS = 80
QUANTILE_SLACK = 1e-3  # of distribution functions so far out that values cannot be told apart
BLOCK_ROWS = 4096  # that sites see at a time
NEARLY = 1e-6  # the variance of what is as good as known
FURTHEST = 8.0  # of logarithms of parameters, in one go

Sample = tuple[Any, ...]  # y, weights, means and variances


class Likelihood(ABC):
    """How y follows from f. Subclasses are frozen dataclasses with a `name` and `given`."""

    name: str = ""  # for arguments, files and summaries
    for_labels: bool = False  # y is 0 or 1: for classification
    discrete: bool = False  # y is a count or a label: it has probabilities, and no density
    same_scale: bool = True  # y is on the scale of f: it is standardised, and f has no level of its own
    mean_is_f: bool = False  # E(y|f) = f
    closed_form: bool = False  # y is Gaussian if f is: collapsed inference, quantiles and CRPS are closed forms
    tells_level: bool = False  # each y alone says roughly where f is, and inference by sites starts there
    n_processes: int = 1  # two, if the noise follows from a second one
    least_noise: float = 0.0  # the smallest variance of f that a single y leaves, on the scale of pseudo-targets
    wants: str = ""  # what y must be, in words for an error
    unexplained: str = ""  # a sentence on what effects do not explain, for the report
    suits: str = ""  # what it is good for, in a word or two for a list of choices

    def __post_init__(self) -> None:
        for key in self._fields():
            object.__setattr__(self, key, positive(getattr(self, key), f"{key.replace('_', ' ')} of {self.name}"))

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        annotated = [fact for fact in vars(cls).get("__annotations__", {}) if hasattr(Likelihood, fact)]
        if annotated:
            raise TypeError(f"{cls.__name__}.{annotated[0]} is a fact and no parameter: leave out its annotation.")

    @abstractmethod
    def given(self, f: Array) -> Any:
        """p(y|f), with `mean`, `var`, `cdf`, `ppf`, `rvs` and `logpdf` or `logpmf` as SciPy's frozen distributions."""

    def log_density(self, y: Row, f: Float[Array, "*K N"]) -> Float[Array, "*K N"]:
        """log p(y|f)."""
        given = self.given(f)
        return given.logpmf(y) if self.discrete else given.logpdf(y)

    # y

    def takes(self, y: Any) -> Bool[Array, " N"]:
        """Which of these targets are allowed."""
        return np.full(len(y), True)

    def check(self, y: Any, first_row: int = 0) -> None:
        """Refuse targets that are not possible."""
        possible = self.takes(y)
        if not possible.all():
            i = int(np.argmin(possible))
            raise InputError(
                f"y has {y[i]:g} in row {first_row + i}; for ",
                Argument("likelihood", self.name),
                f" it must be {self.wants}.",
            )

    def units(self, moments: TargetMoments, sample: Callable[[], tuple[Any, Any]]) -> Units:
        """The shift and scale that standardise y: from the moments of all rows, or a sample of targets with weights."""
        return moments.units() if self.same_scale else Units()

    def pseudo_target(self, y: Row) -> Row:
        """Rough values of f, for a preliminary Gaussian fit."""
        if self.for_labels:
            return 2.0 * y - 1.0
        if self.same_scale:
            # of standardised y: what lies far out says nothing about how smooth f is
            return np.clip(y, -OUTLIER, OUTLIER)
        # what suits each y best, and is not far from the constant that suits all of them
        each, place, counts = np.unique(y, return_inverse=True, return_counts=True)
        log_p = np.nan_to_num(self.log_density(each, np.broadcast_to(GRID, (len(GRID), len(each)))), neginf=-1e300)
        level = GRID[np.argmax(log_p @ (counts / len(y)))]
        return GRID[np.argmax(log_p - 0.5 * (GRID - level) ** 2 / ABOUT, axis=0), 0][place]

    # what inference and predictions ask, under f ~ N(mean, variance)

    def expected_log_density(self, y: Row, mean: Row, variance: Row) -> Row:
        """E log p(y|f)."""
        return quadrature.WEIGHTS @ self.log_density(y, quadrature.nodes(mean, variance))

    def derivatives(self, y: Row, mean: Row, variance: Row) -> tuple[Row, Row, Row]:
        """E log p(y|f), and its derivatives in the mean and the variance of f."""
        return quadrature.derivatives(lambda f: self.log_density(y, f), mean, variance)

    def log_predictive_density(self, y: Row, mean: Row, variance: Row) -> Row:
        """log E p(y|f)."""
        return quadrature.log_average(lambda f: self.log_density(y, f), mean, variance)

    def moments(self, mean: Row, variance: Row) -> tuple[Row, Row]:
        """Mean and variance of y; infinite where it has none."""
        given = self.given(quadrature.nodes(mean, variance))
        return quadrature.moments(given.mean(), given.var())

    def cdf(self, y: Row, mean: Row, variance: Row) -> Row:
        """P(Y ≤ y)."""
        return quadrature.WEIGHTS @ self.cdf_given(y, quadrature.nodes(mean, variance))

    def quantiles(self, q: Any, mean: Row, variance: Row) -> Float[Array, "N Q"]:
        """Quantiles of y for every row and every q, by bisection."""
        if self.for_labels:
            raise InputError("classes have no quantiles; use predict_proba.")
        return np.stack([self._quantile(float(p), mean, variance) for p in q], axis=1)

    def draw(self, f: Float[Array, "*many"], rng: np.random.Generator) -> Float[Array, "*many"]:
        """y for sampled f of any shape."""
        return np.asarray(self.given(f).rvs(size=f.shape, random_state=rng), dtype=np.float64)

    def variance_of(self, mean: Row, variance: Row) -> Row:
        """Noise variance of each row, if a second process models it."""
        raise InputError(
            f"{self.name} does not say how its noise follows from a second process; give it `variance_of`, or leave "
            "out `noise_terms`."
        )

    def crps(self, y: Row, mean: Row, variance: Row) -> Row | None:
        """The continuous ranked probability score of every row, where it is a closed form."""
        return None

    def cdf_given(self, y: Row, f: Nodes) -> Nodes:
        """P(Y ≤ y | f)."""
        return self.given(f).cdf(y)

    def around(self, q: float, f: Nodes) -> tuple[Row, Row]:
        """Below and at or above the q-th quantile, for every column of f: they bracket that of the mixture."""
        at = self.given(f).ppf(q)
        return at.min(axis=0) - self.discrete, at.max(axis=0)

    def _quantile(self, q: float, mean: Row, variance: Row) -> Row:
        f = quadrature.nodes(mean, variance)
        low, high = self.around(q, f)
        for _ in range(BISECTIONS):
            middle = np.floor((low + high) / 2) if self.discrete else (low + high) / 2
            above = quadrature.WEIGHTS @ self.cdf_given(middle, f) >= q
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        reached = quadrature.WEIGHTS @ self.cdf_given(high, f)
        if not (reached >= q - QUANTILE_SLACK).all():
            i = int(np.argmin(np.where(np.isnan(reached), -1.0, reached)))
            raise NumericalError(
                f"the {q:g} quantile cannot be found where f is {mean[i]:g} ± {np.sqrt(variance[i]):g} (row {i}): the "
                "distribution leaves float64 there; scale the target, or leave such rows out."
            )
        return high

    # parameters

    def parameters(self) -> dict[str, float]:
        """Its parameters as plain numbers."""
        return {key: float(getattr(self, key)) for key in self._fields()}

    @classmethod
    def from_parameters(cls, words: Any) -> Self:
        """The inverse of `parameters`, with every value checked."""
        return cls(**{key: number(words[key]) for key in cls._fields()})

    def adjustable(self) -> "Adjustable":
        """As sites train it: its parameters a flat vector."""
        return Adjustable(self)

    @in_double_precision
    def take_apart(self) -> tuple[Any, Callable[[Any], Any]]:
        """Parameters and the way back, as stochastic training traces them under JAX."""
        import jax

        logs, recipe = {key: np.log(value) for key, value in self.parameters().items()}, _FromLogs(type(self))
        row = np.full(1, 1.0)
        try:
            jax.eval_shape(lambda p, f: recipe(p).expected_log_density(row, f, f), logs, row)
        except TypeError as error:
            raise InputError(
                f"the likelihood {self.name!r} is written in NumPy, and stochastic training differentiates it by JAX; "
                "use inference='sites' (methods odvff and vff), or write its log_density with "
                "odvff.support.arrays.namespace."
            ) from error
        return jax.tree.map(jax.numpy.asarray, logs), recipe

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls)) if is_dataclass(cls) else ()

    # words; `scale` is that of y, `shown` writes a number

    @property
    def noise_variance(self) -> float | None:
        """Of y about f, where it is one number."""
        return None

    def in_words(self, scale: float) -> str:
        """Its name and parameters, for the summary."""
        own = (f"{key.replace('_', ' ')} {value:.4g}" for key, value in self.parameters().items())
        return ", ".join((self.name, *own))

    def noise_in_words(self, scale: float, shown: Callable[[float], str]) -> str:
        """A sentence on what effects do not explain, for the report."""
        return self.unexplained or f"What it cannot explain is taken as {self.name} noise."

    def effects_in_words(self, target: str) -> tuple[str, str]:
        """What effects are on, for axes, and a sentence on what they add to."""
        if self.same_scale:
            return f"effect on {target}", f"What each column adds to the prediction, in units of {target}."
        return "effect on f", f"What each column adds to f, from which {target} follows."


@dataclass(frozen=True)
class _FromLogs:
    """A likelihood from logarithms of its parameters."""

    cls: type[Likelihood]

    def __call__(self, logs: dict[str, Array]) -> Likelihood:
        return self.cls(**{key: namespace(log).exp(log) for key, log in logs.items()})


class Adjustable:
    """What sites ask of a likelihood whose parameters move, by a flat vector of their logarithms; on NumPy."""

    def __init__(self, likelihood: Any):
        self._likelihood = likelihood
        self.start = np.log(np.array(list(likelihood.parameters().values()), dtype=np.float64))

    def at(self, flat: Any) -> Any:
        """The likelihood with these parameters."""
        values = np.exp(flat).tolist()
        return type(self._likelihood)(**dict(zip(self._likelihood.parameters(), values, strict=True)))

    def expectations(self, flat: Any, y: Row, w: Row, means: Nodes, variances: Nodes) -> tuple[float, Nodes, Nodes]:
        """Σ w E log p, and its derivatives with respect to all means and variances, of K processes."""
        value, *slopes = self._derivatives(flat, y, *by_process(means, variances))
        return float(w @ value), w * np.stack(slopes[::2]), w * np.stack(slopes[1::2])

    def _derivatives(self, flat: Any, *rows: Any) -> Any:
        return self.at(flat).derivatives(*rows)

    def improve(self, flat: Any, sample: Sample, policy: Policy) -> Any:
        """Parameters of the likelihood for the marginals of the sample."""
        if len(flat) == 0:
            return flat
        loss, has_gradient = self._loss(sample, policy)
        reach = [(p - FURTHEST, p + FURTHEST) for p in flat]
        return minimize(loss, flat, jac=has_gradient, method="L-BFGS-B", bounds=reach, options={"maxiter": 10}).x

    def _loss(self, sample: Sample, policy: Policy) -> tuple[Callable[[Any], Any], bool]:
        """−E log p on average, as a function of parameters, and whether it comes with its gradient."""
        some = slice(None, None, -(-len(sample[0]) // policy.likelihood_rows))
        y, w, means, variances = (part[..., some] for part in sample)
        return lambda p: -float(w @ self.at(p).expected_log_density(y, means[0], variances[0]) / w.sum()), False

    def first_guess(self, flat: Any, sample: Sample) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Mean and variance of f at rows with targets y, given the variance of its prior: where the first sites are."""
        # from a constant level, a step as long as counts call for would overshoot by far
        if self._likelihood.tells_level:
            return lambda y, variance: (self._likelihood.pseudo_target(y), np.full(len(y), NEARLY))
        level = 0.0 if self._likelihood.same_scale else self._level(flat, sample)
        return lambda y, variance: (np.full(len(y), level), variance)

    def _level(self, flat: Any, sample: Sample) -> float:
        """The constant, of a few dozen, that suits the rows best."""
        y, w = (part[:BLOCK_ROWS] for part in sample[:2])
        nearly = np.full((1, len(y)), NEARLY)
        candidates = np.append(np.linspace(-10, 10, 41), np.log(np.maximum(y.mean(), 1e-3)))
        values = [self.expectations(flat, y, w, np.full((1, len(y)), c), nearly)[0] for c in candidates]
        return float(candidates[np.nanargmax(values)]) if np.isfinite(values).any() else 0.0


def by_process(means: Any, variances: Any) -> list[Any]:
    """The mean and the variance of each process in turn."""
    return [rows for pair in zip(means, variances, strict=True) for rows in pair]
