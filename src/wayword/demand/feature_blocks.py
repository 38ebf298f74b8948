"""Feature blocks: the features of all pairs, computed and read block by block.

Several blocks are files in a folder, because together they may be larger than memory; a single one is kept in memory.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.demand.click_data import ClickData
from wayword.demand.features import feature_matrix
from wayword.demand.observations import Floats
from wayword.demand.signals import Signals
from wayword.store.memory import at_once

BLOCK = 1 << 20
"""About this many pairs are a block, or fewer where memory is bounded."""
BYTES, SHARE = 1000, 0.2
"""Memory that a pair takes while its block is made, and the share of all memory for blocks."""
SLICE = 1 << 16
"""Number of pairs that are read at once."""

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class FeatureBlocks:
    """Pairs × features. Block b has the pairs `rows[b]` (ascending), and pair i is in block `block[i]`."""

    rows: list[NDArray[np.int64]]
    stored: list[NDArray[np.floating] | Path]
    block: NDArray[np.int32]

    @classmethod
    def of(
        cls, data: ClickData, folder: Path, *, pairs: int | None = None, threads: int = 1
    ) -> "FeatureBlocks":
        """Compute the features of all pairs, `pairs` at a time; `folder` is where several blocks are stored."""
        pairs = pairs or at_once(BLOCK, threads * BYTES, SHARE)
        parts = data.parts(pairs)
        if len(parts) < 2 or len(data.observations) <= pairs:
            matrix = feature_matrix(Signals.of(data), dtype=np.float16, threads=threads)
            return cls.in_memory(matrix)
        number = np.zeros(len(data.observations), np.int32)

        def compute(block: int) -> tuple[NDArray[np.int64], Path]:
            rows = parts[block]
            number[rows.pairs] = block
            path = folder / f"features-{block}.npy"
            matrix = feature_matrix(Signals.of(data.of_part(rows)), dtype=np.float16)
            np.save(path, np.ascontiguousarray(matrix), allow_pickle=False)
            return rows.pairs, path

        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(compute, range(len(parts))))
        return cls([rows for rows, _ in found], [path for _, path in found], number)

    @classmethod
    def in_memory(cls, matrix: NDArray[np.floating]) -> "FeatureBlocks":
        """One block."""
        return cls([np.arange(len(matrix))], [matrix], np.zeros(len(matrix), np.int32))

    def __len__(self) -> int:
        return len(self.block)

    def take(self, rows: NDArray[np.int64]) -> Singles:
        """The features of some pairs, ascending."""
        found = None
        block = self.block[rows]
        for number, known in enumerate(self.rows):
            at = np.flatnonzero(block == number)
            part = self._matrix(number)[np.searchsorted(known, rows[at])]
            if found is None:
                found = np.empty((len(rows), part.shape[1]), np.float32)
            found[at] = part
        return np.zeros((0, 0), np.float32) if found is None else found

    def for_each_slice(
        self, function: Callable[[Singles], Floats], into: Floats, pool: ThreadPoolExecutor
    ) -> None:
        """Write what `function` gives for the features of a slice of pairs, for all of them."""

        def fill(task: tuple[int, int]) -> None:
            number, first = task
            features = self._matrix(number)[first : first + SLICE]
            into[self.rows[number][first : first + SLICE]] = function(
                np.ascontiguousarray(features, np.float32)
            )

        tasks = [(n, first) for n, rows in enumerate(self.rows) for first in range(0, len(rows), SLICE)]
        list(pool.map(fill, tasks))

    def _matrix(self, number: int) -> NDArray[np.floating]:
        stored = self.stored[number]
        if isinstance(stored, Path):
            matrix: NDArray[np.floating] = np.load(stored, mmap_mode="r", allow_pickle=False)
            return matrix
        return stored
