"""The same formulas under JAX: values, gradients, float64 whatever the process says, and no batched LAPACK."""

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import gpjax as gpx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from odvff import (
    Categorical,
    Fourier,
    GaussianNoise,
    InducingPoints,
    InputError,
    Kronecker,
    Levels,
    Matern,
    Posterior,
    Separable,
    Sum,
    Term,
)
from odvff.inference import collapsed_bound
from odvff.inference.stochastic.trainer import Trainer
from tests.reference.determinant import logdet


def objective(lengthscale, variance, noise, m, a, gamma, X, y, smoothness, completion):
    """An ELBO that depends on everything that is trained."""
    terms = [
        Term(Matern(smoothness, lengthscale, variance), Fourier(3, (0, 1), completion), columns=[0]),
        Term(Matern(smoothness, 2 * lengthscale), InducingPoints(np.linspace(0, 1, 4)[:, None], 1e-8), columns=[1]),
        Term(
            Separable((Matern(0.5, lengthscale), Matern(2.5, variance))),
            Kronecker((Fourier(1, (0, 1)), Fourier(1, (0, 1), completion))),
            columns=[0, 1],
        ),
        Term(Categorical(variance), Levels(3), columns=[2]),
    ]
    root = np.tril(np.full((m.shape[0],) * 2, 0.02)) + 0.3 * np.eye(m.shape[0])
    return Posterior(terms, m, root, gamma, a).elbo(GaussianNoise(noise), X, y, n_rows=100)


