"""The page: sections of words, tables and figures in one HTML file that needs no network.

Whatever comes from the user (names of columns, levels, classes) is escaped where it stands in HTML, and JSON within the
page has no `<`. The page also forbids itself by its Content-Security-Policy to load anything, or to run any script but
its own two, which are named there by their hashes.
"""

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import odvff
from odvff.errors import InputError
from odvff.model.file import versions
from odvff.model.model import Model
from odvff.model.quality import Evaluation
from odvff.model.summary import COLUMNS, summarise
from odvff.report import words
from odvff.report.effect_figures import Shown, beside, common_range, figures_of, shown
from odvff.report.figures import Figure
from odvff.report.numbers import count, label, number, percent, prose
from odvff.report.palette import DARK_OF, as_css
from odvff.report.quality_figures import quality_figures, training_figures
from odvff.support.atomic import write_bytes

MOST_FIGURES, LEAST_FIGURES, SHOWN_CLASSES = 120, 6, 20
MOST_RANKED = 50
DOMINANT = 0.9
WEAK = 0.0005  # shares that are 0.0 % when rounded
SCROLLS = 420  # figures that are higher scroll within their frame


def write_report(
    path: str | os.PathLike[str], model: Model, evaluation: Evaluation | None = None, *, name: str = "model"
) -> None:
    """Write the report of a model to an HTML file, whole or not at all."""
    write_bytes(path, render(model, evaluation, name=name).encode("utf-8", "replace"))


def render(model: Model, evaluation: Evaluation | None = None, *, name: str = "model") -> str:
    """The report of a model as HTML; with an evaluation on labelled rows it says how good the model is."""
    if evaluation is not None and evaluation.task != model.task.name:
        raise InputError(
            f"the evaluation is one of {evaluation.task}, which {model.made_by} does not do; evaluate this model."
        )
    held_out = evaluation is not None and evaluation == model.evaluation
    page = _Page()
    sections = [
        ("summary", "Summary", _summary(model, evaluation)),
        ("numbers", "How good it is", _numbers(evaluation, model, held_out)),
        ("care", "What to be careful about", _warnings(model, evaluation)),
        ("effects", "Effects", _effects(page, model)),
        ("quality", "Uncertainty and errors", _quality(page, evaluation)),
        ("training", "Training", _training(page, model)),
        ("settings", "What was learned", _learned(model)),
        ("making", "How it was made", _making(model)),
        ("reading", "How to read this", _resource("glossary.html")),
    ]
    sections = [section for section in sections if section[2]]
    script, plotly = _script(_resource("script.js")), _script(_plotly())
    return Template(_resource("template.html")).substitute(
        policy=_policy(script, plotly),
        title=escape(name),
        style=as_css() + _resource("style.css"),
        contents="".join(f'<li><a href="#{key}">{heading}</a></li>' for key, heading, _ in sections),
        sections="".join(
            f'<section id="{key}" aria-labelledby="{key}-heading"><h2 id="{key}-heading">{heading}</h2>{body}</section>'
            for key, heading, body in sections
        ),
        estimator=escape(model.made_by),
        version=escape(odvff.__version__),
        data=_json({"dark": DARK_OF, "figures": page.figures}),
        plotly=plotly,
        script=script,
    )


