"""The tabular benchmark shows what is there, and says what is not."""

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import showing
from benchmarks.cells import Results
from benchmarks.tabular_show import cell_name, show

USES = {"odvff": "ours", "trees": "theirs", "slow": "theirs"}


def _run(log_density: float, processor: float) -> dict[str, Any]:
    scores = {"log_density": log_density, "rmse": -log_density, "crps": -log_density / 2, "coverage": 0.95}
    costs = {"processor": processor, "fit": processor, "wall": processor + 1, "predict": 0.1, "peak_gb": 0.2}
    return {**scores, **costs, "rows": 1000, "columns": 3, "machine": "a machine", "versions": {"odvff": "1"}}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(showing, "PICTURES", tmp_path / "pictures")
    late = {"failed": "over 15 minutes", "processor": 900}
    broken = {"failed": "failed: MemoryError"}
    kept = {
        cell_name("waves", "odvff"): {"0": _run(-1.0, 2.0), "1": _run(-1.2, 2.0)},
        cell_name("waves", "trees"): {"0": _run(-0.5, 8.0), "1": broken},
        cell_name("waves", "slow"): {"0": late, "1": late},
    }
    path = tmp_path / "tabular.json"
    path.write_text(json.dumps(kept))
    return show(("waves", "never measured"), USES, 10, Results(path))


def test_best_is_bold_and_missing_runs_are_told(shown: str) -> None:
    assert "| waves | 2 | -1.100 | **-0.500** (1 of 2 failed) | over 15 minutes |" in shown


def test_tables_without_a_run_are_left_out(shown: str) -> None:
    assert "never measured" not in shown


def test_gains_and_ratios_are_of_splits_that_both_ended_on(shown: str) -> None:
    assert "- trees, on 1 of 1: waves (+0.50)." in shown
    assert "| waves | 1,000 × 3 | 2 (2–2) s | 4 (1 of 2 failed) | over 15 minutes |" in shown


def test_who_did_not_end_is_last_and_listed(shown: str) -> None:
    assert "| slow | 0 | 3.0 | 3.0 | 3.0 | 3.0 |" in shown
    assert "- slow on waves, split 1: over 15 minutes (900 s of processor time)." in shown
    assert "- trees on waves, split 1: failed: MemoryError." in shown
