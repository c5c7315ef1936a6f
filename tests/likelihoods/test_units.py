"""Units of targets."""

import numpy as np
import pytest

from odvff.likelihoods.units import TargetMoments


def test_units_of_chunks_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    y, w = rng.normal(7, 2, 1000), rng.uniform(0, 3, 1000)
    for weights in (None, w):
        moments = TargetMoments()
        for rows in (slice(0, 10), slice(10, 10), slice(10, 600), slice(600, 1000)):
            moments.add(y[rows], None if weights is None else weights[rows])
        units = moments.units()
        mean = np.average(y, weights=weights)
        assert units.shift == pytest.approx(mean, rel=1e-13)
        assert units.scale == pytest.approx(np.sqrt(np.average((y - mean) ** 2, weights=weights)), rel=1e-13)