def arguments(smoothness, completion):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-0.3, 1.3, (10, 2)), rng.integers(0, 3, 10)])
    # Fourier, points, Kronecker, levels
    n = (7 + completion * int(smoothness + 0.5)) + 4 + (3 + 1) * (3 + completion * 3) + 3
    m, a = rng.standard_normal(n), rng.standard_normal(4)
    gamma = np.column_stack([rng.uniform(0, 1, (4, 2)), rng.integers(0, 3, 4)])
    return (0.4, 1.3, 0.2, m, a, gamma), (X, rng.standard_normal(10))


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("completion", [True, False])
def test_traced_values_and_gradients(smoothness, completion):
    parameters, batch = arguments(smoothness, completion)

    def f(*parameters):
        return objective(*parameters, *batch, smoothness, completion)

    value = f(*parameters)
    assert isinstance(value, float)  # NumPy's, and no JAX in between
    with jax.enable_x64(True):
        traced, gradient = jax.jit(jax.value_and_grad(f, argnums=tuple(range(6))))(*parameters)
        assert np.isclose(traced, value, rtol=1e-10)
        rng = np.random.default_rng(1)
        for i, g in enumerate(gradient):
            direction = rng.standard_normal(np.shape(g))
            if i == 5:
                direction[:, 2] = 0.0  # levels do not move
            h = 1e-6
            moved = [[p + s * h * direction if i == j else p for j, p in enumerate(parameters)] for s in (-1, 1)]
            numeric = (f(*moved[1]) - f(*moved[0])) / (2 * h)
            assert np.isclose(np.sum(np.asarray(g) * direction), numeric, rtol=1e-5, atol=1e-6), i


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_covariances_have_derivatives_of_all_kinds(smoothness):
    """Forwards, backwards, mapped and twice, as JAX derives them from the formula itself; far from zero too."""
    rng = np.random.default_rng(2)
    x, z, weights = 1e4 + rng.uniform(0, 1, 7), 1e4 + rng.uniform(0, 1, 5), rng.normal(size=(7, 5))
    if smoothness > 0.5:
        z[0] = x[0]  # where the distance has a kink, and the covariance none
    z[1] += 1e3  # and where nothing is left

    def ours(lengthscale, variance, x, z):
        return (weights[-len(x) :] * Matern(smoothness, lengthscale, variance).covariance(x[:, None], z[:, None])).sum()

    def plain(lengthscale, variance, x, z):
        r = np.sqrt(2 * smoothness) / lengthscale * jnp.abs(x[:, None] - z)
        polynomial = {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[smoothness]
        return (weights[-len(x) :] * variance * polynomial * jnp.exp(-r)).sum()

    point, every = (0.3, 2.0, x, z), (0, 1, 2, 3)
    with jax.enable_x64(True):
        assert np.isclose(jax.jit(ours)(*point), ours(*point), rtol=1e-13)
        expected = jax.grad(plain, every)(*point)
        for derivative in (jax.grad(ours, every)(*point), jax.jacfwd(ours, every)(*point)):
            assert all(np.allclose(a, b, rtol=1e-10, atol=1e-10) for a, b in zip(derivative, expected, strict=True))
        apart = (0.3, 2.0, x[1:], z)
        twice = jax.tree.map(np.allclose, *(jax.hessian(f, every)(*apart) for f in (ours, plain)))
        assert jax.tree.all(twice)
        if smoothness > 0.5:
            curvature = jax.hessian(lambda x: Matern(smoothness, 0.3, 2.0).covariance(x[:, None], z[:1, None])[0, 0])(x)
            c = {1.5: 1.0, 2.5: 1 / 3}[smoothness]  # c″(0) = −c
            assert np.isclose(curvature[0, 0], -2.0 * c * 2 * smoothness / 0.3**2)
        mapped = jax.vmap(jax.grad(ours), (0, None, None, None))(jnp.array([0.3, 0.6]), 2.0, x, z)
        assert np.allclose(mapped[0], expected[0])


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("x", [0.0, 1.0, -0.2, 1.3, 0.4])
def test_features_are_differentiated_at_and_beyond_the_edges(smoothness, x):
    """At an edge the derivative is that of the inside, which for ν > ½ is also that of the outside."""
    features, k = Fourier(3, (0, 1)), Matern(smoothness, 0.4)
    with jax.enable_x64(True):
        derivative = jax.jacfwd(lambda x: features.Kuf(k, jnp.reshape(x, (1, 1)))[:, 0])(x)
    h = 1e-6
    inwards = {0.0: h, 1.0: -h}.get(x, h)  # one-sided where ν = ½ has a kink
    numeric = (features.Kuf(k, [[x + inwards]]) - features.Kuf(k, [[x]]))[:, 0] / inwards
    assert np.allclose(derivative, numeric, rtol=1e-3, atol=1e-3)


def test_operators_are_traced_with_concrete_right_hand_sides():
    """A fixed statistic against a covariance that is being differentiated."""
    for features, kernel in (
        (Fourier(3, (0, 1)), lambda l: Matern(1.5, l)),
        (Fourier(3, (0, 1), completion=False), lambda l: Matern(2.5, l)),
        (InducingPoints(np.linspace(0, 1, 4)[:, None]), lambda l: Matern(0.5, l)),
        (Kronecker((Fourier(1, (0, 1)),) * 2), lambda l: Separable((Matern(1.5, l), Matern(0.5, 2 * l)))),
        (Levels(3), lambda l: Categorical(l)),
    ):
        n = features.Kuu(kernel(0.3)).size
        A = np.random.default_rng(0).standard_normal((n, n))

        def f(l, features=features, kernel=kernel, A=A):
            K = Sum([Term(kernel(l), features)]).Kuu()
            b = A[:, 0]
            traces = K.solve(A).trace() + 1e-3 * K.dense().trace()
            return traces + logdet(K.factor()) + b @ K.solve(b) + 1e-3 * b @ (K @ b)

        with jax.enable_x64(True):
            value, gradient = jax.jit(jax.value_and_grad(f))(0.3)
        assert np.isclose(value, f(0.3), rtol=1e-9)
        assert np.isclose(gradient, (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6, rtol=1e-4)


def test_what_runs_on_numpy_alone_says_so():
    X, y = np.linspace(0, 1, 5)[:, None], np.ones(5)
    q = Posterior([Term(Matern(), Fourier(2, (0, 1)))])
    with jax.enable_x64(True):
        for f in (
            lambda l: collapsed_bound([Term(Matern(1.5, l), Fourier(2, (0, 1)))], 0.1, X, y),
            lambda noise: collapsed_bound([Term(Matern(), Fourier(2, (0, 1)))], noise, X, y),
            lambda x: q.sample(jnp.reshape(x, (1, 1)), seed=0).sum(),
            lambda l: Posterior([Term(Matern(1.5, l), Fourier(2, (0, 1)))]).paths(seed=0)(X).sum(),
        ):
            with pytest.raises(InputError, match="computed on NumPy and cannot be compiled or differentiated by JAX"):
                jax.grad(f)(0.3)


def test_gpjax_kernels_are_differentiated_through_their_parameters():
    X, y = np.linspace(0, 1, 8)[:, None], np.sin(5 * np.linspace(0, 1, 8))
    with jax.enable_x64(True):
        kernels = [
            gpx.kernels.Matern32(lengthscale=jnp.asarray(0.3)),
            gpx.kernels.Periodic(lengthscale=jnp.asarray(0.5), period=jnp.asarray(0.4)),
        ]

        def f(kernels):
            features = [Fourier(2, (0, 1)), InducingPoints(np.linspace(0, 0.3, 3)[:, None], 1e-8)]
            terms = [Term(k, phi) for k, phi in zip(kernels, features, strict=True)]
            return Posterior(terms, jnp.ones(10)).elbo(GaussianNoise(0.1), X, y)

        gradient = jax.jit(jax.grad(f))(kernels)
        leaves = jax.tree.leaves(gradient)
        assert len(leaves) == 5
        assert all(np.isfinite(leaf).all() and np.abs(leaf) > 0 for leaf in leaves)
        assert np.isclose(f(kernels), jax.jit(f)(kernels), rtol=1e-10)


def unlike_terms(scale):
    """Twenty terms of which no two have the same shape or kernel."""
    terms = []
    for d in range(20):
        smoothness = (0.5, 1.5, 2.5)[d % 3]
        if d % 4 == 3:
            terms.append(Term(Matern(smoothness, scale), InducingPoints(np.linspace(0, 1, d + 2)[:, None], 1e-6), [d]))
        else:
            terms.append(Term(Matern(smoothness, scale * (1 + d)), Fourier(d + 1, (0, 1), bool(d % 5)), [d]))
    return Sum(terms)


@pytest.mark.timeout(200)
def test_twenty_unlike_terms_on_two_threads_do_not_deadlock():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (30, 20)), rng.standard_normal(30)

    def f(scale):
        return Posterior(unlike_terms(scale)).elbo(GaussianNoise(0.1), X, y)

    with jax.enable_x64(True):
        compiled = jax.jit(jax.value_and_grad(f)).lower(0.5).compile()

    def work(scale):
        with jax.enable_x64(True):
            return [float(v) for v in compiled(jnp.asarray(scale))]

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(work, [0.5] * 100))
    assert len({tuple(r) for r in results}) == 1
    assert np.isclose(results[0][0], f(0.5), rtol=1e-8)


