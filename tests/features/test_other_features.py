"""Inducing points, Kronecker products, levels, and sums of them."""

import gpjax as gpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff import (
    Additive,
    Categorical,
    FactorizationError,
    Fourier,
    InducingPoints,
    InputError,
    KernelError,
    Kronecker,
    Levels,
    Matern,
    Separable,
    Sum,
    Term,
)
from odvff.kernels import covariance, variances
from tests.reference import rkhs

GPJAX_KERNELS = {
    "Matern12": lambda: gpx.kernels.Matern12(lengthscale=0.4, variance=1.7),
    "Matern32": lambda: gpx.kernels.Matern32(lengthscale=0.4, variance=1.7),
    "Matern52": lambda: gpx.kernels.Matern52(lengthscale=0.4, variance=1.7),
    "RBF": lambda: gpx.kernels.RBF(lengthscale=0.4, variance=1.7),
    "RationalQuadratic": lambda: gpx.kernels.RationalQuadratic(lengthscale=0.4, variance=1.7),
    "PoweredExponential": lambda: gpx.kernels.PoweredExponential(lengthscale=0.4, variance=1.7),
    "Periodic": lambda: gpx.kernels.Periodic(lengthscale=0.4, variance=1.7, period=0.5),
    "Linear": lambda: gpx.kernels.Linear(variance=1.7),
    "Polynomial": lambda: gpx.kernels.Polynomial(degree=2, variance=1.7),
    "sum": lambda: gpx.kernels.RBF(lengthscale=0.4) + gpx.kernels.Matern32(lengthscale=0.1),
    "product": lambda: gpx.kernels.RBF(lengthscale=0.4) * gpx.kernels.Linear(),
}


def residual(features, kernel, X):
    """k(X,X) − Kufᵀ Kuu⁻¹ Kuf, the Schur complement."""
    psi = features.Kuu(kernel).factor().solve(features.Kuf(kernel, X))
    return covariance(kernel, X, X) - psi.T @ psi


@pytest.mark.parametrize("name", GPJAX_KERNELS)
@pytest.mark.parametrize("n_columns", [1, 3])
def test_points_are_kernel_values_and_the_schur_complement_is_psd(name, n_columns):
    rng = np.random.default_rng(0)
    kernel, Z, X = GPJAX_KERNELS[name](), rng.uniform(0.1, 1, (4, n_columns)), rng.uniform(0, 1, (25, n_columns))
    points = InducingPoints(Z)
    reference = np.array([[float(kernel(z, x)) for x in X] for z in Z])
    # the reference runs in JAX's default float32
    assert np.allclose(points.Kuf(kernel, X), reference, rtol=1e-5, atol=1e-6)
    assert points.Kuf(kernel, X).dtype == np.float64
    assert np.allclose(points.Kuu(kernel).dense(), points.Kuf(kernel, Z))
    assert np.allclose(variances(kernel, X), np.diagonal(covariance(kernel, X, X)))
    schur = residual(points, kernel, X)
    assert np.linalg.eigvalsh(schur).min() > -1e-8 * np.diagonal(covariance(kernel, X, X)).max()


@given(
    st.sampled_from([0.5, 1.5, 2.5]),
    st.floats(-3, 3),
    st.integers(1, 15),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_schur_complement_is_psd_for_fourier(smoothness, log_lengthscale, F, completion, seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.uniform(-0.5, 1.5, (15, 1)), rng.uniform(0, 1, (1, 1)) + 1e-9 * rng.uniform(size=(5, 1))])
    kernel = Matern(smoothness, 10**log_lengthscale, 2.0)
    schur = residual(Fourier(F, (0, 1), completion), kernel, X)
    assert np.linalg.eigvalsh(schur).min() > -1e-11


def test_near_duplicate_points_work_and_exact_duplicates_too():
    Z = np.array([[0.1], [0.5], [0.5], [0.5 + 1e-12]])
    assert np.linalg.eigvalsh(residual(InducingPoints(Z), Matern(2.5), np.linspace(0, 1, 30)[:, None])).min() > -1e-9


