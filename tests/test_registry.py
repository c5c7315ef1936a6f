"""Experiments and benchmarks: every run is kept at once, and a later call goes on where the last one ended."""

import contextlib
import json
import signal

from benchmarks.cells import Cell, Experiment, Results, Unavailable
from benchmarks.fresh import machine
from benchmarks.registry import main


class Counter:
    """A job that notes the seeds it was run with, and fails at one of them."""

    def __init__(self, fails_at=None):
        self.seeds, self.fails_at = [], fails_at

    def __call__(self, seed):
        if seed == self.fails_at:
            raise KeyboardInterrupt
        self.seeds.append(seed)
        return {"value": seed / 2, "text": "fine"}


def experiment(*jobs, name="one", **more):
    cells = [Cell(f"cell {i}", job, 3, 0.1) for i, job in enumerate(jobs)]
    return Experiment(name, "a trial", lambda: cells, lambda results: f"{len(results.of('cell 0'))} runs", **more)


def test_what_was_run_is_kept_and_the_rest_goes_on(tmp_path, capsys):
    first, second = Counter(), Counter(fails_at=1)
    assert main(tmp_path, [experiment(first, second)], "", ["run", "one"]) == 130
    assert "every finished run is kept" in capsys.readouterr().out
    kept = json.loads((tmp_path / "results" / "one.json").read_text())
    assert {cell: sorted(runs) for cell, runs in kept.items()} == {"cell 0": ["0", "1"], "cell 1": ["0"]}
    again = Counter()
    main(tmp_path, [experiment(first, again)], "", ["run", "one"])
    assert first.seeds == [0, 1, 2]
    assert again.seeds == [1, 2]
    main(tmp_path, [experiment(first, again)], "", ["run", "one", "--repeats", "4", "--only", "cell 1"])
    assert again.seeds == [1, 2, 3]
    main(tmp_path, [experiment(first, again)], "", ["show", "one"])
    assert "3 runs" in capsys.readouterr().out


def test_what_was_disturbed_is_run_again_and_the_calmer_run_is_kept(tmp_path):
    taken = iter([0.4, 0.1, 0.3, 0.2, 0.5])
    job = lambda seed: {"taken": next(taken)}  # noqa: E731
    one = Experiment("one", "a trial", lambda: [Cell("cell", job, 2, 0.1)], lambda results: "")

    def kept(*more):
        assert main(tmp_path, [one], "", ["run", "one", *more]) == 0
        return [run["taken"] for run in Results(tmp_path / "results" / "one.json").of("cell")]

    assert kept() == [0.4, 0.1]
    assert kept("--calm", "0.2") == [0.3, 0.1]
    assert kept("--calm", "0.2") == [0.2, 0.1]
    assert kept("--calm", "0.2") == [0.2, 0.1]
    assert kept("--calm", "0.1") == [0.2, 0.1]  # no calmer than before
    assert next(taken, None) is None


def test_what_another_machine_timed_is_run_again_however_calm_it_was(tmp_path, capsys):
    results = Results(tmp_path / "results" / "one.json")
    results.keep("cell", 0, {"machine": "another one", "taken": 0.0})
    results.keep("cell", 1, {"score": 1.0})  # no time: the same on any machine
    again = Counter()
    job = lambda seed: {**again(seed), "machine": machine(), "taken": 0.4}  # noqa: E731
    one = Experiment("one", "a trial", lambda: [Cell("cell", job, 3, 0.1)], lambda results: "")
    main(tmp_path, [one], "", ["list"])
    assert "1 of 3 runs" in capsys.readouterr().out
    main(tmp_path, [one], "", ["run", "one"])
    assert again.seeds == [0, 2]
    assert results.again().of("cell")[0]["machine"] == machine()
    main(tmp_path, [one], "", ["run", "one"])
    assert again.seeds == [0, 2]


def test_what_a_job_gives_after_an_interruption_is_no_result(tmp_path):
    """Fits end at Ctrl-C with what they have."""

    def ends_early(seed):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return {"value": 0.0}

    later = Counter()
    assert main(tmp_path, [experiment(ends_early, later)], "", ["run", "one"]) == 130
    assert later.seeds == []
    assert Results(tmp_path / "results" / "one.json").of("cell 0") == []


