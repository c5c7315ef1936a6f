"""The posterior family against dense Gaussian algebra."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odvff import (
    Categorical,
    Fourier,
    GaussianNoise,
    InducingPoints,
    InputError,
    Kronecker,
    Levels,
    Matern,
    NumericalError,
    Posterior,
    Separable,
    Sum,
    Term,
)
from odvff.posterior import Decoupled, Hybrid
from odvff.posterior.residual import residual_variance
from tests.posterior.models import METHODS, random_posterior, random_rows, random_terms
from tests.reference import gaussian

POSTERIORS = st.builds(
    lambda method, seed: (random_posterior(np.random.default_rng(seed), method), np.random.default_rng(seed + 1)),
    st.sampled_from(METHODS),
    st.integers(0, 2**32 - 1),
)


def joint_prior(q):
    """Prior covariance of (β, f(γ)), with the same jitter that the posterior's factor has."""
    C = q.factor.dense()
    if q.gamma is None:
        return C, C @ C.T
    K_bg, K_g = q.terms.Kuf(q.gamma), q.terms.covariance(q.gamma, q.gamma)
    return C, np.block([[C @ C.T, K_bg], [K_bg.T, K_g]])


@given(POSTERIORS)
def test_mean_and_covariance_equal_the_papers_unwhitened_formulas(case):
    q, rng = case
    X = random_rows(rng, 7)
    C = q.factor.dense()
    gamma = np.zeros((1, 3)) if q.gamma is None else q.gamma
    a_gamma = np.zeros(1) if q.gamma is None else q.a_gamma
    mean, cov = gaussian.orthogonal_posterior(
        K_b=C @ C.T,
        K_bx=q.terms.Kuf(X),
        K_xx=q.terms.covariance(X, X),
        K_bg=q.terms.Kuf(gamma),
        K_xg=q.terms.covariance(X, gamma),
        a_beta=np.linalg.solve(C.T, q.mean_u),
        S=C @ q.root @ q.root.T @ C.T,
        a_gamma=a_gamma,
    )
    scale = 1e-5 * (1 + np.abs(a_gamma).sum() + np.abs(q.mean_u).sum())
    assert np.allclose(q.mean(X), mean, atol=scale)
    assert np.allclose(q.covariance(X), cov, atol=1e-5)
    assert np.allclose(q.variance(X), np.diagonal(q.covariance(X)), atol=1e-8)
    assert np.allclose(q.covariance(X, X[:3]), q.covariance(X)[:, :3], atol=1e-8)


@given(POSTERIORS)
def test_kl_equals_the_dense_joint_gaussian(case):
    """KL of the joint law of (β, f(γ)), which determines q(f) relative to p(f)."""
    q, _ = case
    C, K = joint_prior(q)
    m_b, S_b = C @ q.mean_u, C @ q.root @ q.root.T @ C.T
    if q.gamma is None:
        mean, cov = m_b, S_b
    else:
        mean = np.concatenate([m_b, q.mean(q.gamma)])
        psi = q.factor.solve(q.terms.Kuf(q.gamma))
        cross = C @ q.root @ q.root.T @ psi
        cov = np.block([[S_b, cross], [cross.T, q.covariance(q.gamma)]])
    scale = np.sqrt(np.diagonal(K))
    K, cov, mean = K / scale[:, None] / scale, cov / scale[:, None] / scale, mean / scale
    condition = np.linalg.cond(K)
    if condition < 1e9:  # the reference inverts K; beyond this it is the reference that fails
        assert np.isclose(q.kl(), gaussian.kl(mean, cov, 0 * mean, K), rtol=1e-15 * condition + 1e-9, atol=1e-6)
    assert q.kl() > -1e-9


@given(POSTERIORS)
def test_effects_add_up(case):
    q, rng = case
    X = random_rows(rng, 6)
    effects = q.effects(X, covariance=True)
    assert np.allclose(effects.mean.sum(axis=1), q.mean(X), atol=1e-9)
    assert np.allclose(effects.total_mean, q.mean(X), atol=1e-9)
    assert np.allclose(effects.total_variance, q.variance(X), atol=1e-9)
    assert np.allclose(effects.covariance.sum(axis=(1, 2)), q.variance(X), atol=1e-9)
    assert np.allclose(np.einsum("ntt->nt", effects.covariance), effects.variance, atol=1e-12)
    assert (effects.variance >= 0).all()
    assert np.linalg.eigvalsh(effects.covariance).min() > -1e-9
    assert effects.names == q.terms.names
    assert q.effects(X).covariance is None


