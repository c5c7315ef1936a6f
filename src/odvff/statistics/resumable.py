"""Statistics of a source of rows, chunk after chunk: with progress, and kept in a journal on the way."""

import numpy as np

from odvff.errors import InputError
from odvff.rows import RowSource
from odvff.statistics.basis import signature
from odvff.statistics.collect import collect
from odvff.statistics.sums import Statistics
from odvff.support.journal import Journal
from odvff.support.progress import Progress, Step
from odvff.terms import Sum

STAGE = "statistics"


def collect_rows(terms: Sum, rows: RowSource, journal: Journal, progress: Progress) -> Statistics:
    """The statistics of all rows. Chunks are added in order, so a run that is resumed gives the same."""
    total, done = _kept(terms, journal)
    for chunk in rows.chunks(done):
        part = collect(terms, [chunk])
        total = part if total is None else total + part
        done += 1
        progress(Step("adding up", total.n_rows, rows.n_rows))
        if journal.due():
            journal.write(STAGE, total.arrays(), {"chunks": done})
    if total is None:
        raise InputError("there are no rows to fit to.")
    return total


def _kept(terms: Sum, journal: Journal) -> tuple[Statistics | None, int]:
    """What an earlier run of the same has added up, and of how many chunks."""
    entry = journal.read(STAGE)
    if entry is None:
        return None, 0
    arrays, words = entry
    kept = Statistics.from_arrays({name: np.asarray(array) for name, array in arrays.items()})
    if kept.signature != signature(terms.canonical):
        return None, 0
    return kept, int(words["chunks"])