@dataclass
class _Page:
    """Figures so far: where they stand in the page is HTML, what they show is JSON."""

    figures: dict[str, Any] = field(default_factory=dict)

    def figure(self, figure: Figure, note: str = "", level: int = 3) -> str:
        """The frame of a figure: title, picture, words, and its numbers as a table."""
        key = f"figure-{len(self.figures) + 1}"
        self.figures[key] = {"data": figure.data, "layout": figure.layout, "views": list(figure.views)}
        aside = f'<span class="note">{escape(note)}</span>' if note else ""
        title, scrolls = escape(label(figure.title)), figure.height > SCROLLS and not figure.wide
        frame = f'role="img" aria-label="{escape(label(figure.title))}: {escape(figure.summary)}"'
        plot = f'<div class="plot" id="{key}" {frame} style="height:{figure.height}px"></div>'
        if scrolls:
            plot = f'<div class="scroll" tabindex="0" role="region" aria-label="{title}, scrolls">{plot}</div>'
        return (
            f'<figure class="card{" wide" * figure.wide}" role="group" aria-labelledby="{key}-title">'
            f'<div class="card-head"><h{level} id="{key}-title">{title}</h{level}>'
            f"{aside}</div>{_switch(key, figure)}{plot}"
            f"<figcaption>{prose(figure.summary)}</figcaption>"
            f"<details><summary>Numbers<span class='unseen'> of {title}</span></summary>"
            f"{_table(figure.head, figure.rows, f'Numbers of {figure.title}')}</details></figure>"
        )


def _switch(key: str, figure: Figure) -> str:
    """Radio buttons for the views of a figure."""
    if not figure.views:
        return ""
    names = {"mean": "Mean", "std": "Standard deviation"}
    options = "".join(
        f'<label><input type="radio" name="{key}-view" data-view="{i}" data-figure="{key}"{" checked" * (i == 0)}> '
        f"{escape(names.get(view, view))}</label>"
        for i, view in enumerate(figure.views)
    )
    return f'<fieldset class="switch"><legend class="unseen">Show</legend>{options}</fieldset>'


# sections


def _summary(model: Model, evaluation: Evaluation | None) -> str:
    return "".join(f'<p class="lead">{prose(text)}</p>' for text in words.summary(model, evaluation))


def _numbers(evaluation: Evaluation | None, model: Model, held_out: bool) -> str:
    if evaluation is None:
        return ""
    tiles = "".join(
        f"<div><dt>{prose(name)}</dt><dd class='value'>{escape(value)}</dd><dd class='why'>{prose(why)}</dd></div>"
        for name, value, why in words.headline(evaluation, label(model.target, 40))
    )
    caution = "which the model has not seen." if held_out else "If it learned from these, it looks better than it is."
    rows = count(evaluation.n_rows, "labelled row")
    return f'<p>From {rows}{"," if held_out else "."} {caution}</p><dl class="tiles">{tiles}</dl>'


def _warnings(model: Model, evaluation: Evaluation | None) -> str:
    found = words.warnings(model, evaluation)
    if not found:
        return "<p>Nothing stands out.</p>"
    return '<ul class="warnings">' + "".join(f"<li>{prose(text)}</li>" for text in found) + "</ul>"