@given(POSTERIORS)
def test_an_effect_is_the_posterior_of_its_term(case):
    """Leave out the other terms' features and the mean and variance of f_t stay the same."""
    q, rng = case
    X = random_rows(rng, 5)
    effects = q.effects(X)
    for t, (term, s) in enumerate(zip(q.terms, q.factor.slices, strict=True)):
        C = term.Kuu().factor()
        psi = C.solve(term.Kuf(X))
        S = q.root[s] @ q.root[s].T
        mean = q.mean_u[s] @ psi
        if q.gamma is not None:
            psi_g = C.solve(term.Kuf(q.gamma))
            mean = mean + (term.covariance(X, q.gamma) - psi.T @ psi_g) @ q.a_gamma
        variance = term.variances(X) - (psi**2).sum(axis=0) + np.einsum("bn,bc,cn->n", psi, S, psi)
        assert np.allclose(effects.mean[:, t], mean, atol=1e-8)
        assert np.allclose(effects.variance[:, t], variance, atol=1e-8)


@given(POSTERIORS)
def test_minibatch_elbo_is_unbiased(case):
    """The mean over all batches of a given size is the ELBO of all rows."""
    q, rng = case
    X, y = random_rows(rng, 6), rng.standard_normal(6)
    noise = GaussianNoise(0.3)
    batches = [q.elbo(noise, X[[i, j]], y[[i, j]], n_rows=6) for i in range(6) for j in range(i)]
    assert np.isclose(np.mean(batches), q.elbo(noise, X, y))


@given(POSTERIORS)
def test_elbo_is_below_the_evidence(case):
    q, rng = case
    X, y = random_rows(rng, 6), rng.standard_normal(6)
    K = q.terms.covariance(X, X)
    evidence = gaussian.exact_gp(K, K, K, y, 0.3)[2]
    assert q.elbo(GaussianNoise(0.3), X, y) <= evidence + 1e-8


@settings(max_examples=20)
@given(st.sampled_from(METHODS), st.integers(0, 2**32 - 1))
def test_the_families_of_cheng_and_boots_are_special_cases(method, seed):
    """`Hybrid` shifts m; `Decoupled` with α ⊇ β (points) has S = (K⁻¹ + HHᵀ)⁻¹."""
    rng = np.random.default_rng(seed)
    terms = random_terms(rng, method)
    n, X, gamma = terms.Kuu().size, random_rows(rng, 6), random_rows(rng, 3)
    m, a, root = rng.standard_normal(n), rng.standard_normal(3), np.tril(rng.uniform(0.1, 1, (n, n)))
    hybrid = Hybrid(terms, m, root, gamma, a)
    orthogonal = Posterior(terms, hybrid.orthogonal_mean(), root, gamma, a)
    for ours, theirs in zip(hybrid.predict(X), orthogonal.predict(X), strict=True):
        assert np.allclose(ours, theirs, atol=1e-8)
    assert np.isclose(hybrid.kl(), orthogonal.kl())
    psi_x, psi_g = (terms.Kuu().factor().solve(terms.Kuf(Z)) for Z in (X, gamma))
    K_xg, K_g = (terms.covariance(Z, gamma) for Z in (X, gamma))
    by_hand = gaussian.hybrid_posterior(psi_x, psi_g, terms.variances(X), K_xg, K_g, m, root, a)
    for ours, theirs in zip((*hybrid.predict(X), hybrid.kl()), by_hand, strict=True):
        assert np.allclose(ours, theirs, atol=1e-8)

    H = np.tril(rng.standard_normal((n, n))) / np.sqrt(np.diagonal(terms.Kuu().dense()))[:, None]
    decoupled = Decoupled(terms, gamma, a, H)
    # whitened S = (I + CᵀHHᵀC)⁻¹ = L⁻ᵀL⁻¹; mean k(x,γ)a is orthogonal form with m = ψ(γ)a
    C = terms.Kuu().factor()
    W = C.dense().T @ H
    lower = np.linalg.cholesky(np.eye(n) + W @ W.T)
    same = Posterior(terms, C.solve(terms.Kuf(gamma)) @ a, np.triu(np.linalg.inv(lower).T), gamma, a)
    for ours, theirs in zip(decoupled.predict(X), same.predict(X), strict=True):
        assert np.allclose(ours, theirs, atol=1e-7)
    assert np.isclose(decoupled.kl(), same.kl(), rtol=1e-6)


