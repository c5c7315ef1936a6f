"""What the benchmarks make of their measurements: who was first, what is left out, and whether what is asked holds."""

import json
from importlib import import_module
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks import asked, limits, prediction, rows, showing, sizes, start_up, time_to_quality
from benchmarks.cells import Results
from benchmarks.showing import short


def curve(*points: tuple[float, float]) -> list[dict[str, float]]:
    return [{"at": at, "processor": 2 * at, "log_density": value} for at, value in points]


def test_a_quality_counts_from_when_it_is_kept():
    noisy = curve((1, -0.5), (2, -0.9), (3, -0.6), (4, -0.55))
    assert time_to_quality._fastest_to(-0.7, [noisy]) == 3
    assert time_to_quality._fastest_to(-0.55, [noisy], "processor") == 8
    assert time_to_quality._fastest_to(-0.5, [noisy]) == inf
    assert time_to_quality._fastest_to(-0.7, [noisy, curve((2.5, -0.65))]) == 2.5


def run(*points: tuple[float, float]) -> dict[str, Any]:
    return {"curve": curve(*points)}


@pytest.fixture
def raced(tmp_path):
    """Two seeds, of which one library lacks the second; a shorter run is faster than all others."""
    late = {"0": run((9, -0.9), (50, -0.7)), "1": run((9, -0.9))}
    kept: dict[str, dict[str, Any]] = {
        f"{name} SVGP | D=5 | steps={steps}": late
        for name in ("GPflow", "GPyTorch", "GPJax")
        for steps in (2000, 4000, 8000)
    }
    kept["GPyTorch SVGP | D=5 | steps=8000"] = {"0": run((60, -0.6)), "1": run((60, -0.5))}
    kept["GPJax SVGP | D=5 | steps=4000"] = {"0": run((20, -0.605), (30, -0.55))}
    kept["GPflow SGPR | D=5 | points=100"] = {"0": run((90, -0.4)), "1": run((90, -0.4))}
    kept["odvff, default arguments | D=5 | iterations=default"] = {"0": run((0.4, -0.5)), "1": run((0.5, -0.5))}
    kept["oracle | D=5"] = {"0": {"log_density": -0.498}, "1": {"log_density": -0.498}}
    path = tmp_path / "time-to-quality.json"
    path.write_text(json.dumps(kept))
    return Results(path)


def test_seeds_that_not_all_have_are_left_out_and_shorter_runs_count(raced):
    ((seed, (target, curves)),) = time_to_quality.targets_and_peers(raced, 5, 0.0).items()
    assert (seed, target, len(curves)) == (0, -0.6, 10)
    race = time_to_quality.race(raced, 5, "default arguments")
    assert race.ratio == [pytest.approx(75)]
    assert race.gap == [pytest.approx(-0.002)]
    assert (race.worked, race.our_work) == ([60], [0.8])
    assert time_to_quality.race(raced, 5, "default arguments", less=0.005).fastest == [20]
    raced.keep("GPflow SGPR | D=5 | points=100", 0, run((8, -0.5)))
    assert time_to_quality.race(raced, 5, "default arguments").ratio == [pytest.approx(20)]
    assert time_to_quality.race(raced, 5, "default arguments", sgpr=False).ratio == [pytest.approx(75)]
    assert time_to_quality.race(raced, 10, "default arguments") is None


def test_an_svgp_is_watched_most_closely_while_its_rates_fall():
    for last in (2000, 4000, 8000):
        steps = time_to_quality.watched(last)
        assert steps == sorted(set(steps))
        assert steps[-1] == last
        assert sum(step > 0.75 * last for step in steps) == 8


def test_what_is_asked_is_judged_by_what_was_measured(raced):
    shown = asked.show(Results(raced.path.with_name("asked.json")))
    assert (
        "times faster than any, SGPR included, to the quality of the best SVGP after 8000 steps | ≥ 60 | 75 | 1 | yes |"
        in shown
    )
    assert "log-likelihood below the true process | ≤ 0.005 | 0.002 | 1 | yes |" in shown
    raced.keep("odvff, default arguments | D=5 | iterations=default", 0, run((4, -0.6)))
    shown = asked.show(Results(raced.path.with_name("asked.json")))
    assert "≥ 60 | 7.5 | 1 | **no** |" in shown
    assert "≤ 0.005 | 0.1 | 1 | **no** |" in shown


def test_what_has_not_been_measured_does_not_hold(tmp_path):
    shown = asked.show(Results(tmp_path / "asked.json"))
    assert shown.count("nothing yet | 0 | **no** |") == 5


