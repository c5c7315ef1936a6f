"""The registry of the paper: every cell of its tables is there, and what is missing is said."""

import sys

import numpy as np
import pandas as pd
import pytest
from benchmarks.cells import Results
from experiments import data, paper, synthetic
from experiments.table_text import common_seeds, mean_ranks, ranks, value_text
from experiments.tables import TABLES, by_rows_cells, synthetic_cells
from experiments.ways import HARMONICS, Sizes, fit_and_score


def test_every_number_of_the_paper_has_a_cell():
    names = {cell.name for cell in synthetic_cells()}
    for D, by_beta in paper.SYNTHETIC.items():
        for beta, methods in by_beta.items():
            assert all(f"product | paper | {m} | D={D} | beta={beta}" in names for m in methods)
    for D, settings in paper.BY_ROWS.items():
        names = {cell.name for cell in by_rows_cells(D)}
        for (n, beta), methods in settings.items():
            for m in methods:
                way = "collapsed" if m == "sgpr" else "paper"
                where = "" if m in ("svgp", "sgpr") else f" | beta={beta}"
                assert f"product | {way} | {m} | N={n}{where}" in names


def test_tables_are_shown_before_anything_was_run(tmp_path):
    for one in TABLES:
        shown = one.show(Results(tmp_path / "none.json"))
        assert "| ODVFF |" in shown or "paper: ODVFF" in shown


def test_ranks_say_who_is_best_and_who_cannot_be_told_apart():
    values = {"odvff": -0.5, "odvgp": -0.4, "sgpr": -0.4004}
    assert ranks(values) == {"odvff": 3, "odvgp": 1.5, "sgpr": 1.5}
    assert ranks({"odvff": 0.9, "odvgp": 0.96}, "rmse") == {"odvff": 1, "odvgp": 2}


def test_mean_ranks_are_of_the_seeds_that_all_have():
    first = {0: {"log_density": 0.1}, 1: {"log_density": 0.3}, 2: {"log_density": 9.0}}
    second = {0: {"log_density": 0.2}, 1: {"log_density": 0.2}}
    assert common_seeds({"a": first, "b": second, "c": {}}) == [0, 1]
    assert mean_ranks({"a": first, "b": second, "c": {}}) == {"a": 1.5, "b": 1.5}
    assert mean_ranks({"a": first, "c": {}}) == {}
    assert value_text(first) == "3.133 ± 2.934 (3)"
    assert value_text({}) == "–"


def test_splits_are_all_rows_a_tenth_of_them_to_test_on():
    train, test = data.split(1005, 3)
    assert len(test) == 100
    assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(1005))
    assert not np.array_equal(test, data.split(1005, 4)[1])


def test_a_set_that_cannot_be_had_is_absent(monkeypatch, tmp_path):
    monkeypatch.setenv("ODVFF_DATA", str(tmp_path))
    with pytest.raises(data.Absent, match="tamilelectric: no file, and no public source"):
        data.load("tamilelectric")


def test_a_set_without_a_file_comes_from_where_it_is_public(monkeypatch, tmp_path):
    """By scikit-learn's fetcher, where pmlb is not installed; labels become numbers."""
    monkeypatch.setenv("ODVFF_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pmlb", None)
    asked = []

    def fetch(data_id, **options):
        asked.append(data_id)
        return pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": pd.Categorical(["x", "z", "x"])}), pd.Series([1.0, 2.0, 3.0])

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data._public.cache_clear()
    X, y = data.load("537_houses")
    data.load("537_houses")
    data._public.cache_clear()
    assert asked == [537]
    assert np.array_equal(X, [[1.5, 0], [2.5, 1], [3.5, 0]])
    assert np.array_equal(y, [1, 2, 3])


def test_a_set_that_nobody_sends_is_absent_with_all_reasons(monkeypatch, tmp_path):
    monkeypatch.setenv("ODVFF_DATA", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pmlb", None)

    def fetch(**options):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    data._public.cache_clear()
    with pytest.raises(data.Absent, match=r"344_mv: no file, .*pmlb.*OSError: no network"):
        data.load("344_mv")


@pytest.mark.parametrize("reading", synthetic.READINGS)
def test_synthetic_rows_have_the_variance_they_should(reading):
    """Many draws of few rows: Var y = Var f + Var ε."""
    D, spread = 3, []
    for seed in range(60):
        (_, y), (_, y_test) = synthetic.draw(reading, D, 40, seed, n_test=40)
        spread += [*y, *y_test]
    expected = (D if reading == "additive" else 1.0) + synthetic.READINGS[reading] ** 2
    assert np.mean(np.square(spread)) == pytest.approx(expected, rel=0.25)


@pytest.mark.parametrize("beta", [4, 10, 11, 50, 99, 189])
def test_harmonics_are_as_many_as_each_reading_of_the_number_of_functions_has(beta):
    """2F + 1 functions of a column are |β| or one less, or |β| and the constant; of all columns about |β|."""
    functions = {counted: 2 * count(beta, 2) + 1 for counted, count in HARMONICS.items()}
    assert functions["of every column"] in (beta - 1, beta)
    assert functions["of every column, its constant apart"] in (beta, beta + 1)
    assert abs(2 * functions["of all columns together"] - beta) <= 2


@pytest.mark.parametrize("way", ["paper", "collapsed"])
def test_a_fit_is_scored_on_test_rows(way):
    train, test = synthetic.draw("additive", 1, 400, 0, n_test=200)
    measured = fit_and_score(way, "odvff", Sizes(9, 5, 30, 100), train, test, 0)
    assert np.isfinite([measured["log_density"], measured["rmse"]]).all()
    assert 0 < measured["coverage"] <= 1
    assert measured["rmse"] < 1.2
