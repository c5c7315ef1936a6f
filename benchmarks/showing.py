"""What `show` of several benchmarks needs: tables in markdown, medians with their spread, and pictures."""

from pathlib import Path
from statistics import median
from typing import Any

NOTHING = "Nothing has been measured yet."
PICTURES = Path(__file__).parent / "pictures"


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spread(values: list[float], digits: int = 3) -> str:
    """The median, and in brackets the least and the most where there are several; so many digits in all."""
    if not values:
        return "–"
    if len(values) == 1:
        return short(values[0], digits)
    return f"{short(median(values), digits)} ({short(min(values), digits)}–{short(max(values), digits)})"


def short(value: float, digits: int = 3) -> str:
    """So many digits that count, none of them in an exponent."""
    if value != value or value in (float("inf"), float("-inf")):
        return "–"
    text = f"{value:.{digits}g}"
    if abs(value) >= 10 ** (digits - 1):
        return f"{float(text):,.0f}"
    return f"{float(text):.{digits + 5}f}".rstrip("0") if "e" in text else text  # small ones


def each(runs: list[dict[str, Any]], *keys: str) -> list[float]:
    """A number of every run, found by keys one within the other."""
    values = []
    for run in runs:
        value: Any = run
        for key in keys:
            value = value[key]
        values.append(float(value))
    return values


def circumstances(runs: list[dict[str, Any]]) -> str:
    """Where and with what the runs were made, in a sentence; how much of the machine others had meanwhile."""
    if not runs:
        return NOTHING
    machines = sorted({run["machine"] for run in runs})
    taken = [100 * run["taken"] for run in runs if "taken" in run]
    others = [f"of its time others took {spread(taken, 2)} %"] if taken else []
    versions = sorted({f"{name} {number}" for run in runs for name, number in run["versions"].items()})
    code = sorted({run["code"] for run in runs if "code" in run})
    commits = [f"commit {', '.join(code)}"] if code else []
    return "; ".join(["; ".join(machines), *others, ", ".join(versions), *commits]) + "."


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "odvff"  # the same picture is the same file
    import matplotlib.pyplot as plt

    return plt


def picture(figure: Any, name: str) -> str:
    """Keep a figure, and point to it from the text."""
    PICTURES.mkdir(exist_ok=True)
    path = PICTURES / f"{name}.svg"
    figure.savefig(path, dpi=150, metadata={"Date": None})
    return f"![{name}]({path.relative_to(PICTURES.parent)})"
