"""Fourier features: Gram matrices and tails against quadrature of the RKHS inner product."""

import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff import Fourier, InputError, KernelError, Matern
from tests.reference import rkhs
from tests.reference.determinant import logdet

SMOOTHNESS = st.sampled_from([0.5, 1.5, 2.5])


@st.composite
def problems(draw, max_harmonics=12):
    """Random interval, kernel and features, with lengthscales from 0.02 to 50 times the box."""
    a = draw(st.floats(-5, 5))
    length = 10 ** draw(st.floats(-2, 2))
    kernel = Matern(draw(SMOOTHNESS), length * 10 ** draw(st.floats(-1.7, 1.7)), 10 ** draw(st.floats(-2, 2)))
    return Fourier(draw(st.integers(1, max_harmonics)), (a, a + length), draw(st.booleans())), kernel


def scaled_error(K, reference):
    scale = np.sqrt(np.diagonal(reference))
    return np.abs((K - reference) / scale[:, None] / scale).max()


@given(problems())
def test_gram_equals_quadrature(problem):
    features, k = problem
    reference = rkhs.gram(
        features.n_harmonics, *features.interval, k.smoothness, k.lengthscale, k.variance, features.completion
    )
    assert scaled_error(features.Kuu(k).dense(), reference) < 1e-10


@given(problems())
def test_operator_agrees_with_its_dense_form(problem):
    features, k = problem
    K = features.Kuu(k)
    D, C = K.dense(), K.factor()
    b = np.random.default_rng(0).standard_normal((K.size, 3)) * np.sqrt(np.diagonal(D))[:, None]
    scale = np.sqrt(np.diagonal(D))
    assert np.allclose(
        (K @ b) / scale[:, None], (D @ b) / scale[:, None], rtol=1e-9, atol=1e-9 * np.abs(b * scale[:, None]).max()
    )
    assert scaled_error(C.dense() @ C.dense().T, D) < 1e-12
    assert np.allclose(C.apply(C.solve(b)), b, rtol=1e-7, atol=1e-9 * np.abs(b).max())
    assert np.allclose(C.dense().T @ C.solve_transpose(b), b, rtol=1e-7, atol=1e-9 * np.abs(b).max())
    assert np.isclose(logdet(C), np.linalg.slogdet(D / scale[:, None] / scale)[1] + 2 * np.log(scale).sum(), atol=1e-6)