def _effects(page: _Page, model: Model) -> str:
    outputs, several = model.outputs[:SHOWN_CLASSES], len(model.outputs) > 1
    most = max(LEAST_FIGURES, MOST_FIGURES // len(outputs))
    what, intro = _what(model)
    parts = [f"<p>{prose(intro)}</p>", '<div class="controls">']
    if several:
        options = "".join(
            f'<option value="{i}">{escape(label(output.label))}</option>' for i, output in enumerate(outputs)
        )
        parts.append(f'<label for="class">Class <select id="class">{options}</select></label>')
    if len(model.parts()) > 1:
        # beside one that dwarfs them, all other effects would look like nothing
        own = " checked" * any(row["share"] > DOMINANT for row in model.rows_of_summary())
        parts.append(f'<label><input type="checkbox" id="own-scale"{own}> Each effect on a scale of its own</label>')
    parts.append("</div>")
    if len(outputs) < len(model.outputs):
        parts.append(f"<p>Effects of the first {len(outputs)} of {len(model.outputs)} classes are shown.</p>")
    for i, output in enumerate(outputs):
        body = _effects_of(page, model, i, most, what)
        if several:
            name, hidden = escape(f"Effects on {label(output.label)}"), " hidden" * (i > 0)
            body = f'<div class="class" data-class="{i}" role="group" aria-label="{name}"{hidden}>{body}</div>'
        parts.append(body)
    return "".join(parts)


def _what(model: Model) -> tuple[str, str]:
    """What effects are on: for axes, and as an introduction."""
    centred = "Effects are centred: zero is the average over the rows that the model learned from. The band holds the "
    centred += "effect with a probability of 95 %."
    if any(part.shared for i in range(len(model.outputs)) for _, _, part in model.parts(i)):
        centred += " A joint effect of two columns is what both add together: it averages to zero over either of them."
    classes = model.task.classes
    if classes is not None:
        whose = "a class: the higher, the more probable it is"
        if len(classes) == 2:
            whose = (
                f"{label(classes[1], 60)}: the higher, the more probable it is, and the less {label(classes[0], 60)}"
            )
        return "effect on the score", (f"What each column adds to the score of {whose}. {centred}")
    what, adds = model.outputs[0].predictive.likelihood.effects_in_words(label(model.target, 40))
    return what, f"{adds} {centred}"


def _effects_of(page: _Page, model: Model, output: int, most: int, what: str) -> str:
    terms = shown(model, output)
    figures = figures_of(terms, what)
    anchors: dict[str, str] = {}
    cards: list[str] = []
    weak: list[str] = []
    for term, figure in figures[:most]:
        key = f"figure-{len(page.figures) + 1}"
        if term is None:
            anchors |= {t.name: key for t in terms if t.effect is not None and t.effect.kind == "missing"}
        else:
            anchors[term.name] = key
        share = term.share if term else sum(t.share for t in terms if t.effect and t.effect.kind == "missing")
        (weak if cards and share < WEAK else cards).append(page.figure(figure, f"{percent(share)} of variance"))
    text = _ranking(terms, anchors)
    joint = [t for t in terms if t.effect is None]
    text += "".join(
        f"<p>The effect of {escape(label(t.name))} depends on {len(t.columns)} columns at once, so there is no "
        "picture of it; ask the model for it at rows of yours.</p>"
        for t in joint
    )
    if len(figures) > most:
        text += f"<p>The {most} strongest of {len(figures)} effects are drawn.</p>"
    text += f'<div class="grid">{"".join(cards)}</div>'
    if weak:
        some = f"{count(len(weak), 'picture')} of effects that add next to nothing"
        text += f'<details class="weak"><summary>{some}</summary><div class="grid">{"".join(weak)}</div></details>'
    return text


def _ranking(terms: list[Shown], anchors: dict[str, str]) -> str:
    """Terms by their share of the variance, with bars."""
    rows, (low, high) = [], common_range(terms)
    for term in terms[:MOST_RANKED]:
        name = escape(label(term.name))
        link = f'<a href="#{anchors[term.name]}-title">{name}</a>' if term.name in anchors else name
        reach = "–"
        if term.effect is not None:
            ends = (float(end) for end in (term.effect.mean.min(), term.effect.mean.max()))
            reach = " to ".join(dict.fromkeys(beside(end, high - low) for end in ends))
        bar = f'<span class="bar" style="width:{100 * term.share:.2f}%"></span>'
        rows.append(
            f'<tr><th scope="row">{link}</th><td class="bars">{bar}</td><td class="number">{percent(term.share)}</td>'
            f'<td class="number reach">{reach}</td></tr>'
        )
    left = len(terms) - MOST_RANKED
    more = f"<p>{left} weaker effects are left out of this table.</p>" if left > 0 else ""
    head = (
        '<th scope="col">effect of</th><th scope="col" colspan="2">share of variance</th>'
        '<th scope="col" class="reach">from … to</th>'
    )
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return _scrolling(f'<table class="ranking">{body}</table>', "Effects by their share of the variance") + more


def _quality(page: _Page, evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return ""
    figures = quality_figures(evaluation)
    more = ""
    if evaluation.task == "classification" and len(evaluation.labels) > 2:
        left = len(evaluation.labels) - len(evaluation.reliability)
        more = f"<p>Reliability is shown for the {len(evaluation.reliability)} commonest classes.</p>" if left else ""
    return f'{more}<div class="grid">{"".join(page.figure(figure) for figure in figures)}</div>'


def _training(page: _Page, model: Model) -> str:
    figures = training_figures(model)
    ended = "; ".join(dict.fromkeys(o.message for o in model.outputs))
    text = f"<p>How it ended: {escape(ended)}.</p>"
    if not figures:
        return text + "<p>There is no history of it.</p>"
    return text + f'<div class="grid">{"".join(page.figure(figure) for figure in figures)}</div>'


def _learned(model: Model) -> str:
    """Hyper-parameters in the user's units."""
    text = (
        "<p>Lengthscales are in units of their columns: how far one must go for the effect to change by much. The "
        "prior standard deviation says how strong an effect may be.</p>"
    )
    for i, output in enumerate(model.outputs):
        rows = [_learned_row(row) for row in sorted(model.rows_of_summary(i), key=lambda row: -row["share"])]
        name = "Terms" if output.label is None or len(model.outputs) == 1 else f"Terms of class {label(output.label)}"
        table = _table(COLUMNS, rows, name)
        several = len(model.outputs) > 1
        text += f"<details{' open' * (i == 0)}><summary>{escape(name)}</summary>{table}</details>" if several else table
    summary = summarise(model)
    facts: dict[str, str] = {
        name: summary.facts[name] for name in ("likelihood", "intercept", "evidence") if name in summary.facts
    }
    return text + _facts(facts)


def _learned_row(row: dict[str, Any]) -> tuple[str, ...]:
    lengthscales = ", ".join(number(value) for value in row["lengthscales"].values()) or "–"
    return row["term"], row["features"], lengthscales, number(row["std"]), percent(row["share"])


def _making(model: Model) -> str:
    summary = summarise(model)
    facts = {
        "estimator": model.made_by,
        **{name: summary.facts[name] for name in ("method", "structure", "rows", "features", "points")},
        "columns": f"{len(model.schema.columns):,}",
        "versions of packages now": ", ".join(f"{name} {which}" for name, which in versions().items()),
    }
    report = dict.fromkeys(line for output in model.outputs for line in output.report)
    steps = "".join(f"<li>{escape(line)}</li>" for line in report)
    parameters = [(name, repr(value)) for name, value in model.asked.items()]
    return (
        _facts(facts)
        + (f"<h3>What was decided on the way</h3><ul>{steps}</ul>" if steps else "")
        + f"<details><summary>All parameters</summary>{_table(('parameter', 'value'), parameters, 'All')}</details>"
    )


# pieces


def _facts(facts: dict[str, str]) -> str:
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts.items())
    return f'<dl class="facts">{rows}</dl>'


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], name: str) -> str:
    cells = "".join(f'<th scope="col">{escape(label(cell))}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{escape(label(row[0]))}</th>'
        + "".join(f"<td>{escape(label(cell))}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return _scrolling(f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>", name)


def _scrolling(table: str, name: str) -> str:
    """A table that scrolls in its own frame where the screen is narrow, by keyboard too."""
    return f'<div class="table" tabindex="0" role="region" aria-label="{escape(label(name))}">{table}</div>'


def _json(value: Any) -> str:
    """JSON that can stand in a script element: no character of it means anything to HTML."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(*scripts: str) -> str:
    """Nothing but what is in the page; no script but these."""
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _script(source: str) -> str:
    """As the browser will see it, so that its hash is right: one kind of line ends, and no end of the element."""
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError("a report needs plotly; install it with `pip install plotly`.") from error
    return str(get_plotlyjs())


def _resource(name: str) -> str:
    return files("odvff.report").joinpath(name).read_text(encoding="utf-8")
