"""The interface through which the rest of the package uses features.

`Features` have a size and two methods, `Kuu(kernel)` and `Kuf(kernel, X)`. `FixedFeatures` take no hyper-parameter
inside a box, so that sums over rows of them are taken once, and hyper-parameters are found from the sums: they say what
they are inside (`boxes`, `fill`), and how their Gram matrix depends on hyper-parameters (`parameters`, `kernel_at`,
`whitened`, whose default needs `Kuu_rates`). All other methods are optional abilities: a default is right and perhaps
slow, or says what is missing.

Code outside `odvff.features` never tests for a particular class. What is new is a new file.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from odvff import kernels
from odvff.errors import FileError, InputError, KernelError
from odvff.linalg import Covariance
from odvff.support.checks import matrix
from odvff.support.shapes import Array, Float, Int
from odvff.support.words import whole

Columns = tuple[int, ...] | None


@dataclass(frozen=True)
class Axis:
    """A column whose features are 1, F cosines, F sines and a few remainders: what FFTs can sum."""

    interval: tuple[float, float]
    n_harmonics: int
    n_remainders: int

    @property
    def length(self) -> float:
        return self.interval[1] - self.interval[0]


class Features(ABC):
    """Inducing features β of a process f: Cov(β, β) and Cov(β, f(x))."""

    is_fixed: ClassVar[bool] = False
    locations: Any = None  # of points that training may move; None if there are none
    n_levels: Any = None  # of a column of codes 0, 1, …; None if its values are numbers
    factors: tuple[Any, ...] = ()  # of a product: the features of each column

    @property
    def is_pair(self) -> bool:
        """Are these products of those of two columns, whose joint effect is told apart from theirs?"""
        return len(self.factors) == 2

    @property
    @abstractmethod
    def size(self) -> int:
        """|β|."""

    @abstractmethod
    def Kuu(self, kernel: Any) -> Covariance:
        """Cov(β, β): an operator with the right structure."""

    @abstractmethod
    def Kuf(self, kernel: Any, X: Any) -> Float[Array, "B N"]:
        """Cov(β, f(x)) at rows of the columns of the term."""

    @property
    def key(self) -> Hashable | None:
        """Features with equal keys are filled and whitened in one call; None is never grouped."""
        return None

    def words(self) -> str:
        """A short description for summaries, such as "12 harmonics"."""
        return type(self).__name__

    def lengthscales(self, kernel: Any) -> tuple[float, ...]:
        """Of every column, in its units; empty where there are none."""
        return tuple(float(scale) for scale in getattr(kernels.plain(kernel), "scales", ()))

    # what a file holds

    @classmethod
    def kind(cls) -> str:
        """What these features are called in files."""
        return cls.__name__.lower()

    def to_words(self, arrays: dict[str, Any], prefix: str) -> dict[str, Any]:
        """Plain values; arrays go into a dictionary of their own, under names that begin with the prefix."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_words(cls, words: dict[str, Any], stored: "Stored") -> Self:
        """The inverse, every value checked."""
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: _frozen(words[name]) for name in names})

    def split(self, kernel: Any, columns: tuple[int, ...]) -> list[tuple[Any, tuple[int, ...], "Features"]]:
        """The parts that each have their own effect: kernel, columns and features."""
        return [(kernel, columns, self)]

    def refined(self, factor: int) -> Self:
        """About `factor` times as many features, these among them."""
        raise InputError(
            f"{type(self).__name__} cannot be refined, so paths cannot be drawn; sample at fewer rows with "
            "method='exact'."
        )

    def positions(self, fine: Any) -> Int[Array, " B"]:
        """Positions of these features within `fine`."""
        raise InputError(f"{type(self).__name__} cannot be refined, so they stand among no others.")

    def moved(self, locations: Any) -> Self:
        """The same at other locations."""
        raise InputError(f"{type(self).__name__} have no locations to move.")

    def suited(self, kernel: Any) -> Self:
        """The same with the choices that a kernel implies, such as its smoothness."""
        return self

    def on_unit_box(self, kernel: Any, X: Float[Array, "N D"]) -> "OnUnitBox | None":
        """The same on [0, 1], where like features differ in numbers alone; None if there is no such form."""
        return None


