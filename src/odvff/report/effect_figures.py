"""What each term adds to the prediction, as figures: curves, points of levels, surfaces."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odvff.model.model import Effect, Model
from odvff.report.figures import Figure, axis, band, bars, dots, font, layout, line, precise, spread, straight
from odvff.report.numbers import along, count, in_plot, label, number, percent
from odvff.report.palette import DIVERGING, LIGHT, SEQUENTIAL
from odvff.tables import Category, Numeric

TABLE_ROWS = 11
SORTED_LEVELS, DRAWN_LEVELS = 12, 400
ROW_HEIGHT, LEAST_HEIGHT = 22, 280
HEAD = ("effect", "lower", "upper")
# of the bars beside an effect that show where rows are
QUIET = {"showticklabels": False, "ticks": "", "showgrid": False, "rangemode": "tozero"}


@dataclass(frozen=True)
class Shown:
    """A term: its share of the variance, its effect (None where it has no picture), from where to where this goes, and
    the columns it depends on."""

    name: str
    share: float
    effect: Effect | None
    reach: str
    columns: tuple[Any, ...]


@dataclass(frozen=True)
class Scale:
    """What effects are on, and one range for all curves and points, so that strong effects look strong."""

    what: str
    common: tuple[float, float]

    def of(self, effect: Effect, name: str, **more: Any) -> dict[str, Any]:
        """The axis of an effect in a layout; a reader can choose a range of its own for it."""
        common, own = list(self.common), list(_range([effect]))
        return {
            name: axis(range=common, title=self.what, **more),
            "meta": {"axis": name, "common": common, "own": own},
        }


def shown(model: Model, output: int) -> list[Shown]:
    """All terms, the strongest first."""
    effects = model.effects(None, output, [name for _, name, part in model.parts(output) if model.has_picture(part)])
    low, high = _range(effects.values())

    def term(name: str, share: float, columns: tuple[Any, ...]) -> Shown:
        if (effect := effects.get(name)) is None:
            return Shown(name, share, None, "–", columns)
        # 0 if it is nothing beside the reach of all effects
        ends = (0 if abs(end) < 1e-4 * (high - low) else end for end in (effect.mean.min(), effect.mean.max()))
        return Shown(name, share, effect, " to ".join(dict.fromkeys(map(number, ends))), columns)

    found = zip(model.rows_of_summary(output), model.parts(output), strict=True)
    terms = (term(name, row["share"], model.columns_of(part)) for row, (_, name, part) in found)
    return sorted(terms, key=lambda one: -one.share)


def _range(effects: Iterable[Effect]) -> tuple[float, float]:
    """From the lowest to the highest of curves and points and zero, with a margin."""
    ends = [0.0, *(float(end) for e in effects if e.kind != "surface" for end in (e.lower.min(), e.upper.max()))]
    margin = 0.06 * (max(ends) - min(ends)) or 1.0
    return float(f"{min(ends) - margin:.6g}"), float(f"{max(ends) + margin:.6g}")


def figures_of(terms: list[Shown], what: str) -> list[Figure]:
    """Of all terms that have an effect, in order; those of missing values share one, in the place of the strongest."""
    with_effect = [(term, term.effect) for term in terms if term.effect is not None]
    scale = Scale(what, _range(effect for _, effect in with_effect))
    missing = [(term, effect) for term, effect in with_effect if effect.kind == "missing"]
    drawn = {"numeric": _curve, "category": _levels, "surface": _surface}
    found = []
    for term, effect in with_effect:
        if effect.kind != "missing":
            figure = drawn[effect.kind](term, effect, scale)
            found.append(replace(figure, terms=(term.name,), share=term.share))
        elif term is missing[0][0]:
            names, share = tuple(one.name for one, _ in missing), sum(one.share for one, _ in missing)
            found.append(replace(_missing(missing, scale), terms=names, share=share))
    return found


def _curve(term: Shown, effect: Effect, scale: Scale) -> Figure:
    column: Numeric = term.columns[0]
    x, ends = precise(effect.values), [float(effect.values[0]), float(effect.values[-1])]
    edges = np.linspace(column.low, column.high, len(column.counts) + 1)
    middles, beside = precise((edges[:-1] + edges[1:]) / 2), {"width": float(edges[1] - edges[0]) * 0.92, "yaxis": "y2"}
    data = [
        *band(x, effect.lower, effect.upper),
        line(x, effect.mean, **_hover(effect, "at %{x}: %{y:.3~g}")),
        bars(middles, _shares(column), "%{y:.1%} of the rows about %{x}", name="rows", **beside),
    ]
    made = layout(
        LEAST_HEIGHT,
        xaxis=axis(range=ends, anchor="y2", title=in_plot(term.name), showgrid=False),
        yaxis2=axis(domain=[0.0, 0.18], **QUIET),
        shapes=[straight(0, 0, 1, 0, xref="x domain")],
        **scale.of(effect, "yaxis", domain=[0.24, 1.0], nticks=6),
    )
    at = spread(len(x), TABLE_ROWS)
    rows = _table([along(effect.values[at])], _picked(effect, at))
    return Figure(term.name, _curve_in_words(effect), data, made, ("value", *HEAD), rows)


def _curve_in_words(effect: Effect) -> str:
    mean = effect.mean
    if _holds_zero(effect):
        return "The band holds zero everywhere: there may be no effect at all."
    low, high = int(np.argmin(mean)), int(np.argmax(mean))
    names = along(effect.values[[low, high]]) if low != high else [number(v) for v in effect.values[[low, high]]]
    (x_low, x_high), y_low, y_high = names, number(mean[low]), number(mean[high])
    slopes = np.sign(np.diff(mean))
    if low < high and (slopes >= 0).mean() > 0.98:
        return f"Rises from {y_low} at {x_low} to {y_high} at {x_high}."
    if high < low and (slopes <= 0).mean() > 0.98:
        return f"Falls from {y_high} at {x_high} to {y_low} at {x_low}."
    return f"Lowest about {x_low} ({y_low}), highest about {x_high} ({y_high})."


def _levels(term: Shown, effect: Effect, scale: Scale) -> Figure:
    column: Category = term.columns[0]
    n = len(column.levels)
    order = np.argsort(-effect.mean, kind="stable") if n > SORTED_LEVELS else np.arange(n)
    kept = np.argsort(-np.abs(effect.mean), kind="stable")[:DRAWN_LEVELS]
    order = order[np.isin(order, kept)]
    names = [label(column.levels[i]) for i in order]
    shares = _shares(column)[order]
    drawn = _picked(effect, order)
    summary = f"Highest for {names[int(np.argmax(drawn.mean))]}, lowest for {names[int(np.argmin(drawn.mean))]}."
    if _holds_zero(effect):
        summary = "Every band holds zero: there may be no effect at all."
    if n > SORTED_LEVELS:
        which = f"{n} levels" if n <= DRAWN_LEVELS else f"The {DRAWN_LEVELS} strongest of {n:,} levels"
        summary += f" {which}, from the highest to the lowest."
    rows = _table([names, map(percent, shares)], drawn)
    return Figure(term.name, summary, *_points(names, drawn, scale, shares), ("level", "rows", *HEAD), rows)


def _missing(terms: list[tuple[Shown, Effect]], scale: Scale) -> Figure:
    names, columns = [term.columns[0].name for term, _ in terms], count(len(terms), "column")
    mean, std = (np.concatenate(part) for part in zip(*((e.mean, e.std) for _, e in terms), strict=True))
    together = Effect("Missing values", "missing", [], mean, std)
    summary = f"What is added where a value is missing, in {columns}, on top of the effect at the median."
    made = _points(names, together, scale)
    return Figure(together.name, summary, *made, ("column", *HEAD), _table([names], together))


def _points(names: list[str], effect: Effect, scale: Scale, shares: Any = None) -> tuple[list[Any], dict[str, Any]]:
    """Points with error bars, one below the other; on the right how many rows there are of each."""
    n, at = len(names), list(range(len(names)))
    height = max(LEAST_HEIGHT, 70 + ROW_HEIGHT * n)
    reach = {"type": "data", "array": effect.upper - effect.mean, "thickness": 1.5, "width": 3}
    drawn = {"error_x": reach | {"color": LIGHT["accent"]}, "marker": {"color": LIGHT["accent"], "size": 6}}
    told = _hover(effect, "%{text}: %{x:.3~g}") | {"text": [in_plot(name, 80) for name in names]}
    data = [dots(effect.mean, at, **drawn, **told)]
    # a long list scrolls, so its scale stands on top
    side = "top" if height > LEAST_HEIGHT else "bottom"
    ticks = {"tickvals": at, "ticktext": [in_plot(name, 18) for name in names], "tickfont": font("text")}
    made = layout(
        height,
        yaxis=axis(range=[n - 0.4, -0.6], showgrid=False, **ticks),
        shapes=[straight(0, 0, 0, 1, yref="y domain")],
        **scale.of(effect, "xaxis", domain=[0.0, 1.0 if shares is None else 0.82], nticks=5, side=side),
    )
    if shares is not None:
        beside = {"orientation": "h", "xaxis": "x2", "width": min(0.6, 0.09 * n)}
        data.append(bars(shares, at, "%{x:.1%} of the rows", name="rows", **beside))
        made["xaxis2"] = axis(domain=[0.86, 1.0], **QUIET)
    return data, made


def _surface(term: Shown, effect: Effect, scale: Scale) -> Figure:
    n = round(np.sqrt(len(effect.mean)))
    x, y = effect.values.reshape(n, n, 2)[:, 0, 0], effect.values.reshape(n, n, 2)[0, :, 1]
    first, second = (in_plot(column.name) for column in term.columns)
    reach = float(np.abs(effect.mean).max()) or 1.0
    drawn = {
        "type": "contour",
        "x": precise(x),
        "y": precise(y),
        "contours": {"coloring": "heatmap"},
        "line": {"width": min(0.6, 0.09 * n), "color": LIGHT["zero"]},
        "colorbar": {"thickness": 12, "outlinewidth": 0, "tickfont": font("muted"), "nticks": 6},
    }

    def contour(z: Any, name: str, **more: Any) -> dict[str, Any]:
        hover = f"%{{x}}, %{{y}}: %{{z:.3~g}}<extra>{name}</extra>"
        return drawn | {"z": z.reshape(n, n).T, "hovertemplate": hover, "name": name} | more

    data = [
        contour(effect.mean, "mean", zmin=-reach, zmax=reach, colorscale=DIVERGING),
        contour(effect.std, "std", zmin=0.0, colorscale=SEQUENTIAL, visible=False),
    ]
    made = layout(
        440,
        xaxis=axis(title=first, showgrid=False, range=[float(x[0]), float(x[-1])]),
        yaxis=axis(title=second, showgrid=False, range=[float(y[0]), float(y[-1])]),
    )
    names = [label(column.name, 60) for column in term.columns]

    def place(i: int) -> str:
        where = ", ".join(f"{name} {number(v)}" for name, v in zip(names, effect.values[i], strict=True))
        return f"{where} ({number(effect.mean[i])})"

    summary = f"One effect of both columns together on {scale.what.removeprefix('effect on ')}. Lowest about "
    summary += f"{place(int(np.argmin(effect.mean)))}, highest about {place(int(np.argmax(effect.mean)))}."
    at = spread(n, 6)
    corners = zip(*((a, b) for a in along(x[at]) for b in along(y[at])), strict=True)
    rows = _table(corners, _picked(effect, np.add.outer(n * at, at).ravel()))
    views = ("Mean", "Standard deviation")
    return Figure(term.name, summary, data, made, (*names, *HEAD), rows, views, wide=True)


def _picked(effect: Effect, at: Any) -> Effect:
    """Some of an effect's points."""
    return replace(effect, mean=effect.mean[at], std=effect.std[at])


def _shares(column: Numeric | Category) -> Any:
    """Of rows in each bin or level."""
    return np.asarray(column.counts) / max(sum(column.counts), 1e-300)


def _holds_zero(effect: Effect) -> bool:
    return bool(((effect.lower <= 0) & (effect.upper >= 0)).all())


def _hover(effect: Effect, text: str) -> dict[str, Any]:
    """What is said of a point of the mean."""
    text += "<br>95 % band: %{customdata[0]:.3~g} to %{customdata[1]:.3~g}<extra></extra>"
    return {"name": "mean", "customdata": np.stack([effect.lower, effect.upper], axis=1), "hovertemplate": text}


def _table(heads: Iterable[Iterable[str]], effect: Effect) -> list[tuple[str, ...]]:
    """Columns of names, and the numbers beside them."""
    numbers = (map(number, values) for values in (effect.mean, effect.lower, effect.upper))
    return list(zip(*heads, *numbers, strict=True))
