"""What each term adds to the prediction, as figures: curves, points of levels, surfaces."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.model.model import Effect, Model
from odvff.report.figures import Figure, axis, band, layout, line, plain, precise, straight
from odvff.report.numbers import along, count, in_plot, label, number, percent
from odvff.report.palette import DIVERGING, LIGHT, SEQUENTIAL
from odvff.tables import Category, Numeric

TABLE_ROWS = 11
SORTED_LEVELS, DRAWN_LEVELS = 12, 400
ROW_HEIGHT = 22
BAND = "95 % band"


@dataclass(frozen=True)
class Shown:
    """A term: its share of the variance, its effect (None where it has no picture) and the columns it depends on."""

    name: str
    share: float
    effect: Effect | None
    columns: tuple[Any, ...]


def shown(model: Model, output: int) -> list[Shown]:
    """All terms, the strongest first; terms of more than two columns have no picture."""
    effects = model.effects(None, output)
    found = [
        Shown(row["term"], row["share"], effects.get(row["term"]), model.columns_of(part))
        for row, (_, _, part) in zip(model.rows_of_summary(output), model.parts(output), strict=True)
    ]
    return sorted(found, key=lambda one: -one.share)


def common_range(terms: list[Shown]) -> tuple[float, float]:
    """One scale for all curves and points, so that strong effects look strong."""
    flat = [t.effect for t in terms if t.effect is not None and t.effect.kind != "surface"]
    return _range([v for e in flat for v in (e.lower.min(), e.upper.max())])


def figures_of(terms: list[Shown], what: str) -> list[tuple[Shown | None, Figure]]:
    """Figures in the order of the terms; those of missing values share one, in the place of the strongest."""
    scale = common_range(terms)
    missing = [t for t in terms if t.effect is not None and t.effect.kind == "missing"]
    found: list[tuple[Shown | None, Figure]] = []
    for term in terms:
        if term.effect is None:
            continue
        if term.effect.kind == "numeric":
            found.append((term, _curve(term, term.effect, what, scale)))
        elif term.effect.kind == "category":
            found.append((term, _levels(term, term.effect, what, scale)))
        elif term.effect.kind == "surface":
            found.append((term, _surface(term, term.effect, what)))
        elif term is missing[0]:
            found.append((None, _missing(missing, what, scale)))
    return found


def _curve(term: Shown, effect: Effect, what: str, scale: tuple[float, float]) -> Figure:
    column: Numeric = term.columns[0]
    x, ends = precise(effect.values), [float(effect.values[0]), float(effect.values[-1])]
    edges = np.linspace(column.low, column.high, len(column.counts) + 1)
    shares = np.asarray(column.counts) / max(sum(column.counts), 1e-300)
    data = [
        *band(x, effect.lower, effect.upper),
        line(
            x,
            plain(effect.mean),
            name="mean",
            customdata=plain(np.stack([effect.lower, effect.upper], axis=1)),
            hovertemplate=f"at %{{x}}: %{{y:.3~g}}<br>{BAND}: %{{customdata[0]:.3~g}} to %{{customdata[1]:.3~g}}"
            "<extra></extra>",
        ),
        {
            "type": "bar",
            "name": "rows",
            "x": precise((edges[:-1] + edges[1:]) / 2),
            "y": plain(shares),
            "width": float(edges[1] - edges[0]) * 0.92,
            "yaxis": "y2",
            "marker": {"color": LIGHT["bars"], "line": {"width": 0}},
            "hovertemplate": "%{y:.1%} of the rows about %{x}<extra></extra>",
        },
    ]
    own = _range([effect.lower.min(), effect.upper.max()])
    made = layout(
        280,
        xaxis=axis(range=ends, anchor="y2", title=in_plot(term.name), showgrid=False),
        yaxis=axis(range=list(scale), domain=[0.24, 1.0], title=what, nticks=6),
        yaxis2=axis(domain=[0.0, 0.18], showticklabels=False, ticks="", showgrid=False, rangemode="tozero"),
        shapes=[straight(0, 0, 1, 0, xref="x domain")],
        meta={"axis": "yaxis", "common": list(scale), "own": list(own)},
    )
    at = np.unique(np.linspace(0, len(x) - 1, TABLE_ROWS).round().astype(int))
    rows = _table(along(effect.values[at]), effect, at)
    return Figure(term.name, _curve_in_words(effect), data, made, ("value", "effect", "lower", "upper"), rows)


def _curve_in_words(effect: Effect) -> str:
    mean = effect.mean
    low, high = int(np.argmin(mean)), int(np.argmax(mean))
    if bool(((effect.lower <= 0) & (effect.upper >= 0)).all()):
        return "The band holds zero everywhere: there may be no effect at all."
    names = along(effect.values[[low, high]]) if low != high else [number(v) for v in effect.values[[low, high]]]
    (x_low, x_high), y_low, y_high = names, number(mean[low]), number(mean[high])
    slopes = np.sign(np.diff(mean))
    if low < high and (slopes >= 0).mean() > 0.98:
        return f"Rises from {y_low} at {x_low} to {y_high} at {x_high}."
    if high < low and (slopes <= 0).mean() > 0.98:
        return f"Falls from {y_high} at {x_high} to {y_low} at {x_low}."
    return f"Lowest about {x_low} ({y_low}), highest about {x_high} ({y_high})."


def _levels(term: Shown, effect: Effect, what: str, scale: tuple[float, float]) -> Figure:
    column: Category = term.columns[0]
    n, total = len(column.levels), max(sum(column.counts), 1e-300)
    order = np.argsort(-effect.mean, kind="stable") if n > SORTED_LEVELS else np.arange(n)
    kept = set(np.argsort(-np.abs(effect.mean), kind="stable")[:DRAWN_LEVELS].tolist())
    order = np.array([i for i in order.tolist() if i in kept])
    names = [label(column.levels[i]) for i in order]
    shares = np.asarray(column.counts)[order] / total
    mean = effect.mean[order]
    summary = f"Highest for {names[int(np.argmax(mean))]}, lowest for {names[int(np.argmin(mean))]}."
    if bool(((effect.lower <= 0) & (effect.upper >= 0)).all()):
        summary = "Every band holds zero: there may be no effect at all."
    if n > SORTED_LEVELS:
        shown_levels = f"{n} levels" if n <= DRAWN_LEVELS else f"The {DRAWN_LEVELS} strongest of {n:,} levels"
        summary += f" {shown_levels}, from the highest to the lowest."
    data, made = _points(names, effect, order, shares, what, scale)
    rows = [
        (name, percent(share), *cells[1:])
        for name, share, cells in zip(names, shares, _table(names, effect, order), strict=True)
    ]
    head = ("level", "rows", "effect", "lower", "upper")
    return Figure(term.name, summary, data, made, head, rows)


def _missing(terms: list[Shown], what: str, scale: tuple[float, float]) -> Figure:
    effects = [t.effect for t in terms if t.effect is not None]
    mean, std = (np.concatenate(part) for part in zip(*((e.mean, e.std) for e in effects), strict=True))
    together = Effect("Missing values", "missing", [], mean, std)
    names = [t.columns[0].name for t in terms]
    order = np.arange(len(names))
    data, made = _points(names, together, order, None, what, scale)
    summary = (
        f"What is added where a value is missing, in {count(len(names), 'column')}, on top of the effect at the median."
    )
    rows = _table(names, together, order)
    head = ("column", "effect", "lower", "upper")
    return Figure("Missing values", summary, data, made, head, rows)


def _points(
    names: list[str], effect: Effect, order: Any, shares: Any, what: str, scale: tuple[float, float]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Points with error bars, one below the other; on the right how many rows there are of each."""
    n = len(names)
    height = max(280, 70 + ROW_HEIGHT * n)
    mean, at = effect.mean[order], list(range(n))
    own = _range([effect.lower[order].min(), effect.upper[order].max()])
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "mean",
            "x": plain(mean),
            "y": at,
            "text": [in_plot(name, 80) for name in names],
            "customdata": plain(np.stack([effect.lower[order], effect.upper[order]], axis=1)),
            "error_x": {
                "type": "data",
                "array": plain(effect.upper[order] - mean),
                "color": LIGHT["accent"],
                "thickness": 1.5,
                "width": 3,
            },
            "marker": {"color": LIGHT["accent"], "size": 6},
            "hovertemplate": f"%{{text}}: %{{x:.3~g}}<br>{BAND}: %{{customdata[0]:.3~g}} to %{{customdata[1]:.3~g}}"
            "<extra></extra>",
        }
    ]
    made = layout(
        height,
        # a long list scrolls, so its scale stands on top
        xaxis=axis(
            range=list(scale),
            domain=[0.0, 1.0 if shares is None else 0.82],
            title=what,
            nticks=5,
            side="top" if height > 280 else "bottom",
        ),
        yaxis=axis(
            tickvals=at,
            ticktext=[in_plot(name, 18) for name in names],
            range=[n - 0.4, -0.6],
            showgrid=False,
            tickfont={"color": LIGHT["text"], "size": 11},
        ),
        shapes=[straight(0, 0, 0, 1, yref="y domain")],
        meta={"axis": "xaxis", "common": list(scale), "own": list(own)},
    )
    if shares is not None:
        data.append(
            {
                "type": "bar",
                "name": "rows",
                "orientation": "h",
                "x": plain(shares),
                "y": at,
                "xaxis": "x2",
                "width": min(0.6, 0.09 * n),
                "marker": {"color": LIGHT["bars"], "line": {"width": 0}},
                "hovertemplate": "%{x:.1%} of the rows<extra></extra>",
            }
        )
        made["xaxis2"] = axis(domain=[0.86, 1.0], showticklabels=False, ticks="", showgrid=False, rangemode="tozero")
    return data, made


