"""Where the rows of a fit come from: something that can be gone through in chunks, and sampled."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from odvff.support.checks import matrix, vector

Chunk = tuple[Any, Any, Any]  # X, y and weights or None
CHUNK_ROWS = 2**17


class RowSource(Protocol):
    """Rows of numbers, from memory or elsewhere, as often as they are asked for."""

    @property
    def n_rows(self) -> int: ...

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """All rows from the start-th chunk on, always the same chunks in the same order."""

    def sample(self, n_rows: int) -> Chunk:
        """A random sample of this many rows (all, if there are no more), in order and always the same ones."""

    def everything(self) -> Chunk:
        """All rows at once, for methods that need them so."""


def chunks_of(rows: "RowSource | Iterable[Any]") -> Callable[[], Iterable[Any]]:
    """The chunks of a source, or those of a list, as often as they are asked for."""
    return rows.chunks if hasattr(rows, "chunks") else list(rows).__iter__


def row_slices(n_rows: int, chunk_rows: int = CHUNK_ROWS) -> Iterator[slice]:
    """Rows in chunks."""
    for start in range(0, n_rows, chunk_rows):
        yield slice(start, min(start + chunk_rows, n_rows))


def key_generator(seed: int) -> np.random.Generator:
    """Random keys of rows, in a stream of their own: people draw their data with small seeds too."""
    return np.random.default_rng([seed, 0x0DFF])


def smallest_keys(keys: Any, n: int) -> Any:
    """Where the n smallest keys stand, in order: of random numbers drawn row by row a sample, whatever the chunks."""
    return np.arange(len(keys)) if len(keys) <= n else np.sort(np.argpartition(keys, n)[:n])


class Sampler:
    """Draws a sample of rows that come in chunks: it says where they stand, and others keep them."""

    def __init__(self, n_rows: int, seed: int):
        self._n_rows, self._rng, self.keys = n_rows, key_generator(seed), np.zeros(0)

    def add(self, n: int) -> tuple[Any, Any]:
        """Where among n more rows new ones of the sample stand, and which of its rows and these, joined, are kept."""
        keys = self._rng.random(n)
        new = smallest_keys(keys, self._n_rows)
        keys = np.concatenate([self.keys, keys[new]])
        kept = smallest_keys(keys, self._n_rows)
        self.keys = keys[kept]
        return new, kept


class InMemory:
    """Rows that are in memory already, taken by their positions."""

    def __init__(self, n_rows: int, seed: int):
        self.n_rows, self._seed = n_rows, seed

    def at(self, rows: Any) -> Chunk:
        """The rows at these positions, with targets and weights."""
        raise NotImplementedError

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        return map(self.at, list(row_slices(self.n_rows))[start:])

    def sample(self, n_rows: int) -> Chunk:
        if n_rows >= self.n_rows:
            return self.everything()
        return self.at(smallest_keys(key_generator(self._seed).random(self.n_rows), n_rows))

    def everything(self) -> Chunk:
        return self.at(slice(None))


class MemoryRows(InMemory):
    """Rows of numbers in memory."""

    def __init__(self, X: Any, y: Any, weights: Any | None = None, seed: int = 0):
        self.X = matrix(X, "X")
        self.y = vector(y, "y", size=len(self.X))
        self.weights = None if weights is None else vector(weights, "weights", size=len(self.X))
        super().__init__(len(self.X), seed)

    def at(self, rows: Any) -> Chunk:
        return self.X[rows], self.y[rows], None if self.weights is None else self.weights[rows]


def merged(rows: RowSource, seed: int = 0) -> MemoryRows:
    """The rows in an order of their own, equal ones as one with their weights added.

    So a fit is the same to the bit in whatever order rows come, and whether they are repeated or have weights.
    """
    X, y, weights = rows.everything()
    each, place = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weights, minlength=len(each)).astype(np.float64)
    return MemoryRows(each[:, :-1], each[:, -1], None if (total == 1).all() else total, seed)
