"""Parameters counted in their own standard errors: few steps for any curvatures, and where it ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odvff import Categorical, Fourier, InputError, Kronecker, Levels, Matern, Separable, Sum, Term
from odvff.inference import CollapsedBound, fit_collapsed
from odvff.inference.maximise import LEAP, Until, maximise
from odvff.methods import fit_method
from odvff.statistics import collect

WIDE = np.array([[-1e3, 1e3]])


class Quadratic:
    """−½ Σ h (x − x*)², which keeps where it was asked."""

    def __init__(self, curvature, optimum):
        self.curvature, self.optimum, self.asked = curvature, optimum, []

    def __call__(self, x):
        self.asked.append(x)
        return -0.5 * float(self.curvature @ (x - self.optimum) ** 2), -self.curvature * (x - self.optimum)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 8.0))
def test_known_curvatures_take_few_steps_however_unlike_they_are(seed, decades):
    rng = np.random.default_rng(seed)
    target = Quadratic(10 ** rng.uniform(0, decades, 12), rng.uniform(-0.5, 0.5, 12))
    limits = np.repeat(WIDE, 12, axis=0)
    result = maximise(target, np.zeros(12), limits, target.curvature, Until(precision=1e-3), weight=50.0)
    assert len(target.asked) <= 4
    assert (np.abs(result.x - target.optimum) * np.sqrt(target.curvature)).max() <= 1e-3


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 1e6))
def test_it_ends_within_the_precision_of_every_parameter(seed, weight):
    rng = np.random.default_rng(seed)
    target = Quadratic(10 ** rng.uniform(0, 4, 8), rng.normal(0, 2, 8))
    # information that is wrong by a factor of up to three
    information = target.curvature * 3 ** rng.uniform(-1, 1, 8)
    limits = np.repeat(WIDE, 8, axis=0)
    result = maximise(target, np.zeros(8), limits, information, Until(precision=0.05), weight)
    assert result.success
    _, gradient = target(result.x)
    assert (np.abs(gradient) / np.sqrt(information)).max() <= 0.0501
    assert result.jac == pytest.approx(-gradient / weight, abs=1e-9)


def test_the_first_step_is_no_leap_into_the_unknown():
    target = Quadratic(np.array([1.0, 100.0]), np.array([30.0, -5.0]))
    maximise(target, np.zeros(2), np.repeat(WIDE, 2, axis=0), target.curvature, Until())
    assert np.abs(target.asked[1]).max() == pytest.approx(LEAP)


def test_limits_are_kept():
    target = Quadratic(np.array([1.0, 100.0]), np.array([30.0, -5.0]))
    limits = np.array([[-1.0, 2.0], [-10.0, 10.0]])
    result = maximise(target, np.zeros(2), limits, target.curvature, Until(precision=1e-6))
    assert result.x == pytest.approx([2.0, -5.0], abs=1e-5)
    assert all((limits[:, 0] <= x).all() and (x <= limits[:, 1]).all() for x in target.asked)


@pytest.fixture(scope="module")
def bound():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 3))
    y = np.sin(9 * X[:, 0]) + X[:, 1] ** 2 + np.cos(25 * X[:, 2]) + 0.4 * rng.standard_normal(3000)
    terms = Sum([Term(Matern(nu), Fourier(12, (0, 1)), [d]) for d, nu in enumerate((0.5, 1.5, 2.5))])
    return terms, collect(terms, [(X, y - y.mean())])


def test_the_information_of_a_bound_is_about_its_curvature(bound):
    terms, statistics = bound
    fit = fit_collapsed(terms, statistics)
    own = CollapsedBound(fit.terms, statistics)
    best = np.append(np.concatenate(own.blocks.start), np.log(fit.noise))
    information = own.information(own(best))
    for i, known in enumerate(information):
        step = 1e-4 * np.eye(len(best))[i]
        curvature = -(own(best + step).gradient[i] - own(best - step).gradient[i]) / 2e-4
        assert 0.1 < curvature / known < 10


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_the_value_alone_is_the_value_with_its_gradient(scale, spread):
    """Every kind of term, rows outside the box, and y of any size."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(-spread, 1 + spread, (80, 3)), rng.integers(0, 3, 80)])
    terms = Sum(
        [
            Term(Matern(0.5), Fourier(4, (0, 1)), [0]),
            Term(Separable((Matern(1.5), Matern(2.5))), Kronecker((Fourier(2, (0, 1)), Fourier(1, (0, 1)))), [1, 2]),
            Term(Categorical(0.5), Levels(3), [3]),
        ]
    )
    own = CollapsedBound(Sum.of(terms), collect(terms, [(X, scale * rng.standard_normal(80))]))
    for _ in range(5):
        p = rng.normal(0, 1, 7)
        p[[1, 4, 5, 6]] += 2 * np.log(scale)  # variances
        noises = [np.exp(p[-1]), 3 * np.exp(p[-1])]
        both = [own(np.append(p[:-1], np.log(noise))).value for noise in noises]
        assert own.values(p[:-1], noises) == pytest.approx(both, rel=1e-10)