def test_a_cell_that_fails_is_told_and_holds_up_nothing(tmp_path, capsys):
    def fails(seed):
        raise ValueError("no such number")

    later = Counter()
    assert main(tmp_path, [experiment(fails, later)], "", ["run", "one", "--repeats", "1"]) == 1
    assert "cell 0, seed 0: failed: ValueError: no such number" in capsys.readouterr().out
    assert later.seeds == [0]


def test_repeats_are_interleaved(tmp_path):
    order = []
    jobs = [lambda seed, i=i: order.append((i, seed)) or {} for i in range(2)]
    main(tmp_path, [experiment(*jobs)], "", ["run", "one", "--repeats", "2"])
    assert order == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_on_request_is_not_one_of_all(tmp_path, capsys):
    usual, special = Counter(), Counter()
    both = [experiment(usual), experiment(special, name="two", on_request=True)]
    (tmp_path / "intro.md").write_text("# All\n")
    main(tmp_path, both, "", ["run", "all"])
    assert (usual.seeds, special.seeds) == ([0, 1, 2], [])
    main(tmp_path, both, "", ["list"])
    listed = capsys.readouterr().out.splitlines()
    assert "3 of 3 runs" in listed[-2]
    assert "just on request" in listed[-1]
    main(tmp_path, both, "", ["write"])
    assert "## two" not in (tmp_path / "README.md").read_text()
    main(tmp_path, both, "", ["run", "two"])
    main(tmp_path, both, "", ["write"])
    assert "## two" in (tmp_path / "README.md").read_text()


def test_results_have_a_line_for_every_run(tmp_path):
    results = Results(tmp_path / "results" / "one.json")
    results.keep("b", 10, {"x": 1.0})
    results.keep("b", 2, {"x": 2.0})
    results.keep("a", 0, {"x": [1, 2]})
    assert [run["x"] for run in Results(results.path).of("b")] == [2.0, 1.0]
    assert results.path.read_text().count("\n") == 9


def test_a_result_names_the_code_that_made_it(tmp_path):
    main(tmp_path, [experiment(Counter())], "", ["run", "one", "--repeats", "1"])
    (kept,) = Results(tmp_path / "results" / "one.json").of("cell 0")
    assert kept["code"]


def test_what_somebody_else_ran_meanwhile_is_not_run_again(tmp_path, capsys):
    results, later = Results(tmp_path / "results" / "one.json"), Counter()

    def other(seed):
        results.keep("cell 1", seed, {"value": 1.0})
        return {"value": 0.0}

    main(tmp_path, [experiment(other, later)], "", ["run", "one", "--repeats", "1"])
    assert later.seeds == []
    assert "cell 1, seed 0: somebody else has run it" in capsys.readouterr().out


def test_what_cannot_be_run_here_is_not_counted_as_left(tmp_path, capsys):
    cells = [Cell("here", Counter(), 2, 30.0), Cell("elsewhere", Counter(), 3, 60.0, absent=True)]
    one = Experiment("one", "a trial", lambda: cells, lambda results: "")
    main(tmp_path, [one], "", ["list"])
    assert "0 of 2 runs, 3 of data that are not here, about 1.0 hours left" in capsys.readouterr().out


def test_a_cell_whose_data_cannot_be_had_holds_up_nothing(tmp_path, capsys):
    def absent(seed):
        raise Unavailable("no file of it")

    later = Counter()
    main(tmp_path, [experiment(absent, later)], "", ["run", "one", "--repeats", "1"])
    assert "cell 0, seed 0: absent: no file of it" in capsys.readouterr().out
    assert later.seeds == [0]
    assert Results(tmp_path / "results" / "one.json").of("cell 0") == []


def test_two_who_run_different_cells_do_not_lose_each_others_results(tmp_path):
    here, there = (Results(tmp_path / "one.json") for _ in range(2))
    here.keep("a", 0, {"x": 1.0})
    there.keep("b", 0, {"x": 2.0})
    here.keep("a", 1, {"x": 3.0})
    both = Results(here.path)
    assert (len(both.of("a")), len(both.of("b"))) == (2, 1)
