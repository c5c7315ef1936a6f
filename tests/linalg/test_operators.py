"""Every covariance operator against its dense form, and failures that explain themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odvff import FactorizationError
from odvff.linalg import BlockDiagonal, Bordered, Dense, Diagonal, DiagonalPlusLowRank, KroneckerProduct
from tests.reference.determinant import logdet


def dense(rng, n):
    A = rng.standard_normal((n, n + 2))
    return Dense(A @ A.T + 0.1 * np.eye(n), jitter=0.0)


def low_rank(rng, n, r=2):
    return DiagonalPlusLowRank(rng.uniform(0.1, 3.0, n), rng.standard_normal((n, r)))


def bordered(rng, n):
    q, r = 3, 2
    N = np.tril(rng.standard_normal((q, q)), -1) + np.eye(q)
    return Bordered(
        low_rank(rng, n, r),
        c=rng.standard_normal((q, n)),
        t=rng.standard_normal((q, q)),
        V=rng.standard_normal((q, r)),
        N=N,
        eliminate=np.linalg.inv(N),
    )


def kronecker(rng, n):
    return KroneckerProduct((low_rank(rng, n), dense(rng, 2), bordered(rng, 3)))


def blocks(rng, n):
    return BlockDiagonal((dense(rng, n), low_rank(rng, 3), Diagonal(rng.uniform(1, 2, 2))), ("a", "b", "c"))


OPERATORS = [
    dense,
    low_rank,
    bordered,
    kronecker,
    blocks,
    lambda rng, n: Diagonal(rng.uniform(0.1, 3.0, n)),
    lambda rng, n: low_rank(rng, n, r=n + 2),
]


@given(st.sampled_from(OPERATORS), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_structure_changes_nothing(make, n, seed):
    rng = np.random.default_rng(seed)
    K = make(rng, n)
    D, C = K.dense(), K.factor()
    A = rng.standard_normal((K.size, K.size))
    close = {"rtol": 1e-6, "atol": 1e-7 * np.linalg.cond(D)}
    assert D.shape == (K.size, K.size)
    assert np.allclose(D, D.T)
    assert np.allclose(C.dense() @ C.dense().T, D)
    for b in (rng.standard_normal(K.size), rng.standard_normal((K.size, 3))):
        assert np.allclose(K @ b, D @ b)
        assert np.allclose(K.solve(b), np.linalg.solve(D, b), **close)
        assert np.allclose(C.apply(b), C.dense() @ b)
        assert np.allclose(C.apply(C.solve(b)), b, **close)
        assert np.allclose(C.dense().T @ C.solve_transpose(b), b, **close)
    assert np.isclose(logdet(C), np.linalg.slogdet(D)[1], atol=1e-6)
    assert np.isclose(np.trace(K.solve(A)), np.trace(np.linalg.solve(D, A)), **close)


def test_dense_is_scaled_before_it_is_factored():
    """A matrix whose units differ by 1e200 is as easy as any other."""
    scale = np.array([1e-100, 1.0, 1e100])
    unit = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.1], [0.2, 0.1, 1.0]])
    K = Dense(unit * scale[:, None] * scale)
    b = scale * np.array([1.0, 2.0, 3.0])
    assert np.allclose(K.factor().solve(b), np.linalg.solve(np.linalg.cholesky(unit), [1.0, 2.0, 3.0]))


def test_jitter_is_raised_only_as_far_as_needed_and_recorded():
    x = np.linspace(0, 1, 60)
    smooth = np.exp(-0.5 * (x[:, None] - x) ** 2)
    assert Dense(np.eye(3)).factor().jitter == 1e-12
    assert Dense(smooth, jitter=0.0).factor().jitter in (1e-12, 1e-11)


def test_failure_names_term_causes_and_remedy():
    indefinite = Dense(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(FactorizationError) as caught:
        BlockDiagonal((Dense(np.eye(2)), indefinite), ("age", "income")).factor()
    error = caught.value
    assert error.term == "income"
    assert np.isclose(error.condition, 3.0)
    assert error.jitters[0] == 1e-12
    assert error.jitters[-1] <= 1e-6
    for part in ("term 'income'", "condition number 3", "jitter tried: 1e-12", "(a)", "larger `jitter`"):
        assert part in str(error)
    assert isinstance(error, np.linalg.LinAlgError)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "2 entries that are NaN or infinite"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), "variance 0 at position 1"),
        (np.array([[1.0, 0.5], [3.0, 1.0]]), r"\(a\) the matrix is not symmetric"),
        (np.array([[1.0, -1.1], [-1.1, 1.0]]), r"\(a\) the matrix is not positive definite"),
    ],
)
def test_failures_are_told_apart(matrix, message):
    with pytest.raises(FactorizationError, match=message):
        Dense(matrix).factor()


def test_a_diagonal_that_over_or_underflows_is_reported():
    bad = DiagonalPlusLowRank(np.array([1.0, 0.0]), np.ones((2, 1)))
    message = r"1 of 2 diagonal entries of the covariance are 0.*no jitter was tried"
    with pytest.raises(FactorizationError, match=message):
        bad.factor()
    product = KroneckerProduct((Dense(np.eye(2)), bad))
    with pytest.raises(FactorizationError, match=r"term 'pair, factor 1': " + message):
        BlockDiagonal((product,), ("pair",)).factor()
