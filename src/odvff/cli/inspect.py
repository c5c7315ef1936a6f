"""`odvff inspect`: what is inside a model file."""

from pathlib import Path
from typing import Any

from odvff.cli.evaluate import quality_text
from odvff.cli.failures import as_option
from odvff.cli.terminal import Terminal, table
from odvff.model.file import inspect, load
from odvff.model.summary import COLUMNS, summarise
from odvff.tables import Category, Numeric


def inspect_model(path: Path, terminal: Terminal) -> None:
    """Show the columns, the terms and how the model was made."""
    model, header = load(path), inspect(path)
    summary = summarise(model, as_option)
    facts = {
        "file": f"{path} ({path.stat().st_size / 1e3:,.0f} kB)",
        "estimator": model.made_by,
        "target": model.target,
        **summary.facts,
        "made with": ", ".join(f"{name} {number}" for name, number in header["versions"].items()),
    }
    parts = [
        table(("what", "value"), list(facts.items())),
        table(("column", "kind", "values", "missing"), [_column(c) for c in model.schema.columns], "Columns"),
        *(table(COLUMNS, rows, heading or "Terms") for heading, rows in summary.tables.items()),
        *(f"note: {note}" for note in summary.notes),
    ]
    if model.evaluation is not None:
        parts.append(quality_text(model.evaluation, f"on {model.evaluation.n_rows:,} rows that were held out"))
    terminal.show({"facts": facts, "header": header}, "\n\n".join(parts))


def _column(column: Any) -> tuple[str, ...]:
    if isinstance(column, Numeric):
        return column.name, "numbers", f"{column.least:g} to {column.most:g}", "yes" if column.missing else "no"
    assert isinstance(column, Category)
    levels = [str(level) for level in column.levels if level is not None]
    shown = ", ".join(levels[:6]) + (f", … ({len(levels)} in all)" if len(levels) > 6 else "")
    return column.name, "categories", shown, "yes" if None in column.levels else "no"
