"""`python -m experiments list`, `run NAME [--repeats R] [--only PART]`, `show NAME`, `write`."""

import sys
from pathlib import Path

from benchmarks.registry import main

from experiments.figures import FIGURES
from experiments.tables import TABLES

if __name__ == "__main__":
    here = Path(__file__).parent
    sys.exit(main(here, [*FIGURES, *TABLES], "The tables and figures of the paper.", sys.argv[1:]))
