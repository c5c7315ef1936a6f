"""What a fit is asked for, where it starts, and what comes of it: small values that the steps pass on."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from odvff.design import Design
from odvff.inference import Fit
from odvff.likelihoods import GaussianNoise, Likelihood
from odvff.policy import DEFAULT, Policy
from odvff.rows import Chunk, RowSource
from odvff.statistics import Statistics
from odvff.support.progress import Step
from odvff.support.run import Run
from odvff.terms import Sum

if TYPE_CHECKING:  # JAX is imported where it is needed
    from odvff.inference.sites.fit import SiteFit


@dataclass(frozen=True)
class Options:
    """What a method is asked for. Defaults suit a few thousand to a few million rows."""

    smoothness: float = 1.5
    n_harmonics: int | str = "auto"
    completion: bool = True
    n_beta: int = 0  # points that carry the covariance, where β is points; 0: as the policy says
    n_gamma: int | str = "auto"  # points for the mean
    intervals: tuple[tuple[float, float], ...] | None = None  # by default the range of every column
    inference: str = "auto"
    batch_size: int = 500
    n_steps: int = 0  # the same
    learning_rate: float = 0.01
    natural_step: float = 0.1
    cooling: float = 0.25  # the last share of the steps, in which both rates fall to a hundredth
    held_out: float = 0.0  # share of the rows that stochastic training keeps apart and scores
    patience: int | None = None  # steps without a better score after which it stops
    refine: bool = False  # collapsed odvff: move γ and all hyper-parameters together in the end
    max_iter: int = 0  # the same
    interactions: int | str | tuple[tuple[str, str], ...] = 0  # pairs of columns: so many at most, "auto", or by name
    seed: int = 0
    policy: Policy = DEFAULT  # thresholds and limits, see `odvff.policy`

    def __post_init__(self) -> None:
        policy = self.policy
        said = {"n_beta": policy.n_points, "n_steps": policy.most_steps, "max_iter": policy.most_iterations}
        for name, value in said.items():
            object.__setattr__(self, name, getattr(self, name) or value)


@dataclass(frozen=True)
class Named:
    """The result of a named method, with a report of what was chosen."""

    fit: "Fit | SiteFit"
    report: tuple[str, ...]
    scores: tuple[tuple[int, float], ...] = ()  # of stochastic training: (step, mean log density of the held-out rows)

    @property
    def likelihood(self) -> Likelihood:
        return GaussianNoise(self.fit.noise) if isinstance(self.fit, Fit) else self.fit.likelihood


@dataclass(frozen=True)
class Sample:
    """Some rows, with centred targets on the scale of f, and the level that was taken from these."""

    rows: Chunk
    level: float  # of f; 0 if y is centred as it comes

    @property
    def scale(self) -> float:
        """The variance of the targets, or 1 if there is none."""
        _, y, weights = self.rows
        return float(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)) or 1.0


@dataclass(frozen=True)
class Problem:
    """Rows, what a model of them is made of, and what was asked for."""

    rows: RowSource
    design: Design
    options: Options
    likelihood: Likelihood
    run: Run

    @property
    def policy(self) -> Policy:
        return self.options.policy

    @property
    def is_small(self) -> bool:
        """Are all of the rows used to choose harmonics?"""
        return self.rows.n_rows <= self.policy.whole_rows

    def sample(self, n_rows: int) -> Sample:
        """A random sample of the rows; with a likelihood of another scale, of its pseudo-targets."""
        X, y, weights = self.rows.sample(n_rows)
        if self.likelihood.closed_form:
            return Sample((X, y, weights), 0.0)
        f = self.likelihood.pseudo_target(y)
        level = float(np.average(f, weights=weights))
        return Sample((X, f - level, weights), level)

    def fourier_terms(self, n_harmonics: int, design: Design | None = None) -> Sum:
        return (design or self.design).fourier_terms(n_harmonics, self.options.smoothness, self.options.completion)

    @property
    def ascent(self) -> dict[str, Any]:
        """What every ascent of a bound is told: its limit, and who hears of it."""
        return {
            "max_iter": self.options.max_iter,
            "progress": lambda n, bound: self.run.progress(Step("fitting", n, None, "iterations", bound)),
            "tell": self.run.tell,
        }


@dataclass(frozen=True)
class Start:
    """Where a fit begins: the terms with first kernels, and in words how they were chosen."""

    terms: Sum
    noise: float | None = None  # where a first look found the kernels; without one they are as they come
    known: bool = False  # are the kernels and this noise near the optimum?
    statistics: Statistics | None = None  # of all rows and these terms, if a look has added them up
    report: tuple[str, ...] = ()

    def saying(self, *words: str) -> "Start":
        return replace(self, report=(*self.report, *words))
