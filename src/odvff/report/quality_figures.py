"""How good predictions and their uncertainty were on labelled rows, and how the fit went, as figures."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import stats

from odvff.model.model import Model
from odvff.model.quality import Evaluation, Reliability
from odvff.report.figures import Figure, axis, band, bars, dots, layout, line, spread, straight
from odvff.report.numbers import in_plot, label, number, percent
from odvff.report.palette import LIGHT, SEQUENTIAL

CONFIDENCE = 0.95
MOST_POINTS = 400
LINES = ("accent", "warm", "muted", "some", "highish", "lowish")
SHARE = {"tickformat": ".0%", "range": [0.0, 1.0]}


def quality_figures(evaluation: Evaluation) -> list[Figure]:
    """Of numbers: calibration, probability transforms and residuals. Of classes: reliability and confusion."""
    if evaluation.task == "regression":
        return [_calibration(evaluation), _transforms(evaluation), _residuals(evaluation)]
    reliability = [_reliability(one) for one in evaluation.reliability]
    return [*reliability, *([_confusion(evaluation)] if evaluation.confusion else [])]


def chance(share: Any, n: Any, confidence: float = CONFIDENCE) -> tuple[Any, Any]:
    """Between which shares of n rows an event of this probability lies, by chance alone."""
    low, high = stats.binom.interval(confidence, n, np.asarray(share))
    return low / n, high / n


def _calibration(evaluation: Evaluation) -> Figure:
    levels, observed = np.array(evaluation.calibration).T
    grid = np.linspace(0.0, 1.0, 41)
    allowed = (grid, *chance(grid, evaluation.n_rows))
    titles = ("promised: level of the interval", "found: share of rows within")
    made = _beside_chance(allowed, (levels, observed), titles, "promised %{x:.0%}, found %{y:.1%}<extra></extra>")
    worst = int(np.argmax(np.abs(observed - levels)))
    summary = "On the diagonal, intervals hold what they promise; below it they are too narrow, above too wide."
    summary += f" Furthest off at {percent(levels[worst], 0)}: {percent(observed[worst])} of rows were within."
    rows = [(percent(level, 0), percent(share)) for level, share in evaluation.calibration]
    return Figure("Calibration of intervals", summary, *made, ("promised", "found"), rows)


def _beside_chance(
    allowed: Any, found: Any, titles: tuple[str, str], hover: str, **more: Any
) -> tuple[Any, dict[str, Any]]:
    """Data and layout of shares that were found against those that were said: on the diagonal, but for chance."""
    (at, low, high), (x, y) = allowed, found
    marks = {"mode": "lines+markers", "marker": {"size": 5, "color": LIGHT["accent"]}}
    data = [*band(at, low, high, "band_wide"), line(x, y, hovertemplate=hover, **marks, **more)]
    axes = {"xaxis": axis(title=titles[0], **SHARE), "yaxis": axis(title=titles[1], **SHARE)}
    return data, layout(300, **axes, shapes=[straight(0, 0, 1, 1)])


def _shape_in_words(shares: Any, low: float, high: float) -> str:
    """What the histogram of transforms says, if it is off by more than chance and by more than matters."""
    n = len(shares)
    outer, middle = shares[[0, -1]].mean(), shares[n // 4 : -(n // 4)].mean()
    if outer > max(1.5 * middle, high):
        return "Higher at the ends: more rows lie far out than was predicted."
    if middle > max(1.1 / n, high):
        return (
            "Higher in the middle: most rows lie closer to their prediction than it promised. If a few lie far out, "
            "the noise has heavier tails than a normal distribution, and the student-t likelihood may suit it better."
        )
    if abs(shares[: n // 2].sum() - 0.5) > 0.1:
        return "Leaning to one side: predictions are too high or too low as a whole."
    if np.abs(shares - 1 / n).max() > 0.3 / n and ((shares < low) | (shares > high)).any():
        return "Not quite flat: the predicted distributions have another shape than what was observed."
    return "Roughly flat: the predicted distributions have the right shape."


def _transforms(evaluation: Evaluation) -> Figure:
    shares = np.array(evaluation.pit)
    n = len(shares)
    edges = np.linspace(0.0, 1.0, n + 1)
    low, high = chance(1 / n, evaluation.n_rows)
    middles, marker = (edges[:-1] + edges[1:]) / 2, {"color": LIGHT["accent"], "opacity": 0.75, "line": {"width": 0}}
    data = [
        *band([0.0, 1.0], np.full(2, low), np.full(2, high), "band_wide"),
        bars(middles, shares, "%{y:.1%} of the rows about %{x:.0%}", width=0.92 / n, marker=marker),
    ]
    made = layout(
        300,
        xaxis=axis(title="where in its predicted distribution a value lay", showgrid=False, **SHARE),
        yaxis=axis(title="share of rows", tickformat=".0%", rangemode="tozero"),
        shapes=[straight(0, 1 / n, 1, 1 / n)],
    )
    ends = [percent(edge, 0) for edge in edges]
    rows = [(f"{a} to {b}", percent(share)) for (a, b), share in zip(pairwise(ends), shares, strict=True)]
    summary = f"{_shape_in_words(shares, low, high)} Flat within the shaded range is ideal."
    return Figure("Probability transforms", summary, data, made, ("part of the distribution", "rows"), rows)


def _residuals(evaluation: Evaluation) -> Figure:
    points = np.array(evaluation.residuals).reshape(-1, 2)
    bands = np.array(evaluation.residual_bands).reshape(-1, 6)
    warm, dotted = {"color": LIGHT["warm"]}, {"width": 1, "dash": "dot"}
    small = {"color": LIGHT["dots"], "size": 4, "line": {"width": 0}}
    hover = "predicted %{x:.4~g}, off by %{y:.2f} standard deviations<extra></extra>"
    data = [
        dots(points[:, 0], points[:, 1], marker=small, hovertemplate=hover),
        *(
            line(bands[:, 0], bands[:, i], line=warm | stroke, hoverinfo="skip")
            for i, stroke in ((1, dotted), (3, {"width": 2, "dash": "solid"}), (5, dotted))
        ),
    ]
    made = layout(
        360,
        xaxis=axis(title="predicted", showgrid=False),
        yaxis=axis(title="residual, in predicted standard deviations"),
        shapes=[straight(0, 0, 1, 0, xref="x domain")],
    )
    summary = (
        "What was observed less what was predicted, in predicted standard deviations. The solid line is the median of "
        "rows with similar predictions, the dotted ones hold 90 % of them: level lines about −1.6, 0 and 1.6 are "
        "ideal for Gaussian noise."
    )
    if len(points) < evaluation.n_rows:
        summary += f" A sample of {len(points):,} rows."
    rows = [tuple(number(v) for v in row) for row in bands]
    head = ("predicted", "5 %", "25 %", "median", "75 %", "95 %")
    return Figure("Residuals against predictions", summary, data, made, head, rows, wide=True)


def _reliability(one: Reliability) -> Figure:
    p, share, n = np.array(one.bins).reshape(-1, 3).T
    low, high = chance(p, n)
    titles, counts = ("predicted probability", "found: share of rows"), [int(k) for k in n]
    hover = "predicted %{x:.0%}, found %{y:.0%}<br>%{customdata:,} rows<extra></extra>"
    made = _beside_chance((p, low, high), (p, share), titles, hover, customdata=counts)
    rows = [(percent(a), percent(b), f"{k:,}") for a, b, k in one.bins]
    inside = (low <= share) & (share <= high)
    many = "All" if inside.all() else f"{int(inside.sum())} of {len(inside)}"
    summary = f"{many} groups of rows lie where chance alone could put them (shaded). On the diagonal is ideal."
    return Figure(f"Reliability: {label(one.label, 60)}", summary, *made, ("mean predicted", "found", "rows"), rows)


def _confusion(evaluation: Evaluation) -> Figure:
    counts = np.array(evaluation.confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells, at = [[f"{n:,}" for n in row] for row in counts.tolist()], list(range(len(counts)))
    ticks = {"tickvals": at, "ticktext": [in_plot(v, 16) for v in evaluation.labels], "showgrid": False}
    colours = {"zmin": 0.0, "zmax": 1.0, "colorscale": SEQUENTIAL, "showscale": False, "xgap": 2, "ygap": 2}
    said = {"texttemplate": "%{text}", "hovertemplate": "%{text} rows: %{z:.1%} of their class<extra></extra>"}
    heatmap = {"type": "heatmap", "x": at, "y": at, "z": shares, "text": cells} | said | colours
    made = layout(
        max(280, 90 + 34 * len(counts)),
        xaxis=axis(title="predicted", **ticks),
        yaxis=axis(title="observed", autorange="reversed", **ticks),
    )
    words = [label(v, 60) for v in evaluation.labels]
    rows = [(name, *row) for name, row in zip(words, cells, strict=True)]
    off = counts - np.diag(np.diag(counts))
    i, j = np.unravel_index(int(off.argmax()), off.shape)
    summary = "Rows by what they were (down) and what they were taken for (across); right ones on the diagonal."
    if off.max():
        summary += f" Most often {words[i]} was taken for {words[j]} ({off[i, j]:,} rows)."
    return Figure("Confusion", summary, [heatmap], made, ("observed", *words), rows, wide=len(counts) > 5)


def training_figures(model: Model) -> list[Figure]:
    """The bound at every iteration."""
    if all(len(o.history) < 2 for o in model.outputs):
        return []
    several = len(model.outputs) > 1
    data: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = []
    for i, output in enumerate(o for o in model.outputs if o.history):
        values = np.array(output.history)
        kept = spread(len(values), MOST_POINTS)
        steps, values = kept + 1.0, values[kept]
        name = "" if output.label is None else label(output.label, 60)
        marks = {"color": LIGHT[LINES[i % len(LINES)]], "width": 1.5}
        mode, hover = "lines+markers" if len(steps) < 30 else "lines", "%{x}: %{y:.6~g}<extra>%{fullData.name}</extra>"
        data.append(line(steps, values, name=in_plot(name), mode=mode, line=marks, hovertemplate=hover))
        some = spread(len(steps), 8)
        rows += [(*([name] * several), f"{steps[k]:,.0f}", number(values[k], 6)) for k in some]
    made = layout(260, xaxis=axis(title="iteration", showgrid=False), yaxis=axis(title="bound, nats"))
    summary = "Higher is better, and level at the end is what one wants."
    if several:
        made |= {"showlegend": True, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}}
    else:
        first, last = (number(model.outputs[0].history[i], 5) for i in (0, -1))
        summary = f"From {first} to {last}: {summary[0].lower()}{summary[1:]}"
    head = (*["class"] * several, "iteration", "bound, nats")
    return [Figure("Bound on the evidence", summary, data, made, head, rows, wide=True)]
