"""A ladder of equalities: each method is the one below it with something left out."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from odvff import Fourier, GaussianNoise, InducingPoints, Matern, Posterior, Term
from odvff.inference import collapsed_bound, optimal_posterior
from tests.posterior.models import METHODS, random_rows, random_terms
from tests.reference import gaussian

NOISE = 0.2


def problem(seed, method, n=12):
    rng = np.random.default_rng(seed)
    terms, X = random_terms(rng, method), random_rows(rng, n)
    return terms, X, rng.standard_normal(n), random_rows(rng, 4), random_rows(rng, 6)


@given(st.sampled_from(METHODS), st.integers(0, 2**32 - 1))
def test_closed_form_equals_the_appendix(method, seed):
    """S = K_β(K_β + σ⁻²K_βx K_xβ)⁻¹K_β and a_α = (K_αx K_xα + σ²K_α)⁻¹K_αx y, in the paper's own variables."""
    terms, X, y, gamma, X_new = problem(seed, method)
    C = terms.Kuu().factor().dense()
    K_b, K_bx = C @ C.T, terms.Kuf(X)
    K_bg, K_g = terms.Kuf(gamma), terms.covariance(gamma, gamma)
    K_a = np.block([[K_g, K_bg.T], [K_bg, K_b]])
    scale = np.sqrt(np.diagonal(K_a))
    assume(np.linalg.cond(K_a / scale[:, None] / scale) <= 1e7)  # the reference inverts K_α
    K_ax = np.concatenate([terms.covariance(gamma, X), K_bx])
    a_alpha = np.linalg.solve(K_ax @ K_ax.T + NOISE * K_a, K_ax @ y)
    S = K_b @ np.linalg.solve(K_b + K_bx @ K_bx.T / NOISE, K_b)
    a_gamma = a_alpha[:4]
    a_beta = a_alpha[4:] + np.linalg.solve(K_b, K_bg @ a_gamma)
    mean, cov = gaussian.orthogonal_posterior(
        K_b, terms.Kuf(X_new), terms.covariance(X_new, X_new), K_bg, terms.covariance(X_new, gamma), a_beta, S, a_gamma
    )
    q = optimal_posterior(terms, NOISE, X, y, gamma)
    assert np.allclose(q.mean(X_new), mean, atol=1e-6)
    assert np.allclose(q.covariance(X_new), cov, atol=1e-6)
    bound = gaussian.collapsed_bound(terms.variances(X), K_b, K_bx, K_a, K_ax, y, NOISE)
    assert np.isclose(collapsed_bound(terms, NOISE, X, y, gamma), bound, atol=1e-5)


@given(st.sampled_from(METHODS), st.integers(0, 2**32 - 1), st.booleans())
def test_collapsed_bound_is_the_elbo_of_the_optimum_and_no_other_is_higher(method, seed, with_gamma):
    terms, X, y, gamma, _ = problem(seed, method)
    gamma = gamma if with_gamma else None
    q = optimal_posterior(terms, NOISE, X, y, gamma)
    bound = collapsed_bound(terms, NOISE, X, y, gamma)
    assert np.isclose(q.elbo(GaussianNoise(NOISE), X, y), bound, atol=1e-6)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-1):
        moved = Posterior(
            terms,
            q.mean_u + size * rng.standard_normal(len(q.mean_u)),
            q.root @ np.triu(np.eye(len(q.root)) + size * rng.uniform(-1, 1, q.root.shape)),
            gamma,
            None if gamma is None else q.a_gamma + size * rng.standard_normal(len(gamma)),
        )
        assert moved.elbo(GaussianNoise(NOISE), X, y) < bound + 1e-9


@given(st.sampled_from(METHODS), st.integers(0, 2**32 - 1))
def test_without_gamma_the_decoupled_method_is_the_coupled_one(method, seed):
    """ODVFF with γ = ∅ is VFF, ODVGP with γ = ∅ is SVGP; zero coefficients are as good as none."""
    terms, X, y, gamma, X_new = problem(seed, method)
    q = optimal_posterior(terms, NOISE, X, y)
    empty = optimal_posterior(terms, NOISE, X, y, np.zeros((0, 3)))
    zero = Posterior(terms, q.mean_u, q.root, gamma, np.zeros(len(gamma)))
    for other in (empty, zero):
        assert np.allclose(other.mean(X_new), q.mean(X_new), atol=1e-9)
        assert np.allclose(other.variance(X_new), q.variance(X_new), atol=1e-12)
        assert np.isclose(other.kl(), q.kl())