@dataclass(frozen=True)
class OnUnitBox:
    """Features on [0, 1], the numbers of their kernel there, how these make a kernel, and the rows."""

    features: Features
    numbers: tuple[Any, ...]
    kernel: Callable[..., Any]
    rows: Float[Array, "N D"]


@dataclass(frozen=True)
class Stored:
    """What features in a file are read from, besides their own words."""

    arrays: dict[str, Any]
    prefix: str  # of the names of their arrays
    most: int  # the entries of the mean
    part: Callable[[Any, str], Features]  # reads features that these are made of, from words and a prefix

    def at_most(self, value: Any) -> int:
        """A number of harmonics, levels or points: made-up ones cost nothing."""
        n = whole(value)
        if n > self.most:
            raise FileError(f"a term in it has {n} harmonics or levels (or points), and the mean {self.most} entries.")
        return n


@dataclass(frozen=True)
class WhitenedGroup:
    """C⁻¹ of like terms at some hyper-parameters, K = C Cᵀ.

    Inverses are arrays, or what takes their place in `C⁻¹ @ M` and `M @ C⁻¹.T`. `traces` has tr(C⁻¹ (∂K/∂log ℓ) C⁻ᵀ M)
    for every term, its M and every lengthscale, (terms, lengthscales). An M need not be an array: it has `M @ X`,
    `M.diagonal()` and `M.dense()`, and the last should be asked for by none that can do without.
    """

    inverses: Sequence[Any]
    traces: Callable[[Sequence[Any]], Any]


def check_features(value: Any) -> None:
    """Are these features?"""
    if not isinstance(value, Features):
        raise KernelError(
            "features must be an instance of a class of odvff.features, or of your own that is derived from one of "
            f"them, got {value!r}."
        )


