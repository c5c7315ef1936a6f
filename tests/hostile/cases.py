"""Which kinds of cases there are, and one case: a kind and two numbers that make it again."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.hostile import data_files, model_files, tables
from tests.hostile.laws import Broken

KINDS = {"table": tables, "model": model_files, "file": data_files}


@dataclass(frozen=True)
class Verdict:
    """What became of a case: how it ended, or the law that it broke."""

    ended: str
    broken: str = ""


@dataclass(frozen=True)
class Case:
    kind: str
    seed: int
    number: int

    def __str__(self):
        return f"{self.kind}:{self.seed}:{self.number}"

    @classmethod
    def of(cls, text):
        kind, seed, number = text.split(":")
        return cls(kind, int(seed), int(number))

    def run(self):
        """Check the case in a folder of its own."""
        folder = Path(tempfile.mkdtemp(prefix="hostile-"))
        try:
            rng = np.random.default_rng([self.seed, self.number, sorted(KINDS).index(self.kind)])
            return Verdict(KINDS[self.kind].check(rng, folder))
        except Broken as broken:
            return Verdict("broken", str(broken))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
