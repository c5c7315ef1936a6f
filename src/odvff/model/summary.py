"""What a model learned: as a table, for terminals and notebooks, and as pictures of its effects in matplotlib."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from odvff.errors import InputError, Spelling
from odvff.model.model import Effect, Model
from odvff.tables import Category, Numeric

COLUMNS = ("term", "features", "lengthscale", "prior std", "share")
BAND = "95 % band"


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


def plot_effects(model: Model, output: int = 0, names: Iterable[str] | None = None, n_columns: int = 3) -> Any:
    """A figure with a panel for each effect, the strongest first; see `Model.has_picture` for those that have none."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise InputError("plot_effects needs matplotlib; install it with `pip install odvff[plot]`.") from error
    shares = {row["term"]: row["share"] for row in model.rows_of_summary(output)}
    parts = {name: part for _, name, part in model.parts(output)}
    columns = {name: model.columns_of(part) for name, part in parts.items()}
    drawn = [name for name in sorted(parts, key=lambda name: -shares[name]) if model.has_picture(parts[name])]
    order = _order(names, drawn, columns)
    effects = model.effects(None, output, order)
    n_columns = max(1, min(n_columns, len(order)))
    n_rows = -(-len(order) // n_columns)
    figure = plt.figure(figsize=(4.2 * n_columns, 3.2 * n_rows), layout="constrained")
    panels = figure.add_gridspec(n_rows, n_columns)
    flat = [effects[name] for name in order if effects[name].kind != "surface"]
    limits = (min(e.lower.min() for e in flat), max(e.upper.max() for e in flat)) if flat else None
    for i, name in enumerate(order):
        title = f"{name} ({100 * shares[name]:.0f} %)"
        if effects[name].kind == "surface":
            _surface(figure, panels[i], effects[name], title, [column.name for column in columns[name]])
        else:
            column = None if effects[name].kind == "missing" else columns[name][0]
            _curve(figure, panels[i], effects[name], column, title, limits)
    return figure


def _order(names: Any, drawn: list[str], columns: dict[str, Any]) -> list[str]:
    """The effects to show: those asked for, else all that have a picture."""
    order = drawn if names is None else [names] if isinstance(names, str) else list(names)
    for name in order:
        if name not in columns:
            raise InputError(f"there is no effect {name!r}; there are {', '.join(columns)}.")
        if name not in drawn:
            raise InputError(
                f"the effect {name!r} depends on {len(columns[name])} columns at once and has no picture; see "
                "`effects(X)` for its values at rows."
            )
    if not order:
        raise InputError(
            "there is no effect to draw: "
            + ("the list of names is empty; leave it out for all." if names is not None else "see `effects(X)`.")
        )
    return order


def _curve(figure: Any, place: Any, effect: Effect, column: Any, title: str, limits: Any) -> None:
    top, bottom = place.subgridspec(2, 1, height_ratios=[5, 1], hspace=0.0).subplots(sharex=True)
    if effect.kind == "numeric":
        top.fill_between(effect.values, effect.lower, effect.upper, color="C0", alpha=0.25, linewidth=0, label=BAND)
        top.plot(effect.values, effect.mean, color="C0")
    else:
        at = np.arange(len(effect.values))
        top.errorbar(at, effect.mean, effect.upper - effect.mean, fmt="o", color="C0", capsize=3, label=BAND)
    top.axhline(0.0, color="0.6", linewidth=0.8, zorder=0)
    low, high = limits
    margin = 0.05 * (high - low) or 1.0
    top.set_ylim(low - margin, high + margin)
    top.set_title(title, fontsize=10)
    top.set_ylabel("effect", fontsize=9)
    if isinstance(column, Numeric):
        edges = np.linspace(column.low, column.high, len(column.counts) + 1)
        bottom.bar(edges[:-1], column.counts, np.diff(edges), align="edge", color="0.7")
        bottom.set_xlim(effect.values[0], effect.values[-1])
    elif isinstance(column, Category):
        labels = ["missing" if level is None else str(level) for level in column.levels]
        bottom.bar(np.arange(len(labels)), column.counts, color="0.7")
        shown = range(0, len(labels), -(-len(labels) // 12))
        bottom.set_xticks(list(shown), [labels[k][:12] for k in shown], rotation=45 if len(labels) > 4 else 0)
    else:
        bottom.set_xticks([0], ["missing"])
    bottom.set_yticks([])
    bottom.spines[["top", "right", "left"]].set_visible(False)


def _surface(figure: Any, place: Any, effect: Effect, title: str, columns: list[str]) -> None:
    axes = figure.add_subplot(place)
    n = round(np.sqrt(len(effect.mean)))
    x, y, z = (a.reshape(n, n) for a in (effect.values[:, 0], effect.values[:, 1], effect.mean))
    reach = float(np.abs(z).max()) or 1.0
    image = axes.pcolormesh(x, y, z, cmap="RdBu_r", vmin=-reach, vmax=reach, shading="gouraud")
    axes.contour(x, y, z, colors="0.3", linewidths=0.5)
    axes.set(xlabel=columns[0], ylabel=columns[1])
    axes.set_title(title, fontsize=10)
    figure.colorbar(image, ax=axes, label="effect")