def test_a_start_that_is_known_to_be_good_is_the_only_one(bound, monkeypatch):
    terms, statistics = bound
    fit = fit_collapsed(terms, statistics)
    compared = []
    values = CollapsedBound.values
    monkeypatch.setattr(
        CollapsedBound, "values", lambda self, kernels, noises: compared.extend(noises) or values(self, kernels, noises)
    )
    again = fit_collapsed(fit.terms, statistics, noise=fit.noise, known=True, precision=0.01)
    assert not compared
    assert len(again.history) <= 2
    assert again.bound == pytest.approx(fit.bound, abs=1e-3)
    fit_collapsed(fit.terms, statistics, noise=fit.noise)
    assert len(compared) == 7
    with pytest.raises(InputError, match="give `noise` too"):
        fit_collapsed(fit.terms, statistics, known=True)


def test_other_starts_do_not_speak_for_the_best(bound):
    """The first start is the optimum, and takes no iteration; the second does not get far, and is not the result."""
    terms, statistics = bound
    fit = fit_collapsed(terms, statistics)
    again = fit_collapsed(fit.terms, statistics, noise=fit.noise, known=True, precision=0.01, n_starts=2, max_iter=1)
    assert again.converged
    assert again.bound == pytest.approx(fit.bound, abs=1e-3)


def test_parameters_that_trade_with_each_other_are_found_too():
    """A ridge: curvatures of 1.999 and 0.001, of which the information knows nothing."""
    H, optimum = np.array([[1.0, 0.999], [0.999, 1.0]]), np.array([3.0, -3.0])

    def ridge(x):
        return -0.5 * float((x - optimum) @ H @ (x - optimum)), -H @ (x - optimum)

    result = maximise(ridge, np.zeros(2), np.repeat(WIDE, 2, axis=0), np.ones(2), Until(precision=1e-6))
    assert result.x == pytest.approx(optimum, abs=2e-3)


def test_small_tables_are_fitted_to_the_optimum():
    """Where features are many and rows few, gradients are small beside saddles too; fits must not end there."""
    worst = 0.0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0, 1, (100, 6))
        y = np.sin(9 * X[:, 0]) + np.cos(7 * X[:, 4]) + np.sin(11 * X[:, 5]) + 0.2 * rng.standard_normal(100)
        named = fit_method("vff", X, (y - y.mean()) / y.std())
        terms = named.fit.terms
        best = fit_collapsed(terms, collect(terms, [(X, (y - y.mean()) / y.std())]), noise=named.fit.noise)
        worst = max(worst, best.bound - named.fit.bound)
    assert worst < 1.0


def test_a_tenth_of_a_standard_error_is_less_than_a_tenth_of_a_nat(bound):
    terms, statistics = bound
    best, soon = fit_collapsed(terms, statistics), fit_collapsed(terms, statistics, precision=0.1)
    assert soon.converged
    assert best.bound - 0.1 < soon.bound <= best.bound + 1e-6
    assert len(soon.history) < len(best.history)
