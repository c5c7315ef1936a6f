"""Statistics: the same by any engine, chunking, order, merge and number of threads, and equal to plain sums."""

from itertools import pairwise

import gpjax as gpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odvff import Categorical, Fourier, InducingPoints, InputError, Kronecker, Levels, Matern, Separable, Sum, Term
from odvff.inference import fit_collapsed
from odvff.inference.sites import fit_sites
from odvff.likelihoods import GaussianNoise
from odvff.statistics import Statistics, collect
from odvff.statistics.collect import cheaper_engine


def additive(rng, D=3, completion=None):
    terms = []
    for d in range(D):
        kernel = Matern((0.5, 1.5, 2.5)[int(rng.integers(3))], 0.3)
        completed = bool(rng.integers(2)) if completion is None else completion
        terms.append(Term(kernel, Fourier(int(rng.integers(1, 9)), (0, 1), completed), [d]))
    return terms


def everything(rng):
    product = Separable((Matern(1.5, 0.5), Matern(0.5, 0.7)))
    return [
        *additive(rng, 2),
        Term(Categorical(0.7), Levels(3), columns=[3]),
        Term(product, Kronecker((Fourier(2, (0, 1)), Fourier(1, (0, 1), completion=False))), columns=[2, 0]),
        Term(product, Kronecker((Fourier(1, (0, 1)), Fourier(2, (0, 1)))), columns=[1, 2]),
    ]


def rows(rng, n):
    X = np.column_stack([rng.uniform(0, 1, (n, 3)), rng.integers(-1, 3, n)])
    return X, rng.standard_normal((n, 2)) + 3, rng.integers(0, 4, n).astype(float)


def plain_sums(terms, X, Y, w):
    """The definition, row by row."""
    terms = Sum(tuple(terms)).canonical
    Z = np.concatenate([terms.Kuf(X), np.ones((1, len(X))), Y.T])
    return sum(w[n] * np.outer(Z[:, n], Z[:, n]) for n in range(len(X)))


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([additive, everything]), st.sampled_from(["product", "nufft"]))
def test_statistics_are_plain_sums(seed, make, engine):
    rng = np.random.default_rng(seed)
    terms = make(rng)
    X, Y, w = rows(rng, 30)
    statistics = collect(terms, [(X, Y, w)], engine=engine)
    assert np.allclose(statistics.moments, plain_sums(terms, X, Y, w), atol=1e-8)
    assert statistics.n_rows == (w > 0).sum()
    assert np.isclose(statistics.weight, w.sum())
    for j in range(2):
        assert np.isclose(statistics.mean(j), np.average(Y[:, j], weights=w))
        assert np.isclose(statistics.variance(j), np.average((Y[:, j] - statistics.mean(j)) ** 2, weights=w))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 200), max_size=5), st.integers(1, 3))
def test_any_chunking_order_and_threads_give_the_same(seed, cuts, n_threads):
    rng = np.random.default_rng(seed)
    terms, (X, Y, w) = everything(rng), rows(rng, 200)
    w = w + 1  # so that no chunk is empty
    whole = collect(terms, [(X, Y, w)], engine="product", n_threads=1)
    edges = [0, *sorted(cuts), 200]
    chunks = [(X[a:b], Y[a:b], w[a:b]) for a, b in pairwise(edges) if b > a]
    rng.shuffle(chunks)
    parts = collect(terms, chunks, engine="product", n_threads=n_threads)
    assert np.allclose(parts.moments, whole.moments, rtol=1e-12, atol=1e-10)
    assert parts.n_rows == whole.n_rows
    merged = sum((collect(terms, [c], engine="product") for c in chunks[1:]), collect(terms, chunks[:1]))
    assert np.allclose(merged.moments, whole.moments, rtol=1e-9, atol=1e-8)


def test_weights_are_frequencies():
    rng = np.random.default_rng(0)
    terms, (X, Y, w) = additive(rng), rows(rng, 50)
    repeated = np.repeat(np.arange(50), w.astype(int))
    a = collect(terms, [(X, Y, w)])
    b = collect(terms, [(X[repeated], Y[repeated])])
    assert np.allclose(a.moments, b.moments)
    assert a.weight == b.weight