def test_kronecker_equals_the_dense_product():
    rng = np.random.default_rng(1)
    factors = (Fourier(2, (0, 1)), Fourier(1, (-1, 1), completion=False), Fourier(1, (0, 2)))
    kernels = (Matern(0.5, 0.3, 2.0), Matern(1.5, 0.8), Matern(2.5, 1.1, 0.5))
    X = rng.uniform(-0.5, 1.5, (7, 3))
    features, kernel = Kronecker(factors), Separable(kernels)
    grams = [f.Kuu(k).dense() for f, k in zip(factors, kernels, strict=True)]
    assert np.allclose(features.Kuu(kernel).dense(), np.kron(np.kron(grams[0], grams[1]), grams[2]))
    columns = [f.Kuf(k, X[:, [i]]) for i, (f, k) in enumerate(zip(factors, kernels, strict=True))]
    expected = np.stack([np.kron(np.kron(*(c[:, n] for c in columns[:2])), columns[2][:, n]) for n in range(7)], axis=1)
    assert np.allclose(features.Kuf(kernel, X), expected)
    assert np.linalg.eigvalsh(residual(features, kernel, X)).min() > -1e-12
    inside = rng.uniform(0, 1, (5, 3))
    assert np.allclose(features.suited(kernel).inside(inside), features.Kuf(kernel, inside))


def test_kronecker_converges_to_its_kernel():
    X = np.random.default_rng(2).uniform(0, 1, (20, 2))
    kernel = Separable((Matern(1.5, 0.6), Matern(2.5, 0.9)))
    errors = [
        np.abs(residual(Kronecker((Fourier(F, (0, 1)), Fourier(F, (0, 1)))), kernel, X)).max() for F in (3, 10, 30)
    ]
    # the largest residual falls like 1/F
    assert errors[1] < 0.5 * errors[0]
    assert errors[2] < 0.5 * errors[1] < 2e-3


def test_gpjax_product_reads_its_columns():
    X = np.random.default_rng(3).uniform(0, 1, (6, 2))
    swapped = gpx.kernels.Matern32(active_dims=[1], lengthscale=0.5) * gpx.kernels.Matern12(
        active_dims=[0], lengthscale=0.2
    )
    features = Kronecker((Fourier(3, (0, 1)), Fourier(2, (0, 1))))
    plain = Separable((Matern(1.5, 0.5), Matern(0.5, 0.2)))
    assert np.allclose(features.Kuf(swapped, X), features.Kuf(plain, X[:, ::-1]), atol=1e-6)
    assert np.allclose(covariance(swapped, X, X), covariance(plain, X[:, ::-1], X[:, ::-1]), atol=1e-6)


def test_additive_kernel_is_the_sum_of_its_columns():
    """As one kernel with points that see all columns: GPJax's sum, and the covariance of a sum of terms."""
    rng = np.random.default_rng(5)
    X, Z = rng.uniform(0, 1, (6, 2)), rng.uniform(0, 1, (3, 2))
    parts = (Matern(0.5, 0.3, 2.0), Matern(2.5, 0.7))
    kernel = Additive(parts)
    terms = Sum([Term(k, Fourier(2, (0, 1)), [d]) for d, k in enumerate(parts)])
    assert np.allclose(covariance(kernel, X, Z), terms.covariance(X, Z))
    assert np.allclose(variances(kernel, X), terms.variances(X))
    theirs = gpx.kernels.Matern12(active_dims=[0], lengthscale=0.3, variance=2.0) + gpx.kernels.Matern52(
        active_dims=[1], lengthscale=0.7
    )
    assert np.allclose(covariance(kernel, X, Z), covariance(theirs, X, Z), atol=1e-5)
    points = InducingPoints(Z)
    assert np.allclose(points.Kuf(kernel, X), covariance(kernel, Z, X))
    with pytest.raises(InputError, match="Additive takes a list of one-column Matérn kernels"):
        Additive(())


