"""`odvff evaluate`: how good a model is on files."""

from pathlib import Path

from odvff.cli.quality import evaluated, quality_text
from odvff.cli.terminal import Terminal
from odvff.model.file import load


def evaluate_files(
    model: Path, data: list[str], target: str | None, strict: bool, csv: tuple[str | None, str], terminal: Terminal
) -> None:
    """Measure, and say what came of it."""
    learned = load(model)
    evaluation, source = evaluated(learned, data, target, csv, strict, terminal)
    result = {"model": str(model), "dropped_rows": source.dropped, **evaluation.to_words()}
    terminal.show(result, quality_text(evaluation, f"on {evaluation.n_rows:,} rows"))