def test_a_pass_that_leaves_too_many_rows_outside_is_refused_before_its_end(monkeypatch):
    monkeypatch.setattr("odvff.statistics.basis.OUTSIDE_ENTRIES", 5000)
    narrow = Term(Matern(), Fourier(2, (0.0, 0.01)), [1], "narrow")
    terms = [Term(Matern(), Fourier(2, (0, 1)), [0], "wide"), narrow]
    rng = np.random.default_rng(0)
    chunks = [(rng.uniform(0, 1, (100, 2)), rng.standard_normal(100)) for _ in range(20)]
    read = []
    refused = r"term 'narrow' has 9\d% of the rows outside its interval \(0, 0.01\), .*; widen the interval"
    with pytest.raises(InputError, match=refused):
        collect(terms, (read.append(k) or chunk for k, chunk in enumerate(chunks)))
    assert len(read) == 4  # of 14 features each
    assert len(collect(terms, chunks[:3]).outside) > 290
    assert collect(terms[:1], chunks).n_rows == 2000
    with pytest.raises(InputError, match="term 'narrow' has"):
        fit_sites(terms, GaussianNoise(0.1), chunks)


def test_rows_outside_the_box_are_kept_apart():
    rng = np.random.default_rng(1)
    terms, (X, Y, _) = additive(rng), rows(rng, 40)
    X[3, 0], X[7, 2] = 1.5, -0.1
    statistics = collect(terms, [(X, Y)])
    inside = np.delete(np.arange(40), [3, 7])
    assert np.allclose(statistics.moments, collect(terms, [(X[inside], Y[inside])]).moments)
    assert np.array_equal(statistics.outside.X, X[[3, 7]])
    assert statistics.n_rows == 40
    assert np.isclose(statistics.sum_of_squares(1), (Y[:, 1] ** 2).sum())
    assert np.isclose(statistics.mean(0), Y[:, 0].mean())


def test_standardising_afterwards_is_exact():
    rng = np.random.default_rng(2)
    terms, (X, Y, w) = additive(rng), rows(rng, 40)
    X[5, 1] = 2.0
    statistics = collect(terms, [(X, Y, w)])
    Z = Y.copy()
    Z[:, 1] = (Z[:, 1] - 3.1) / 0.4
    again = collect(terms, [(X, Z, w)])
    assert np.allclose(statistics.standardised(3.1, 0.4, output=1).moments, again.moments, atol=1e-8)
    assert np.allclose(statistics.standardised(3.1, 0.4, output=1).outside.Y, again.outside.Y)


def test_arrays_and_back():
    rng = np.random.default_rng(3)
    terms, (X, Y, w) = additive(rng), rows(rng, 40)
    X[5, 1] = 2.0
    statistics = collect(terms, [(X, Y, w)])
    copy = Statistics.from_arrays(statistics.arrays())
    assert np.array_equal((statistics + copy).moments, 2 * statistics.moments)
    broken = statistics.arrays()
    del broken["moments"]
    with pytest.raises(InputError, match="no statistics"):
        Statistics.from_arrays(broken)
    with pytest.raises(InputError, match="shapes disagree"):
        Statistics.from_arrays({**statistics.arrays(), "moments": np.eye(2)})
    with pytest.raises(InputError, match="not finite"):
        Statistics.from_arrays({**statistics.arrays(), "moments": np.nan * statistics.moments})


def test_few_columns_with_many_harmonics_are_transformed_and_many_columns_multiplied():
    def terms(D, F):
        return Sum([Term(Matern(), Fourier(F, (0, 1)), [d]) for d in range(D)]).canonical

    assert cheaper_engine(terms(2, 200), 10**6) == "nufft"
    assert cheaper_engine(terms(10, 10), 10**6) == "product"
    assert cheaper_engine(terms(1, 10), 10**6) == "nufft"
    assert cheaper_engine(terms(1, 10), 500) == "product"


def test_many_harmonics_by_transform_equal_products():
    rng = np.random.default_rng(4)
    X, y = rng.uniform(0, 1, (20_000, 2)), rng.standard_normal(20_000)
    terms = [Term(Matern(2.5), Fourier(60, (0, 1)), [0]), Term(Matern(0.5), Fourier(25, (0, 1)), [1])]
    a, b = (collect(terms, [(X, y)], engine=engine).moments for engine in ("product", "nufft"))
    assert np.abs(a - b).max() < 1e-9 * 20_000