def test_levels_are_exact():
    codes = np.array([[0.0], [2.0], [1.0], [2.0], [-1.0]])
    for kernel in (Categorical(2.5), gpx.kernels.White(variance=2.5)):
        schur = residual(Levels(3), kernel, codes)
        assert np.allclose(schur[:4, :4], 0, atol=1e-6)
        assert np.allclose(schur[4], [0, 0, 0, 0, 2.5], atol=1e-6)  # an unseen level keeps its prior


def test_sum_stacks_features_and_adds_kernels():
    """The paper's mixed model: Matérn on Fourier features plus periodic on inducing points; and an additive kernel."""
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, (9, 3))
    periodic = gpx.kernels.Periodic(lengthscale=0.3, period=0.5)
    terms = Sum(
        [
            Term(Matern(1.5, 0.2), Fourier(4, (0, 1)), columns=[0], name="trend"),
            Term(periodic, InducingPoints(rng.uniform(0, 1, (5, 1))), columns=[0], name="season"),
            Term(gpx.kernels.Matern52(lengthscale=0.7, active_dims=[2]), Fourier(3, (0, 1))),
        ]
    )
    K = terms.Kuu()
    assert K.names == ("trend", "season", "term 2")
    assert [b.size for b in K.blocks] == [11, 5, 10]
    assert np.allclose(K.dense()[:11, 11:], 0)
    assert terms.Kuf(X).shape == (26, 9)
    expected = rkhs.matern(1.5, 0.2, 1.0, X, X) + covariance(periodic, X[:, [0]], X[:, [0]])
    expected = expected + rkhs.matern(2.5, 0.7, 1.0, X[:, [2]], X[:, [2]])
    assert np.allclose(terms.covariance(X, X), expected, atol=1e-6)
    assert np.allclose(terms.variances(X), np.diagonal(expected), atol=1e-6)


def with_dims(active):
    """An RBF kernel with any active_dims, also those that GPJax's constructor would refuse."""
    kernel = gpx.kernels.RBF(active_dims=[0])
    object.__setattr__(kernel, "active_dims", active)
    return kernel


