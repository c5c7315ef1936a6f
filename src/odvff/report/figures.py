"""A figure for the page: a picture in Plotly's JSON schema, and the same in words and as a table.

Figures are dictionaries of plain values and arrays, as importing Plotly's classes takes longer than all the rest.
Colours are the light ones of `palette`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from odvff.report.palette import LIGHT

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
CLEAR = "rgba(0, 0, 0, 0)"
MOST_HEIGHT = 420


@dataclass(frozen=True)
class Figure:
    """A picture with its title, a sentence or two that say what it shows, and its numbers as a table."""

    title: str
    summary: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    views: tuple[str, ...] = ()  # names of traces of which one is shown at a time
    wide: bool = False  # takes the whole width of the page
    key: str = ""  # in the page
    terms: tuple[str, ...] = ()  # of which it shows the effect
    share: float = 0.0  # of the variance, that these make up

    @property
    def scrolls(self) -> bool:
        """Within its frame."""
        return bool(self.layout["height"] > MOST_HEIGHT) and not self.wide


def plain(values: np.ndarray, digits: int = 6) -> list[Any]:
    """An array for JSON: six digits, which no eye tells from more, and None for what is no number."""
    if values.ndim > 1:
        return [plain(row, digits) for row in values]
    return [float(f"{v:.{digits}g}") if np.isfinite(v) else None for v in values.tolist()]


def precise(values: Any) -> list[Any]:
    """Numbers along an axis, whose steps may be small beside themselves (years, say)."""
    return plain(np.asarray(values, dtype=np.float64), 12)


def spread(n: int, most: int) -> Any:
    """Positions of so many of n, spread evenly from the first to the last."""
    return np.unique(np.linspace(0, n - 1, most).round().astype(int))


def font(name: str, size: int = 11) -> dict[str, Any]:
    return {"color": LIGHT[name], "size": size}


def axis(**more: Any) -> dict[str, Any]:
    """An axis with quiet lines."""
    colours = {"gridcolor": LIGHT["grid"], "linecolor": LIGHT["line"], "tickcolor": LIGHT["line"]}
    given = {"tickfont": font("muted"), "zeroline": False, "automargin": True, "fixedrange": True}
    if "title" in more:
        more["title"] = {"text": more["title"], "font": font("muted", 12), "standoff": 6}
    return colours | given | more


def layout(height: int, **more: Any) -> dict[str, Any]:
    """A layout without frames, on the colour of the page."""
    text = {"family": FONT, **font("text", 12)}
    given = {
        "height": height,
        "margin": {"l": 8, "r": 10, "t": 10, "b": 8, "pad": 2},
        "font": text,
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "showlegend": False,
        "hoverlabel": {"bgcolor": LIGHT["surface"], "bordercolor": LIGHT["line"], "font": text, "align": "left"},
        "bargap": 0.05,
        "dragmode": False,
    }
    return given | more


def line(x: Any, y: Any, **more: Any) -> dict[str, Any]:
    """A line in the colour of the model."""
    given = {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": {"color": LIGHT["accent"], "width": 2}}
    return given | more


def dots(x: Any, y: Any, **more: Any) -> dict[str, Any]:
    """Points."""
    return {"type": "scatter", "mode": "markers", "x": x, "y": y} | more


def bars(x: Any, y: Any, hover: str, **more: Any) -> dict[str, Any]:
    """Bars, in the colour of rows."""
    marker = {"color": LIGHT["bars"], "line": {"width": 0}}
    return {"type": "bar", "x": x, "y": y, "marker": marker, "hovertemplate": f"{hover}<extra></extra>"} | more


def band(x: Any, lower: Any, upper: Any, color: str = "band") -> list[dict[str, Any]]:
    """A filled band, which has no hover of its own."""
    edge: dict[str, Any] = {"line": {"width": 0, "color": LIGHT[color]}, "hoverinfo": "skip"}
    filled = {"fill": "tonexty", "fillcolor": LIGHT[color]}
    return [line(x, lower, **edge), line(x, upper, **edge, **filled)]


def straight(x0: float, y0: float, x1: float, y1: float, **more: Any) -> dict[str, Any]:
    """A thin line to compare with."""
    stroke = {"color": LIGHT["zero"], "width": 1}
    return {"type": "line", "x0": x0, "y0": y0, "x1": x1, "y1": y1, "line": stroke, "layer": "below"} | more