def lapack_dimensions(function, *arguments):
    """The dimensions of what goes into every factorisation and solve of the traced program."""
    with jax.enable_x64(True):
        program = jax.make_jaxpr(function)(*arguments)
    seen = []

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name in ("cholesky", "triangular_solve", "lu", "eigh", "qr"):
                seen.extend(v.aval.ndim for v in equation.invars)
            for parameter in equation.params.values():
                for inner in parameter if isinstance(parameter, list | tuple) else [parameter]:
                    if hasattr(inner, "jaxpr"):
                        walk(inner.jaxpr)
                    elif hasattr(inner, "eqns"):
                        walk(inner)

    walk(program.jaxpr)
    return seen


def test_no_lapack_call_is_batched():
    """Also where terms of one shape are mapped over: their algebra is small, and written out."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (5, 20))
    seen = lapack_dimensions(
        jax.grad(lambda s: Posterior(unlike_terms(s)).elbo(GaussianNoise(0.1), X, np.zeros(5))), 0.5
    )
    assert len(seen) > 10
    assert set(seen) == {2}

    alike = [Term(Matern(2.5, 0.3), Fourier(4, (0, 1)), [d]) for d in range(20)]
    points = Term(Matern(1.5, 0.3), InducingPoints(X[:, :1]), [3], "points")
    trainer = Trainer([*alike, points], GaussianNoise(0.1), 100, gamma=X[:3])
    step, state = trainer._model.step, trainer.start()
    seen = lapack_dimensions(lambda state: step(trainer.settings, state, X, np.zeros(5)), state)
    assert 5 < len(seen) < 40  # q, the cone, the points, and none for each of twenty columns
    assert set(seen) == {2}


def run(code):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_float64_without_touching_the_process_s_setting():
    """In a process that left JAX in float32, our numbers are float64 and its own stay float32."""
    out = run(
        """
        import jax, jax.numpy as jnp, numpy as np, gpjax as gpx
        from odvff import Fourier, GaussianNoise, InducingPoints, Matern, Posterior, PrecisionError, Term
        assert not jax.config.jax_enable_x64
        kernel = gpx.kernels.RBF(lengthscale=0.25)
        points = InducingPoints(jnp.linspace(0, 1, 4)[:, None])
        X = np.linspace(0, 1, 5)[:, None]
        assert points.Kuf(kernel, X).dtype == np.float64
        assert np.allclose(points.Kuf(kernel, X), np.exp(-0.5 * (points.locations - X.T) ** 2 / 0.25**2), atol=1e-14)
        q = Posterior([Term(kernel, points), Term(gpx.kernels.Matern32(), Fourier(3, (0, 1)))])
        for result in (*q.predict(X), q.covariance(X), q.effects(X).mean):
            assert isinstance(result, np.ndarray) and result.dtype == np.float64
        def f(lengthscale):   # the user's own transformation of ours
            q = Posterior([Term(Matern(1.5, lengthscale), Fourier(3, (0, 1)))])
            return q.elbo(GaussianNoise(0.1), X, X[:, 0])
        half = (
            (f, 0.25),
            (lambda s: q.elbo(gpx.likelihoods.StudentT(4.0, s), X, X[:, 0]), 0.3),
            (lambda s: q.elbo(gpx.likelihoods.Gaussian(s), X, X[:, 0]), 0.3),
            (lambda k: points.Kuf(k, X).sum(), kernel),
            (lambda k: points.Kuf(k, X).sum(), gpx.kernels.Matern32()),
        )
        for g, argument in half:
            try:
                jax.grad(g)(argument)
            except PrecisionError as error:
                assert "with jax.enable_x64(True)" in str(error)
            else:
                raise AssertionError("a gradient in float32")
        with jax.enable_x64(True):
            gradient = jax.jit(jax.grad(f))(0.25)
        assert gradient.dtype == np.float64
        assert abs(float(gradient) - (f(0.25 + 1e-5) - f(0.25 - 1e-5)) / 2e-5) < 1e-6
        assert not jax.config.jax_enable_x64
        assert jnp.ones(3).dtype == jnp.float32 and jnp.sin(jnp.ones(3)).dtype == jnp.float32
        print("fine")
        """
    )
    assert out.strip() == "fine"


def test_plain_numbers_never_import_jax():
    out = run(
        """
        import sys, numpy as np
        from odvff import *
        from odvff.inference import collapsed_bound, optimal_posterior
        X, y = np.random.default_rng(0).uniform(0, 1, (50, 3)), np.ones(50)
        X[:, 2] = X[:, 2] > 0.5
        product = Separable((Matern(0.5), Matern(2.5)))
        terms = [
            Term(Matern(1.5, 0.3), Fourier(5, (0, 1)), [0]),
            Term(Matern(1.5, 0.3), InducingPoints([[0.1], [0.6]]), [1]),
            Term(product, Kronecker((Fourier(2, (0, 1)), Fourier(2, (0, 1)))), [0, 1]),
            Term(Categorical(), Levels(2), [2]),
        ]
        q = optimal_posterior(terms, 0.1, X, y, X[:4])
        q.predict(X), q.effects(X), q.covariance(X), q.sample(X, 2), q.paths(2)(X), q.kl()
        collapsed_bound(terms, 0.1, X, y)
        # a whole fit: harmonics chosen, statistics by both engines, hyper-parameters, γ
        from odvff.inference import fit_collapsed
        from odvff.search import add_inducing, choose_harmonics, greedy_points
        from odvff.statistics import collect
        y = np.sin(6 * X[:, 0])
        additive = choose_harmonics([Term(Matern(1.5), Fourier(5, (0, 1)), [d]) for d in range(2)], X, y).terms
        statistics = collect(additive, [(X, y)], engine="product")
        collect(additive, [(X, y)], engine="nufft")
        fit = fit_collapsed(additive, statistics)
        add_inducing(fit, [(X, y)], greedy_points(fit.terms, X, 3)).fit.posterior.predict(X)
        print([m for m in ("jax", "gpjax", "equinox") if m in sys.modules])
        """
    )
    assert out.strip() == "[]"