@given(problems(max_harmonics=6), st.floats(-1.5, 2.5))
def test_features_are_inner_products_with_the_kernel_inside_and_outside(problem, position):
    """⟨k(x,·), φ_i⟩ on [a,b] for x inside, left and right of the box."""
    features, k = problem
    a, b = features.interval
    x = a + position * (b - a)
    basis = rkhs.trig_and_monomials(features.n_harmonics, a, b, k.order if features.completion else 0)
    representer = rkhs.kernel_function(k.smoothness, k.lengthscale, k.variance, x)
    n_nodes = 8 * features.n_harmonics + 200
    lam = float(k.rate)
    # short lengthscales: break the interval where the representer varies
    breaks = [x, *(x + s / lam for s in (-40, -20, -10, -5, -2, 2, 5, 10, 20, 40))]
    reference = rkhs.inner_products(
        basis, [representer], k.smoothness, k.lengthscale, k.variance, a, b, n_nodes, breaks
    )[:, 0]
    K = features.Kuu(k)
    # an error in φ_i counts relative to ‖φ_i‖ √k(x,x), its bound by Cauchy–Schwarz
    error = (features.Kuf(k, [[x]])[:, 0] - reference) / np.sqrt(np.diagonal(K.dense()) * k.variance)
    assert np.abs(error).max() < 1e-10


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("lengthscale", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("x", [-0.4, 0.3, 1.7])
def test_features_are_inner_products_to_the_last_digits(smoothness, lengthscale, x):
    """The same with 40 digits, where the error counts absolutely: float64 quadrature cancels for long lengthscales."""
    F, s = 2, int(smoothness + 0.5)
    features, k = Fourier(F, (0.0, 1.0)), Matern(smoothness, lengthscale)
    with mp.workdps(40):
        lam, centre = mp.sqrt(2 * mp.mpf(smoothness)) / mp.mpf(lengthscale), mp.mpf(x)
        polynomial = {1: [1], 2: [1, 1], 3: [1, 1, mp.mpf(1) / 3]}[s]

        def representer(t, j):
            """j-th derivative of k(x,·): (p e^{−z})^{(j)} with z = λ|t − x|."""
            p = list(polynomial)
            for _ in range(j):
                p = [(i + 1) * p[i + 1] - p[i] if i + 1 < len(p) else -p[i] for i in range(len(p))]
            z, sign = lam * abs(t - centre), 1 if t >= centre else -1
            return (sign * lam) ** j * sum(c * z**i for i, c in enumerate(p)) * mp.e ** (-z)

        def trig(m, shift):
            w = 2 * mp.pi * m
            return lambda t, j: w**j * mp.cos(w * t + shift + j * mp.pi / 2)

        def monomial(d):
            return lambda t, j: mp.ff(d, j) * t ** (d - j) if j <= d else mp.mpf(0)

        basis = [monomial(0), *(trig(m, 0) for m in (1, 2)), *(trig(m, -mp.pi / 2) for m in (1, 2))]
        basis += [monomial(d) for d in range(1, s + 1)]
        kappa = {1: 2 * lam, 2: 4 * lam**3, 3: mp.mpf(16) / 3 * lam**5}[s]

        def operated(f, t):
            return sum(mp.binomial(s, j) * lam ** (s - j) * f(t, j) for j in range(s + 1))

        breaks = sorted({mp.mpf(0), mp.mpf(1), *([centre] if 0 < x < 1 else [])})
        phi = features.Kuf(k, [[x]])[:, 0]
        for i, g in enumerate(basis):
            value = mp.quad(lambda t, g=g: operated(representer, t) * operated(g, t), breaks) / kappa
            u, v = ([f(mp.mpf(0), j) for j in range(s)] for f in (representer, g))
            value += _boundary_form(s, lam)(u, v)
            assert abs(phi[i] - float(value)) < 1e-11 * max(1, abs(value)), i


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("completion", [True, False])
@pytest.mark.parametrize("edge", [0, 1])
def test_tails_join_smoothly(smoothness, completion, edge):
    """p derivatives agree at the edge; far away the features vanish."""
    features, k = Fourier(4, (-1.0, 2.0), completion), Matern(smoothness, 0.7, 1.3)
    x0, sign = features.interval[edge], (-1.0, 1.0)[edge]
    for order in range(k.order):
        h = 1e-3
        # one-sided finite differences of fifth order accuracy on either side
        offsets = np.arange(7) * h
        weights = np.linalg.solve(np.vander(offsets / h, increasing=True).T, np.eye(7)[order]) / h**order
        outside = features.Kuf(k, (x0 + sign * offsets)[:, None]) @ weights
        inside = features.Kuf(k, (x0 - sign * offsets)[:, None]) @ weights * (-1) ** order
        scale = np.maximum(np.abs(inside), (2 * np.pi * 4 / 3) ** order)
        assert np.abs((outside - inside) / scale).max() < 1e-5, order
    assert np.abs(features.Kuf(k, [[x0 + sign * 60]])).max() < 1e-12


@pytest.mark.parametrize(
    ("lengthscale", "smoothness", "F", "plain", "completed"),
    [
        (0.05, 1.5, 20, 2.8e-2, 8.2e-3),
        (0.05, 1.5, 80, 5.5e-4, 2.5e-4),
        (0.3, 1.5, 10, 4.5e-2, 9.6e-4),
        (0.3, 2.5, 10, 8.0e-2, 1.6e-4),
        (1.0, 0.5, 20, 5.4e-2, 6.9e-3),
        (1.0, 1.5, 5, 2.6e-1, 1.5e-3),
        (1.0, 2.5, 5, 4.0e-1, 5.6e-4),
        (3.0, 1.5, 5, 1.8e-1, 2.6e-4),
    ],
)
def test_residual_variance_of_the_completed_basis(lengthscale, smoothness, F, plain, completed):
    """The table of docs/mathematics.md: tr(K−Q)/N on 201 points, plain with a margin of 0.3, completed with none."""
    k, X = Matern(smoothness, lengthscale), np.linspace(0, 1, 201)[:, None]

    def mean_residual(features):
        psi = features.Kuu(k).factor().solve(features.Kuf(k, X))
        return 1 - (psi**2).sum(axis=0).mean()

    for value, expected in (
        (mean_residual(Fourier(F, (0, 1))), completed),
        (mean_residual(Fourier(F, (-0.3, 1.3), completion=False)), plain),
    ):
        assert expected / 1.5 < value < expected * 1.5


@given(problems(max_harmonics=8))
def test_more_features_explain_more(problem):
    """The residual variance is never negative and falls with every harmonic and with completion."""
    features, k = problem
    a, b = features.interval
    X = np.linspace(a - 0.3 * (b - a), b + 0.3 * (b - a), 40)[:, None]

    def residual(f):
        psi = f.Kuu(k).factor().solve(f.Kuf(k, X))
        return (k.variance - (psi**2).sum(axis=0)) / k.variance

    coarse, fine = residual(features), residual(Fourier(features.n_harmonics + 1, (a, b), features.completion))
    assert (fine > -1e-9).all()
    assert (fine <= coarse + 1e-9).all()
    if not features.completion:
        assert (residual(Fourier(features.n_harmonics, (a, b))) <= coarse + 1e-9).all()


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize(("lengthscale", "F"), [(1e-3, 40), (0.05, 40), (1.0, 40), (1e3, 40), (0.01, 1), (2.0, 60)])
def test_completed_factor_loses_no_digits(smoothness, lengthscale, F):
    """Against 60-digit arithmetic, where Cholesky of the same matrix in float64 fails or is off by percents."""
    features, k = Fourier(F, (0.0, 1.0)), Matern(smoothness, lengthscale)
    x = [0.0, 0.003, 0.31, 0.98]
    with mp.workdps(60):
        K = _gram_in_high_precision(F, smoothness, lengthscale)
        for value in x:
            t = mp.mpf(value)
            phi = [mp.mpf(1)]
            phi += [mp.cos(2 * mp.pi * m * t) for m in range(1, F + 1)]
            phi += [mp.sin(2 * mp.pi * m * t) for m in range(1, F + 1)]
            phi += [t**d for d in range(1, k.order + 1)]
            b = mp.matrix(phi)
            exact = float((b.T * mp.cholesky_solve(K, b))[0])
            psi = features.Kuu(k).factor().solve(features.Kuf(k, [[value]]))
            assert abs((psi**2).sum() - exact) < 1e-12


def _boundary_form(s, lam):
    """Δg(a)ᵀ P Δh(a) as printed, for σ² = 1."""
    return {
        1: lambda u, v: u[0] * v[0],
        2: lambda u, v: u[0] * v[0] + u[1] * v[1] / lam**2,
        3: lambda u, v: (
            mp.mpf(9) / 8 * (u[0] * v[0] + u[2] * v[2] / lam**4)
            + 3 / lam**2 * (u[1] * v[1] + (u[2] * v[0] + u[0] * v[2]) / 8)
        ),
    }[s]


def _gram_in_high_precision(F, smoothness, lengthscale):
    """⟨φ_i, φ_j⟩ on [0,1] from exact integrals of t^j cos, t^j sin, with no structure used."""
    s = int(smoothness + 0.5)
    lam = mp.sqrt(2 * mp.mpf(smoothness)) / mp.mpf(lengthscale)
    # every function is a sum of coefficient · t^d · e^{iθt}, of which the real part is meant
    functions = [[(mp.mpc(1), 0, 0)]]
    functions += [[(mp.mpc(1), 0, m)] for m in range(1, F + 1)]
    functions += [[(mp.mpc(0, -1), 0, m)] for m in range(1, F + 1)]
    functions += [[(mp.mpc(1), d, 0)] for d in range(1, s + 1)]

    def derivative(f):
        out = []
        for c, d, m in f:
            if m:
                out.append((c * mp.mpc(0, 2 * mp.pi * m), d, m))
            if d:
                out.append((c * d, d - 1, m))
        return out

    def evaluate_at_zero(f):
        return mp.re(sum((c for c, d, _ in f if d == 0), mp.mpc(0)))

    def integral(d, m):
        """∫ t^d e^{2πimt} dt."""
        if m == 0:
            return mp.mpf(1) / (d + 1)
        theta = mp.mpc(0, 2 * mp.pi * m)
        value = mp.mpc(0)
        for j in range(1, d + 1):
            value = 1 / theta - j / theta * value
        return value

    table = {(d, m): integral(d, m) for d in range(2 * s + 1) for m in range(-2 * F, 2 * F + 1)}

    def product_integral(f, g):
        """∫ Re f Re g = ½ Re ∫ (f g + f ḡ)."""
        total = mp.mpc(0)
        for c, d, m in f:
            for e, h, n in g:
                total += c * e * table[d + h, m + n] + c * mp.conj(e) * table[d + h, m - n]
        return mp.re(total) / 2

    operated, states = [], []
    for f in functions:
        derivatives = [f]
        for _ in range(s):
            derivatives.append(derivative(derivatives[-1]))
        operated.append(
            [(mp.binomial(s, j) * lam ** (s - j) * c, d, m) for j, g in enumerate(derivatives) for c, d, m in g]
        )
        states.append([evaluate_at_zero(g) for g in derivatives[:s]])
    kappa = {1: 2 * lam, 2: 4 * lam**3, 3: mp.mpf(16) / 3 * lam**5}[s]
    P = _boundary_form(s, lam)
    n = len(functions)
    K = mp.matrix(n, n)
    for i in range(n):
        for j in range(i + 1):
            K[i, j] = K[j, i] = product_integral(operated[i], operated[j]) / kappa + P(states[i], states[j])
    return K


def test_ten_thousand_harmonics_take_linear_memory():
    features, k = Fourier(10_000, (0.0, 1.0)), Matern(2.5, 0.01)
    b = np.random.default_rng(0).standard_normal(20_004)
    tracemalloc.start()
    K = features.Kuu(k)
    C = K.factor()
    x = C.solve_transpose(C.solve(b))
    assert np.isfinite(logdet(C))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # a dense matrix would take 3200e6
    assert np.allclose(C.apply(C.solve(b)), b, atol=1e-8)
    assert np.isfinite(x).all()


def test_inside_takes_no_hyper_parameter():
    features, X = Fourier(3, (0.0, 2.0), smoothness=1.5), np.linspace(0, 2, 9)[:, None]
    for lengthscale, variance in ((0.1, 1.0), (3.0, 7.0)):
        assert np.array_equal(features.inside(X), features.Kuf(Matern(1.5, lengthscale, variance), X))
    with pytest.raises(InputError, match=r"X has 2.5 in row 1, outside the interval \(0.0, 2.0\)"):
        features.inside([[1.0], [2.5]])
    with pytest.raises(InputError, match="has no smoothness yet; say which"):
        Fourier(3, (0.0, 2.0)).inside(X)
    with pytest.raises(KernelError, match=r"the features have smoothness 1\.5, and the kernel 2\.5"):
        features.Kuu(Matern(2.5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, (0, 1)), "n_harmonics must be a whole number of at least 1, got 0"),
        ((-3, (0, 1)), "n_harmonics must be a whole number of at least 1, got -3"),
        ((2.5, (0, 1)), "n_harmonics must be a whole number of at least 1, got 2.5"),
        ((True, (0, 1)), "n_harmonics must be a whole number of at least 1, got True"),
        ((3, (1, 1)), r"interval must satisfy a < b, got \(1.0, 1.0\), which is empty"),
        ((3, (2, 1)), r"interval must satisfy a < b, got \(2.0, 1.0\), which is empty"),
        ((3, (0, np.inf)), r"interval must have finite bounds, got \(0.0, inf\)"),
        ((3, (np.nan, 1)), "interval must have finite bounds"),
        ((3, 1.0), r"interval must be a pair of numbers \(a, b\), got 1.0"),
        ((3, ("x", 1.0)), r"interval must be a pair of numbers \(a, b\)"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(InputError, match=message):
        Fourier(*arguments)


def test_bad_rows_and_kernels_are_named():
    features, k = Fourier(3, (0, 1)), Matern()
    with pytest.raises(InputError, match="X contains nan at row 1, column 0"):
        features.Kuf(k, [[0.0], [np.nan]])
    with pytest.raises(InputError, match=r"reads columns \[0, 1\], and one is needed here"):
        features.Kuf(k, [[0.0, 1.0]])
    with pytest.raises(InputError, match=r"smoothness must be 0\.5, 1\.5 or 2\.5, got 2"):
        Matern(2)
    with pytest.raises(InputError, match=r"lengthscale must be positive and finite, got -1\.0"):
        Matern(1.5, -1.0)
    with pytest.raises(InputError, match="variance must be positive and finite, got nan"):
        Matern(1.5, 1.0, np.nan)
    with pytest.raises(KernelError, match=r"builtins's str has no Fourier features.*InducingPoints"):
        features.Kuu("rbf")
