"""Files of tables as people have them, through the command line: exit codes that mean something, and nothing left."""

import contextlib
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from typer.testing import CliRunner

from odvff.cli.app import app
from tests.hostile.laws import Broken, nothing_left

ALLOWED = {0, 2, 3, 4, 5}
RUNNER = CliRunner()


def _table(rng):
    n = int(np.exp(rng.uniform(0, np.log(400))))
    columns = {}
    for i in range(int(rng.integers(1, 6))):
        kind, name = rng.integers(8), str(rng.choice([f"x{i}", f"x{i}", f"a b{i}", f"=x{i}", f"ü{i}", f"{i}"]))
        columns[name] = [
            lambda: rng.uniform(0, 1, n), lambda: rng.integers(0, 5, n), lambda: rng.choice(["a", "b", "", "NA"], n),
            lambda: rng.random(n) < 0.5, lambda: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            lambda: np.full(n, 1.0), lambda: np.arange(n).astype(str), lambda: rng.choice(["0.5", "x", "1e400"], n),
        ][kind]()  # fmt: skip
    target = [
        lambda: rng.normal(size=n), lambda: rng.choice(["yes", "no"], n), lambda: rng.integers(0, 3, n),
        lambda: np.full(n, 2.0), lambda: rng.normal(size=n) * 10.0 ** rng.integers(-300, 300),
        lambda: np.where(rng.random(n) < 0.3, np.nan, 1.0 * np.arange(n)), lambda: rng.choice(["1", "2", "x"], n),
    ][rng.integers(7)]()  # fmt: skip
    return pd.DataFrame({**columns, "y": target})


def _csv(rng, frame):
    text = frame.to_csv(index=bool(rng.random() < 0.2), sep=str(rng.choice([",", ";", "\t"])))
    how = rng.integers(8)
    encoded = text.encode(str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace")
    if how == 0 and len(encoded) > 2:
        return encoded[: int(rng.integers(1, len(encoded)))]
    if how == 1:
        place = int(rng.integers(len(encoded)))
        return encoded[:place] + rng.bytes(3) + encoded[place:]
    if how == 2:
        return encoded.replace(b"\n", b"\r\n")
    if how == 3:
        return encoded.replace(b",", b",,", 1)
    return encoded


def _write(rng, frame, folder):
    how = str(rng.choice(["csv", "csv", "parquet", "arrow"]))
    place = folder / f"t.{how}"
    if how == "csv":
        place.write_bytes(_csv(rng, frame))
        return place
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    if how == "parquet":
        pa.parquet.write_table(rows, place)
    else:
        with pa.OSFile(str(place), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
    if rng.random() < 0.2:
        content = place.read_bytes()
        place.write_bytes(content[: int(rng.integers(1, len(content)))])
    return place


def _said(*arguments):
    """What a command exits with and prints; a bug is a broken law."""
    with contextlib.redirect_stderr(io.StringIO()):
        result = RUNNER.invoke(app, [str(a) for a in arguments], catch_exceptions=True)
    if result.exit_code not in ALLOWED:
        raise Broken("exit codes", f"{arguments[0]} ended with {result.exit_code}: {(result.output or '')[-300:]}")
    if result.exit_code == 0 and "--json" in arguments:
        try:
            json.loads(result.stdout, parse_constant=lambda c: 1 / 0)
        except (ValueError, ZeroDivisionError) as error:
            raise Broken("JSON is JSON", f"{arguments[0]} printed {result.stdout[:200]!r}") from error
    return result.exit_code


def check(rng, folder):
    """Fit a file, then predict it, measure on it and report: what was fitted can be used."""
    try:
        frame = _table(rng)
        data = _write(rng, frame, folder)
    except (pa.ArrowException, UnicodeError, ValueError):
        return "no file"
    model, known = folder / "m.odvff", {data}
    options = ["--harmonics", int(rng.integers(1, 4)), "--interactions", 0]
    options += ["--holdout", float(rng.choice([0.0, 0.1, 0.5]))]
    if _said("fit", data, "--target", "y", "-m", model, *options, "--json"):
        nothing_left(folder, known)
        return "refused"
    known |= {model, folder / "p.csv", folder / "r.html"}
    for command in (
        ("predict", model, data, "-o", folder / "p.csv"),
        ("evaluate", model, data, "--json"),
        ("report", model, data, "-o", folder / "r.html"),
        ("inspect", model, "--json"),
    ):
        code = _said(*command)
        if code and command[0] in ("predict", "inspect"):
            raise Broken("what was fitted can be used", f"{command[0]} ended with {code}")
    predicted = pd.read_csv(folder / "p.csv").select_dtypes("number")
    if not np.isfinite(predicted.to_numpy()).all():
        raise Broken("finite or an error", "a prediction in a file is not finite")
    if len(predicted.columns) and len(predicted) != len(pd.read_csv(folder / "p.csv")):
        raise Broken("every row has its prediction", f"{len(predicted)} rows")
    nothing_left(folder, known)
    return "model"
