"""Runs that were broken off go on to the same result, to the bit."""

import numpy as np
import pytest

from odvff import Fourier, Matern, Term
from odvff.design import Design, NumericPart
from odvff.errors import FileError
from odvff.inference.sites.fit import fit_sites
from odvff.likelihoods import likelihood_for
from odvff.methods import Options, fit_rows
from odvff.rows import CHUNK_ROWS, MemoryRows
from odvff.statistics.collect import collect_rows
from odvff.support.journal import NO_JOURNAL, Journal
from odvff.support.progress import silent
from odvff.support.run import Run
from odvff.terms import Sum


class Broken(Exception):
    pass


def breaks_after(n):
    left = [n]

    def progress(*_):
        left[0] -= 1
        if left[0] == 0:
            raise Broken

    return progress


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "run", {"files": ["a"]}, every=0.0)


def test_a_journal_gives_back_what_it_was_given_to_the_same_run_only(tmp_path, journal):
    assert journal.read("stage") is None
    journal.write("stage", {"a": np.arange(3.0), "none": np.zeros((0, 2))}, {"n": 3})
    arrays, words = journal.read("stage")
    assert np.array_equal(arrays["a"], np.arange(3.0))
    assert arrays["none"].shape == (0, 2)
    assert words == {"n": 3}
    assert Journal(tmp_path / "run", {"files": ["b"]}).read("stage") is None
    (tmp_path / "run" / "stage.safetensors").write_bytes(b"damaged")
    assert journal.read("stage") is None
    inner = journal.within("class 1")
    inner.write("stage", {"a": np.ones(1)}, {})
    assert journal.within("class 1").read("stage") is not None
    journal.clear()
    assert not (tmp_path / "run").exists()
    journal.clear()


def test_an_entry_that_cannot_be_written_leaves_no_folder(tmp_path, journal, monkeypatch):
    def full(*_):
        raise FileError("no space left")

    monkeypatch.setattr("odvff.support.journal.storage.write", full)
    with pytest.raises(FileError, match="no space left"):
        journal.write("stage", {}, {})
    assert not (tmp_path / "run").exists()


def terms():
    return Sum((Term(Matern(1.5, 0.3), Fourier(3, (0, 1)), (0,)), Term(Matern(1.5, 0.3), Fourier(3, (0, 1)), (1,))))


def test_statistics_go_on_where_they_were(journal):
    rng = np.random.default_rng(0)
    n = 3 * CHUNK_ROWS + 5
    X = rng.uniform(0, 1.0001, (n, 2))  # some rows lie outside
    rows = MemoryRows(X, np.sin(6 * X[:, 0]))
    whole = collect_rows(terms(), rows, NO_JOURNAL, silent)
    for stop in (1, 2):
        with pytest.raises(Broken):
            collect_rows(terms(), rows, journal, breaks_after(stop + 1))
    assert journal.read("statistics")[1] == {"chunks": 3}
    resumed = collect_rows(terms(), rows, journal, silent)
    assert np.array_equal(resumed.moments, whole.moments)
    assert np.array_equal(resumed.outside.X, whole.outside.X)
    other = Sum((Term(Matern(1.5, 0.3), Fourier(4, (0, 1)), (0,)),))
    assert collect_rows(other, rows, journal, silent).n_rows == n  # those of other terms are not used


@pytest.mark.parametrize("name", ["probit", "poisson", "student-t"])
def test_rounds_of_sites_go_on_where_they_were(journal, name):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (300, 2))
    f = np.sin(6 * X[:, 0])
    y = {"probit": f + rng.normal(size=300) > 0, "poisson": rng.poisson(np.exp(1 + f)), "student-t": f}[name].astype(
        float
    )
    likelihood = likelihood_for(name, labels=name == "probit")
    whole = fit_sites(terms(), likelihood, [(X, y)], tolerance=1e-4)
    for stop in (2, 3):
        with pytest.raises(Broken):
            fit_sites(terms(), likelihood, [(X, y)], tolerance=1e-4, journal=journal, progress=breaks_after(stop))
    resumed = fit_sites(terms(), likelihood, [(X, y)], tolerance=1e-4, journal=journal)
    assert resumed.history == whole.history
    assert np.array_equal(resumed.posterior.mean(X), whole.posterior.mean(X))
    again = fit_sites(terms(), likelihood, [(X, y)], tolerance=1e-4, journal=journal)  # it has ended already
    assert again.history == whole.history
    assert again.message == whole.message


def test_stochastic_training_goes_on_where_it_was(journal):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (400, 1))
    rows = MemoryRows(X, np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=400))
    design = Design((NumericPart(0, "x", (0.0, 1.0)),))
    options = Options(n_harmonics=3, n_gamma=5, inference="stochastic", n_steps=200, batch_size=100)
    whole = fit_rows("odvff", rows, design, options)
    with pytest.raises(Broken):
        fit_rows("odvff", rows, design, options, run=Run(breaks_after(3), journal))
    resumed = fit_rows("odvff", rows, design, options, run=Run(journal=journal))
    assert np.array_equal(resumed.fit.posterior.mean(X), whole.fit.posterior.mean(X))
    assert resumed.fit.history == whole.fit.history
