"""Killed at any moment: another run ends with the same file, and nothing partial ever has the final name."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

# the suite kills a few times; `ODVFF_KILLS=20` kills as often as anyone likes
KILLS = int(os.environ.get("ODVFF_KILLS", "3"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    rng = np.random.default_rng(5)
    n = 600_000
    X = rng.uniform(0, 1, (n, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    table = pa.table({**{f"x{i}": X[:, i] for i in range(3)}, "y": y})
    pa.parquet.write_table(table, folder / "t.parquet")
    few = table.slice(0, 30_000)
    pa.parquet.write_table(
        few.append_column("up", pa.array(few["y"].to_numpy() > 0.5)).drop_columns("y"), folder / "c.parquet"
    )
    return folder


def start(*arguments):
    environment = {**os.environ, "ODVFF_JOURNAL_EVERY": "0"}
    command = [sys.executable, "-m", "odvff", *map(str, arguments), "--quiet"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def undisturbed(*arguments):
    """Seconds that a command takes."""
    began = time.monotonic()
    process = start(*arguments)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said
    return time.monotonic() - began


def disturbed(seconds, target, whole, *arguments):
    """Kill a command at random moments, then let it end; whatever has the final name on the way is whole."""
    chance = random.Random(0)
    killed = 0
    while killed < KILLS:
        process = start(*arguments)
        time.sleep(chance.uniform(0.2, 0.95) * seconds)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if target.exists():  # it was quicker this time
            assert target.read_bytes() == whole.read_bytes()
            target.unlink()
        killed += process.returncode != 0
    process = start(*arguments)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 0, said


FITS = {
    "regression": ("t.parquet", "-t", "y", "--harmonics", 12),
    "classification": ("c.parquet", "-t", "up", "--harmonics", 5),
    "stochastic": ("c.parquet", "-t", "up", "--harmonics", 3, "--inference", "stochastic", "--max-iter", 400),
}


@pytest.mark.parametrize("name", FITS)
def test_a_killed_fit_goes_on_to_the_same_model(folder, name):
    data, *options = FITS[name]
    arguments = ("fit", folder / data, *options, "--holdout", 0.1)
    whole, resumed = folder / f"{name}.odvff", folder / f"{name}-resumed.odvff"
    seconds = undisturbed(*arguments, "-m", whole)
    disturbed(seconds, resumed, whole, *arguments, "-m", resumed, "--resume")
    assert resumed.read_bytes() == whole.read_bytes()
    assert not list(folder.glob("*.progress"))


def test_a_killed_prediction_is_made_again(folder):
    model = folder / "p.odvff"
    undisturbed("fit", folder / "t.parquet", "-t", "y", "--harmonics", 3, "-m", model)
    whole, again = folder / "whole.parquet", folder / "again.parquet"
    seconds = undisturbed("predict", model, folder / "t.parquet", "-o", whole)
    disturbed(seconds, again, whole, "predict", model, folder / "t.parquet", "-o", again)
    assert again.read_bytes() == whole.read_bytes()
