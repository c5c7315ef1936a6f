"""`odvff evaluate`: how good a model is on files."""

from pathlib import Path

from odvff import load
from odvff.cli.quality import evaluated, quality_text, reading_for
from odvff.cli.terminal import Terminal


def evaluate_files(
    model: Path, data: list[str], target: str | None, strict: bool, csv: tuple[str | None, str], terminal: Terminal
) -> None:
    """Measure, and say what came of it."""
    estimator = load(model)
    evaluation, source = evaluated(estimator, data, target, reading_for(estimator, *csv), strict, terminal)
    result = {"model": str(model), "dropped_rows": source.dropped, **evaluation.to_words()}
    terminal.show(result, quality_text(evaluation, f"on {evaluation.n_rows:,} rows"))