def _surface(term: Shown, effect: Effect, what: str) -> Figure:
    n = round(np.sqrt(len(effect.mean)))
    x, y = effect.values.reshape(n, n, 2)[:, 0, 0], effect.values.reshape(n, n, 2)[0, :, 1]
    first, second = (in_plot(column.name) for column in term.columns)
    reach = float(np.abs(effect.mean).max()) or 1.0

    def contour(z: Any, name: str, more: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "contour",
            "name": name,
            "x": precise(x),
            "y": precise(y),
            "z": plain(z.reshape(n, n).T),
            "contours": {"coloring": "heatmap"},
            "line": {"width": min(0.6, 0.09 * n), "color": LIGHT["zero"]},
            "colorbar": {
                "thickness": 12,
                "outlinewidth": 0,
                "tickfont": {"color": LIGHT["muted"], "size": 11},
                "nticks": 6,
            },
            "hovertemplate": f"%{{x}}, %{{y}}: %{{z:.3~g}}<extra>{name}</extra>",
        } | more

    data = [
        contour(effect.mean, "mean", {"zmin": -reach, "zmax": reach, "colorscale": DIVERGING}),
        contour(effect.std, "std", {"zmin": 0.0, "colorscale": SEQUENTIAL, "visible": False}),
    ]
    made = layout(
        440,
        xaxis=axis(title=first, showgrid=False, range=[float(x[0]), float(x[-1])]),
        yaxis=axis(title=second, showgrid=False, range=[float(y[0]), float(y[-1])]),
    )
    low, high = int(np.argmin(effect.mean)), int(np.argmax(effect.mean))
    names = [label(column.name, 60) for column in term.columns]

    def place(i: int) -> str:
        return ", ".join(f"{name} {number(v)}" for name, v in zip(names, effect.values[i], strict=True))

    summary = (
        f"One effect of both columns together on {what.removeprefix('effect on ')}. Lowest about {place(low)} "
        f"({number(effect.mean[low])}), highest about {place(high)} ({number(effect.mean[high])})."
    )
    at = np.linspace(0, n - 1, 6).round().astype(int)
    cells = [int(i * n + j) for i in at for j in at]
    firsts, seconds = along(x[at]), along(y[at])
    rows = [
        (firsts[k // 6], seconds[k % 6], number(effect.mean[c]), number(effect.lower[c]), number(effect.upper[c]))
        for k, c in enumerate(cells)
    ]
    head = (names[0], names[1], "effect", "lower", "upper")
    return Figure(term.name, summary, data, made, head, rows, ("mean", "std"), wide=True)


def _table(names: list[str], effect: Effect, at: Any) -> list[tuple[str, ...]]:
    numbers = [[number(v[i]) for v in (effect.mean, effect.lower, effect.upper)] for i in at]
    return [(name, *cells) for name, cells in zip(names, numbers, strict=True)]


def beside(value: float, reach: float) -> str:
    """A number, or 0 if it is nothing beside the reach of all effects."""
    return "0" if abs(value) < 1e-4 * reach else number(value)


def _range(values: list[Any]) -> tuple[float, float]:
    """From the lowest to the highest and zero, with a margin."""
    low, high = min(0.0, *map(float, values), 0.0), max(0.0, *map(float, values), 0.0)
    margin = 0.06 * (high - low) or 1.0
    return float(f"{low - margin:.6g}"), float(f"{high + margin:.6g}")
