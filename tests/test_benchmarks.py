"""What the benchmarks make of their measurements: who was first, what is left out, and whether what is asked holds."""

import json
from math import inf
from typing import Any

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
    kept["odvff | D=5 | harmonics=default | iterations=default"] = {"0": run((0.4, -0.5)), "1": run((0.5, -0.5))}
    kept["oracle | D=5"] = {"0": {"log_density": -0.498}, "1": {"log_density": -0.498}}
    path = tmp_path / "time-to-quality.json"
    path.write_text(json.dumps(kept))
    return Results(path)


def test_seeds_that_not_all_have_are_left_out_and_shorter_runs_count(raced):
    ((seed, (target, curves)),) = time_to_quality.targets_and_peers(raced, 5, 0.0).items()
    assert (seed, target, len(curves)) == (0, -0.6, 10)
    race = time_to_quality.race(raced, 5, "default")
    assert race.ratio == [pytest.approx(75)]
    assert race.gap == [pytest.approx(-0.002)]
    assert (race.worked, race.our_work, race.earliest) == ([60], [0.8], [0.4])
    assert time_to_quality.race(raced, 5, "default", less=0.005).fastest == [20]
    assert time_to_quality.race(raced, 10, "default") is None


def test_an_svgp_is_watched_most_closely_while_its_rates_fall():
    for last in (2000, 4000, 8000):
        steps = time_to_quality.watched(last)
        assert steps == sorted(set(steps))
        assert steps[-1] == last
        assert sum(step > 0.75 * last for step in steps) == 8


def test_what_is_asked_is_judged_by_what_was_measured(raced):
    shown = asked.show(Results(raced.path.with_name("asked.json")))
    assert "times faster to the quality of the best SVGP after 8000 steps | ≥ 60 | 75 | yes |" in shown
    assert "log-likelihood below the true process | ≤ 0.005 | 0.002 | yes |" in shown
    raced.keep("odvff | D=5 | harmonics=default | iterations=default", 0, run((4, -0.6)))
    shown = asked.show(Results(raced.path.with_name("asked.json")))
    assert "≥ 60 | 7.5 | **no** |" in shown
    assert "≤ 0.005 | 0.1 | **no** |" in shown


@pytest.mark.parametrize(
    ("hundredth", "tenth", "late"),
    [
        ([], [], False),
        ([], [{"fit": 29.0}], False),
        ([], [{"fit": 31.0}], True),
        ([{"fit": 100.0}], [{"fit": 110.0}], False),  # a fixed number of steps
        ([{"fit": 1.0}], [{"fit": 20.0}], True),
        ([{"failed": "over 10 minutes"}], [], True),
    ],
)
def test_what_fewer_rows_tell_is_not_tried(hundredth, tenth, late):
    assert rows.too_long([hundredth, tenth]) is late


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
