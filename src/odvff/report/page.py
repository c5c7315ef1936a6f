"""The page: sections of words, tables and figures in one HTML file that needs no network.

Whatever comes from the user (names of columns, levels, classes) is escaped by the templates, in HTML and in the JSON
within it. The page also forbids itself by its Content-Security-Policy to load anything, or to run any script but its
own two, which are named there by their hashes.
"""

import base64
import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import odvff
from odvff.errors import InputError
from odvff.model.file import versions
from odvff.model.model import Model
from odvff.model.quality import Evaluation
from odvff.model.summary import COLUMNS, cells, summarise
from odvff.report import words
from odvff.report.effect_figures import figures_of, shown
from odvff.report.figures import Figure, plain
from odvff.report.numbers import count, label, number, percent, prose
from odvff.report.palette import DARK_OF, PAIRS
from odvff.report.quality_figures import quality_figures, training_figures
from odvff.support.storage import write_bytes

MOST_FIGURES, LEAST_FIGURES, SHOWN_CLASSES = 120, 6, 20
MOST_RANKED = 50
DOMINANT = 0.9
WEAK = 0.0005  # shares that are 0.0 % when rounded


def write_report(
    path: str | os.PathLike[str], model: Model, evaluation: Evaluation | None = None, *, name: str = "model"
) -> None:
    """Write the report of a model to an HTML file, whole or not at all."""
    write_bytes(path, render(model, evaluation, name=name).encode("utf-8", "replace"))


def render(model: Model, evaluation: Evaluation | None = None, *, name: str = "model") -> str:
    """The report of a model as HTML; with an evaluation on labelled rows it says how good the model is."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    if evaluation is not None and evaluation.task != model.task.name:
        raise InputError(
            f"the evaluation is one of {evaluation.task}, which {model.made_by} does not do; evaluate this model."
        )
    loader = PackageLoader("odvff", "report")
    pages = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    pages.filters |= {"label": label, "prose": prose, "sha256": _sha256}
    pages.policies["json.dumps_kwargs"] = {"default": plain, "allow_nan": False, "separators": (",", ":")}
    figures: list[Figure] = []

    def placed(found: Iterable[Figure]) -> list[Figure]:
        """Figures with their place in the page."""
        keyed = [replace(figure, key=f"figure-{i}") for i, figure in enumerate(found, len(figures) + 1)]
        figures.extend(keyed)
        return keyed

    return pages.get_template("sections.html").render(
        title=name,
        version=odvff.__version__,
        pairs=PAIRS,
        script=_script(loader.get_source(pages, "script.js")[0]),
        plotly=_script(_plotly()),
        model=model,
        evaluation=evaluation,
        count=count,
        percent=percent,
        summary=words.summary(model, evaluation),
        headline=words.headline(evaluation, label(model.target, 40)) if evaluation else [],
        warnings=list(words.warnings(model, evaluation)),
        **_effects(model, placed),
        quality=placed(quality_figures(evaluation)) if evaluation else [],
        training=placed(training_figures(model)),
        **_learned(model),
        data={
            "dark": DARK_OF,
            "figures": {f.key: {"data": f.data, "layout": f.layout, "views": f.views} for f in figures},
        },
    )


def _effects(model: Model, placed: Callable[[Iterable[Figure]], list[Figure]]) -> dict[str, Any]:
    """What the section of effects shows: of each output the terms, and their figures, those of weak ones apart."""
    what, about = words.about_effects(model)
    outputs = model.outputs[:SHOWN_CLASSES]
    most = max(LEAST_FIGURES, MOST_FIGURES // len(outputs))
    found = []
    for i, output in enumerate(outputs):
        terms = shown(model, i)
        drawn = figures_of(terms, what)
        figures = placed(drawn[:most])
        anchors = {name: figure.key for figure in figures for name in figure.terms}
        strong = [figure for i, figure in enumerate(figures) if i == 0 or figure.share >= WEAK]
        weak = [figure for figure in figures[1:] if figure.share < WEAK]
        shown_here = {"label": output.label, "terms": terms, "anchors": anchors, "n_figures": len(drawn)}
        found.append(shown_here | {"strong": strong, "weak": weak})
    return {
        "about_effects": about,
        "effects": found,
        "several_terms": len(model.parts()) > 1,
        # beside one that dwarfs them, all other effects would look like nothing
        "dominated": any(term.share > DOMINANT for term in found[0]["terms"]),
        "most_figures": most,
        "most_ranked": MOST_RANKED,
    }


def _learned(model: Model) -> dict[str, Any]:
    """Hyper-parameters in the user's units, and how the model was made."""
    tables = []
    for i, output in enumerate(model.outputs):
        heading = f"Terms of class {label(output.label)}" if len(model.outputs) > 1 else "Terms"
        rows = sorted(model.rows_of_summary(i), key=lambda row: -row["share"])
        tables.append((heading, [cells(row, number, percent) for row in rows]))
    facts = summarise(model).facts
    return {
        "columns": COLUMNS,
        "learned": tables,
        "learned_facts": {name: facts[name] for name in ("likelihood", "intercept", "evidence") if name in facts},
        "made": {
            "estimator": model.made_by,
            **{name: facts[name] for name in ("method", "structure", "rows", "features", "points")},
            "columns": f"{len(model.schema.columns):,}",
            "versions of packages now": ", ".join(f"{name} {which}" for name, which in versions().items()),
        },
        "steps": list(dict.fromkeys(line for output in model.outputs for line in output.report)),
        "parameters": [(name, repr(value)) for name, value in model.asked.items()],
    }


def _sha256(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _script(source: str) -> str:
    """As the browser will see it, so that its hash is right: one kind of line ends, and no end of the element."""
    return source.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]
    except ImportError as error:
        raise InputError("a report needs plotly; install it with `pip install plotly`.") from error
    return str(get_plotlyjs())
