"""Colours by what they are for, in light and in dark; texts have contrast AA (4.5 : 1) on either background.

Figures are written in the light ones. The page's script swaps each for its dark twin, so no light colour may stand
here twice.
"""

PAIRS = {
    "background": ("#faf9f7", "#14171c"),
    "surface": ("#ffffff", "#1c2027"),
    "text": ("#1d2530", "#e7eaef"),
    "muted": ("#59636f", "#a7b0bc"),
    "line": ("#dfdcd6", "#343b45"),
    "grid": ("#eceae6", "#2a3039"),
    "zero": ("#9aa1aa", "#737d8a"),
    "accent": ("#27598c", "#8fbdec"),
    "band": ("rgba(39, 89, 140, 0.18)", "rgba(143, 189, 236, 0.24)"),
    "band_wide": ("rgba(39, 89, 140, 0.10)", "rgba(143, 189, 236, 0.14)"),
    "dots": ("rgba(39, 89, 140, 0.35)", "rgba(143, 189, 236, 0.40)"),
    "bars": ("#c4c8cd", "#4d5663"),
    "warm": ("#a6491f", "#f2a27d"),
    "warning": ("#fdf3e7", "#33281c"),
    "warning_line": ("#b4661a", "#d9964f"),
    # low, middle and high of a surface's mean; low and high of what is never negative
    "low": ("#1f4e7d", "#9cc6f0"),
    "lowish": ("#9fbcd9", "#4d739b"),
    "middle": ("#f4f2ee", "#23282f"),
    "highish": ("#e4b096", "#9b5d41"),
    "high": ("#98401a", "#f7ae8a"),
    "least": ("#f5f6f7", "#1f242b"),
    "some": ("#8fb0d0", "#4b7099"),
    "most": ("#22507f", "#a4ccf4"),
}

LIGHT = {name: light for name, (light, _) in PAIRS.items()}
DARK_OF = dict(PAIRS.values())
DIVERGING = [[i / 4, LIGHT[name]] for i, name in enumerate(("low", "lowish", "middle", "highish", "high"))]
SEQUENTIAL = [[i / 2, LIGHT[name]] for i, name in enumerate(("least", "some", "most"))]
