"""`odvff report`: a model as one HTML file for people."""

from pathlib import Path

from odvff.cli.evaluate import evaluated
from odvff.cli.options import Csv
from odvff.cli.terminal import Terminal
from odvff.model.file import load
from odvff.report import write_report
from odvff.support.storage import check_output


def report_model(
    model: Path, data: list[str], output: Path | None, target: str | None, csv: Csv, terminal: Terminal
) -> None:
    """Write the report, and say where it is."""
    learned = load(model)
    evaluation = learned.evaluation
    place = model.with_suffix(".html") if output is None else output
    check_output(place, [model, *data])
    if data:
        evaluation, _ = evaluated(learned, data, target, csv, terminal)
    if evaluation is None:
        terminal.warn("the model has no held-out rows and no data were given: the report cannot say how good it is")
    write_report(place, learned, evaluation, name=model.stem)
    terminal.show({"report": str(place)}, f"report written to {place}; open it in a browser")