def test_a_diagonal_root_is_one_in_every_family():
    """Given as its diagonal it is the prior here, whose variance is 1."""
    terms = Sum.of([Term(Matern(1.5, 0.2), Fourier(5, (0, 1)))])
    n, X, gamma = terms.Kuu().size, [[0.3], [0.9]], [[0.5]]
    for root in (np.ones(n), np.ones(n).tolist(), np.eye(n)):
        hybrid = Hybrid(terms, np.zeros(n), root, gamma, [0.0])
        assert np.allclose(hybrid.predict(X)[1], 1)
        assert np.isclose(hybrid.kl(), 0)
    spread = np.linspace(0.5, 2, n)
    hybrid, same = (
        Hybrid(terms, np.ones(n), spread, gamma, [0.7]),
        Hybrid(terms, np.ones(n), np.diag(spread), gamma, [0.7]),
    )
    assert np.array_equal(hybrid.predict(X), same.predict(X))
    assert hybrid.kl() == same.kl()


def random_features(rng, i, length):
    """Features and kernel for one configuration: Fourier, points with near-duplicates, or a separable pair."""
    kernels = [
        Matern((0.5, 1.5, 2.5)[j % 3], length * 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-3, 3)) for j in (i, i // 3)
    ]
    if i % 8 == 7:
        factors = [Fourier(int(10 ** rng.uniform(0, 0.9)), (0, length), bool(rng.integers(2))) for _ in range(2)]
        return Separable(kernels), Kronecker(factors), 2
    if i % 2:
        return kernels[0], Fourier(int(10 ** rng.uniform(0, 2)), (0, length), bool(rng.integers(2))), 1
    Z = length * rng.uniform(0, 1, (int(rng.integers(2, 20)), 1))
    Z[1::2] = Z[: len(Z) // 2 * 2 : 2] + length * 10 ** rng.uniform(-16, -1)
    return kernels[0], InducingPoints(Z), 1


def test_variances_are_never_negative():
    """10,000 random configurations: lengthscales from 1e-3 to 1e3 of the box, near-duplicate points and rows."""
    rng = np.random.default_rng(0)
    smallest, worst = np.inf, 0.0
    for i in range(10_000):
        length = 10 ** rng.uniform(-2, 2)
        kernel, features, width = random_features(rng, i, length)
        X = length * rng.uniform(-0.2, 1.2, (8, width))
        X[4:] = X[:4] + length * 10 ** rng.uniform(-16, -1) * rng.standard_normal((4, width))
        if isinstance(features, InducingPoints):
            X[0] = features.locations[0]
        terms = [Term(kernel, features, range(width))]
        if i % 5 == 0:  # a sum of two
            other, more, n = random_features(rng, i + 1, length)
            terms.append(Term(other, more, range(n)))
            X = X if width >= n else np.repeat(X, n, axis=1)
        terms = Sum(terms)
        # a posterior that is sure of itself leaves nothing but k − ψᵀψ
        q = Posterior(terms, root=10 ** rng.uniform(-12, 0) * np.ones(terms.Kuu().size))
        prior = terms.variances(X)
        variance = q.variance(X) / prior
        assert np.isfinite(variance).all()
        smallest = min(smallest, variance.min())
        raw = 1 - (q.factor.solve(terms.Kuf(X)) ** 2).sum(axis=0) / prior
        worst = min(worst, raw.min())  # before rounding is taken off
        if i % 10 == 0:
            assert (q.effects(X).variance >= 0).all()
    assert smallest >= 0
    assert worst > -1e-9


@pytest.mark.parametrize("name", ["RBF", "Periodic", "RationalQuadratic", "Polynomial"])
def test_variances_are_never_negative_for_smooth_kernels(name):
    """Points so many that their covariance is singular to working precision."""
    import gpjax as gpx

    rng = np.random.default_rng(1)
    for _ in range(10):
        Z, X = rng.uniform(0, 1, (60, 1)), rng.uniform(-0.5, 1.5, (40, 1))
        options = {} if name == "Polynomial" else {"lengthscale": 10 ** rng.uniform(-1, 1)}
        q = Posterior([Term(getattr(gpx.kernels, name)(**options), InducingPoints(Z))], root=1e-9 * np.ones(60))
        assert (q.variance(np.concatenate([X, Z])) >= 0).all()


def test_a_negative_variance_beyond_rounding_is_an_error():
    with pytest.raises(NumericalError, match=r"k\(x,x\) − ψᵀψ = -0.5 in row 1"):
        residual_variance(np.array([2.0, 2.0]), np.array([[1.0, np.sqrt(2.5)]]))
    assert residual_variance(np.array([1.0]), np.array([[1 + 1e-15]])) == 0.0
    with jax.enable_x64(True):  # where nothing can be raised, it is not hidden either
        traced = np.asarray(jax.jit(residual_variance)(np.array([2.0, 2.0]), np.array([[1.0, np.sqrt(2.5)]])))
    assert traced[0] == 1.0
    assert np.isnan(traced[1])


@pytest.mark.filterwarnings("ignore:up to .* of the prior variance")
@pytest.mark.parametrize("method", ["exact", "pathwise"])
def test_samples_have_the_posterior_s_moments(method):
    """A posterior with γ and every kind of term, at rows inside and outside the box."""
    q = random_posterior(np.random.default_rng(5), "mixed")
    X = random_rows(np.random.default_rng(6), 5)
    n = 20_000
    mean, cov = q.mean(X), q.covariance(X)
    samples = q.sample(X, n, seed=0, method=method)
    assert samples.shape == (n, 5)
    assert np.all(np.abs(samples.mean(axis=0) - mean) < 5 * np.sqrt(np.diagonal(cov) / n))
    gap = np.abs(np.cov(samples.T) - cov)
    sampling_error = 6 * np.sqrt(np.outer(np.diagonal(cov), np.diagonal(cov)) * 2 / n)
    assert np.all(np.diagonal(gap) < np.diagonal(sampling_error))  # variances are right everywhere
    unresolved = q.paths(seed=0).unresolved(X) if method == "pathwise" else np.zeros(5)
    assert np.all(gap < sampling_error + np.sqrt(np.outer(unresolved, unresolved)))  # correlations where resolved


def test_paths_are_functions_and_resolve_detail():
    terms = [Term(Matern(1.5, 0.2), Fourier(8, (0, 1)))]
    q = Posterior(terms, root=1e-6 * np.eye(19))
    X = np.random.default_rng(0).uniform(0, 1, (3000, 1))
    paths = q.paths(4, seed=1)
    values = paths(X)
    sampled = q.sample(X, 4, seed=1)  # many rows: pathwise by default, and what paths leave out is drawn for each row
    assert np.abs(sampled - values).max() < 6 * np.sqrt(paths.unresolved(X).max())
    assert np.allclose(paths(X[:10]), values[:, :10])  # the same function whatever it is asked
    left_out = Posterior(terms).terms.variances(X) - (q.factor.solve(q.terms.Kuf(X)) ** 2).sum(axis=0)
    assert paths.unresolved(X).max() < 0.1 * left_out.max()  # 16 times the harmonics


@pytest.mark.parametrize(
    ("kernel", "features", "X"),
    [
        (Matern(1.5, 0.2), Fourier(10, (0, 1)), np.linspace(1.5, 2, 1001)),
        (Matern(1.5, 0.2), InducingPoints(np.linspace(0, 1, 20)[:, None]), np.linspace(1.5, 2, 1001)),
        (Matern(1.5, 0.2), InducingPoints([[0.5]]), np.linspace(0, 1, 1001)),
        (Categorical(), Levels(2), np.full(1001, -1.0)),
    ],
)
def test_pathwise_samples_have_the_right_marginals_where_features_end(kernel, features, X):
    q = Posterior([Term(kernel, features)])
    with pytest.warns(UserWarning, match="drawn independently for each row.*method='exact'"):
        samples = q.sample(X[:, None], 300, seed=0)
    assert np.isclose(samples.var(), 1.0, atol=0.15)


def test_posterior_keeps_copies():
    gamma, mean, Z = np.array([[0.3]]), np.ones(3), np.array([[0.2]])
    points = InducingPoints(Z)
    q = Posterior([Term(Matern(), Fourier(1, (0, 1), completion=False))], mean, gamma=gamma, a_gamma=[1.0])
    before, kuf = q.mean([[0.4]]), points.Kuf(Matern(), [[0.4]])
    gamma[:], mean[:], Z[:] = 9.0, 9.0, 9.0
    assert np.array_equal(q.mean([[0.4]]), before)
    assert np.array_equal(points.Kuf(Matern(), [[0.4]]), kuf)


def test_far_away_is_the_prior_and_not_nan():
    for smoothness in (0.5, 1.5, 2.5):
        q = Posterior([Term(Matern(smoothness, 0.3), Fourier(2, (0, 1)))], gamma=[[0.5]], a_gamma=[1.0])
        mean, variance = q.predict([[1e308], [-1e200]])
        assert np.array_equal(mean, [0, 0])
        assert np.allclose(variance, 1)


def test_prior_of_many_harmonics_takes_linear_memory():
    q = Posterior([Term(Matern(), Fourier(10_000, (0, 1)))])
    assert np.isclose(q.variance([[0.3]])[0], 1.0)
    assert abs(q.kl()) < 1e-9


def test_bad_input_is_named():
    terms = [Term(Matern(), Fourier(1, (0, 1), completion=False))]
    with pytest.raises(InputError, match=r"mean must have shape \(3,\), got \(2,\)"):
        Posterior(terms, np.zeros(2))
    with pytest.raises(InputError, match=r"root must have shape \(3, 3\)"):
        Posterior(terms, root=np.eye(2))
    with pytest.raises(InputError, match="root must be triangular"):
        Posterior(terms, root=np.ones((3, 3)))
    with pytest.raises(InputError, match="root has a zero on its diagonal"):
        Posterior(terms, root=np.zeros((3, 3)))
    with pytest.raises(InputError, match="root contains NaN"):
        Posterior(terms, root=np.full((3, 3), np.nan))
    with pytest.raises(InputError, match="a_gamma was given without gamma"):
        Posterior(terms, a_gamma=np.zeros(2))
    with pytest.raises(InputError, match=r"a_gamma must have shape \(1,\), got \(2,\)"):
        Posterior(terms, gamma=[[0.1]], a_gamma=np.zeros(2))
    with pytest.raises(InputError, match="X contains nan"):
        Posterior(terms).predict([[np.nan]])
    with pytest.raises(InputError, match=r"y must have shape \(2,\), got \(3,\)"):
        Posterior(terms).elbo(GaussianNoise(), np.zeros((2, 1)), np.zeros(3))
    with pytest.raises(InputError, match="n_rows must be a whole number of at least 2, got 1; a batch of 2 rows"):
        Posterior(terms).elbo(GaussianNoise(), np.zeros((2, 1)), np.zeros(2), n_rows=1)
    with pytest.raises(InputError, match="likelihood must be"):
        Posterior(terms).elbo("gaussian", np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(InputError, match="method must be 'auto', 'exact' or 'pathwise', got 'fast'"):
        Posterior(terms).sample([[0.0]], method="fast")
    with pytest.raises(InputError, match="noise variance must be positive"):
        GaussianNoise(0.0)
    with pytest.raises(InputError, match=r"X must have two dimensions .* got shape \(3,\); use reshape\(-1, 1\)"):
        Posterior(terms).predict(np.zeros(3))
    with pytest.raises(InputError, match="X must hold real numbers, got <U1"):
        Posterior(terms).predict([["a"]])
    with pytest.raises(InputError, match="X must hold real numbers, got datetime64"):
        Posterior(terms).predict(np.array([["2020-01-01"]], dtype="datetime64[D]"))
    with pytest.raises(InputError, match="X must be an array of numbers, got rows of different lengths"):
        Posterior(terms).predict([[1.0], [1.0, 2.0]])
    with pytest.raises(InputError, match="term 'age' reads column 1, but gamma has 1 column"):
        Posterior([Term(Matern(), Fourier(1, (0, 1)), [1], "age")], gamma=[[0.1]])
    with pytest.raises(InputError, match="n_samples must be a whole number of at least 1, got -1"):
        Posterior(terms).sample([[0.0]], -1)
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, got -1"):
        Posterior(terms).sample([[0.0]], seed=-1)
    with pytest.raises(InputError, match="factor must be a whole number of at least 1, got 0"):
        Posterior(terms).paths(refinement=0)
    with pytest.raises(InputError, match=r"H must have shape \(3, 3\)"):
        Decoupled(terms, [[0.1]], [1.0], np.eye(2))
    with pytest.raises(InputError, match=r"a_gamma must have shape \(1,\)"):
        Hybrid(terms, np.zeros(3), np.eye(3), [[0.1]], np.zeros(2))
    assert len(Posterior(terms[0]).terms) == 1
    assert Posterior(terms, gamma=np.zeros((0, 1))).gamma is None
    assert repr(Posterior(terms, gamma=[[0.1]])) == "Posterior(1 terms, |β|=3, |γ|=1)"
