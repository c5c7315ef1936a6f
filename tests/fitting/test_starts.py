"""Where fits begin: what a look has found is passed on, and what it has not is not."""

from dataclasses import replace

import numpy as np
import pytest

from odvff.design import Design, LevelsPart, NumericPart
from odvff.fitting import Options, Problem
from odvff.fitting.starts import first_look, fourier_start, point_start
from odvff.likelihoods import GaussianNoise, Poisson
from odvff.policy import DEFAULT
from odvff.rows import MemoryRows
from odvff.statistics import collect
from odvff.support.run import BARE


def problem(likelihood=None, policy=DEFAULT, **options):
    """Three hundred rows of two columns, and one of a single level."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 1, (300, 2)), np.zeros(300)])
    f = np.sin(6 * X[:, 0])
    y = f - f.mean() + 0.1 * rng.standard_normal(300) if likelihood is None else rng.poisson(np.exp(3 + f)) * 1.0
    parts = tuple(NumericPart(d, f"x{d}", (0.0, 1.0)) for d in range(2))
    design = Design(parts, (LevelsPart(2, "intercept", 1),))
    return Problem(MemoryRows(X, y), design, Options(policy=policy, **options), likelihood or GaussianNoise(), BARE)


@pytest.mark.parametrize(("whole_rows", "is_small"), [(300, True), (299, False)])
def test_statistics_of_a_look_at_all_rows_are_passed_on(whole_rows, is_small):
    policy = replace(DEFAULT, harmonics_rows=100, whole_rows=whole_rows, sample_rows=150)
    start = fourier_start(problem(policy=policy))
    assert start.known
    assert start.noise == pytest.approx(0.01, rel=0.3)
    assert (start.statistics is not None) == is_small
    if is_small:
        again = collect(start.terms, problem().rows.chunks())
        assert np.abs(start.statistics.moments - again.moments).max() < 1e-8


def test_given_harmonics_start_from_the_data_without_a_look():
    start = fourier_start(problem(n_harmonics=4))
    assert (start.noise, start.known, start.statistics, start.report) == (None, False, None, ())


def test_given_harmonics_start_from_the_look_for_pairs():
    start = fourier_start(problem(n_harmonics=4, interactions=2))
    assert start.known
    assert start.statistics is not None
    assert start.report == ("no pair of columns was found to act together",)


def test_an_intercept_can_reach_the_level_of_counts():
    counts = problem(Poisson(), n_harmonics=4)
    level = counts.sample(300).level
    assert 2.5 < level < 3.5
    for terms in (first_look(counts)[0], fourier_start(counts).terms):
        (intercept,) = (term for term in terms if term.name == "intercept")
        assert intercept.kernel.variance == pytest.approx(level**2)


def test_points_start_with_the_kernels_of_a_look():
    start = point_start(problem(n_beta=7))
    assert start.terms.terms[0].features.locations.shape == (7, 2)
    assert start.report == ("7 inducing points carry the covariance",)