def test_bad_input_is_named():
    terms = [Term(Matern(), Fourier(2, (0, 1)), [0])]
    X, y = np.zeros((3, 1)), np.zeros(3)
    with pytest.raises(InputError, match="engine must be one of"):
        collect(terms, [(X, y)], engine="magic")
    with pytest.raises(InputError, match="X has 3 rows and y has 2"):
        collect(terms, [(X, y[:2])])
    with pytest.raises(InputError, match=r"weights must have shape \(3,\), one for each row of X, got \(2,\)"):
        collect(terms, [(X, y, y[:2])])
    with pytest.raises(InputError, match="weights has -1 in row 1"):
        collect(terms, [(X, y, np.array([1.0, -1.0, 1.0]))])
    with pytest.raises(InputError, match=r"\(X, y\) or \(X, y, weights\), got 1 parts"):
        collect(terms, [(X,)])
    with pytest.raises(InputError, match="no row with a positive weight"):
        collect(terms, [(X, y, np.zeros(3))])
    with pytest.raises(InputError, match="no row with a positive weight"):
        collect(terms, [])
    with pytest.raises(InputError, match="InducingPoints, whose features change with the hyper-parameters"):
        collect([Term(Matern(), InducingPoints(X))], [(X, y)])
    with pytest.raises(InputError, match="collect both with the same terms"):
        collect(terms, [(X, y)]) + collect([Term(Matern(), Fourier(3, (0, 1)), [0])], [(X, y)])
    with pytest.raises(InputError, match="there is no output 1"):
        collect(terms, [(X, y)]).mean(1)


def test_columns_are_those_of_the_kernel():
    """GPJax's `active_dims` count within the columns of the term; whatever is ambiguous is refused."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (60, 3)), rng.standard_normal(60)

    def moments(term, X=X):
        return [collect([term], [(X, y)], engine=engine).moments for engine in ("product", "nufft")]

    F = Fourier(4, (0, 1))
    expected = moments(Term(Matern(1.5), F, [2]))
    for term in (
        Term(gpx.kernels.Matern32(active_dims=[2]), F),
        Term(gpx.kernels.Matern32(active_dims=[1]), F, [0, 2]),
        Term(gpx.kernels.Matern32(active_dims=[0]), F, [2, 1]),
    ):
        assert np.allclose(moments(term), expected)
    pair = Kronecker((F, Fourier(2, (-1, 2))))
    expected = moments(Term(Separable((Matern(1.5), Matern(0.5))), pair, [2, 0]))
    first, second = gpx.kernels.Matern32(active_dims=[2]), gpx.kernels.Matern12(active_dims=[0])
    assert np.allclose(moments(Term(first * second, pair)), expected)
    product = gpx.kernels.Matern32(active_dims=[1]) * gpx.kernels.Matern12(active_dims=[0])
    assert np.allclose(moments(Term(product, pair, [0, 2])), expected)
    with pytest.raises(InputError, match="reads 1 column, and X has 3; say which by `columns`"):
        moments(Term(Matern(1.5), F))
    with pytest.raises(InputError, match=r"reads columns \[0, 1\], and one is needed"):
        moments(Term(Matern(1.5), F, [0, 1]))
    with pytest.raises(InputError, match="has 2 factors and reads 3 columns"):
        moments(Term(Separable((Matern(1.5), Matern(0.5))), pair, [0, 1, 2]))
    with pytest.raises(InputError, match="reads column 7, but X has 3 columns"):
        moments(Term(Matern(1.5), F, [7]))


def test_a_fit_with_active_dims_predicts():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (300, 2))
    y = np.sin(7 * X[:, 1])
    terms = [Term(gpx.kernels.Matern32(active_dims=[1]), Fourier(8, (0, 1)))]
    fit = fit_collapsed(terms, collect(terms, [(X, y)]))
    assert np.abs(fit.posterior.mean(X) - y).max() < 0.05


def test_statistics_know_what_they_are_of():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, 1, (50, 2)), rng.standard_normal(50)
    terms, others = ([Term(Matern(1.5), Fourier(3, (0, b)), [d]) for d in range(2)] for b in (1, 3))
    statistics = collect(terms, [(X, y)])
    with pytest.raises(InputError, match=r"the statistics are of .* collect them with these"):
        fit_collapsed(others, statistics)
    with pytest.raises(InputError, match="statistics of different features cannot be added"):
        statistics + collect(others, [(X, y)])
    again = Statistics.from_arrays(statistics.arrays())
    assert again.signature == statistics.signature
    fit_collapsed(terms, again)
    with pytest.raises(InputError, match="a chunk has 1 columns, the first had 2"):
        collect(terms, [(X, y), (X[:, :1], y)])
    with pytest.raises(InputError, match="n_threads must be a whole number of at least 1, got -1"):
        collect(terms, [(X, y)], n_threads=-1)
