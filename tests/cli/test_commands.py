"""The commands as people use them: results, machine output, exit codes, and one message for whatever is wrong."""

import inspect
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from odvff import ODVFFRegressor, load
from odvff.cli.app import app
from odvff.model import metrics

COMMANDS = ("fit", "predict", "evaluate", "report", "inspect", "demo")


def run(*arguments, code=0, stdin=None):
    """The result of a command, whose exit code must be this."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    assert "Traceback" not in result.output
    return result


def said(*arguments, code, stdin=None):
    """The one message of a command that fails."""
    result = run(*arguments, code=code, stdin=stdin)
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, result.stderr
    return lines[0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with its target, one without, and a regression and a classification model."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(4)
    n = 600
    table = pd.DataFrame({"id": [f"r{i}" for i in range(n)], "dose": rng.uniform(0, 100, n)})
    table["group"] = rng.choice(["a", "b", "007"], n)
    table["y"] = 20 + 5 * np.sin(table["dose"] / 15) + 2 * (table["group"] == "a") + rng.normal(size=n)
    table["kind"] = np.where(table["y"] > 22, "high", "low")
    table.loc[::40, "dose"] = np.nan
    table.to_csv(folder / "t.csv", index=False)
    table.to_parquet(folder / "t.parquet")
    run("fit", folder / "t.csv", "-t", "y", "-x", "id,kind", "--harmonics", 6, "-m", folder / "y.odvff", "-q")
    run(
        "fit",
        folder / "t.csv",
        "-t",
        "kind",
        "-x",
        "id",
        "-x",
        "y",
        "--harmonics",
        4,
        "-m",
        folder / "kind.odvff",
        "-q",
    )
    return folder


def test_help_comes_at_once_and_has_examples():
    for command in COMMANDS:
        text = run(command, "--help").output
        assert "Example" in text
        assert "--json" in text
    # imports of the mathematics would take seconds
    heavy = "('numpy', 'scipy', 'jax', 'sklearn', 'pyarrow', 'pandas')"
    code = f"import sys; from odvff.cli.app import app; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "odvff 0." in run("--version").output


def test_what_a_command_is_given_is_what_does_it_takes():
    from odvff.cli import app as declared
    from odvff.cli import demo, evaluate, fit, predict

    for module, names in ((fit, "fit"), (predict, "predict"), (evaluate, "evaluate report inspect"), (demo, "demo")):
        for name in names.split():
            given = inspect.signature(getattr(declared, name).__wrapped__).parameters
            assert list(given) == list(inspect.signature(getattr(module, name)).parameters), name


def test_fit_says_what_it_found(folder, tmp_path):
    place = tmp_path / "m.odvff"
    result = run("fit", folder / "t.parquet", "-t", "y", "-x", "id", "-x", "kind", "--harmonics", "6", "-m", place)
    assert "regression, as the target 'y' holds numbers" in result.stderr
    for words in ("dose is missing", "root mean squared error", "intervals of", "model written to"):
        assert words in result.stdout
    assert not list(tmp_path.glob("*.progress"))
    again = json.loads(
        run("fit", folder / "t.csv", "-t", "y", "-x", "id,kind", "--harmonics", 6, "-m", place, "--json").stdout
    )
    assert again["rows"] + again["held_out_rows"] == 600
    assert 40 < again["held_out_rows"] < 80
    assert again["evaluation"]["metrics"]["rmse"] < 1.4
    assert {row["term"] for row in again["terms"]["all"]} == {"dose", "dose is missing", "group"}
    classes = json.loads(
        run(
            "fit", folder / "t.csv", "-t", "kind", "-x", "id,y", "--harmonics", 4, "-m", place, "--holdout", 0, "--json"
        ).stdout
    )
    assert (classes["task"], classes["held_out_rows"], classes["evaluation"]) == ("classification", 0, None)


def test_the_model_is_that_of_the_estimator(folder):
    table = pd.read_csv(folder / "t.csv")
    model = load(folder / "y.odvff")
    assert model.model_.target == "y"
    assert list(model.feature_names_in_) == ["dose", "group"]
    assert model.model_.evaluation.n_rows + model.model_.n_rows == 600
    mean = model.predict(table[["dose", "group"]].assign(group=table["group"].astype("category")))
    assert metrics.rmse(table["y"], mean) < 1.2


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "arrow"])
def test_predictions_are_those_of_python_in_order(folder, tmp_path, suffix):
    output = tmp_path / f"p.{suffix}"
    done = run(
        "predict", folder / "y.odvff", folder / "t.csv", "-o", output, "--interval", 0.8, "--effects", "--keep", "id"
    )
    assert "600 predictions written to" in done.stdout
    read = {
        "parquet": pd.read_parquet,
        "arrow": pd.read_feather,
        "csv": pd.read_csv,
        "tsv": lambda p: pd.read_csv(p, sep="\t"),
    }
    made = read[suffix](output)
    table = pd.read_csv(folder / "t.csv")
    model, X = load(folder / "y.odvff"), table[["dose", "group"]].assign(group=table["group"].astype("category"))
    assert made["id"].tolist() == table["id"].tolist()
    mean, std = model.predict(X, return_std=True)
    assert np.allclose(made["mean"], mean, rtol=1e-12)
    assert np.allclose(made["std"], std, rtol=1e-12)
    assert np.allclose(made[["lower", "upper"]], model.predict_interval(X, 0.8), rtol=1e-12)
    parts = made[[c for c in made if c.startswith("effect of ") or c == "intercept"]]
    assert np.allclose(parts.sum(axis=1), mean)
    assert list(parts) == ["intercept", "effect of dose", "effect of dose is missing", "effect of group"]


def test_infinite_values_are_named_by_their_row(folder, tmp_path):
    n = 70_000  # more than a batch
    table = pd.DataFrame({"dose": np.full(n, 1.0), "group": "a"})
    table.loc[n - 1, "dose"] = np.inf
    table.to_parquet(tmp_path / "t.parquet")
    assert "column 'dose' is inf in row 70,000; replace" in said(
        "predict", folder / "y.odvff", tmp_path / "t.parquet", "-o", tmp_path / "p.csv", code=3
    )


def test_kept_columns_go_out_as_they_came_in(folder, tmp_path):
    ids = ["00000", "9007199254740993", "NA", "1.50", ""]
    rows = "".join(f"{i},{10 * k},a\n" for k, i in enumerate(ids))
    (tmp_path / "t.csv").write_text("id,dose,group\n" + rows)
    made = run("predict", folder / "y.odvff", tmp_path / "t.csv", "--keep", "id,dose").stdout.splitlines()
    assert [line.split(",")[0].strip('"') for line in made] == ["id", *ids]


@pytest.mark.parametrize("name", ["mean", "upper", "intercept"])
def test_kept_columns_are_never_replaced(folder, tmp_path, name):
    (tmp_path / "t.csv").write_text(f"{name},dose,group\n1,2,a\n")
    arguments = (
        "predict",
        folder / "y.odvff",
        tmp_path / "t.csv",
        "--keep",
        name,
        "--effects",
        "-o",
        tmp_path / "p.csv",
    )
    assert f"two columns of the predictions would be called '{name}'; rename" in said(*arguments, code=3)
    assert not (tmp_path / "p.csv").exists()


def test_labels_are_the_same_in_every_format(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"z": rng.integers(1, 12, 300), "flag": rng.random(300) < 0.5})
    table["y"] = np.sin(table["z"]) + table["flag"] + 0.1 * rng.normal(size=300)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    table.assign(flag=table["flag"].astype(int)).to_csv(tmp_path / "01.csv", index=False)
    table.assign(z=table["z"].astype(str)).to_parquet(tmp_path / "text.parquet")
    made = []
    for name in ("csv", "parquet"):
        model = tmp_path / f"{name}.odvff"
        run("fit", tmp_path / f"t.{name}", "-t", "y", "-c", "z", "-m", model, "-q")
        assert load(model).model_.schema.columns[0].levels == tuple(range(1, 12))
        data = ("t.csv", "t.parquet", "01.csv", "text.parquet")
        made += [run("predict", model, tmp_path / d).stdout for d in data]
    assert len(set(made)) == 1


def test_numbers_of_training_are_asked_for(folder, tmp_path):
    (tmp_path / "t.csv").write_text("dose,group\n007,a\n1,a\n")
    run("predict", folder / "y.odvff", tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("dose,group\n1,a\nlots,a\n")
    assert "column 'dose' must hold numbers, and has 'lots'" in said(
        "predict", folder / "y.odvff", tmp_path / "t.csv", code=3
    )


def test_probabilities_and_pipes(folder):
    text = (folder / "t.csv").read_text()
    result = run("predict", folder / "kind.odvff", "-", "--quiet", stdin=text)
    made = pd.read_csv(io.StringIO(result.stdout))
    assert list(made) == ["prediction", "probability of high", "probability of low"]
    assert len(made) == 600
    assert np.allclose(made[["probability of high", "probability of low"]].sum(axis=1), 1)
    assert (made["prediction"] == pd.read_csv(folder / "t.csv")["kind"]).mean() > 0.8


def test_evaluate_measures(folder):
    table = pd.read_csv(folder / "t.csv")
    result = json.loads(run("evaluate", folder / "y.odvff", folder / "t.parquet", "--json").stdout)
    model, X = load(folder / "y.odvff"), table[["dose", "group"]].assign(group=table["group"].astype("category"))
    assert np.isclose(result["metrics"]["rmse"], metrics.rmse(table["y"], model.predict(X)))
    assert result["n_rows"] == 600
    text = run("evaluate", folder / "kind.odvff", folder / "t.csv").stdout
    assert "accuracy" in text
    assert "Calibration of class" in text


def test_report_and_inspect(folder, tmp_path):
    run("report", folder / "y.odvff", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Calibration of intervals" in page  # of the rows that were held out
    assert "dose is missing" in page
    run("report", folder / "kind.odvff", folder / "t.csv", "-o", tmp_path / "k.html")
    assert "confus" in (tmp_path / "k.html").read_text().lower()
    text = run("inspect", folder / "y.odvff").stdout
    for words in ("target", "dose", "a, b", "made with", "root mean squared error"):
        assert words in text
    header = json.loads(run("inspect", folder / "y.odvff", "--json").stdout)["header"]
    assert header["target"] == "y"


def test_tasks_are_chosen_and_said(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=80)})
    table["two"], table["flag"], table["few"] = (table.x > 0.5).astype(int), table.x > 0.5, rng.integers(0, 4, 80)
    table.to_csv(tmp_path / "t.csv", index=False)
    place = ("-m", tmp_path / "m.odvff", "--harmonics", 3, "--max-iter", 3)

    def fitted(target, *more):
        others = ",".join(c for c in ("two", "flag", "few") if c != target)
        return run("fit", tmp_path / "t.csv", "-t", target, "-x", others, *place, *more).stderr

    assert "classification, as the target 'two' has two values (--task regression overrides)" in fitted("two")
    assert "classification, as the target 'flag' is true or false" in fitted("flag")
    assert "regression, as the target 'few' holds numbers; it has just 4 values" in fitted("few")
    fitted("two", "--task", "regression")
    assert not hasattr(load(tmp_path / "m.odvff"), "classes_")
    fitted("few", "--task", "classification")
    assert load(tmp_path / "m.odvff").classes_.tolist() == [0, 1, 2, 3]
    assert run("predict", tmp_path / "m.odvff", tmp_path / "t.csv").stdout.startswith('"prediction"')


def test_rows_without_a_target_are_told_or_refused(folder, tmp_path):
    table = pd.read_csv(folder / "t.csv").drop(columns=["id", "kind"])
    table.loc[3, "y"], table.loc[9, "y"] = np.nan, np.inf
    table.to_parquet(tmp_path / "t.parquet")
    arguments = ("fit", tmp_path / "t.parquet", "-t", "y", "--harmonics", 3, "-m", tmp_path / "m.odvff")
    assert "warning: 2 rows were left out: their target is missing or infinite" in run(*arguments).stderr
    assert "the target 'y' is nan in row 4" in said(*arguments, "--strict", code=3).replace("None", "nan")


BAD_FILES = {
    "ragged.csv": ("x,y\n1,2\n1,2,3\n", 3, "ragged: row 2 has 3 values"),
    "empty.csv": ("", 3, "empty.csv is empty"),
    "header.csv": ("x,y\n", 3, "there are no rows"),
    "one_row.csv": ("x\n1\n", 3, "there is no column 'y'; there are x"),
    "cut.parquet": ("PAR1 and then nothing", 4, "cut.parquet cannot be read, it may be damaged or cut off"),
    "encoding.csv": (b"x,y\n\xe4,1\n\xf6,2\n", 3, "is no text in utf-8; say how the file is encoded"),
    "no_target.csv": ("x,y\n1,\n2,\n", 3, "there are no rows"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_one_message_and_leave_nothing(tmp_path, name):
    content, code, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert message in said("fit", tmp_path / name, "-t", "y", "-m", tmp_path / "m.odvff", code=code)
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_wrong_names_are_one_message(folder, tmp_path):
    csv, model = folder / "t.csv", folder / "y.odvff"
    place = ("-m", tmp_path / "m.odvff")
    assert "no column 'dosse'; did you mean 'dose'?" in said("fit", csv, "-t", "dosse", *place, code=3)
    assert "no column 'grup'; did you mean 'group'?" in said("fit", csv, "-t", "y", "-c", "grup", *place, code=3)
    assert "does not exist; did you mean" in said("fit", folder / "t.csvv", "-t", "y", *place, code=4)
    assert "is excluded; leave it in" in said("fit", csv, "-t", "y", "-x", "y", *place, code=3)
    assert "column 'id' has more than 200 different labels" in said("fit", csv, "-t", "y", *place, code=3)
    assert "--harmonics must be a whole number or auto" in said(
        "fit", csv, "-t", "y", "--harmonics", "x", *place, code=3
    )
    assert "holdout is a share" in said("fit", csv, "-t", "y", "--holdout", 1, *place, code=3)
    assert "the folder" in said("fit", csv, "-t", "y", "-m", tmp_path / "no" / "m.odvff", code=4)
    assert "is a folder" in said("fit", csv, "-t", "y", "-m", tmp_path, code=4)
    assert "is no odvff model file" in said("predict", csv, csv, code=4)
    assert "does not exist" in said("inspect", tmp_path / "none.odvff", code=4)
    assert "predictions are written to" in said("predict", model, csv, "-o", tmp_path / "p.xlsx", code=3)
    assert "--interval must lie between 0 and 1" in said("predict", model, csv, "--interval", 95, code=3)
    pd.DataFrame({"doses": [1.0], "group": ["a"]}).to_csv(tmp_path / "new.csv", index=False)
    assert "no column 'dose'; did you mean 'doses'?" in said("predict", model, tmp_path / "new.csv", code=3)
    assert "no column 'y'" in said("evaluate", model, tmp_path / "new.csv", code=3)
    run("fit", csv, code=2)
    assert not (tmp_path / "m.odvff").exists()


# the superuser may do anything, unless it gives up the right to
MAY = "-dac_override,-dac_read_search"
UNPRIVILEGED = ("setpriv", f"--bounding-set={MAY}", f"--inh-caps={MAY}") if os.geteuid() == 0 else ()


@pytest.mark.skipif(bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="the superuser needs setpriv for this")
def test_no_permission(folder, tmp_path):
    closed, secret = tmp_path / "closed", tmp_path / "secret.csv"
    closed.mkdir(mode=0o500)
    secret.write_text("x,y\n1,2\n")
    secret.chmod(0)
    model, data = folder / "y.odvff", folder / "t.csv"
    for arguments, message in (
        (("predict", model, data, "-o", closed / "p.csv"), f"{closed / 'p.csv'} cannot be written: Permission denied"),
        (("fit", data, "-t", "y", "-x", "id,kind", "-m", closed / "m.odvff"), "cannot be made: Permission denied"),
        (("fit", secret, "-t", "y", "-m", tmp_path / "m.odvff"), f"{secret} cannot be read: Permission denied"),
    ):
        command = [*UNPRIVILEGED, sys.executable, "-m", "odvff", *map(str, arguments), "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (4, "")
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not list(closed.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk(folder, tmp_path, monkeypatch):
    """Files of the run land on a device that is always full; the old output stays."""
    import odvff.support.storage

    (tmp_path / "p.csv").write_text("old")
    model, data = folder / "y.odvff", folder / "t.csv"

    def full(**_):
        return os.open("/dev/full", os.O_WRONLY), "/dev/full"

    monkeypatch.setattr(odvff.support.storage.tempfile, "mkstemp", full)
    monkeypatch.setattr(odvff.support.storage.Path, "unlink", lambda *_, **__: None)
    assert "cannot be written: " in said("predict", model, data, "-o", tmp_path / "p.csv", code=4)
    assert (tmp_path / "p.csv").read_text() == "old"


def test_progress_in_plain_lines(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("odvff.support.progress.PATIENCE", 0.0)
    monkeypatch.setattr("odvff.support.progress.LINES_EVERY", 0.0)
    lines = run("fit", folder / "t.parquet", "-t", "y", "-x", "id,kind", "-m", tmp_path / "m.odvff").stderr
    for words in ("reading: ", "adding up: ", "fitting: ", "objective", "measuring: ", "choosing harmonics"):
        assert words in lines
    quiet = run("fit", folder / "t.parquet", "-t", "y", "-x", "id,kind", "-m", tmp_path / "m.odvff", "--quiet")
    assert "model written to" in quiet.stdout
    assert quiet.stderr == ""


def test_bars_show_rate_objective_and_time_left():
    from odvff.support.progress import Pace, Step, in_words

    pace = Pace()
    assert pace.of(Step("adding up", 0, 100))[0]
    time.sleep(0.25)
    new, rate, left = pace.of(Step("adding up", 50, 100, objective=-12.5))
    assert not new
    assert 100 < rate < 210
    assert 0.2 < left < 0.6
    assert in_words(Step("adding up", 50, 100, objective=-12.5), 1000.0, 3.2) == (
        "adding up: 50 of 100 rows, 1,000 rows/s, objective -12.50, 3 s left"
    )


def test_nothing_is_written_over_what_it_is_made_from(folder, tmp_path):
    data, model = tmp_path / "d.csv", tmp_path / "m.odvff"
    data.write_bytes((folder / "t.csv").read_bytes())
    model.write_bytes((folder / "y.odvff").read_bytes())
    over = "would be written over what it is made from"
    assert over in said("fit", data, "-t", "y", "-x", "id,kind", "-m", data, code=4)
    assert over in said("predict", model, data, "-o", data, code=4)
    assert over in said("report", model, "-o", model, code=4)
    assert over in said("report", model, data, "-o", data, code=4)
    (tmp_path / "notes.txt").write_text("precious")
    assert "is no model" in said("fit", data, "-t", "y", "-x", "id,kind", "-m", tmp_path / "notes.txt", code=4)
    progress = tmp_path / "new.odvff.progress"
    progress.mkdir()
    (progress / "notes.txt").write_text("precious")
    assert "holds something else" in said("fit", data, "-t", "y", "-x", "id,kind", "-m", tmp_path / "new.odvff", code=4)
    assert (progress / "notes.txt").read_text() == "precious"
    assert data.read_bytes() == (folder / "t.csv").read_bytes()
    assert model.read_bytes() == (folder / "y.odvff").read_bytes()


def test_data_that_change_during_the_run_make_no_model(folder, tmp_path, monkeypatch):
    from odvff.tables import TableFiles

    marks = iter(range(100))
    monkeypatch.setattr(TableFiles, "fingerprint", lambda _: [[str(folder / "t.parquet"), next(marks)]])
    arguments = ("fit", folder / "t.parquet", "-t", "y", "-x", "id,kind", "--harmonics", 3, "-m", tmp_path / "m.odvff")
    assert "changed while it was read" in said(*arguments, code=3)
    assert not list(tmp_path.iterdir())


def test_numbers_with_a_slip_are_no_classes(tmp_path):
    rows = "\n".join(f"{i / 100},{np.sin(i / 10):.4f}" for i in range(120))
    (tmp_path / "t.csv").write_text(f"x,y\n{rows}\n0.5,n.a.\n")
    message = said("fit", tmp_path / "t.csv", "-t", "y", "-m", tmp_path / "m.odvff", code=3)
    assert "the target 'y' holds numbers, and also 'n.a.'" in message
    (tmp_path / "many.csv").write_text("x,y\n" + "\n".join(f"{i},c{i}" for i in range(300)))
    assert "more than 200 classes" in said("fit", tmp_path / "many.csv", "-t", "y", "-m", tmp_path / "m.odvff", code=3)


def test_a_class_that_was_held_out_whole_is_told_and_not_measured(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=400), "c": rng.choice(["a", "b"], 400)})
    found = False
    for i in range(60):  # a class of one row, that a hash puts on either side
        table.loc[0, ["x", "c"]] = [i / 100, "rare"]
        table.to_csv(tmp_path / "t.csv", index=False)
        from odvff.tables import FileSource, TableFiles

        source = FileSource(TableFiles(tmp_path / "t.csv"), "c", labels=True, holdout=0.1)
        if any("rare" in y for _, y, _ in source.held_out()):
            found = True
            break
    assert found
    result = run("fit", tmp_path / "t.csv", "-t", "c", "--harmonics", 2, "--max-iter", 3, "-m", tmp_path / "m.odvff")
    assert "warning: 1 rows were not measured: their class was not there in training" in result.stderr


def test_errors_are_json_too_and_speak_of_options(folder, tmp_path):
    result = run("fit", folder / "t.csv", "-t", "nothing", "--json", code=3)
    assert json.loads(result.stdout) == {"error": json.loads(result.stdout)["error"], "code": 3}
    place = ("-m", tmp_path / "m.odvff", "-x", "id,kind")
    assert "--seed must be" in said("fit", folder / "t.csv", "-t", "y", "--seed", -1, *place, code=3)
    assert "--inference sites" in said("fit", folder / "t.csv", "-t", "y", "--inference", "sites", *place, code=3)
    odd = pd.DataFrame({"a,b": [1.0, 2.0, 3.0] * 9, "\x1b[31mred": [1.0, 2.0, 3.0] * 9, "y": [1.0, 2.0, 4.0] * 9})
    odd.to_parquet(tmp_path / "odd.parquet")
    result = run(
        "fit", tmp_path / "odd.parquet", "-t", "y", "-x", "a\\,b", "-m", tmp_path / "odd.odvff", "--harmonics", 2
    )
    assert "\x1b" not in result.stdout
    assert "a,b" not in result.stdout


def test_interactions_are_found_named_or_left_out(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 1, (800, 3)), columns=["a", "b", "c"])
    table.assign(y=4 * table.a * table.b + 0.1 * rng.normal(size=800)).to_csv(tmp_path / "t.csv", index=False)

    def terms(*more):
        arguments = (tmp_path / "t.csv", "-t", "y", "-m", tmp_path / "m.odvff", "--harmonics", 3, "--quiet", *more)
        run("fit", *arguments)
        return [name for name in load(tmp_path / "m.odvff").effects() if " × " in name]

    assert terms() == ["a × b"]
    assert terms("--interactions", 0) == []
    assert terms("--interactions", "c:a, b:c") == ["a × c", "b × c"]
    place = ("-m", tmp_path / "m.odvff")
    message = said("fit", tmp_path / "t.csv", "-t", "y", "--interactions", "a-b", *place, code=3)
    assert "error: --interactions must be auto, a number, or pairs such as width:height, got 'a-b'" in message
    message = said("fit", tmp_path / "t.csv", "-t", "y", "--interactions", "a:z", *place, code=3)
    assert "--interactions names 'z', which is no column; there are a, b, c." in message


def test_weights_do_not_count_in_what_is_measured_and_this_is_said(folder, tmp_path):
    table = pd.read_csv(folder / "t.csv").assign(w=lambda t: np.arange(len(t)) % 3)
    table.to_csv(tmp_path / "w.csv", index=False)
    result = run(
        "fit",
        tmp_path / "w.csv",
        "-t",
        "y",
        "-x",
        "id,kind",
        "--weights",
        "w",
        "--harmonics",
        3,
        "-m",
        tmp_path / "m.odvff",
    )
    assert "counts every row once, whatever its weight" in result.stderr


def test_arguments_have_options_and_errors_say_those(folder, tmp_path):
    from odvff.cli.options import ARGUMENTS
    from odvff.cli.terminal import as_option
    from odvff.errors import Argument, FitWarning, InputError

    options = {o for p in typer.main.get_command(app).commands["fit"].params for o in p.opts}
    assert set(ARGUMENTS.values()) <= options
    assert set(ARGUMENTS) <= set(inspect.signature(ODVFFRegressor).parameters)
    for argument, python, shell in (
        (Argument("n_harmonics", "auto"), "n_harmonics='auto'", "--harmonics auto"),
        (Argument("categorical", ["a b"]), "categorical=['a b']", "--categorical a b"),
        (
            Argument("interactions", [("a", "b"), ("b", "c")]),
            "interactions=[('a', 'b'), ('b', 'c')]",
            "--interactions a:b,b:c",
        ),
        (Argument("max_iter"), "max_iter", "--max-iter"),
        (Argument("n_starts", 3), "n_starts=3", "n_starts=3"),
    ):
        error = InputError("raise ", argument, ".")
        assert str(error) == str(pickle.loads(pickle.dumps(error))) == f"raise {python}."
        assert error.spelled(as_option) == f"raise {shell}."
    note = FitWarning("raise ", Argument("max_rounds"), " or ", Argument("method", "vff"))
    assert str(note.renamed({"max_rounds": "max_iter"})) == "raise max_iter or method='vff'"
    assert str(note) == "raise max_rounds or method='vff'"
    place = ("-m", tmp_path / "m.odvff", "-x", "id,kind")
    wrong = run("fit", folder / "t.csv", "-t", "y", "--seed", -1, "--smoothness", 1, "--max-iter", 0, *place, code=3)
    for line in ("- --smoothness must be 0.5", "- --max-iter must be a whole", "- --seed must be a whole"):
        assert line in wrong.stderr
    done = run("fit", folder / "t.csv", "-t", "kind", "--harmonics", 2, "--max-iter", 1, "-m", place[1], "-x", "id,y")
    assert "the sites stopped before they converged" in done.stderr
    assert "Raise `--max-iter`" in done.stderr