@pytest.fixture
def jobs(monkeypatch):
    """Jobs are scripts, which import each other by their names."""
    monkeypatch.syspath_prepend(str(Path(showing.__file__).parent / "jobs"))


def test_rates_fall_to_a_hundredth_over_the_last_quarter(jobs):
    curve_job = import_module("curve")
    steps: list[tuple[float, int]] = []

    class Model:
        def cool(self, warmth):
            steps.append((warmth, 0))

        def advance(self, n):
            steps[-1] = (steps[-1][0], n)

    done = 1
    for step in time_to_quality.watched(2000):
        curve_job._advance(Model(), done, step, 2000)
        done = step
    warmth, lengths = zip(*steps, strict=True)
    assert sum(lengths) == 1999
    assert sum(n for w, n in steps if w == 1) == 1499
    assert warmth == tuple(sorted(warmth, reverse=True))
    assert warmth[-1] == pytest.approx(0.01)


def test_all_libraries_learn_from_the_same_rows(jobs, tmp_path):
    tables = import_module("tables")
    rng = np.random.default_rng(0)
    table = pa.table({"a": np.arange(50.0), "y": rng.uniform(1, 2, 50), "b": np.ones(50, dtype=np.float32)})
    pq.write_table(table, tmp_path / "t.parquet")
    split = tables.read(tmp_path / "t.parquet", 3)
    assert (split.X.shape, split.X_test.shape) == ((45, 2), (5, 2))
    assert sorted([*split.X[:, 0], *split.X_test[:, 0]]) == list(range(50))
    assert split.y.mean() == pytest.approx(0, abs=1e-12)
    assert split.y.std() == pytest.approx(1)
    assert np.corrcoef(split.y, table["y"].to_numpy()[split.X[:, 0].astype(int)])[0, 1] == pytest.approx(1)
    X, X_test = tables.standardised(split.X, split.X_test)
    assert X.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert X.std(axis=0) == pytest.approx([1, 0])
    assert X_test.shape == (5, 2)


@pytest.mark.parametrize(
    ("hundredth", "tenth", "why"),
    [
        ([], [], ""),
        ([], [{"processor": 500.0}], ""),  # who knows how it grows
        ([{"processor": 100.0}], [{"processor": 110.0}], ""),  # a fixed number of steps
        ([{"processor": 1.0}], [{"processor": 30.0}], "over 10 minutes, as fewer rows tell"),
        ([{"failed": "over 10 minutes"}], [], "over 10 minutes, as fewer rows tell"),
        ([], [{"failed": "over 10 minutes, as fewer rows tell"}], "over 10 minutes, as fewer rows tell"),
        ([], [{"failed": "failed: no memory"}], "failed: no memory, as fewer rows tell"),
    ],
)
def test_what_fewer_rows_tell_is_not_tried(hundredth, tenth, why):
    assert rows.hopeless([hundredth, tenth]) == why


def test_qualities_are_compared_in_the_units_of_y(tmp_path, monkeypatch):
    monkeypatch.setattr(showing, "PICTURES", tmp_path / "pictures")
    costs = {"fit": 2.0, "peak_gb": 0.2, "wall": 3.0, "coverage": 0.95, "machine": "one", "versions": {}}
    # better by 0.1 nats: the density of y/10 is ten times as high
    theirs = {**costs, "log_density": -0.5 + np.log(10), "deviation": 10.0}
    ours = {"0": {**costs, "log_density": -0.6}, "1": {**costs, "fit": 9.0, "log_density": -0.9}}  # other rows
    kept = {"odvff, streamed | N=10000": ours, "pyGAM | N=10000": {"0": theirs}}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(kept))
    (one,) = rows.ROWS_BENCHMARK
    assert "1 ×, 0.2 GB, +0.100" in one.show(Results(path))


def test_all_is_shown_before_anything_was_run(tmp_path, monkeypatch):
    monkeypatch.setattr(showing, "PICTURES", tmp_path / "pictures")
    for one in (
        *asked.ASKED,
        *rows.ROWS_BENCHMARK,
        *prediction.PREDICTION,
        *sizes.SIZES,
        *start_up.START_UP,
        *limits.LIMITS,
    ):
        assert one.show(Results(tmp_path / "none.json"))


def test_small_numbers_keep_their_digits():
    assert [short(value, 2) for value in (-0.00024, 0.00001234, 12345.0, 0.025, 7.0)] == [
        "-0.00024",
        "0.000012",
        "12,000",
        "0.025",
        "7",
    ]
