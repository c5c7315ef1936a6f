"""Features that are written outside the package, by the recipe of CONTRIBUTING, work wherever ours do.

The class is taken from CONTRIBUTING itself: polynomials on an interval, in the RKHS of a Matérn kernel.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from odvff import (
    Categorical,
    FileError,
    Fourier,
    GaussianNoise,
    InputError,
    KernelError,
    Levels,
    Matern,
    ODVFFRegressor,
    Posterior,
    Separable,
    Term,
    load,
)
from odvff.features import FixedFeatures, Kronecker
from odvff.inference import collapsed_bound, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.bound import CollapsedBound
from odvff.inference.sites import fit_sites
from odvff.kernels import Kernel
from odvff.statistics import collect
from odvff.terms import Sum
from tests.reference.rkhs import inner_products, kernel_function

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SPACE: dict = {}
exec(
    next(block for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL) if "class Legendre" in block),
    SPACE,
)
Legendre = SPACE["Legendre"]

KERNELS = [Matern(0.5, 0.4, 1.3), Matern(1.5, 0.7, 0.6), Matern(2.5, 1.5, 2.0)]


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 3, n), rng.uniform(0, 1, n), rng.integers(0, 3, n)])
    return X, np.sin(1.5 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * X[:, 2] + 0.1 * rng.standard_normal(n)


def model():
    return Sum(
        [
            Term(Matern(1.5, 1.0), Legendre(9, (-1.0, 3.0)), [0], "own"),
            Term(Matern(2.5, 0.5), Fourier(4, (0.0, 1.0)), [1], "ours"),
            Term(Categorical(), Levels(3), [2], "levels"),
        ]
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("features", [Legendre(4, (-1.0, 3.0)), Legendre(12, (0.0, 0.5))])
def test_gram_and_tails_are_those_of_the_rkhs(features, kernel):
    """Against inner products by the formula of each smoothness, and ⟨k(x,·), φ⟩ outside the box."""
    a, b = features.interval
    L = b - a

    def function(i):
        p = np.polynomial.Legendre.basis(i, domain=[a, b])
        return lambda x, j: p.deriv(j)(x) if j else p(x)

    basis, numbers = (
        [function(i) for i in range(features.size)],
        (kernel.smoothness, kernel.lengthscale, kernel.variance),
    )
    gram = inner_products(basis, basis, *numbers, a, b, 100)
    assert np.allclose(features.Kuu(kernel).dense(), gram, rtol=1e-8, atol=1e-8 * np.abs(gram).max())
    X = np.array([[a - 0.3 * L], [a], [a + 0.4 * L], [b], [b + 0.1 * L]])
    seen = [kernel_function(*numbers, x) for x in X[:, 0]]
    expected = inner_products(basis, seen, *numbers, a, b, 200, breaks=X[:, 0])
    assert np.allclose(features.Kuf(kernel, X), expected, atol=1e-7)
    rows = np.linspace(a - L, b + L, 40)[:, None]
    psi = features.Kuu(kernel).factor().solve(features.Kuf(kernel, rows))
    assert np.linalg.eigvalsh(kernel.covariance(rows, rows) - psi.T @ psi).min() > -1e-8


def test_statistics_by_either_engine_and_the_bound_with_its_gradient():
    terms, (X, y) = model(), data()
    X[:5, 0] += 5  # rows outside the box
    by_product, by_nufft = (collect(terms, [(X, y)], engine=engine) for engine in ("product", "nufft"))
    assert np.allclose(by_product.moments, by_nufft.moments, atol=1e-7 * len(X))
    bound = CollapsedBound(terms, by_product)
    p = np.append(np.concatenate(bound.blocks.start), np.log(0.05))
    assert np.isclose(bound(p).value, collapsed_bound(terms, 0.05, X, y), rtol=1e-8)
    for i in range(len(p)):
        step = 1e-5 * (np.arange(len(p)) == i)
        assert np.isclose(
            bound(p).gradient[i], (bound(p + step).value - bound(p - step).value) / 2e-5, rtol=1e-4, atol=1e-4
        )


def test_a_fit_by_statistics_predicts_tells_effects_and_draws_functions():
    terms, (X, y) = model(), data()
    statistics = collect(terms, [(X, y)])
    centre = statistics.mean()
    fit = fit_collapsed(terms, statistics.standardised(centre, 1.0))
    assert 0.08 < np.sqrt(fit.noise) < 0.12
    same = optimal_posterior(fit.terms, fit.noise, X, y - centre)
    rows = data(50, seed=1)[0]
    assert np.allclose(fit.posterior.predict(rows), same.predict(rows), atol=1e-6)
    effects = fit.posterior.effects(rows)
    assert np.allclose(effects.mean.sum(axis=1), fit.posterior.mean(rows), atol=1e-8)
    paths = fit.posterior.paths(400, seed=0)(rows)
    assert np.abs(paths.mean(axis=0) - fit.posterior.mean(rows)).max() < 0.05


def test_sites_and_minibatches_reach_what_statistics_reach():
    from odvff.inference.stochastic import Trainer, minibatches

    terms, (X, y) = model(), data()
    y = y - y.mean()
    best = fit_collapsed(terms, collect(terms, [(X, y)]))
    sites = fit_sites(best.terms, GaussianNoise(best.noise), [(X, y)], train=False)
    assert np.isclose(sites.bound, best.bound, atol=0.01)
    trainer = Trainer(best.terms, GaussianNoise(best.noise), len(X), learning_rate=1e-4, natural_step=1.0, ramp=1)
    trained = trainer.run(minibatches(X, y, len(X)), 3)
    assert np.isclose(trained.history[-1], best.bound, atol=0.5)


def products():
    """Of features that are not ours, and of such and ours, beside an effect of one of their columns alone."""
    kernel = Separable((Matern(1.5, 1.0), Matern(1.5, 0.5)))
    box, unit = (-1.0, 3.0), (0.0, 1.0)
    return [
        [
            Term(Matern(1.5, 1.0), Legendre(7, box), [0], "alone"),
            Term(kernel, Kronecker((first, second)), [0, 1], "both"),
        ]
        for first, second in (
            (Legendre(5, box), Legendre(4, unit)),
            (Legendre(5, box), Fourier(2, unit)),
            (Fourier(2, box), Legendre(4, unit)),
        )
    ]


@pytest.mark.parametrize("terms", products())
def test_products_of_them_are_fitted_and_tell_effects(terms):
    terms, (X, _) = Sum(terms), data()
    y = np.sin(1.5 * X[:, 0]) * (1 + X[:, 1] ** 2) + 0.1 * np.random.default_rng(1).standard_normal(len(X))
    beyond = X + np.where(np.arange(len(X)) < 5, 5.0, 0.0)[:, None]  # rows outside the box
    bound = CollapsedBound(terms, collect(terms, [(beyond, y)]))
    p = np.append(np.concatenate(bound.blocks.start), np.log(0.05))
    assert np.isclose(bound(p).value, collapsed_bound(terms, 0.05, beyond, y), rtol=1e-8)
    for i in range(len(p)):
        step = 1e-5 * (np.arange(len(p)) == i)
        numeric = (bound(p + step).value - bound(p - step).value) / 2e-5
        assert np.isclose(bound(p).gradient[i], numeric, rtol=1e-4, atol=1e-4)
    fit = fit_collapsed(terms, collect(terms, [(X, y)]))
    assert 0.08 < np.sqrt(fit.noise) < 0.12
    rows = data(50, seed=1)[0]
    same = optimal_posterior(fit.terms, fit.noise, X, y)
    assert np.allclose(fit.posterior.predict(rows), same.predict(rows), atol=1e-6)
    effects = fit.posterior.effects(rows)
    assert effects.mean.shape == (50, 2)
    assert np.allclose(effects.mean.sum(axis=1), fit.posterior.mean(rows), atol=1e-8)
    paths = fit.posterior.paths(400, seed=0)(rows)
    assert np.abs(paths.mean(axis=0) - fit.posterior.mean(rows)).max() < 0.05


@pytest.mark.parametrize("terms", products())
def test_products_of_them_come_back_from_a_file(terms, tmp_path):
    X, y = data()
    model = ODVFFRegressor(terms=terms).fit(X[:, :2], y)
    model.save(tmp_path / "m")
    with pytest.raises(FileError, match=r"has the features 'legendre'.*load\(path, known=\[…\]\)"):
        load(tmp_path / "m")
    again = load(tmp_path / "m", known=[Legendre])
    assert (again.predict(X[:, :2]) == model.predict(X[:, :2])).all()
    assert "Legendre ×" in str(model.summary()) or "× Legendre" in str(model.summary())


def test_a_product_is_not_written_with_a_namesake_of_ours(tmp_path):
    @dataclass(frozen=True)
    class Namesake(Legendre):
        @classmethod
        def kind(cls):
            return "fourier"

    X, y = data(50)
    kernel = Separable((Matern(1.5, 1.0), Matern(1.5, 0.5)))
    term = Term(kernel, Kronecker((Namesake(3, (-1.0, 3.0)), Fourier(2, (0.0, 1.0)))), [0, 1])
    with pytest.raises(FileError, match="Namesake is called 'fourier' in files"):
        ODVFFRegressor(terms=[term]).fit(X[:, :2], y).save(tmp_path / "m")


@dataclass(frozen=True)
class Bare(FixedFeatures):
    size = 1
    boxes = ((0.0, 1.0),)

    def fill(self, X, out):
        out[:] = 1.0

    def Kuu(self, kernel):
        return Levels(1).Kuu(Categorical())

    def Kuf(self, kernel, X):
        return np.ones((1, len(X)))


def test_what_they_do_not_do_is_said():
    # rows inside its own box, with one outside that of another term
    mixed = Sum([Term(Matern(), Bare(), [0], "bare"), Term(Matern(), Fourier(2, (0, 1)), [1], "ours")])
    rows = np.array([[0.2, 0.3], [0.7, 1.4]])
    assert not Bare().Kuf_rates(Matern(), rows[:, :1])[0].any()
    with pytest.raises(InputError, match="say nothing of rows outside"):
        Bare().Kuf_rates(Matern(), rows[:, 1:])
    assert mixed.alike == [[0], [1]]
    terms = [Term(Matern(), Bare(), [0], "bare")]
    X = np.linspace(0, 1, 9)[:, None]
    statistics = collect(terms, [(X, X[:, 0])])
    with pytest.raises(InputError, match="lack `Kuu_rates`"):
        fit_collapsed(terms, statistics)
    with pytest.raises(InputError, match="Bare cannot be refined"):
        Posterior(terms).paths()


def test_keys_are_of_one_class():
    @dataclass(frozen=True)
    class Keyed(Levels):
        key = 1

    features = [Levels(3), Keyed(3), Keyed(4), Levels(3)]
    terms = Sum([Term(Categorical(), f, [i]) for i, f in enumerate(features)])
    assert terms.alike == [[0], [1, 2], [3]]
    product = Kronecker((Legendre(2, (0, 1)), Fourier(2, (0, 1))))
    assert product.key is None


def test_a_kernel_whose_variance_is_not_the_same_everywhere_is_refused():
    @dataclass(frozen=True)
    class Brownian(Kernel):
        total_variance = 1.0

        def covariance(self, X, Z):
            return np.minimum(X, Z.T)

        def variances(self, X):
            return X[:, 0]

    X, y = np.linspace(0.2, 1, 20)[:, None], np.zeros(20)
    with pytest.raises(KernelError, match=r"has k\(x,x\) = 0.2 where its variance is 1; fixed features are for"):
        collect([Term(Brownian(), Bare(), [0], "motion")], [(X, y)])