def test_bad_input_is_named():
    k, X = Matern(), np.zeros((2, 2))
    with pytest.raises(InputError, match="term 'age' reads column 5, but X has 2 columns"):
        Term(k, Fourier(2, (0, 1)), columns=[5], name="age").Kuf(X)
    with pytest.raises(InputError, match="columns must be whole numbers counted from 0"):
        Term(k, Fourier(2, (0, 1)), columns=[-1])
    for wrong in ([None], ["age", 1], [np.nan], 1.5, [True, False], []):
        with pytest.raises(InputError, match="columns must be whole numbers counted from 0"):
            Term(k, Fourier(2, (0, 1)), columns=wrong)
    for wrong in (3, Fourier):
        with pytest.raises(KernelError, match="features must be an instance of a class"):
            Term(k, wrong)
    for active, column in ((slice(3, 4), 3), (slice(1, 5), 2), (np.array([2]), 2), ([-1], -1)):
        with pytest.raises(InputError, match=f"column {column} does not exist"):
            covariance(with_dims(active), X, X)
    for wrong in (-1.0, np.nan, "x", 2.0):
        with pytest.raises(InputError, match="jitter must be from 0 to 1, relative to the diagonal, got"):
            InducingPoints([[0.0]], jitter=wrong)
    for wrong in (Matern(), (), "ab"):
        with pytest.raises((InputError, KernelError), match=r"Separable takes a list|no Fourier features"):
            Separable(wrong)
    for wrong in (Fourier(2, (0, 1)), (Fourier(2, (0, 1)), "x"), (Fourier(2, (0, 1)), InducingPoints([[0.0]]))):
        with pytest.raises(InputError, match="Kronecker takes a list of the Fourier features of 2 or 3 columns, got"):
            Kronecker(wrong)
    with pytest.raises(InputError, match="has no smoothness yet; say which"):
        Kronecker((Fourier(2, (0, 1)),) * 2).inside(np.zeros((1, 2)))
    with pytest.raises(InputError, match="X must have 2 columns, got 1"):
        Kronecker((Fourier(2, (0, 1), smoothness=1.5),) * 2).inside(X[:, :1])
    with pytest.raises(InputError, match="a Separable kernel of 2 factors reads as many columns, got 3"):
        Kronecker((Fourier(2, (0, 1)),) * 2).Kuf(Separable((k, k)), np.zeros((1, 3)))
    pair = Term(Separable((k, Matern(1.5, 1e-40))), Kronecker((Fourier(2, (0, 1)),) * 2), name="pair")
    with pytest.raises(FactorizationError, match=r"the lengthscale is 1e-40 times the interval.*Likely causes"):
        Sum([pair]).Kuu()
    with pytest.raises(InputError, match="two terms are called 'a'"):
        Sum([Term(k, Fourier(2, (0, 1)), name="a"), Term(k, Fourier(2, (0, 1)), name="a")])
    with pytest.raises(InputError, match="list of one or more Terms"):
        Sum([])
    with pytest.raises(InputError, match=r"active_dims=\[3\], but its input has 2 columns; column 3 does not exist"):
        Fourier(2, (0, 1)).Kuf(gpx.kernels.Matern32(active_dims=[3]), X)
    with pytest.raises(InputError, match=r"active_dims=\[3\], but its input has 2 columns"):
        covariance(gpx.kernels.RBF(active_dims=[3]), X, X)
    with pytest.raises(KernelError, match="gpjax's RBF has no Fourier features"):
        Fourier(2, (0, 1)).Kuu(gpx.kernels.RBF())
    with pytest.raises(KernelError, match="has no Fourier features"):
        Fourier(2, (0, 1)).Kuu(gpx.kernels.Matern32(lengthscale=[0.1, 0.2]))
    with pytest.raises(KernelError, match="is not such a product"):
        Kronecker((Fourier(2, (0, 1)),) * 2).Kuu(gpx.kernels.Matern32(lengthscale=[0.1, 0.2]))
    with pytest.raises(KernelError, match="need a product of 2 kernels, got 3"):
        Kronecker((Fourier(2, (0, 1)),) * 2).Kuu(Separable((k, k, k)))
    product = gpx.kernels.Matern32(active_dims=[0]) * gpx.kernels.Matern12(active_dims=[0])
    with pytest.raises(InputError, match="each must read one of its own"):
        Kronecker((Fourier(2, (0, 1)),) * 2).Kuf(product, X)
    with pytest.raises(InputError, match="2 or 3 columns, got"):
        Kronecker((Fourier(2, (0, 1)),))
    with pytest.raises(InputError, match="the code 3 in row 1; the codes of 3 levels are 0 to 2"):
        Levels(3).inside([[0], [3]])
    with pytest.raises(InputError, match="n_levels must be a whole number of at least 1, got 0"):
        Levels(0)
    with pytest.raises(KernelError, match="Levels need a categorical kernel"):
        Levels(2).Kuu(k)
    with pytest.raises(InputError, match="at least one point, got none"):
        InducingPoints(np.zeros((0, 1)))
    with pytest.raises(InputError, match="locations contains inf at row 0, column 1"):
        InducingPoints([[0.0, np.inf]])
    with pytest.raises(InputError, match="X must have 2 columns, got 1"):
        InducingPoints(X).Kuf(gpx.kernels.RBF(), [[1.0]])
    with pytest.raises(KernelError, match="builtins's str is no kernel"):
        InducingPoints(X).Kuu("rbf")
    with pytest.raises(FactorizationError, match="variance 0 at position 0"):
        InducingPoints([[0.0], [1.0]]).Kuu(gpx.kernels.Linear()).factor()
