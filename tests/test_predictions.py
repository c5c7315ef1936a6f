"""Models that version 0.1 fitted and saved: they load, and say what they said then."""

import json
from pathlib import Path

import pytest

import odvff
from tests.predictions import WITHIN, answers, furthest

FIXTURES = Path(__file__).parent / "fixtures" / "version-0.1"
KEPT = json.loads((FIXTURES / "predictions.json").read_text())


@pytest.mark.parametrize("name", KEPT)
def test_files_of_version_0_1_say_what_they_said(name):
    model = odvff.load(FIXTURES / f"{name.replace(' ', '-')}.odvff")
    difference, where = furthest(answers(name, model), KEPT[name])
    assert difference < WITHIN, where
