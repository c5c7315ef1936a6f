"""Numbers and names as people write them."""

import math
import re
from html import escape
from typing import Any

MINUS, SPACE = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: Any, digits: int = 3) -> str:
    """With so many digits that count; no more after the point than these, and powers of ten where they are needed."""
    value = float(value)
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    if size == 0:
        return "0"
    if not 1e-4 <= size < 1e7:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa} × 10{str(int(power)).translate(RAISED)}".replace("-", MINUS).replace(" ", SPACE)
    if size >= 10**digits:
        return fixed(float(f"{value:.{digits + 1}g}"), 0)
    return fixed(value, max(0, digits - 1 - math.floor(math.log10(size))))


def fixed(value: float, decimals: int) -> str:
    """With so many decimals, and thousands apart from 10,000 on (so that years stay years)."""
    text = f"{value:,.{decimals}f}" if abs(value) >= 9999.5 else f"{value:.{decimals}f}"
    return text.replace("-", MINUS)


def along(values: Any) -> list[str]:
    """Values in order along a column, with as many decimals as tell them apart."""
    values = [float(v) for v in values]
    step = (max(values) - min(values)) / max(len(values) - 1, 1)
    if not step > 0 or not 1e-4 <= max(map(abs, values)) < 1e9:
        return [number(v, 4) for v in values]
    decimals = min(max(0, 1 - math.floor(math.log10(2 * step))), 12)
    if all(v == round(v) for v in values):
        decimals = 0
    return [fixed(v, decimals) for v in values]


def percent(share: float, decimals: int = 1) -> str:
    least = 10.0**-decimals
    if 0 < 100 * share < least / 2:
        return f"<{SPACE}{least:.{decimals}f}{SPACE}%"
    return f"{100 * share:.{decimals}f}{SPACE}%".replace("-", MINUS)


def prose(text: str) -> str:
    """Text where a number and its % stay together."""
    return re.sub(r"(?<=\d) %", f"{SPACE}%", text)


def count(n: float, what: str, plural: str = "") -> str:
    """ "1 row", "2,000 rows"."""
    return f"{n:,.0f} {what if n == 1 else plural or what + 's'}"


def label(value: Any, most: int = 200) -> str:
    """A level or class in words."""
    text = "missing" if value is None else str(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def in_plot(text: Any, most: int = 40) -> str:
    """Text for Plotly, which reads some HTML: escaped, and cut where there is no room."""
    return escape(label(text, most), quote=False)
