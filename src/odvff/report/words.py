"""A model and its evaluation in words: what it does, how good it is, and what to be careful about."""

from collections.abc import Iterator

import numpy as np

from odvff.model.model import Model
from odvff.model.quality import Evaluation
from odvff.model.task import CLASSIFICATION
from odvff.report.numbers import count, label, number, percent
from odvff.report.quality_figures import chance
from odvff.search.harmonics import LIMITED
from odvff.tables import Category, Numeric

FEW_ROWS = 100
# what is off by less is no matter, however sure one can be of it
COVERAGE_OFF, CALIBRATION_OFF, HARDLY = 0.01, 0.05, 0.1


def headline(evaluation: Evaluation, target: str) -> list[tuple[str, str, str]]:
    """Name, value and meaning of every metric."""
    m, unit = evaluation.metrics, f"in units of {target}"
    found = [
        ("accuracy", "Accuracy", percent, "rows whose most probable class was right"),
        ("accuracy_of_the_commonest", "… of the commonest class", percent, "if one always said that class"),
        ("auc", "Area under the ROC curve", number, "0.5 is chance, 1 is perfect ranking"),
        ("log_loss", "Log loss", number, "lower is better; punishes wrong certainty"),
        ("brier", "Brier score", number, "lower is better; squared error of probabilities"),
        ("ece", "Calibration error", percent, "how far confidence is from being right"),
        ("rmse", "Typical error (RMSE)", number, unit),
        ("rmse_of_the_mean", "… of the mean alone", number, "RMSE if one always said the mean"),
        ("r2", "Explained (R²)", percent, f"share of the variance of {target}"),
        ("mae", "Mean absolute error", number, unit),
        ("coverage_95", "Within 95 % intervals", percent, "close to 95 % is ideal"),
        ("width_95", "Mean width of these", number, f"{unit}; narrower is sharper"),
        ("crps", "CRPS", number, f"error of whole distributions, {unit}"),
        ("mean_log_density", "Mean log density", number, "higher is better"),
    ]
    return [(name, shown(m[key]), why) for key, name, shown, why in found if key in m]


def summary(model: Model, evaluation: Evaluation | None) -> list[str]:
    """What is predicted from what, and how good it is."""
    columns = model.schema.columns
    numeric = sum(isinstance(c, Numeric) for c in columns)
    kinds = [count(numeric, "numeric", "numeric")] * (numeric > 0)
    kinds += [count(len(columns) - numeric, "category", "categories")] * (numeric < len(columns))
    missing = sum(c.missing if isinstance(c, Numeric) else None in c.levels for c in columns)
    likelihood, classes = model.outputs[0].predictive.likelihood, model.task.classes
    if classes is not None:
        names = ", ".join(label(c, 30) for c in list(classes)[:5]) + (", …" if len(classes) > 5 else "")
        target = f"{label(model.target, 60)}, one of {len(classes)} classes ({names}),"
    else:
        target = f"{label(model.target, 60)}, a {'count' if likelihood.discrete else 'number'},"
    learned = f"It learned from {count(model.n_rows, 'row')}"
    learned += f"; values were missing in {count(missing, 'column')}." if missing else "; no value was missing."
    first = f"This model predicts {target} from {count(len(columns), 'column')} ({', '.join(kinds)}). {learned}"
    pairs = {name for i in range(len(model.outputs)) for _, name, part in model.parts(i) if part.shared}
    made = f"It has one joint effect of its {numeric} numeric columns, and one for each of the others"
    if model.structure == "additive" or numeric < 2:
        made = "It adds up one effect for each column"
        made += f" and {count(len(pairs), 'joint effect')} of two columns" if pairs else ""
    noise = likelihood.noise_in_words(model.outputs[0].scale, number)
    return [f"{first} {made}, and knows how sure it is of each. {noise}", *_quality(evaluation)]


def _quality(evaluation: Evaluation | None) -> list[str]:
    if evaluation is None:
        return ["There is no evaluation on labelled rows here, so this page cannot say how good its predictions are."]
    m, rows = evaluation.metrics, count(evaluation.n_rows, "labelled row")
    if evaluation.task == CLASSIFICATION:
        always = f"always saying the commonest class would be right in {percent(m['accuracy_of_the_commonest'])}"
        return [f"On {rows} it named the right class in {percent(m['accuracy'])} of cases; {always}."]
    text = f"On {rows} its predictions were typically off by {number(m.get('rmse', np.nan))}, against "
    text += f"{number(m.get('rmse_of_the_mean', np.nan))} for always saying the mean"
    text += f": it explains {percent(m['r2'], 0)} of the variance." if m.get("r2", -1) > 0 else "."
    return [f"{text} {percent(m['coverage_95'])} of the rows lay within their 95 % interval."]


