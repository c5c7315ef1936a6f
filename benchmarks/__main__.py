"""`python -m benchmarks list`, `run NAME [--repeats R] [--only PART] [--calm SHARE]`, `show NAME`, `write`."""

import sys
from pathlib import Path

from benchmarks.asked import ASKED
from benchmarks.limits import LIMITS
from benchmarks.prediction import PREDICTION
from benchmarks.registry import main
from benchmarks.rows import ROWS_BENCHMARK
from benchmarks.sizes import SIZES
from benchmarks.start_up import START_UP
from benchmarks.step import STEP
from benchmarks.tables import TABLES
from benchmarks.tabular import TABULAR
from benchmarks.time_to_quality import TIME_TO_QUALITY

ALL = [*ASKED, *TIME_TO_QUALITY, *TABULAR, *ROWS_BENCHMARK, *SIZES, *PREDICTION, *STEP, *START_UP, *LIMITS, *TABLES]

if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent, ALL, "Side by side with what a user would pick instead.", sys.argv[1:]))
