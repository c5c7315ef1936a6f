"""Functions from tables: those of the formulas, to rounding, at the edges of cells and of the box too."""

import numpy as np
import pytest
from numpy.polynomial import polynomial

from odvff.features import cells
from odvff.features.cells import evaluate, taylor


@pytest.mark.parametrize("F", [1, 2, 13, 60, 455])  # the last has just as many cells as it needs
@pytest.mark.parametrize("n_powers", [1, 2, 4])
def test_tables_give_the_functions(F, n_powers):
    rng = np.random.default_rng(F)
    cosines, sines, powers = rng.normal(size=(3, F)), rng.normal(size=(3, F)), rng.normal(size=(3, n_powers))
    tables = taylor(cosines, sines, powers)
    n = tables.shape[-1]
    assert n >= cells.CELLS * F
    t = np.concatenate([rng.uniform(0, 1, 500), [0.0, 1.0, np.nextafter(1, 0)], np.arange(5) / n])
    phase = 2 * np.pi * np.arange(1, F + 1)[:, None] * t
    expected = cosines @ np.cos(phase) + sines @ np.sin(phase) + polynomial.polyval(t - 0.5, powers.T)
    found = evaluate(tables, t, np.empty((3, len(t))))
    scale = np.abs(cosines).sum(axis=1) + np.abs(sines).sum(axis=1) + 1
    assert (np.abs(found - expected).max(axis=1) < (1e-13 + 1e-15 * F) * scale).all()


def test_blocks_of_rows_join(monkeypatch):
    rng = np.random.default_rng(0)
    tables = taylor(rng.normal(size=(1, 4)), rng.normal(size=(1, 4)), np.ones((1, 2)))
    t = rng.uniform(0, 1, 100)
    whole = evaluate(tables, t, np.empty((1, 100)))
    monkeypatch.setattr(cells, "BLOCK_ROWS", 7)
    assert (evaluate(tables, t, np.empty((1, 100))) == whole).all()
    assert evaluate(tables, t[:0], np.empty((1, 0))).shape == (1, 0)
