"""What a model learned, as a table: for terminals and for notebooks."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from odvff.errors import Spelling
from odvff.model.model import Model

COLUMNS = ("term", "features", "lengthscale", "prior std", "share")


@dataclass(frozen=True)
class Summary:
    """Facts about the model, and a table of its terms (one for each class, where there are several)."""

    title: str
    facts: dict[str, str]
    tables: dict[str, list[tuple[str, ...]]]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(name) for name in self.facts)
        lines = [self.title, *(f"  {name:<{width}}  {value}" for name, value in self.facts.items())]
        for heading, rows in self.tables.items():
            lines += ["", heading] if heading else [""]
            widths = [max(len(row[i]) for row in [COLUMNS, *rows]) for i in range(len(COLUMNS))]
            for row in [COLUMNS, *rows]:
                lines.append("  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip())
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        facts = "".join(f"<tr><th scope='row'>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self.facts.items())
        parts = [f"<h4>{escape(self.title)}</h4><table>{facts}</table>"]
        for heading, rows in self.tables.items():
            head = "".join(f"<th scope='col'>{escape(c)}</th>" for c in COLUMNS)
            body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            caption = f"<caption>{escape(heading)}</caption>" if heading else ""
            parts.append(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if self.notes:
            parts.append("<ul>" + "".join(f"<li>{escape(note)}</li>" for note in self.notes) + "</ul>")
        return "<div class='odvff-summary'>" + "".join(parts) + "</div>"


def summarise(model: Model, spelling: Spelling = str) -> Summary:
    """The summary of a model; its notes spell arguments so."""
    first = model.outputs[0]
    facts = {
        "method": f"{model.method}, {model.inference} inference",
        "structure": model.structure,
        "rows": f"{model.n_rows:,}",
        "features": str(first.posterior.factor.size),
        "points": "none" if first.posterior.gamma is None else str(len(first.posterior.gamma)),
        "likelihood": first.predictive.likelihood.in_words(first.scale),
        "evidence": ", ".join(f"{o.bound:,.2f}" for o in model.outputs)
        + f" (lower bound, nats{', of standardised y' * (first.scale != 1)})",
        "ended": "; ".join(sorted({o.message for o in model.outputs})),
    }
    if len(model.outputs) == 1:
        facts["intercept"] = f"{model.intercept():.4g}"
    tables = {}
    for i, output in enumerate(model.outputs):
        heading = "" if len(model.outputs) == 1 else f"class {output.label!r}"
        rows = sorted(model.rows_of_summary(i), key=lambda row: -row["share"])
        tables[heading] = [cells(row, "{:.3g}".format, lambda share: f"{100 * share:.1f} %") for row in rows]
    notes = [*model.schema.notes(spelling), *dict.fromkeys(line for o in model.outputs for line in o.report)]
    return Summary(model.made_by, facts, tables, tuple(notes))


def cells(row: dict[str, Any], number: Callable[[float], str], percent: Callable[[float], str]) -> tuple[str, ...]:
    """A row of the summary in words, one for each of `COLUMNS`."""
    lengthscales = ", ".join(number(value) for value in row["lengthscales"].values()) or "–"
    return row["term"], row["features"], lengthscales, number(row["std"]), percent(row["share"])