@given(st.sampled_from(METHODS), st.integers(0, 2**32 - 1))
def test_bound_rises_with_gamma_and_stays_below_the_evidence(method, seed):
    terms, X, y, gamma, _ = problem(seed, method)
    bounds = [collapsed_bound(terms, NOISE, X, y, g) for g in (None, gamma[:2], gamma)]
    assert bounds[0] <= bounds[1] + 1e-7
    assert bounds[1] <= bounds[2] + 1e-7
    K = terms.covariance(X, X)
    assert bounds[2] <= gaussian.exact_gp(K, K, K, y, NOISE)[2] + 1e-7


@settings(max_examples=15)
@given(st.sampled_from([0.5, 1.5, 2.5]), st.floats(-1.3, 1), st.booleans(), st.integers(0, 2**32 - 1))
def test_bound_rises_with_harmonics_to_the_evidence(smoothness, log_lengthscale, completion, seed):
    rng = np.random.default_rng(seed)
    X, k = rng.uniform(0, 1, (15, 1)), Matern(smoothness, 10**log_lengthscale)
    K = k.covariance(X, X)
    y = np.linalg.cholesky(K + NOISE * np.eye(15)) @ rng.standard_normal(15)
    evidence = gaussian.exact_gp(K, K, K, y, NOISE)[2]
    bounds = [
        collapsed_bound([Term(k, Fourier(F, (0, 1), completion))], NOISE, X, y) for F in (1, 2, 3, 5, 10, 30, 400)
    ]
    assert all(low <= high + 1e-8 for low, high in zip(bounds, [*bounds[1:], evidence], strict=True))
    if completion:
        assert evidence - bounds[-1] < 0.2


@pytest.mark.parametrize("smoothness", [0.5, 1.5, 2.5])
def test_everything_is_the_exact_gp_when_points_suffice(smoothness):
    """SVGP at Z = X, and Fourier features with γ = X for the mean, are exact."""
    rng = np.random.default_rng(0)
    X, X_new, k = rng.uniform(0, 1, (20, 1)), rng.uniform(-0.2, 1.2, (9, 1)), Matern(smoothness, 0.3, 1.4)
    y = np.sin(6 * X[:, 0]) + 0.3 * rng.standard_normal(20)
    mean, cov, evidence = gaussian.exact_gp(
        k.covariance(X, X), k.covariance(X_new, X), k.covariance(X_new, X_new), y, NOISE
    )
    points = [Term(k, InducingPoints(X))]
    q = optimal_posterior(points, NOISE, X, y)
    assert np.allclose(q.mean(X_new), mean, atol=1e-8)
    assert np.allclose(q.covariance(X_new), cov, atol=1e-8)
    assert np.isclose(collapsed_bound(points, NOISE, X, y), evidence, atol=1e-7)
    fourier = [Term(k, Fourier(3, (0, 1)))]
    assert np.allclose(optimal_posterior(fourier, NOISE, X, y, X).mean(X_new), mean, atol=1e-7)


def test_coverage_of_data_drawn_from_the_prior():
    """95 % intervals of f cover within binomial error when the model is the truth."""
    rng = np.random.default_rng(3)
    k, X = Matern(1.5, 0.2), np.linspace(0, 1, 200)[:, None]
    root = np.linalg.cholesky(k.covariance(X, X) + 1e-10 * np.eye(200))
    hits = []
    for _ in range(200):
        f = root @ rng.standard_normal(200)
        rows = rng.choice(200, 60, replace=False)
        y = f[rows] + np.sqrt(NOISE) * rng.standard_normal(60)
        q = optimal_posterior([Term(k, Fourier(30, (0, 1)))], NOISE, X[rows], y)
        at = rng.choice(200, 1)  # one row for each draw: independent trials
        mean, variance = q.predict(X[at])
        hits.append(abs(f[at] - mean)[0] < 1.96 * np.sqrt(variance[0]))
    assert abs(np.mean(hits) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 200)