class FixedFeatures(Features):
    """Features φ that take no hyper-parameter inside a box: Cov(β, f(x)) = φ(x) there."""

    is_fixed = True

    @property
    @abstractmethod
    def boxes(self) -> tuple[tuple[float, float] | None, ...]:
        """(a, b) of every column that is read, in order; None where every value is inside."""

    @abstractmethod
    def fill(self, X: Float[Array, "N D"], out: Float[Array, "B N"]) -> None:
        """Write φ(x), for rows inside the box, into an array."""

    def inside(self, X: Any) -> Float[Array, "B N"]:
        """φ(x) for rows inside the box."""
        X = matrix(X, "X", n_columns=len(self.boxes))
        for box, x in zip(self.boxes, X.T, strict=True):
            low, high = box or (-np.inf, np.inf)
            beyond = (x < low) | (x > high)
            if beyond.any():
                i = int(np.argmax(beyond))
                raise InputError(
                    f"X has {x[i]} in row {i}, outside the interval ({low}, {high}), where features depend on "
                    "the kernel; use Kuf(kernel, X) there."
                )
        out = np.empty((self.size, len(X)))
        self.fill(X, out)
        return out

    # hyper-parameters

    def parameters(self, kernel: Any) -> Float[Array, " K"]:
        """Logarithms: lengthscales in units of the box, then the variance σ²; K is proportional to 1/σ²."""
        k = kernels.plain(kernel)
        ratios = [scale / size for scale, size in zip(k.scales, self._sizes, strict=False)]
        return np.log([*ratios, k.total_variance])

    def kernel_at(self, kernel: Any, parameters: Float[Array, " K"]) -> Any:
        """The kernel with these hyper-parameters."""
        *ratios, variance = np.exp(parameters)
        return kernel.with_numbers([r * size for r, size in zip(ratios, self._sizes, strict=False)], variance)

    @property
    def _sizes(self) -> list[float]:
        return [1.0 if box is None else box[1] - box[0] for box in self.boxes]

    def log_rates(self, kernel: Any) -> tuple[float, ...]:
        """|∂ log S/∂ log ℓ|^½ of every lengthscale, S the spectral density at high frequencies: √(2ν)."""
        return tuple(np.sqrt(3.0) for _ in kernel.scales)

    def Kuf_rates(self, kernel: Any, X: Float[Array, "N D"]) -> list[Float[Array, "B N"]]:
        """∂Kuf/∂log ℓ for every lengthscale, at rows of which some may be outside the box: inside it is zero."""
        pairs = zip(self.boxes, X.T, strict=True)
        if all(box is None or ((x >= box[0]) & (x <= box[1])).all() for box, x in pairs):
            return [np.zeros((self.size, len(X))) for _ in kernels.plain(kernel).scales]
        raise InputError(f"{type(self).__name__} say nothing of rows outside their box; make it wider.")

    def Kuu_rates(self, kernel: Any) -> list[Float[Array, "B B"]]:
        """∂Kuu/∂log ℓ for every lengthscale."""
        raise InputError(f"{type(self).__name__} lack `Kuu_rates`, the derivatives of their Gram matrix.")

    def whitened(self, like: Sequence[Any], kernel_of: Sequence[Any], parameters: Float[Array, "T K"]) -> WhitenedGroup:
        """C⁻¹ of like features, K = C Cᵀ, and what the gradient needs: a row of parameters is put into each kernel."""
        found = [(f, f.kernel_at(k, p)) for f, k, p in zip(like, kernel_of, parameters, strict=True)]
        inverses = [f.Kuu(k).factor().solve(np.eye(f.size)) for f, k in found]

        def traces(Ms: Sequence[Any]) -> Any:
            each = zip(found, inverses, Ms, strict=True)
            return np.array([[np.trace(M @ (C @ rate @ C.T)) for rate in f.Kuu_rates(k)] for (f, k), C, M in each])

        return WhitenedGroup(inverses, traces)

    def fill_alike(self, like: Sequence[Any], X: Float[Array, "N D"], columns: Any, out: Float[Array, "T B N"]) -> None:
        """`fill` of like features, each from its columns of X."""
        for f, own, place in zip(like, columns, out, strict=True):
            f.fill(X[:, list(own)], place)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Columns whose harmonics FFTs can sum, if the features are (products of) such; else none."""
        return ()

    # other forms of the same

    def read(self, kernel: Any, columns: Columns) -> tuple[Any, Columns]:
        """The kernel by plain numbers, and which of the term's columns it reads."""
        return kernels.plain(kernel), columns

    def orthogonal(self) -> "FixedFeatures":
        """The same span in the basis that statistics are taken in: whitened features, and so posteriors, are equal."""
        return self

    def sides(self, kernel: Any) -> list[tuple["FixedFeatures", Any]]:
        """Of a product: the features and the kernel of each column."""
        return []

    def curve(self, kernel: Any, weights: Float[Array, " B"]) -> Callable[[Any], Any] | None:
        """x ↦ wᵀKuf(x) of a column by a look into a table; None if that is not available."""
        return None

    # more and fewer

    @property
    def resolution(self) -> int:
        """How many harmonics (degrees, …) a column has; 0 if there is nothing to choose."""
        return 0

    def with_resolution(self, n: int) -> Self:
        """The same features with resolution n."""
        return self

    def holds(self, fewer: Any) -> bool:
        """Are the others the same, at equal or lower resolution?"""
        return bool(self == fewer)

    def coarsening(self, fewer: Any) -> Float[Array, "K B"] | None:
        """T with φ_fewer = T φ; None where both are the same."""
        if self != fewer:
            raise InputError(f"{self!r} do not contain {fewer!r}.")
        return None


def _plain(value: Any) -> Any:
    """A JSON value."""
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def _frozen(value: Any) -> Any:
    """Lists as tuples, which can be compared and hashed."""
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value
