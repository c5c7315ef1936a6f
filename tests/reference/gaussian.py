"""Plain-NumPy twins of the Gaussian algebra: nothing whitened, nothing structured."""

import numpy as np


def kl(mean_q, cov_q, mean_p, cov_p):
    """KL between two Gaussians."""
    inverse = np.linalg.inv(cov_p)
    d = mean_p - mean_q
    log_ratio = np.linalg.slogdet(cov_p)[1] - np.linalg.slogdet(cov_q)[1]
    return 0.5 * (np.trace(inverse @ cov_q) + d @ inverse @ d - len(d) + log_ratio)


def exact_gp(K, K_star, k_star_star, y, noise):
    """Predictive mean and covariance of f, and the log evidence."""
    A = K + noise * np.eye(len(y))
    mean = K_star @ np.linalg.solve(A, y)
    cov = k_star_star - K_star @ np.linalg.solve(A, K_star.T)
    evidence = -0.5 * (y @ np.linalg.solve(A, y) + np.linalg.slogdet(A)[1] + len(y) * np.log(2 * np.pi))
    return mean, cov, evidence


def orthogonal_posterior(K_b, K_bx, K_xx, K_bg, K_xg, a_beta, S, a_gamma):
    """Mean and covariance of the orthogonally decoupled posterior, unwhitened, as in the paper (slips put right).

    K_b = Cov(β,β), K_bx = Cov(β,f(x)), S the covariance of q(β), a_β = K_b⁻¹E[β].
    """
    inv = np.linalg.inv(K_b)
    mean = (K_xg - K_bx.T @ inv @ K_bg) @ a_gamma + K_bx.T @ a_beta
    cov = K_xx - K_bx.T @ inv @ K_bx + K_bx.T @ inv @ S @ inv @ K_bx
    return mean, cov


def hybrid_posterior(psi_x, psi_g, K_x, K_xg, K_g, m, R, a):
    """Mean, variance and KL of Cheng & Boots' hybrid: μ = Ψ_γ a + Ψ_β C⁻ᵀm with bases that overlap, S = R Rᵀ."""
    mean = K_xg @ a + m @ psi_x
    variance = K_x - (psi_x**2).sum(axis=0) + ((R.T @ psi_x) ** 2).sum(axis=0)
    norm = a @ K_g @ a + 2 * m @ (psi_g @ a) + m @ m
    return mean, variance, 0.5 * (np.sum(R**2) - np.linalg.slogdet(R @ R.T)[1] - len(m) + norm)


def collapsed_bound(K_diag, K_b, K_bx, K_a, K_ax, y, noise):
    """log N(y | 0, ·) split between Q_α in the fit and Q_β in the determinant and the trace."""
    Q_b = K_bx.T @ np.linalg.solve(K_b, K_bx)
    Q_a = K_ax.T @ np.linalg.solve(K_a, K_ax)
    N = len(y)
    eye = noise * np.eye(N)
    return -0.5 * (
        N * np.log(2 * np.pi)
        + np.linalg.slogdet(Q_b + eye)[1]
        + y @ np.linalg.solve(Q_a + eye, y)
        + np.sum(K_diag - np.diagonal(Q_b)) / noise
    )