def about_effects(model: Model) -> tuple[str, str]:
    """What effects are on: for axes, and as an introduction."""
    classes, target = model.task.classes, label(model.target, 40)
    if classes is None:
        what, adds = model.outputs[0].predictive.likelihood.effects_in_words(target)
    else:
        whose = "a class: the higher, the more probable it is"
        if len(classes) == 2:
            one, other = (label(c, 60) for c in classes[::-1])
            whose = f"{one}: the higher, the more probable it is, and the less {other}"
        what, adds = "effect on the score", f"What each column adds to the score of {whose}."
    about = (
        f"{adds} Effects are centred: zero is the average over the rows that the model learned from. The band holds "
        "the effect with a probability of 95 %."
    )
    if any(part.shared for i in range(len(model.outputs)) for _, _, part in model.parts(i)):
        about += " A joint effect of two columns is what both add together: it averages to zero over either of them."
    return what, about


def warnings(model: Model, evaluation: Evaluation | None) -> Iterator[str]:
    """What to be careful about, the gravest first."""
    for output in model.outputs:
        if not output.converged:
            whose = "" if output.label is None else f" of class {label(output.label, 60)}"
            ended = f"The fit{whose} ended before it converged ({output.message})."
            yield f"{ended} Raise max_iter, or take its numbers as rough."
    yield from _hardly(model) if evaluation is None else _of_evaluation(evaluation)
    limits = dict.fromkeys(line for o in model.outputs for line in o.report if LIMITED in line)
    for note in (*model.schema.notes(), *limits):
        text = note.replace("`", "").rstrip(".")
        yield f"{text[:1].upper()}{text[1:]}."
    for c in model.schema.columns:
        if isinstance(c, Category) and len(c.levels) > model.n_rows / 5:
            many = f"{label(c.name, 60)} has {len(c.levels):,} levels for {model.n_rows:,} rows"
            yield f"{many}: most of them were hardly seen. Group rare ones, or leave the column out."


def _of_evaluation(evaluation: Evaluation) -> Iterator[str]:
    m, n = evaluation.metrics, evaluation.n_rows
    if evaluation.task == CLASSIFICATION:
        best, common = m["accuracy"], m["accuracy_of_the_commonest"]
        if m.get("auc", 1.0) < 0.6 or (best <= common and m.get("auc", 0.0) < 0.7):
            right = f"{percent(best)} of rows are right, and {percent(common)} would be"
            yield f"The classes are hardly told apart: {right} by always saying the commonest class."
        if m["ece"] > CALIBRATION_OFF and n >= FEW_ROWS:
            off = f"Probabilities are off by {percent(m['ece'])} on average"
            yield f"{off}: see the reliability diagrams before you act on them."
    else:
        level, observed = next((a, b) for a, b in evaluation.calibration if a == 0.95)
        low, high = chance(level, n, 0.99)
        if not low <= observed <= high and abs(observed - level) > COVERAGE_OFF:
            how = "narrow: real values are further off than it says" if observed < level else "wide: it is too cautious"
            held = f"95 % intervals held {percent(observed)} of the rows"
            yield f"{held}, where chance allows {percent(low)} to {percent(high)}. They are too {how}."
        r2 = m.get("r2", 1.0)
        if r2 < 0:
            worse = "Predictions are worse than always saying the mean of these rows."
            yield f"{worse} Do they come from elsewhere than the rows it learned from?"
        elif r2 < HARDLY:
            yield f"The target is hardly explained: {percent(r2)} of its variance. Most of it is noise to this model."
    if n < FEW_ROWS:
        yield f"The evaluation has just {count(n, 'row')}: its numbers are rough."


def _hardly(model: Model) -> Iterator[str]:
    """From the fit alone: do effects vary at all beside the noise?"""
    output = model.outputs[0]
    noise = output.predictive.likelihood.noise_variance
    if noise is not None:
        explained = float(sum(output.centre.variances[p] for p, _, _ in model.parts()))
        if (share := explained / (explained + noise)) < HARDLY:
            about = f"effects make up about {percent(share)} of its variance"
            yield f"The target is hardly explained: {about}, the rest is noise."
